//! Charts over time: a filled one in steps of an eighth, and one of two braille lines. A gap is
//! blank; a knob change is a vertical line with its label.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::bar::BELOW;
use crate::pipeline::knobs::KnobId;
use crate::profile::snapshot::KnobChange;
use crate::tui::format::fit;
use crate::tui::theme::Theme;

/// Width of the numbers at the left, with the axis.
pub const AXIS: u16 = 8;

/// The least round number (1, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten) not below `value`.
pub fn ceiling(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powi(value.log10().floor() as i32);
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps
        .into_iter()
        .map(|step| step * power)
        .find(|&top| top >= value * 0.999_999)
        .unwrap_or(value)
}

/// The plot beside the axis.
pub fn plot(area: Rect) -> Rect {
    let axis = AXIS.min(area.width);
    Rect { x: area.x + axis, width: area.width - axis, ..area }
}

/// Draws the axis: the top value, half of it where there is room, and zero.
pub fn axis(
    frame: &mut Frame<'_>,
    area: Rect,
    top: f64,
    write: impl Fn(f64) -> String,
    theme: &Theme,
) {
    let width = usize::from(AXIS) - 2;
    let last = area.height.saturating_sub(1);
    for (y, row) in area.rows().enumerate() {
        let y = y as u16;
        let label = match y {
            0 => write(top),
            y if y == last => write(0.0),
            y if last >= 4 && last.is_multiple_of(2) && y == last / 2 => write(top / 2.0),
            _ => String::new(),
        };
        let tick = match (label.is_empty(), theme.ascii) {
            (true, false) => "│",
            (false, false) => "┤",
            (_, true) => "|",
        };
        let buffer = frame.buffer_mut();
        let text = format!("{:>width$} ", fit(&label, width));
        let (x, _) = buffer.set_stringn(row.x, row.y, text, usize::from(row.width), theme.label);
        buffer.set_stringn(x, row.y, tick, usize::from(row.right().saturating_sub(x)), theme.line);
    }
}

/// A filled chart: one value a column, drawn from below; what is not quite nothing shows.
pub fn area(
    frame: &mut Frame<'_>,
    plot: Rect,
    values: &[Option<f64>],
    top: f64,
    style: Style,
    theme: &Theme,
) {
    let buffer = frame.buffer_mut();
    let full = f64::from(plot.height) * 8.0;
    for (x, value) in (plot.x..plot.right()).zip(values) {
        let Some(value) = *value else { continue };
        let eighths = (value / top * full).round().clamp(0.0, full) as u16;
        let eighths = if value > 0.0 { eighths.max(1) } else { eighths };
        for (up, y) in (plot.y..plot.bottom()).rev().enumerate() {
            let filled = eighths.saturating_sub(up as u16 * 8).min(8);
            let glyph = match (filled, theme.ascii) {
                // Zero is drawn as a line on the floor: it is not a gap.
                (0, false) if up == 0 => "▁",
                (0, true) if up == 0 => "_",
                (0, _) => break,
                (n, false) => BELOW[usize::from(n)],
                (n, true) if n <= 4 => ".",
                (_, true) => "#",
            };
            let style = if filled == 0 { theme.line } else { style };
            buffer[(x, y)].set_symbol(glyph).set_style(style);
        }
    }
}

