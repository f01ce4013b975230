//! What is open, selected, sorted, filtered and folded on the screens with tables.

use std::collections::BTreeSet;

use ratatui::layout::{Position, Rect};

use super::App;
use crate::pipeline::Stage;
use crate::profile::history::Length;
use crate::profile::snapshot::Group;
use crate::profile::window::Window;
use crate::tui::layout::{self, Layout};
use crate::tui::screens::Screen;
use crate::tui::screens::locks::rows::{self as lock_rows, Column as LockColumn, LockRow};
use crate::tui::screens::threads::columns::Column;
use crate::tui::screens::threads::rows::{self, Key, Row, Rows, Subject, groups};
use crate::tui::table::{List, Sort};
use crate::tui::theme::State;
use crate::tui::widgets::{bar, threads};

/// What is folded at first.
const FOLDED: [Group; 2] = [Group::Stage(Stage::Load), Group::Runtime];
/// The longest filter.
const LONGEST_FILTER: usize = 32;

/// The state of the threads' screen.
#[derive(Clone, Debug)]
pub struct ThreadsView {
    sort: Sort<Column>,
    filter: String,
    /// Whether the filter is being typed.
    typing: bool,
    folded: BTreeSet<Group>,
    list: List<Key>,
    /// Whether the selected thread's past is open.
    open: bool,
}

impl Default for ThreadsView {
    fn default() -> Self {
        Self {
            sort: Sort { by: Column::Name, reversed: false },
            filter: String::new(),
            typing: false,
            // There may be hundreds of lanes, and many threads beneath them.
            folded: BTreeSet::from(FOLDED),
            list: List::default(),
            open: false,
        }
    }
}

impl ThreadsView {
    /// By what each group is sorted.
    pub const fn sort(&self) -> Sort<Column> {
        self.sort
    }

    /// What names must contain.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether the filter is being typed.
    pub const fn typing(&self) -> bool {
        self.typing
    }

    /// Whether a group is told in one row.
    pub fn folded(&self, group: Group) -> bool {
        self.folded.contains(&group)
    }

    /// Whether a group of threads is told in one row: then columns need room for ranges.
    pub fn ranges(&self) -> bool {
        self.folded.iter().any(|group| !FOLDED.contains(group))
    }

    /// Whether the selected thread's past is open.
    pub const fn open(&self) -> bool {
        self.open
    }

    fn toggle(&mut self, group: Group) {
        if !self.folded.remove(&group) {
            self.folded.insert(group);
        }
    }

    fn toggle_all(&mut self) {
        let all: BTreeSet<Group> = groups().collect();
        self.folded = if self.folded == all { BTreeSet::new() } else { all };
    }

    pub(super) fn type_filter(&mut self, c: char) {
        if !c.is_control() && self.filter.chars().count() < LONGEST_FILTER {
            self.filter.push(c);
        }
    }

    pub(super) fn start_filter(&mut self) {
        self.typing = true;
    }

    pub(super) fn keep_filter(&mut self) {
        self.typing = false;
    }

    pub(super) fn erase_filter(&mut self) {
        self.filter.pop();
    }

    pub(super) fn clear_filter(&mut self) {
        self.filter.clear();
        self.typing = false;
    }

    pub(super) fn close(&mut self) {
        self.open = false;
    }
}

/// The state of the locks' screen.
#[derive(Clone, Debug)]
pub struct LocksView {
    sort: Sort<LockColumn>,
    list: List<String>,
    /// Whether the histogram is that of the whole run.
    whole: bool,
}

impl Default for LocksView {
    fn default() -> Self {
        Self { sort: Sort::by(LockColumn::Wait), list: List::default(), whole: false }
    }
}

impl LocksView {
    /// By what the locks are sorted.
    pub const fn sort(&self) -> Sort<LockColumn> {
        self.sort
    }

    /// Whether the histogram is that of the whole run.
    pub const fn whole(&self) -> bool {
        self.whole
    }

    pub(super) fn toggle_whole(&mut self) {
        self.whole = !self.whole;
    }
}

impl App {
    /// The states that threads were in over the last half minute, the largest share first.
    pub fn drawn_states(&self) -> Vec<State> {
        let Some(window) = self.history().window(Length::HalfMinute) else { return Vec::new() };
        let ours = window.to().threads.iter().filter(|thread| thread.group != Group::Own);
        let shares = ours.filter_map(|thread| window.thread(thread));
        // One cell a percent.
        threads::drawn(shares.map(|(_, shares)| bar::states(&shares)), 100)
    }

    /// The state of the threads' screen.
    pub const fn threads(&self) -> &ThreadsView {
        &self.threads
    }

    /// The state of the locks' screen.
    pub const fn locks(&self) -> &LocksView {
        &self.locks
    }

