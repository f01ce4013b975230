//! A histogram of lengths of time: bars in bins of equal ratio, over an axis in µs and ms.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use super::chart;
use crate::probe::histogram::Histogram;
use crate::tui::format::short_rate;
use crate::tui::theme::Theme;

/// Bins a power of ten, the most that have room.
const BINS: [usize; 4] = [10, 5, 2, 1];

/// Bins of equal ratio over whole powers of ten.
#[derive(Debug, PartialEq, Eq)]
struct Bins {
    /// The power of ten at the left end, in nanoseconds.
    low: i32,
    /// How many powers of ten.
    decades: i32,
    /// Bins a power of ten.
    each: usize,
    counts: Vec<u64>,
}

impl Bins {
    /// Bins for what was recorded, for a width in cells; `None` where there is nothing.
    fn of(waits: &Histogram, cells: usize) -> Option<Self> {
        let power = |nanos: f64| nanos.max(1.0).log10();
        let shortest = waits.buckets().next()?.0;
        let longest = waits.buckets().last()?.0;
        let low = power(shortest).floor() as i32;
        let decades = (power(longest).floor() as i32 + 1 - low).max(1);
        let fits = |each: &usize| decades as usize * each <= cells;
        let each = BINS.into_iter().find(fits).unwrap_or(1);
        let mut counts = vec![0; decades as usize * each];
        for (nanos, n) in waits.buckets() {
            let bin = ((power(nanos) - f64::from(low)) * each as f64) as usize;
            let last = counts.len() - 1;
            counts[bin.min(last)] += n;
        }
        Some(Self { low, decades, each, counts })
    }
}

/// Draws it; where nothing was recorded, that is said.
pub fn render(
    frame: &mut Frame<'_>,
    area: Rect,
    waits: Option<&Histogram>,
    style: Style,
    theme: &Theme,
) {
    if area.height < 2 {
        return;
    }
    let bars = Rect { height: area.height - 1, ..area };
    let plot = chart::plot(bars);
    let bins = waits.and_then(|waits| Bins::of(waits, usize::from(plot.width)));
    let Some(bins) = bins else {
        let row = Rect { height: 1, ..area };
        frame.render_widget(Line::styled(" nobody waited", theme.label), row);
        return;
    };
    // The same number of cells each, so that no bar looks wider than another.
    let cells = (usize::from(plot.width) / bins.counts.len()).max(1);
    let values: Vec<_> = bins
        .counts
        .iter()
        .flat_map(|&n| std::iter::repeat_n((n > 0).then_some(n as f64), cells))
        .collect();
    let highest = bins.counts.iter().max().copied().unwrap_or(0) as f64;
    let top = if highest < 10.0 { highest } else { chart::ceiling(highest) };
    let write = |v: f64| if v.fract() == 0.0 || v >= 10.0 { short_rate(v) } else { String::new() };
    chart::axis(frame, bars, top, write, theme);
    chart::area(frame, plot, &values, top, style, theme);
    let row = Rect { y: area.bottom() - 1, height: 1, ..area };
    let mut free = row.x;
    for decade in 0..=bins.decades {
        let x = plot.x + (decade as usize * bins.each * cells) as u16;
        let text = format!("{}{}", theme.pick("╵", "'"), power_of_ten(bins.low + decade));
        let width = text.width() as u16;
        if x >= free && x + width <= row.right() {
            frame.render_widget(Line::styled(text, theme.label), Rect { x, width, ..row });
            free = x + width + 1;
        }
    }
}

/// `10 µs` for 4: nanoseconds to that power of ten.
fn power_of_ten(power: i32) -> String {
    let unit = ["ns", "µs", "ms", "s"][(power / 3).clamp(0, 3) as usize];
    let rest = power - (power / 3).clamp(0, 3) * 3;
    format!("{} {unit}", 10u64.pow(rest.max(0) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_falls_into_the_bin_of_its_length() {
        let waits = Histogram::of([1_500, 1_500, 15_000, 900_000]);
        let bins = Bins::of(&waits, 10).unwrap();
        assert_eq!((bins.low, bins.decades, bins.each), (3, 3, 2));
        assert_eq!(bins.counts, [2, 0, 1, 0, 0, 1]);
        assert_eq!(Bins::of(&waits, 60).unwrap().each, 10);
        assert_eq!(Bins::of(&Histogram::default(), 60), None);
        assert_eq!(Bins::of(&Histogram::of([0]), 1).unwrap().counts, [1]);
    }

    #[test]
    fn the_axis_names_powers_of_ten() {
        let names = [0, 2, 3, 5, 6, 8, 9, 12].map(power_of_ten);
        assert_eq!(names, ["1 ns", "100 ns", "1 µs", "100 µs", "1 ms", "100 ms", "1 s", "1000 s"]);
    }
}
