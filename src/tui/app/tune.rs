//! The sweep that is shown, and which of its points is selected.

use std::sync::Arc;

use super::App;
use crate::tui::screens::Screen;
use crate::tui::table::List;
use crate::tune::sweep::Sweep;

/// The state of the tune screen.
#[derive(Clone, Debug, Default)]
pub struct TuneView {
    live: Option<Arc<Sweep>>,
    frozen: Option<Arc<Sweep>>,
    list: List<usize>,
    /// Whether the person chose a point; until then the one that is measured is shown.
    chosen: bool,
}

impl TuneView {
    pub(super) fn freeze(&mut self, yes: bool) {
        self.frozen = self.live.clone().filter(|_| yes);
    }
}

impl App {
    /// The state of the tune screen.
    pub const fn tune(&self) -> &TuneView {
        &self.tune
    }

    /// The sweep that is shown, if one runs.
    pub fn sweep(&self) -> Option<&Sweep> {
        self.tune.frozen.as_ref().or(self.tune.live.as_ref()).map(AsRef::as_ref)
    }

    /// A sweep begins with its own screen.
    pub(super) fn take_sweep(&mut self, sweep: Arc<Sweep>) {
        if self.tune.live.is_none() {
            self.go(Screen::Tune);
        }
        self.tune.live = Some(sweep);
    }

    /// The selected point: the one that was chosen, or else the one that is measured.
    pub fn selected_point(&self) -> usize {
        let Some(sweep) = self.sweep() else { return 0 };
        let now = sweep.now.as_ref().map(|now| now.point).filter(|_| !self.tune.chosen);
        now.unwrap_or_else(|| self.tune.list.index(&keys(sweep)))
    }

    /// The selected row of the points' table and the first one shown, where `page` have room.
    pub fn point_place(&self, page: usize) -> (usize, usize) {
        let Some(sweep) = self.sweep() else { return (0, 0) };
        let (selected, keys) = (self.selected_point(), keys(sweep));
        let mut list = self.tune.list.clone();
        list.select(&keys, selected, page);
        (selected, list.first(&keys, page))
    }

    pub(super) fn move_point(&mut self, by: isize, page: usize) {
        let Some(count) = self.sweep().map(|sweep| sweep.points.len()) else { return };
        let next = self.selected_point().saturating_add_signed(by).min(count.saturating_sub(1));
        self.choose_point(next, page);
    }

    /// Selects the point in a row of the table.
    pub(super) fn select_point(&mut self, row: usize, page: usize) {
        let (_, first) = self.point_place(page);
        if self.sweep().is_some_and(|sweep| first + row < sweep.points.len()) {
            self.choose_point(first + row, page);
        }
    }

    fn choose_point(&mut self, index: usize, page: usize) {
        let Some(keys) = self.sweep().map(keys) else { return };
        self.tune.list.select(&keys, index, page);
        self.tune.chosen = true;
    }
}

fn keys(sweep: &Sweep) -> Vec<usize> {
    (0..sweep.points.len()).collect()
}
