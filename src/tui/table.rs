//! What all tables have in common: the order of the rows, the selected row, and where columns lie.

use std::cmp::Ordering;

use ratatui::layout::Rect;

/// A column as placed on the screen: the cells under its name are as wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<C> {
    /// Which column.
    pub column: C,
    /// Where its name stands.
    pub head: Rect,
}

/// Places columns from left to right in a row, each as wide as asked.
pub fn place<C>(row: Rect, columns: impl IntoIterator<Item = (C, u16)>) -> Vec<Placed<C>> {
    let mut x = row.x;
    let mut placed = Vec::new();
    for (column, width) in columns {
        let width = width.min(row.right().saturating_sub(x));
        placed.push(Placed { column, head: Rect { x, width, ..row } });
        x += width;
    }
    placed
}

/// By what the rows are sorted, largest first unless reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort<C> {
    /// The column.
    pub by: C,
    /// Whether the smallest comes first.
    pub reversed: bool,
}

impl<C: Copy + PartialEq> Sort<C> {
    /// Largest first by a column.
    pub const fn by(column: C) -> Self {
        Self { by: column, reversed: false }
    }

    /// Goes on to the next of these columns.
    pub fn cycle(&mut self, columns: &[C]) {
        let next = columns.iter().position(|&c| c == self.by).map_or(0, |at| at + 1);
        if let Some(&column) = columns.get(next).or_else(|| columns.first()) {
            *self = Self::by(column);
        }
    }

    /// A click on a column's name: sorts by it, or reverses where that is so already.
    pub fn click(&mut self, column: C) {
        *self = Self { by: column, reversed: self.by == column && !self.reversed };
    }

    /// Which of two figures comes first. What is missing comes last, either way.
    pub fn order(&self, a: Option<f64>, b: Option<f64>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if self.reversed => a.total_cmp(&b),
            (Some(a), Some(b)) => b.total_cmp(&a),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
}

/// A list of which one row is selected: by its key, so that it stays selected wherever it moves.
#[derive(Clone, Debug)]
pub struct List<K> {
    selected: Option<K>,
    /// Rows scrolled off the top, before the selected one is brought into view.
    scroll: usize,
}

impl<K> Default for List<K> {
    fn default() -> Self {
        Self { selected: None, scroll: 0 }
    }
}

impl<K: Clone + PartialEq> List<K> {
    /// The selected row's place among `keys`: the first where it is not there.
    pub fn index(&self, keys: &[K]) -> usize {
        let place = |key| keys.iter().position(|k| k == key);
        self.selected.as_ref().and_then(place).unwrap_or(0)
    }

    /// The first row that is shown where `page` rows have room.
    pub fn first(&self, keys: &[K], page: usize) -> usize {
        let index = self.index(keys);
        let least = (index + 1).saturating_sub(page.max(1));
        self.scroll.clamp(least, index).min(keys.len().saturating_sub(page.max(1)).max(least))
    }

    /// Selects a row, the last where there are fewer.
    pub fn select(&mut self, keys: &[K], index: usize, page: usize) {
        self.scroll = self.first(keys, page);
        let Some(key) = keys.get(index.min(keys.len().saturating_sub(1))) else { return };
        self.selected = Some(key.clone());
        self.scroll = self.first(keys, page);
    }

    /// Moves the selection by some rows.
    pub fn step(&mut self, keys: &[K], by: isize, page: usize) {
        self.select(keys, self.index(keys).saturating_add_signed(by), page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_last_either_way() {
        let mut sort = Sort::by(0);
        let mut values = [Some(1.0), None, Some(3.0), Some(2.0)];
        values.sort_by(|&a, &b| sort.order(a, b));
        assert_eq!(values, [Some(3.0), Some(2.0), Some(1.0), None]);
        sort.click(0);
        values.sort_by(|&a, &b| sort.order(a, b));
        assert_eq!(values, [Some(1.0), Some(2.0), Some(3.0), None]);
        sort.click(7);
        assert_eq!(sort, Sort::by(7));
    }

    #[test]
    fn the_order_goes_round_the_columns_that_are_shown() {
        let mut sort = Sort::by(2);
        let seen: Vec<_> = (0..4)
            .map(|_| {
                sort.cycle(&[1, 2, 3]);
                sort.by
            })
            .collect();
        assert_eq!(seen, [3, 1, 2, 3]);
        sort.cycle(&[8, 9]);
        assert_eq!(sort.by, 8, "its column is not shown any more");
    }

    #[test]
    fn the_selected_row_stays_in_view_and_selected() {
        let keys: Vec<u32> = (0..100).collect();
        let mut list = List::default();
        list.step(&keys, 12, 10);
        assert_eq!((list.index(&keys), list.first(&keys, 10)), (12, 3));
        list.step(&keys, -5, 10);
        assert_eq!((list.index(&keys), list.first(&keys, 10)), (7, 3), "it need not scroll");
        list.step(&keys, isize::MAX, 10);
        assert_eq!((list.index(&keys), list.first(&keys, 10)), (99, 90));
        let turned: Vec<u32> = keys.iter().rev().copied().collect();
        assert_eq!((list.index(&turned), list.first(&turned, 10)), (0, 0));
        assert_eq!(list.index(&[1, 2]), 0, "it is gone");
        list.step(&[], 1, 10);
        assert_eq!(list.first(&[], 0), 0);
    }
}
