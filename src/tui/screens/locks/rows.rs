//! The rows and columns of the locks' table.

use crate::profile::snapshot::LockSample;
use crate::profile::window::{LockUse, Window};
use crate::tui::format::{MISSING, length, percent, rate};
use crate::tui::table::Sort;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The lock's name.
    Name,
    /// Acquisitions a second.
    Acquired,
    /// Share of them that had to wait.
    Contended,
    /// Time waited a second, by all threads together.
    Wait,
    /// The same as a share of one thread's time.
    WaitShare,
    /// The longest wait of the run.
    Longest,
    /// Who holds it now.
    Holder,
    /// How many wait now.
    Waiters,
    /// Share of the time in which it is held.
    Held,
    /// Mean time held a go.
    Hold,
}

/// Beside the name, as far as they fit.
const FIGURES: [(Column, u16); 9] = [
    (Column::Acquired, 9),
    (Column::Contended, 10),
    (Column::Wait, 9),
    (Column::Waiters, 9),
    (Column::WaitShare, 8),
    (Column::Longest, 9),
    (Column::Holder, 12),
    (Column::Held, 8),
    (Column::Hold, 10),
];

/// Width of the names.
const NAME: u16 = 18;
/// The widest gap that is added to a column where there is room.
const MOST_GAP: u16 = 6;

/// The columns that have room in `width`, with their widths.
pub fn columns(width: u16) -> Vec<(Column, u16)> {
    let mut left = width.saturating_sub(NAME + 1);
    let mut columns = vec![(Column::Name, NAME)];
    for (column, width) in FIGURES {
        let Some(rest) = left.checked_sub(width) else { break };
        columns.push((column, width));
        left = rest;
    }
    // What is left over sets the columns apart.
    let gap = (left / columns.len() as u16).min(MOST_GAP);
    columns.into_iter().map(|(column, width)| (column, width + gap)).collect()
}

impl Column {
    /// What stands above it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Name => "lock",
            Self::Acquired => "acq/s",
            Self::Contended => "contended",
            Self::Wait => "wait/s",
            Self::WaitShare => "wait %",
            Self::Longest => "longest",
            Self::Holder => "held by",
            Self::Waiters => "waiters",
            Self::Held => "held",
            Self::Hold => "hold",
        }
    }

    /// Whether its text begins at the left.
    pub const fn left(self) -> bool {
        matches!(self, Self::Name)
    }
}

/// A lock with what a window tells of it.
#[derive(Clone, Debug)]
pub struct LockRow<'a> {
    /// Its counters.
    pub lock: &'a LockSample,
    /// Its use in the window.
    pub used: Option<LockUse>,
}

impl LockRow<'_> {
    /// The figure in a column, by which rows are sorted.
    pub fn get(&self, column: Column) -> Option<f64> {
        let used = self.used.as_ref();
        match column {
            Column::Name => None,
            Column::Acquired => used.map(|used| used.acquisitions),
            Column::Contended => used.and_then(|used| used.contended),
            Column::Wait | Column::WaitShare => used.map(|used| used.wait),
            Column::Longest => Some(self.lock.wait_max as f64).filter(|_| self.ever_contended()),
            Column::Holder => self.lock.holder.as_ref().map(|_| 1.0),
            Column::Waiters => Some(f64::from(self.lock.waiters)),
            Column::Held => used.and_then(|used| used.hold),
            Column::Hold => used.and_then(|used| used.hold_mean),
        }
    }

    /// What its cell in a column reads.
    pub fn write(&self, column: Column) -> String {
        let value = self.get(column);
        match column {
            Column::Name => self.lock.title(),
            Column::Holder => self.lock.holder.clone().unwrap_or_else(|| MISSING.to_owned()),
            Column::Acquired => rate(value),
            Column::Contended | Column::WaitShare => percent(value).trim_start().to_owned(),
            Column::Held => self.estimated(value, percent(value).trim_start()),
            Column::Wait => length(value.map(|share| share * 1e9)),
            Column::Longest => length(value),
            Column::Hold => self.estimated(value, &length(value)),
            Column::Waiters => self.lock.waiters.to_string(),
        }
    }

    /// Marks what is an estimate.
    fn estimated(&self, value: Option<f64>, text: &str) -> String {
        let mark = if value.is_some() && !self.lock.hold_exact { "~" } else { "" };
        format!("{mark}{text}")
    }

    /// Whether anybody ever waited for it.
    pub const fn ever_contended(&self) -> bool {
        self.lock.contended > 0 || self.lock.waiters > 0
    }
}

/// The rows in their order; equal ones in the order in which the locks were made.
pub fn rows<'a>(sort: Sort<Column>, window: &Window<'a>) -> Vec<LockRow<'a>> {
    let locks = window.to().locks.iter();
    let mut rows: Vec<_> = locks.map(|lock| LockRow { lock, used: window.lock(lock) }).collect();
    if sort.by == Column::Name {
        rows.sort_by(|a, b| a.lock.name.cmp(&b.lock.name));
        if sort.reversed {
            rows.reverse();
        }
    } else {
        rows.sort_by(|a, b| sort.order(a.get(sort.by), b.get(sort.by)));
    }
    rows
}

/// The rows' keys: the locks' names.
pub fn keys(rows: &[LockRow<'_>]) -> Vec<String> {
    rows.iter().map(|row| row.lock.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_fit_and_the_most_telling_come_first() {
        for width in 20..250 {
            let total: u16 = columns(width).iter().map(|(_, width)| width).sum();
            assert!(total <= width, "{total} of {width}");
        }
        let names =
            |width| columns(width).iter().map(|(column, _)| column.name()).collect::<Vec<_>>();
        assert_eq!(names(60), ["lock", "acq/s", "contended", "wait/s", "waiters"]);
        assert_eq!(names(118).len(), 10);
    }
}
