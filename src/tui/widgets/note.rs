//! What stands where figures would be, when there are none.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::app::App;
use crate::tui::theme::Theme;

/// What a panel says of a run without probes.
pub const BARE: &str = "not measured: the run has no probes";

/// Whether the run that is shown has no probes.
pub fn bare(app: &App) -> bool {
    app.snapshot().is_some_and(|snapshot| snapshot.run.bare)
}

/// Draws a note in the first row of an area.
pub fn render(frame: &mut Frame<'_>, theme: &Theme, area: Rect, text: &str) {
    let row = Rect { height: area.height.min(1), ..area };
    frame.render_widget(Line::styled(format!(" {text}"), theme.label), row);
}
