use super::super::film::{Film, Frame};
use super::super::sfnt::Sfnt;
use super::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use roxmltree::{Document, Node};
use std::time::Duration;

fn grid(lines: &[&str]) -> Grid {
    let mut buffer = Buffer::with_lines(lines.iter().copied());
    buffer.set_style(Rect::new(0, 0, 3, 1), Style::new().fg(Color::Indexed(75)).bold());
    Grid::from(&buffer)
}

fn draw(lines: &[&str]) -> String {
    still(&grid(lines), &Scheme::dark(), &Fonts::new(15.0), "a <still> & more")
}

fn texts<'a>(document: &'a Document<'_>) -> Vec<(i32, Option<i32>, &'a str)> {
    let number = |node: Node<'_, '_>, name: &str| node.attribute(name).and_then(|n| n.parse().ok());
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts
        .map(|node| {
            let x = number(node, "x").unwrap();
            (x, number(node, "textLength"), node.text().unwrap_or_default())
        })
        .collect()
}

#[test]
fn text_stands_in_its_columns_and_is_escaped() {
    let svg = draw(&["abc def   <&> x", "│ 写 ⏎ y"]);
    let document = Document::parse(&svg).unwrap();
    assert_eq!(document.root_element().attribute("viewBox"), Some("0 0 153 58"));
    let title = document.descendants().find(|node| node.has_tag_name("title")).unwrap();
    assert_eq!(title.text(), Some("a <still> & more"));
    assert_eq!(
        texts(&document),
        [
            (0, Some(27), "abc"),
            (36, Some(27), "def"),
            (90, Some(45), "<&> x"),
            (18, None, "写"),
            (45, Some(27), "⏎ y"),
        ]
    );
    assert!(!svg.contains("NaN") && !svg.contains("<script"));
}

#[test]
fn boxes_are_outlines_that_join_their_neighbours() {
    let svg = draw(&["───", "█▁░"]);
    let document = Document::parse(&svg).unwrap();
    let data: Vec<_> = document.descendants().filter_map(|node| node.attribute("d")).collect();
    // One rectangle over three cells; then the full block, the eighth, and the shade.
    assert_eq!(data, ["M0 9H27V10H0z", "M0 0H9V20H0zM9 17H18V20H9z", "M18 0H27V20H18z"]);
}

/// What is in a row that is drawn to the pixel, as pixels.
#[test]
fn outlines_cover_the_pixels_that_the_canvas_covers() {
    let lines = ["┌─┬╌┐ ▁▂▃▄▅▆▇█ ▖▗▘▙ ░▒▓ ⣿⡇⠁", "╞═╪━┥ ▏▎▍▌▋▊▉█ ▚▛▜▝ ╔╦╗ ⢀⣀⣤"];
    let fonts = Fonts::new(15.0);
    let grid = Grid::from(&Buffer::with_lines(lines));
    let svg = still(&grid, &Scheme::dark(), &fonts, "");
    let document = Document::parse(&svg).unwrap();
    let canvas = super::super::png::draw(&grid, &Scheme::dark(), &fonts);
    let style = document.descendants().find(|node| node.has_tag_name("style")).unwrap();
    let style = style.text().unwrap();
    let color = |class: &str| {
        let class = class.split(' ').find(|class| class.starts_with('c')).unwrap();
        let rule = format!(".{class}{{fill:#");
        let at = style.find(&rule).unwrap() + rule.len();
        let value = u32::from_str_radix(&style[at..at + 6], 16).unwrap().to_be_bytes();
        [value[1], value[2], value[3]]
    };
    let mut pixels = vec![Scheme::dark().bg; canvas.pixels.len()];
    for node in document.descendants().filter(|node| node.has_tag_name("path")) {
        let top = match node.parent_element().and_then(|parent| parent.attribute("transform")) {
            Some("translate(0,20)") => 20,
            _ => 0,
        };
        for rect in node.attribute("d").unwrap().split_terminator('z') {
            let numbers: Vec<usize> = rect
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect();
            let [x0, y0, x1, y1, x2] = numbers[..] else { panic!("{rect}") };
            assert_eq!(x0, x2);
            for y in y0 + top + 9..y1 + top + 9 {
                pixels[y * canvas.width + x0 + 9..y * canvas.width + x1 + 9]
                    .fill(color(node.attribute("class").unwrap()));
            }
        }
    }
    assert!(pixels == canvas.pixels);
}

#[test]
fn the_font_that_comes_along_has_the_outlines_of_ours() {
    let fonts = Fonts::new(15.0);
    let chars =
        [('B', Face::Regular), ('g', Face::Regular), ('é', Face::Regular), ('⏎', Face::Symbols)];
    let bytes = truetype::font(&fonts, chars.into_iter()).unwrap();
    let made = Sfnt::new(bytes.leak()).unwrap();
    for (c, _) in chars {
        let glyph = made.glyph(c).unwrap();
        let scale = 45.0 / f32::from(made.units);
        let large = Fonts::new(45.0);
        let mut mask = super::super::raster::Mask::new(27, large.cell.height as usize);
        let down = |(x, y): (f32, f32)| (x * scale, large.baseline as f32 - y * scale);
        mask.fill(&made.outline(glyph).unwrap().map(down));
        let ours = large.mask(&c.to_string(), 1, false, false);
        let off = mask.cover.iter().zip(&ours.cover).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(off <= Some(20), "{c}: {off:?}");
    }
    assert_eq!(made.glyph('x'), None);
    assert!(truetype::font(&fonts, [].into_iter()).is_none());
}

fn moving(frames: &[(u64, &[&str])], length: u64) -> String {
    let frames = frames
        .iter()
        .map(|(at, lines)| Frame { at: Duration::from_millis(*at), grid: grid(lines) });
    let film = Film { frames: frames.collect(), length: Duration::from_millis(length) };
    super::film(&film, &Scheme::dark(), &Fonts::new(15.0), "", Duration::from_secs(1))
}

#[test]
fn a_film_moves_only_what_changes() {
    let svg = moving(
        &[
            (0, &["same", "a"]),
            (500, &["same", "b"]),
            (1000, &["same", "c"]),
            (1500, &["same", "a"]),
        ],
        3000,
    );
    let document = Document::parse(&svg).unwrap();
    let shown: Vec<_> = texts(&document).into_iter().map(|text| text.2).collect();
    assert_eq!(shown, ["sam", "e", "a", "b", "c"], "each different row once");
    let style = document.descendants().find(|node| node.has_tag_name("style")).unwrap();
    let style = style.text().unwrap();
    assert!(style.contains(
        "@keyframes r1{0%{transform:translateY(-0px)}12.5%{transform:translateY(-20px)}\
         25%{transform:translateY(-40px)}37.5%{transform:translateY(-0px)}}"
    ));
    assert!(!style.contains("@keyframes r0"));
    assert!(style.contains(
        "@media(prefers-reduced-motion:no-preference){.r{animation:4.000s step-end infinite}}"
    ));
    // Where nothing moves, the last frame is seen.
    let strip =
        document.descendants().find(|node| node.attribute("class") == Some("r r1")).unwrap();
    assert_eq!(strip.attribute("transform"), Some("translate(0,-0)"));
    assert_eq!(
        svg,
        moving(
            &[
                (0, &["same", "a"]),
                (500, &["same", "b"]),
                (1000, &["same", "c"]),
                (1500, &["same", "a"])
            ],
            3000,
        )
    );
}

#[test]
fn base64_is_as_the_standard_has_it() {
    for (bytes, text) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
    {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}