/// Bits of a braille cell by row and column of its dots.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Lines through values, two a column of cells; later lines lie above earlier ones.
pub fn lines(
    frame: &mut Frame<'_>,
    plot: Rect,
    series: &[(&[Option<f64>], Style, &'static str)],
    top: f64,
    theme: &Theme,
) {
    let (width, height) = (usize::from(plot.width), usize::from(plot.height));
    if width == 0 || height == 0 {
        return;
    }
    let mut cells = vec![(0u32, Style::new(), " "); width * height];
    for &(values, style, letter) in series {
        let highest = (height * 4 - 1) as f64;
        let row = |v: f64| ((1.0 - (v / top).clamp(0.0, 1.0)) * highest).round() as usize;
        let mut before: Option<usize> = None;
        for (x, value) in values.iter().take(width * 2).enumerate() {
            let here = value.map(row);
            if let Some(here) = here {
                // A step is joined by a vertical stroke.
                let from = before.unwrap_or(here);
                let stroke = match from.cmp(&here) {
                    std::cmp::Ordering::Less => from + 1..=here,
                    std::cmp::Ordering::Greater => here..=from - 1,
                    std::cmp::Ordering::Equal => here..=here,
                };
                for y in stroke {
                    let cell = &mut cells[y / 4 * width + x / 2];
                    *cell = (cell.0 | DOTS[y % 4][x % 2], style, letter);
                }
            }
            before = here;
        }
    }
    let buffer = frame.buffer_mut();
    for (index, (bits, style, letter)) in cells.into_iter().enumerate() {
        if bits == 0 {
            continue;
        }
        let (x, y) = (plot.x + (index % width) as u16, plot.y + (index / width) as u16);
        let cell = &mut buffer[(x, y)];
        if theme.ascii {
            cell.set_symbol(letter);
        } else {
            cell.set_char(char::from_u32(0x2800 + bits).unwrap_or(' '));
        }
        cell.set_style(style);
    }
}

/// Draws knob changes over a plot: a line where there is room, and the label in the top row, the
/// newest first where they would overlap.
pub fn marks(frame: &mut Frame<'_>, plot: Rect, marks: &[(usize, &KnobChange)], theme: &Theme) {
    let buffer = frame.buffer_mut();
    for &(column, _) in marks {
        let x = plot.x + column as u16;
        if x >= plot.right() {
            continue;
        }
        for y in plot.y..plot.bottom() {
            let cell = &mut buffer[(x, y)];
            if cell.symbol() == " " || y == plot.y {
                cell.set_symbol(theme.pick("┊", ":"));
            }
            cell.set_style(theme.notice);
        }
    }
    if plot.height < 3 {
        return;
    }
    let mut free = plot.right();
    for &(column, change) in marks.iter().rev() {
        let x = plot.x + column as u16;
        if x >= free {
            continue;
        }
        let value = theme.write(&format!("{} → {}", change.from, change.to));
        let label = KnobId::by_name(&change.knob).map_or("", |id| id.spec().label);
        let texts = [format!("{} {value}", change.knob), format!("{label} {value}")];
        // Where neither fits, the line alone tells that something changed.
        let place = texts.iter().find_map(|text| {
            let width = text.width() as u16;
            let right = (x + 1 + width <= free).then_some(x + 1);
            let left = || (x >= plot.x + width).then(|| x - width);
            right.or_else(left).map(|at| (at, text))
        });
        free = x;
        if let Some((at, text)) = place {
            buffer.set_string(at, plot.y, text, Style::reset().patch(theme.notice));
            free = at.min(x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tops_are_round_and_not_below() {
        for (value, top) in [
            (0.0, 1.0),
            (0.7, 0.8),
            (1.0, 1.0),
            (41.0, 50.0),
            (2100.0, 2500.0),
            (12_480.0, 15_000.0),
        ] {
            assert!((ceiling(value) - top).abs() < 1e-9, "{value}: {}", ceiling(value));
        }
        assert!((ceiling(f64::NAN) - 1.0).abs() < 1e-9);
    }

    /// What the top row reads with changes of `preprocess.threads` at some columns.
    fn marked(width: u16, columns: &[usize]) -> String {
        use crate::tui::theme::ColorChoice;
        use ratatui::{Terminal, backend::TestBackend};
        let change = |index: usize| KnobChange {
            at: 0,
            epoch: 0,
            knob: "preprocess.threads".into(),
            from: index.to_string(),
            to: (index + 1).to_string(),
        };
        let changes: Vec<_> = (1..=columns.len()).map(change).collect();
        let marks: Vec<_> = columns.iter().copied().zip(&changes).collect();
        let mut terminal = Terminal::new(TestBackend::new(width, 3)).unwrap();
        let theme = Theme::new(ColorChoice::Never, false);
        let frame = terminal.draw(|frame| super::marks(frame, frame.area(), &marks, &theme));
        let buffer = frame.unwrap().buffer;
        (0..width).map(|x| buffer[(x, 0)].symbol()).collect()
    }

    #[test]
    fn a_change_is_named_as_fully_as_there_is_room() {
        assert_eq!(marked(30, &[2]), "  ┊preprocess.threads 1 → 2   ");
        assert_eq!(marked(30, &[26]), "  preprocess.threads 1 → 2┊   ");
        assert_eq!(marked(30, &[15]), "  ".to_owned() + "             ┊threads 1 → 2 ");
        assert_eq!(marked(12, &[5]), "     ┊      ", "no room: the line alone");
    }

    #[test]
    fn of_many_changes_the_newest_are_named() {
        let shown = marked(60, &[2, 20, 22, 50]);
        assert!(shown.contains("preprocess.threads 4 → 5┊"), "{shown}");
        assert!(shown.contains("threads 3 → 4┊"), "{shown}");
        assert!(!shown.contains("1 → 2") && !shown.contains("2 → 3"), "{shown}");
        assert_eq!(marked(40, &[100]).trim(), "", "outside of the plot");
    }
}