    /// The window for what is looked at about once a second: five seconds at the least.
    pub fn longer(&self) -> Option<Window<'_>> {
        let length = self.length();
        self.history().window(if length == Length::Second { Length::FiveSeconds } else { length })
    }

    /// The rows of the threads' table.
    pub fn thread_rows(&self) -> Rows<'_> {
        let windows = self.window().zip(self.longer());
        windows.map_or_else(Rows::default, |(w, longer)| rows::rows(&self.threads, &w, &longer))
    }

    /// The rows of the locks' table.
    pub fn lock_rows(&self) -> Vec<LockRow<'_>> {
        self.window().map_or_else(Vec::new, |w| lock_rows::rows(self.locks.sort, &w))
    }

    /// The selected row of the threads' table and the first one shown, where `page` have room.
    pub fn thread_place(&self, rows: &Rows<'_>, page: usize) -> (usize, usize) {
        let keys = rows.keys();
        (self.threads.list.index(&keys), self.threads.list.first(&keys, page))
    }

    /// The selected row of the locks' table and the first one shown, where `page` have room.
    pub fn lock_place(&self, rows: &[LockRow<'_>], page: usize) -> (usize, usize) {
        let keys = lock_rows::keys(rows);
        (self.locks.list.index(&keys), self.locks.list.first(&keys, page))
    }

    /// The lane or thread whose past is open.
    pub fn opened(&self) -> Option<Subject<'_>> {
        if !self.threads.open {
            return None;
        }
        let rows = self.thread_rows();
        let index = self.threads.list.index(&rows.keys());
        match rows.rows.get(index) {
            Some(Row::Member(member)) => Some(member.subject),
            _ => None,
        }
    }

    /// Moves the selection of the open table.
    pub(super) fn move_by(&mut self, by: isize, page: usize) {
        match self.screen {
            Screen::Overview => {}
            Screen::Threads if self.threads.open => self.open_next(by, page),
            Screen::Threads => {
                let keys = self.thread_rows().keys();
                self.threads.list.step(&keys, by, page);
            }
            Screen::Locks => {
                let keys = lock_rows::keys(&self.lock_rows());
                self.locks.list.step(&keys, by, page);
            }
            Screen::Gpu => {
                let Some(now) = self.gpu() else { return };
                self.select_gpu(now.saturating_add_signed(by), page);
            }
            Screen::Tune => self.move_point(by, page),
        }
    }

    /// Goes on to the next lane or thread in the direction of `by`, if there is one.
    fn open_next(&mut self, by: isize, page: usize) {
        let rows = self.thread_rows();
        let keys = rows.keys();
        let now = self.threads.list.index(&keys);
        let members = rows.rows.iter().enumerate();
        let mut members = members.filter(|(_, row)| matches!(row, Row::Member(_)));
        let next = if by < 0 {
            members.rfind(|&(index, _)| index < now)
        } else {
            members.find(|&(index, _)| index > now)
        };
        if let Some(index) = next.map(|(index, _)| index) {
            self.threads.list.select(&keys, index, page);
        }
    }

    /// Sorts the open table by the next column that is shown.
    pub(super) fn sort_next(&mut self, area: Rect) {
        let layout = layout::layout(area, self);
        if self.screen == Screen::Locks {
            let columns: Vec<_> = layout.lock_columns.iter().map(|placed| placed.column).collect();
            self.locks.sort.cycle(&columns);
        } else {
            let columns = layout.thread_columns.iter().map(|placed| placed.column);
            let columns: Vec<_> = columns.filter(|column| column.sorts()).collect();
            self.threads.sort.cycle(&columns);
        }
    }

    pub(super) fn sort_reverse(&mut self) {
        if self.screen == Screen::Locks {
            self.locks.sort.reversed = !self.locks.sort.reversed;
        } else {
            self.threads.sort.reversed = !self.threads.sort.reversed;
        }
    }

    /// Folds the selected row's group, or all.
    pub(super) fn fold(&mut self, all: bool, page: usize) {
        if all {
            self.threads.toggle_all();
            return;
        }
        let rows = self.thread_rows();
        let keys = rows.keys();
        let Some(group) = rows.rows.get(self.threads.list.index(&keys)).map(Row::group) else {
            return;
        };
        self.threads.toggle(group);
        // The selected thread may be folded away: its group stays selected.
        let keys = self.thread_rows().keys();
        if let Some(index) = keys.iter().position(|key| *key == Key::Group(group)) {
            self.threads.list.select(&keys, index, page);
        }
    }

    /// Opens the selected thread's past, or folds or unfolds the selected group.
    pub(super) fn open(&mut self, page: usize) {
        let rows = self.thread_rows();
        let keys = rows.keys();
        let index = self.threads.list.index(&keys);
        match rows.rows.get(index) {
            Some(Row::Member(_)) => {
                self.threads.list.select(&keys, index, page);
                self.threads.open = true;
            }
            Some(_) => self.fold(false, page),
            None => {}
        }
    }

    /// A click on the open table: its columns' names sort it, a row is selected, and the selected
    /// one opened.
    pub(super) fn press_table(&mut self, at: Position, layout: &Layout) {
        let page = usize::from(layout.rows.height);
        let row = layout.rows.contains(at).then(|| usize::from(at.y - layout.rows.y));
        if self.screen == Screen::Locks {
            let heads = layout.lock_columns.iter();
            if let Some(placed) = heads.copied().find(|placed| placed.head.contains(at)) {
                self.locks.sort.click(placed.column);
            } else if let Some(row) = row {
                let rows = self.lock_rows();
                let (_, first) = self.lock_place(&rows, page);
                let keys = lock_rows::keys(&rows);
                if first + row < keys.len() {
                    self.locks.list.select(&keys, first + row, page);
                }
            }
        } else if self.screen == Screen::Gpu {
            let Some(row) = row else { return };
            let (_, first) = self.gpu_place(page);
            if first + row < self.gpu_keys().len() {
                self.select_gpu(first + row, page);
            }
        } else if self.screen == Screen::Tune {
            let Some(row) = row else { return };
            self.select_point(row, page);
        } else if self.screen == Screen::Threads && !self.threads.open {
            let heads = layout.thread_columns.iter();
            if let Some(placed) = heads.copied().find(|placed| placed.head.contains(at)) {
                if placed.column.sorts() {
                    self.threads.sort.click(placed.column);
                }
            } else if let Some(row) = row {
                let rows = self.thread_rows();
                let (selected, first) = self.thread_place(&rows, page);
                let keys = rows.keys();
                if first + row == selected {
                    self.open(page);
                } else if first + row < keys.len() {
                    self.threads.list.select(&keys, first + row, page);
                }
            }
        }
    }
}
