//! The columns of the threads' table, as data.

use crate::profile::snapshot::Wait;
use crate::tui::format::{MISSING, compact, percent, rate};
use crate::tui::theme::State;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The thread's name.
    Name,
    /// The stacked bar.
    States,
    /// CPU time.
    Cpu,
    /// One state's share.
    Share(State),
    /// Images a second.
    Images,
    /// Voluntary switches a second.
    Voluntary,
    /// Involuntary switches a second.
    Involuntary,
    /// The core it ran on last.
    Core,
    /// By how much its declared waits exceeded the blocked time.
    Overlap,
    /// The lock that it waits for now.
    LockName,
}

/// Width of the names.
const NAME: u16 = 18;
/// The least width of the bars, and of those where there is room for more.
const LEAST_BAR: (u16, u16, u16) = (11, 12, 18);
/// From this width of a column on a range is written in it.
const RANGE: usize = 13;

/// Beside the bar, as far as they fit: name, width, and the width in which least, median and
/// largest of several have room.
const FIGURES: [(Column, u16, u16); 13] = [
    (Column::Cpu, 5, 13),
    (Column::Share(State::Wait(Wait::Lock)), 6, 13),
    (Column::Share(State::Runnable), 10, 13),
    (Column::Images, 7, 16),
    (Column::Voluntary, 7, 16),
    (Column::Involuntary, 7, 16),
    (Column::Core, 6, 6),
    (Column::Share(State::Other), 7, 13),
    (Column::Overlap, 9, 13),
    (Column::LockName, 17, 17),
    (Column::Share(State::Wait(Wait::Starved)), 9, 13),
    (Column::Share(State::Wait(Wait::Backpressured)), 9, 13),
    (Column::Share(State::Wait(Wait::Gpu)), 6, 13),
];

/// The columns that have room in `width`, with their widths; `ranges` where stages are folded. Shares
/// of states in `drawn` (the largest first) have room before switches and cores, all others after.
pub fn columns(width: u16, ranges: bool, drawn: &[State]) -> Vec<(Column, u16)> {
    let bar = match width {
        ..70 => LEAST_BAR.0,
        70..100 => LEAST_BAR.1,
        _ => LEAST_BAR.2,
    };
    let mut left = width.saturating_sub(NAME + bar + 1);
    let mut figures = Vec::new();
    let place = |column: Column| FIGURES.iter().position(|&(c, ..)| c == column).unwrap_or(0);
    let mut order = FIGURES;
    order.sort_by_key(|&(column, ..)| match column {
        Column::Cpu | Column::Images => (0, place(column)),
        Column::Share(state) => match drawn.iter().position(|&s| s == state) {
            Some(at) => (1, at),
            None => (3, place(column)),
        },
        Column::LockName if !drawn.contains(&State::Wait(Wait::Lock)) => (3, place(column)),
        // Which lock is worth more than switches, where it does not fill the row.
        Column::LockName if width >= 100 => (1, place(column)),
        _ => (2, place(column)),
    });
    for (column, plain, wide) in order {
        let Some(rest) = left.checked_sub(if ranges { wide } else { plain }) else { continue };
        figures.push((column, if ranges { wide } else { plain }));
        left = rest;
    }
    figures.sort_by_key(|&(column, _)| place(column));
    let mut columns = vec![(Column::Name, NAME), (Column::States, bar + left)];
    columns.append(&mut figures);
    columns
}

impl Column {
    /// What stands above it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Name => "thread",
            Self::States => "time spent",
            Self::Cpu => "CPU",
            Self::Share(State::Wait(Wait::Backpressured)) => "backpr.",
            Self::Share(State::Wait(Wait::Gpu)) => "GPU",
            Self::Share(state) => state.name(),
            Self::Images => "img/s",
            Self::Voluntary => "vol/s",
            Self::Involuntary => "inv/s",
            Self::Core => "core",
            Self::Overlap => "overlap",
            Self::LockName => "waits for lock",
        }
    }

    /// Whether rows can be sorted by it.
    pub const fn sorts(self) -> bool {
        !matches!(self, Self::States | Self::LockName)
    }

    /// Whether its text begins at the left.
    pub const fn left(self) -> bool {
        matches!(self, Self::Name | Self::States | Self::LockName)
    }

    /// A figure as written in it.
    pub fn write(self, value: Option<f64>) -> String {
        let Some(v) = value else { return MISSING.to_owned() };
        match self {
            Self::Images | Self::Voluntary | Self::Involuntary => rate(Some(v)),
            Self::Core => format!("{v}"),
            _ => percent(Some(v)).trim_start().to_owned(),
        }
    }

    /// Least, median and largest of several figures: `3/41/97%`, where `room` is enough; otherwise
    /// the median alone.
    pub fn write_range(self, mut values: Vec<f64>, room: usize) -> String {
        values.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
            return MISSING.to_owned();
        };
        let half = values.len() / 2;
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(values[half - 1], values[half])
        } else {
            values[half]
        };
        let all = [least, median, most];
        let text = match self {
            // A core in the middle of others says nothing.
            Self::Core => return String::new(),
            Self::Images | Self::Voluntary | Self::Involuntary => all.map(compact).join("/"),
            _ => all.map(|v| format!("{:.0}", (v * 100.0).round())).join("/") + "%",
        };
        if room >= RANGE && text.len() < room { text } else { self.write(Some(median)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_fill_the_width_and_the_most_telling_come_first() {
        for width in 0..250 {
            for ranges in [false, true] {
                let columns = columns(width, ranges, &[]);
                let total: u16 = columns.iter().map(|(_, width)| width).sum();
                assert!(total < width.max(32), "{total} of {width}");
            }
        }
        let names = |width| {
            let drawn = [State::Wait(Wait::Starved), State::Runnable];
            columns(width, false, &drawn).iter().map(|(c, _)| c.name()).collect::<Vec<_>>()
        };
        assert_eq!(names(60)[2..], ["CPU", "img/s", "vol/s", "starved"]);
        assert_eq!(names(80)[2..5], ["CPU", "runnable", "img/s"]);
        assert!(names(118).contains(&"overlap") && names(118).contains(&"lock"));
    }

    #[test]
    fn a_range_names_least_median_and_largest() {
        let cpu = Column::Cpu;
        assert_eq!(cpu.write_range(vec![0.5, 0.1, 0.9], 13), "10/50/90%");
        assert_eq!(cpu.write_range(vec![0.1, 0.2, 0.4, 0.9], 13), "10/30/90%");
        assert_eq!(cpu.write_range(vec![0.1, 0.5, 0.9], 5), "50%");
        assert_eq!(cpu.write_range(Vec::new(), 13), "—");
        assert_eq!(Column::Images.write_range(vec![12_480.0, 400.0, 9.0], 16), "9.0/400/12.5k");
    }
}
