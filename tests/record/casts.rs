//! A cast, fed to a terminal emulator, shows what was drawn: symbols, colours, attributes, cell by cell.

use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use pipetop::record::cast::Header;
use pipetop::record::tape::Tape;
use pipetop::tui::ColorChoice;
use pipetop::tui::app::App;
use pipetop::tui::event::Event;
use pipetop::tui::theme::Theme;
use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;
use vt100::Parser;

use crate::frame::draw;
use crate::scenario;

/// A file in memory that can be read while it is written.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    /// The lines that were added since the last call.
    fn take(&self) -> Vec<Value> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap());
        let text = String::from_utf8(bytes).expect("each event is whole");
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn cells(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

/// Plays events of version 3 on an emulator.
fn play(emulator: &mut Parser, events: &[Value]) {
    for event in events {
        let data = event[2].as_str().unwrap();
        match event[1].as_str().unwrap() {
            "o" => emulator.process(data.as_bytes()),
            "r" => {
                let (columns, rows) = data.split_once('x').unwrap();
                let (columns, rows) = (columns.parse().unwrap(), rows.parse().unwrap());
                emulator.screen_mut().set_size(cells(rows), cells(columns));
            }
            "m" | "x" => {}
            code => panic!("{code} is no event of ours"),
        }
    }
}

fn colour(colour: Color) -> vt100::Color {
    match colour {
        Color::Reset => vt100::Color::Default,
        Color::Indexed(n) => vt100::Color::Idx(n),
        Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
        named => {
            let all = [
                Color::Black,
                Color::Red,
                Color::Green,
                Color::Yellow,
                Color::Blue,
                Color::Magenta,
                Color::Cyan,
                Color::Gray,
                Color::DarkGray,
                Color::LightRed,
                Color::LightGreen,
                Color::LightYellow,
                Color::LightBlue,
                Color::LightMagenta,
                Color::LightCyan,
                Color::White,
            ];
            vt100::Color::Idx(all.iter().position(|&c| c == named).unwrap() as u8)
        }
    }
}

#[track_caller]
fn same(emulator: &Parser, frame: &Buffer, what: &str) {
    let screen = emulator.screen();
    let (rows, columns) = screen.size();
    assert_eq!((columns.get(), rows.get()), (frame.area.width, frame.area.height), "{what}");
    let mut covered = 0;
    for y in 0..frame.area.height {
        for x in 0..frame.area.width {
            // The second half of a wide character is no cell of its own.
            if covered > 0 {
                covered -= 1;
                continue;
            }
            let (cell, seen): (&Cell, _) = (&frame[(x, y)], screen.cell(y, x).unwrap());
            covered = cell.symbol().width().max(1) - 1;
            let symbol = if seen.contents().is_empty() { " " } else { seen.contents() };
            assert_eq!(symbol, cell.symbol(), "{what} at {x},{y}");
            let has = |modifier| cell.modifier.contains(modifier);
            assert_eq!(seen.fgcolor(), colour(cell.fg), "{what} at {x},{y}");
            assert_eq!(seen.bgcolor(), colour(cell.bg), "{what} at {x},{y}");
            let attributes =
                (seen.bold(), seen.dim(), seen.italic(), seen.underline(), seen.inverse());
            let wanted = (
                // This emulator knows of one intensity at a time, the latest.
                has(Modifier::BOLD) && !has(Modifier::DIM),
                has(Modifier::DIM),
                has(Modifier::ITALIC),
                has(Modifier::UNDERLINED),
                has(Modifier::REVERSED),
            );
            assert_eq!(attributes, wanted, "{what} at {x},{y}");
        }
    }
}

/// Every screen, the help, a field and a caption over a run that goes on.
fn visit(size: (u16, u16), theme: &Theme, mut seen: impl FnMut(usize, &Buffer)) {
    let snapshots = scenario::gpus::on_gpu(scenario::gpus::Kind::Two);
    let mut app = App::default();
    let area = Rect::new(0, 0, size.0, size.1);
    let keys = "2f1?\u{1b}3a4p1p";
    let mut keys = keys.chars().cycle();
    for (index, snapshot) in snapshots.iter().enumerate() {
        app.handle(Event::Snapshot(Arc::clone(snapshot)), area);
        if index % 9 == 3 {
            let code = match keys.next().unwrap() {
                '\u{1b}' => KeyCode::Esc,
                c => KeyCode::Char(c),
            };
            app.handle(Event::Key(KeyEvent::from(code)), area);
            app.set_caption(
                (index % 2 == 0).then(|| "写真: a caption → of some length".to_owned()),
            );
            app.set_recording(Some(index as u64));
        }
        if index % 3 == 0 {
            seen(index, &draw(&app, theme, size));
        }
    }
}

#[test]
fn an_emulator_shows_what_was_drawn_at_every_size() {
    for size in [(80, 24), (100, 30), (120, 36), (200, 60)] {
        for color in [ColorChoice::Indexed, ColorChoice::Ansi, ColorChoice::Never] {
            let theme = Theme::new(color, false);
            let out = Shared::default();
            let header = Header::new(3, size.0, size.1);
            let mut tape = Tape::begin(Box::new(out.clone()), &header, 0).unwrap();
            let mut emulator = Parser::new(cells(size.1), cells(size.0), 0);
            out.take();
            visit(size, &theme, |index, frame| {
                tape.frame(index as u64 * 100_000_000, frame).unwrap();
                let events = out.take();
                assert!(events.len() <= 1, "one event a frame");
                play(&mut emulator, &events);
                same(&emulator, frame, &format!("{color:?} {size:?} frame {index}"));
                assert!(emulator.screen().hide_cursor());
            });
        }
    }
}

/// Whatever was on the terminal before, and when the recording begins in the middle.
#[test]
fn the_first_frame_is_a_whole_one() {
    let theme = Theme::new(ColorChoice::Indexed, false);
    let size = (100, 30);
    let mut frames = Vec::new();
    visit(size, &theme, |_, frame| frames.push(frame.clone()));
    let out = Shared::default();
    let mut tape = Tape::begin(Box::new(out.clone()), &Header::new(3, 100, 30), 0).unwrap();
    out.take();
    let mut emulator = Parser::new(cells(30), cells(100), 0);
    emulator.process("\u{1b}[1;31mdirt ".repeat(700).as_bytes());
    tape.frame(0, &frames[20]).unwrap();
    play(&mut emulator, &out.take());
    same(&emulator, &frames[20], "the first frame");
}

#[test]
fn a_new_size_is_told_and_drawn_whole() {
    let theme = Theme::new(ColorChoice::Indexed, false);
    let out = Shared::default();
    let mut tape = Tape::begin(Box::new(out.clone()), &Header::new(3, 120, 36), 0).unwrap();
    out.take();
    let mut emulator = Parser::new(cells(36), cells(120), 0);
    let mut at = 0;
    for size in [(120, 36), (80, 24), (200, 60), (50, 10), (120, 36)] {
        visit(size, &theme, |index, frame| {
            if index < 90 {
                at += 50_000_000;
                tape.frame(at, frame).unwrap();
                play(&mut emulator, &out.take());
                same(&emulator, frame, &format!("{size:?} frame {index}"));
            }
        });
    }
}

#[test]
fn a_frame_like_the_last_is_no_event() {
    let theme = Theme::new(ColorChoice::Indexed, false);
    let out = Shared::default();
    let mut tape = Tape::begin(Box::new(out.clone()), &Header::new(3, 80, 24), 0).unwrap();
    let frame = draw(&App::default(), &theme, (80, 24));
    tape.frame(0, &frame).unwrap();
    out.take();
    tape.frame(1_000_000_000, &frame).unwrap();
    assert_eq!(out.take(), [Value::Null; 0]);
    tape.end(2_000_000_000).unwrap();
    let events = out.take();
    assert_eq!(events.last().unwrap()[1], "x");
    let seconds: f64 = events.iter().map(|event| event[0].as_f64().unwrap()).sum();
    assert!((seconds - 2.0).abs() < 1e-9, "{seconds}");
}
