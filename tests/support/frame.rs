//! A drawn frame as text that a person can read in a diff: its lines, then its styles.

use std::fmt::Write as _;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use pipetop::tui::app::App;
use pipetop::tui::screens;
use pipetop::tui::theme::Theme;

/// Draws the app on a screen of that size.
pub(crate) fn draw(app: &App, theme: &Theme, (columns, rows): (u16, u16)) -> Buffer {
    let backend = TestBackend::new(columns, rows);
    let mut terminal = Terminal::new(backend).expect("a buffer cannot fail");
    let frame = terminal.draw(|frame| screens::render(frame, app, theme));
    frame.expect("a buffer cannot fail").buffer.clone()
}

/// The text of a frame, a line a row.
pub(crate) fn text(buffer: &Buffer) -> String {
    let Rect { width, .. } = buffer.area;
    let rows = buffer.content.chunks(usize::from(width));
    let line = |row: &[Cell]| row.iter().map(Cell::symbol).collect::<String>();
    rows.map(|row| line(row).trim_end().to_owned() + "\n").collect()
}

/// The text, then for each row its runs of one style: `12 columns:style`, the plain ones left out.
pub(crate) fn styled(buffer: &Buffer) -> String {
    let mut out = text(buffer);
    out.push_str("--- styles\n");
    let Rect { width, .. } = buffer.area;
    for (y, row) in buffer.content.chunks(usize::from(width)).enumerate() {
        let mut runs: Vec<(usize, usize, String)> = Vec::new();
        for (x, cell) in row.iter().enumerate() {
            // How a blank is coloured cannot be seen.
            let blank = cell.symbol() == " " && !cell.modifier.contains(Modifier::REVERSED);
            let style = if blank { String::new() } else { short(cell.style()) };
            match runs.last_mut() {
                Some((_, end, last)) if *end == x && *last == style => *end = x + 1,
                _ => runs.push((x, x + 1, style)),
            }
        }
        let seen: Vec<_> = runs.into_iter().filter(|(.., style)| !style.is_empty()).collect();
        if seen.is_empty() {
            continue;
        }
        let _ = write!(out, "{y:>2}");
        for (from, end, style) in seen {
            let _ = write!(out, " {from}-{}:{style}", end - 1);
        }
        out.push('\n');
    }
    out
}

/// A style in a few letters: the palette's number, then B(old) D(im) R(eversed) U(nderlined).
fn short(style: Style) -> String {
    let mut out = match style.fg {
        None | Some(Color::Reset) => String::new(),
        Some(Color::Indexed(n)) => n.to_string(),
        Some(other) => other.to_string(),
    };
    for (modifier, letter) in [
        (Modifier::BOLD, 'B'),
        (Modifier::DIM, 'D'),
        (Modifier::REVERSED, 'R'),
        (Modifier::UNDERLINED, 'U'),
    ] {
        if style.add_modifier.contains(modifier) {
            out.push(letter);
        }
    }
    out
}
