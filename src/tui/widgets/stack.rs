//! States over time: a stack a column, running at the bottom.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::bar::{self, Stack};
use crate::tui::theme::Theme;

/// Draws the stacks, oldest first; a gap is blank.
pub fn render(frame: &mut Frame<'_>, plot: Rect, stacks: &[Option<Stack>], theme: &Theme) {
    let buffer = frame.buffer_mut();
    for (x, stack) in (plot.x..plot.right()).zip(stacks) {
        let Some(stack) = stack else { continue };
        let Some(cells) = bar::shared_out(stack, usize::from(plot.height)) else { continue };
        let states =
            stack.iter().zip(cells).flat_map(|((state, _), n)| std::iter::repeat_n(*state, n));
        for (y, state) in (plot.y..plot.bottom()).rev().zip(states) {
            buffer[(x, y)].set_symbol(theme.glyph(state)).set_style(theme.state(state));
        }
    }
}
