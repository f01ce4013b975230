use super::super::film::Frame as FilmFrame;
use super::super::grid::Grid;
use super::super::png;
use super::*;
use crate::record::cast::Rgb;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

fn film(frames: &[(u64, &[&str])], length: u64) -> Film {
    let frames = frames.iter().map(|(at, lines)| {
        let mut buffer = Buffer::with_lines(lines.iter().copied());
        buffer.set_style(Rect::new(0, 0, 2, 1), Style::new().fg(Color::Indexed(75)));
        FilmFrame { at: Duration::from_millis(*at), grid: Grid::from(&buffer) }
    });
    Film { frames: frames.collect(), length: Duration::from_millis(length) }
}

fn encode(film: &Film, hold: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let hold = Duration::from_millis(hold);
    write(&mut bytes, film, &Scheme::dark(), &Fonts::new(15.0), hold).unwrap();
    bytes
}

/// Every frame as shown, with its delay in hundredths.
fn decode(bytes: &[u8]) -> Vec<(Vec<Rgb>, u64)> {
    let mut decoder = gif::DecodeOptions::new();
    decoder.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = decoder.read_info(bytes).unwrap();
    let (width, height) = (usize::from(decoder.width()), usize::from(decoder.height()));
    let mut screen = vec![[0; 3]; width * height];
    let mut frames = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        let pixels = frame.buffer.as_chunks::<4>().0.chunks(usize::from(frame.width));
        for (row, pixels) in pixels.enumerate() {
            let start = (usize::from(frame.top) + row) * width + usize::from(frame.left);
            for (to, &[r, g, b, a]) in screen[start..].iter_mut().zip(pixels) {
                if a > 0 {
                    *to = [r, g, b];
                }
            }
        }
        frames.push((screen.clone(), u64::from(frame.delay)));
    }
    frames
}

const FRAMES: [(u64, &[&str]); 5] = [
    (0, &["┌ a ┐", "│▁▃▅│", "└───┘"]),
    (333, &["┌ a ┐", "│▁▃▆│", "└───┘"]),
    (667, &["┌ b ┐", "│▁▄▆│", "└───┘"]),
    (1001, &["┌ b ┐", "│▁▄▆│", "     "]),
    (1333, &["┌ a ┐", "│▁▃▅│", "└───┘"]),
];

#[test]
fn decoded_again_it_is_the_frames_pixel_by_pixel() {
    let film = film(&FRAMES, 1500);
    let decoded = decode(&encode(&film, 0));
    assert_eq!(decoded.len(), 5);
    let fonts = Fonts::new(15.0);
    let palette = Palette::of(&film, &Scheme::dark());
    for (index, ((pixels, _), frame)) in decoded.iter().zip(&film.frames).enumerate() {
        // In all shades, and then in the palette's: never further off than half a step.
        let exact = png::draw(&frame.grid, &Scheme::dark(), &fonts);
        let mut canvas = Canvas::new(film.size(), &fonts, 0);
        let mut ramp = |look| Rc::new(palette.ramp(Scheme::dark().inks(look)));
        canvas.draw(&frame.grid, &mut Masks::new(&fonts), &mut ramp);
        let bytes = palette.bytes();
        let colors = bytes.as_chunks::<3>().0;
        let shaded: Vec<Rgb> = canvas.pixels.iter().map(|&i| colors[usize::from(i)]).collect();
        assert!(*pixels == shaded, "frame {index}");
        for (a, b) in pixels.as_flattened().iter().zip(exact.pixels.as_flattened()) {
            assert!(a.abs_diff(*b) <= 9, "frame {index}: {a} {b}");
        }
    }
}

#[test]
fn delays_add_up_to_the_films_length() {
    let delays: Vec<_> = decode(&encode(&film(&FRAMES, 1500), 0)).iter().map(|f| f.1).collect();
    assert_eq!(delays, [33, 34, 33, 33, 17]);
    let many: Vec<(u64, &[&str])> =
        (0..300).map(|n| (n * 1000 / 30, FRAMES[n as usize % 4].1)).collect();
    let decoded = decode(&encode(&film(&many, 10_004), 2500));
    assert_eq!(decoded.len(), 300);
    assert_eq!(decoded.iter().map(|frame| frame.1).sum::<u64>(), 1250);
    assert!(decoded.iter().all(|frame| (3..=254).contains(&frame.1)));
}

#[test]
fn only_what_changed_is_in_the_file_and_the_same_twice_is_one_frame() {
    let film = film(&[FRAMES[0], FRAMES[0], FRAMES[1], FRAMES[1], FRAMES[3]], 700_000);
    let mut shuffled = film.clone();
    shuffled.frames.iter_mut().enumerate().for_each(|(n, f)| f.at = Duration::from_secs(n as u64));
    let bytes = encode(&shuffled, 0);
    let mut decoder = gif::DecodeOptions::new().read_info(bytes.as_slice()).unwrap();
    let mut areas = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        areas.push((frame.width, frame.height, frame.delay));
    }
    assert_eq!(areas[0], (5 * 9 + 18, 3 * 20 + 18, 200));
    // One cell's block grew.
    assert!(areas[1].0 <= 9 && areas[1].1 <= 20 && areas[1].2 == 200, "{areas:?}");
    // 696 s are more than one frame can wait.
    assert_eq!(areas[2..].iter().map(|area| u64::from(area.2)).sum::<u64>(), 69_600);
    assert_eq!(areas.len(), 4);
}

#[test]
fn the_same_film_gives_the_same_bytes() {
    let film = film(&FRAMES, 1500);
    assert_eq!(encode(&film, 100), encode(&film, 100));
}
