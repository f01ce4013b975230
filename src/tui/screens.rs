//! The screens, one file each, and what lies over them.

pub mod gpu;
pub mod help;
pub mod locks;
pub mod overview;
pub mod threads;
pub mod tune;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::app::App;
use super::layout::{self, LEAST};
use super::theme::Theme;
use super::widgets;

/// The screens that there are, in the order of their tabs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// How fast, what limits it, what to turn.
    #[default]
    Overview,
    /// Where each thread's time goes.
    Threads,
    /// Which locks are fought for.
    Locks,
    /// How busy the GPU is, and how full.
    Gpu,
    /// How throughput goes with a knob.
    Tune,
}

impl Screen {
    /// All screens, in the order of their tabs.
    pub const ALL: [Self; 5] = [Self::Overview, Self::Threads, Self::Locks, Self::Gpu, Self::Tune];

    /// The name on its tab.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Threads => "Threads",
            Self::Locks => "Locks",
            Self::Gpu => "GPU",
            Self::Tune => "Tune",
        }
    }
}

/// Draws the whole screen.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme) {
    draw(frame, app, theme);
    theme.purify(frame.buffer_mut());
}

fn draw(frame: &mut Frame<'_>, app: &App, theme: &Theme) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(frame, area, theme);
        return;
    }
    let layout = layout::layout(area, app);
    widgets::title::render(frame, app, theme, &layout);
    match app.screen() {
        Screen::Overview => overview::render(frame, app, theme, &layout),
        Screen::Threads => threads::render(frame, app, theme, &layout),
        Screen::Locks => locks::render(frame, app, theme, &layout),
        Screen::Gpu => gpu::render(frame, app, theme, &layout),
        Screen::Tune => tune::render(frame, app, theme, &layout),
    }
    if let (Some(bar), Some(playback)) = (layout.time_bar, app.playback()) {
        widgets::time_bar::render(frame, playback, theme, bar);
    }
    widgets::footer::render(frame, app, theme, layout.footer);
    if app.entry().is_some() {
        widgets::entry::render(frame, app, theme, area);
    }
    if app.help() {
        help::render(frame, app, theme, area);
    }
    if let Some(caption) = app.caption() {
        widgets::caption::render(frame, caption, theme, area);
    }
}

fn too_small(frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let (columns, rows) = LEAST;
    let text = format!("pipetop needs {columns}×{rows}, has {}×{}", area.width, area.height);
    let short = format!("{columns}×{rows}!");
    let text = if text.chars().count() <= usize::from(area.width) { text } else { short };
    let middle = Rect { y: area.y + area.height / 2, height: area.height.min(1), ..area };
    frame.render_widget(Line::styled(text, theme.notice).centered(), middle);
}
