//! Where everything lies: one pure function of the screen's size and state, shared by drawing and by
//! mouse events.

use ratatui::layout::{Constraint, Layout as Split, Position, Rect};

pub mod gpu;
pub mod tables;
pub mod tune;

use super::app::App;
use super::screens::Screen;
use super::screens::{gpu::table as gpus, locks, threads};
use super::table::Placed;
use crate::pipeline::knobs::KnobId;

/// The least columns and rows on which anything but a message is shown.
pub const LEAST: (u16, u16) = (60, 16);
/// Width of a knob's name, the longest being `preprocess.threads`, with the mark before it.
pub const KNOB_NAME: u16 = 21;
/// Width of a knob's value with its unit.
pub const KNOB_VALUE: u16 = 13;
/// The least width of a column of knobs.
const KNOB_COLUMN: u16 = 39;
/// Stages, with the line that names the columns.
const PIPELINE: u16 = 6;

/// Rows of the threads told by stage: lanes, stages, runtime.
const STAGE_ROWS: u16 = 7;

/// The engine's GPU on the overview: two rows with a border.
const GPU_PANEL: u16 = 4;

/// From this width on all tabs have their names.
pub const TAB_NAMES: u16 = 80;

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Panels have a title line but no border.
    Compact,
    /// Panels have borders.
    Normal,
    /// Three columns, all charts.
    Wide,
}

impl Size {
    /// What an area has room for.
    pub const fn of(area: Rect) -> Self {
        if area.width >= 160 && area.height >= 44 {
            Self::Wide
        } else if area.width >= 100 && area.height >= 29 {
            Self::Normal
        } else {
            Self::Compact
        }
    }

    /// Whether panels have borders.
    pub const fn bordered(self) -> bool {
        !matches!(self, Self::Compact)
    }
}

/// A knob's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnobRow {
    /// Which knob.
    pub id: KnobId,
    /// The whole row.
    pub row: Rect,
    /// Its gauge: a click sets the value at that place.
    pub gauge: Rect,
}

impl KnobRow {
    /// The place of a column on the gauge, 0 to 1: the middle of the cell, but the ends at the ends.
    pub fn position(&self, column: u16) -> f64 {
        let last = f64::from(self.gauge.width.max(2) - 1);
        (f64::from(column.saturating_sub(self.gauge.x)) / last).min(1.0)
    }
}

/// Where everything lies; what has no room or is not on this screen is `None` or empty.
#[derive(Clone, Debug)]
pub struct Layout {
    /// How much room there is.
    pub size: Size,
    /// The head: input, model, rate, latency.
    pub head: Rect,
    /// The tabs in it.
    pub tabs: Vec<(Screen, Rect)>,
    /// The stages.
    pub pipeline: Rect,
    /// What limits, and what to turn.
    pub verdict: Rect,
    /// The knobs' panel.
    pub knob_panel: Rect,
    /// The knobs in it that have room.
    pub knobs: Vec<KnobRow>,
    /// The chart of the throughput.
    pub throughput: Option<Rect>,
    /// The chart of the latency.
    pub latency: Option<Rect>,
    /// The charts of the queues.
    pub queues: Option<Rect>,
    /// The threads' bars.
    pub threads: Option<Rect>,
    /// Machine, own cost, failures.
    pub machine: Option<Rect>,
    /// The engine's GPU on the overview.
    pub gpu_panel: Option<Rect>,
    /// Failures, where the machine's panel has no room.
    pub failures: Option<Rect>,
    /// The panel of the threads', locks' or GPUs' table.
    pub table: Rect,
    /// The rows in it.
    pub rows: Rect,
    /// The columns of the threads' table.
    pub thread_columns: Vec<Placed<threads::columns::Column>>,
    /// The columns of the locks' table.
    pub lock_columns: Vec<Placed<locks::rows::Column>>,
    /// The columns of the GPUs' table.
    pub gpu_columns: Vec<Placed<gpus::Column>>,
    /// The parts of the GPU screen.
    pub gpu: gpu::GpuAreas,
    /// The parts of the tune screen.
    pub tune: tune::TuneAreas,
    /// The selected lock.
    pub detail: Option<Rect>,
    /// The time bar of a replay.
    pub time_bar: Option<Rect>,
    /// The keys.
    pub footer: Rect,
}

impl Layout {
    /// The knob whose row a cell belongs to.
    pub fn knob_at(&self, at: Position) -> Option<KnobRow> {
        self.knobs.iter().copied().find(|knob| knob.row.contains(at))
    }

    /// The tab to which a cell belongs.
    pub fn tab_at(&self, at: Position) -> Option<Screen> {
        self.tabs.iter().find(|(_, rect)| rect.contains(at)).map(|&(screen, _)| screen)
    }
}

/// Lays out the open screen.
pub fn layout(area: Rect, app: &App) -> Layout {
    let size = Size::of(area);
    let bar = u16::from(app.playback().is_some());
    let [head, body, bar, footer] = Split::vertical([
        Constraint::Length(head_height(size)),
        Constraint::Fill(1),
        Constraint::Length(bar),
        Constraint::Length(1),
    ])
    .areas(area);
    let empty = Rect { width: 0, height: 0, ..area };
    let mut layout = Layout {
        size,
        head,
        tabs: tabs(head, app.screen()),
        pipeline: empty,
        verdict: empty,
        knob_panel: empty,
        knobs: Vec::new(),
        throughput: None,
        latency: None,
        queues: None,
        threads: None,
        machine: None,
        gpu_panel: None,
        failures: None,
        table: empty,
        rows: empty,
        thread_columns: Vec::new(),
        lock_columns: Vec::new(),
        gpu_columns: Vec::new(),
        gpu: gpu::GpuAreas::default(),
        tune: tune::TuneAreas::default(),
        detail: None,
        time_bar: (bar.height > 0).then_some(bar),
        footer,
    };
    match app.screen() {
        Screen::Overview => overview(&mut layout, body, app),
        Screen::Threads => tables::threads(&mut layout, body, app),
        Screen::Locks => tables::locks(&mut layout, body, app),
        Screen::Gpu => gpu::gpu(&mut layout, body, app),
        Screen::Tune => tune::tune(&mut layout, body, app),
    }
    layout
}

const fn head_height(size: Size) -> u16 {
    if size.bordered() { 4 } else { 2 }
}

/// Tabs stand at the right end of the head's first row: ` 1 Overview  2 Threads  3 Locks  4 GPU  5 Tune `.
/// Where they have no room, the open one alone has its name: ` 1  2 Threads  3  4  5 `.
fn tabs(head: Rect, open: Screen) -> Vec<(Screen, Rect)> {
    // At their right stands the clock.
    let clock = 12;
    let named = head.width >= TAB_NAMES;
    let width = |screen: &Screen| {
        let name = if named || *screen == open { screen.name().len() as u16 + 1 } else { 0 };
        name + 3
    };
    let total: u16 = Screen::ALL.iter().map(width).sum();
    let Some(mut x) = head.width.checked_sub(total + clock).map(|left| head.x + left) else {
        return Vec::new();
    };
    let mut tabs = Vec::new();
    for screen in Screen::ALL {
        let rect = Rect { x, y: head.y, width: width(&screen), height: head.height.min(1) };
        tabs.push((screen, rect));
        x += rect.width;
    }
    tabs
}

/// ```text
/// compact                          normal                            wide
/// ┌ head ──────────────────────┐   ┌ head ──────────────────────┐    ┌ head ─────────────────────────┐
/// │ pipeline                   │   │ pipeline                   │    │ pipeline                      │
/// │ verdict                    │   │ verdict                    │    │ verdict                       │
/// │ knobs                      │   │ knobs      │ throughput    │    │ knobs   │ throughput │ threads │
/// │ throughput │ threads       │   │ machine    │ threads       │    │ machine │            │         │
/// │ (failures)                 │   │            │               │    │ queues  │ latency    │         │
/// └ footer ────────────────────┘   └ footer ────────────────────┘    └ footer ───────────────────────┘
/// ```
fn overview(layout: &mut Layout, body: Rect, app: &App) {
    let edge = if layout.size.bordered() { 2 } else { 0 };
    let [pipeline, verdict, rest] = Split::vertical([
        Constraint::Length(PIPELINE + edge),
        Constraint::Length(2 + edge),
        Constraint::Fill(1),
    ])
    .areas(body);
    layout.pipeline = pipeline;
    layout.verdict = verdict;
    match layout.size {
        Size::Compact => compact(layout, rest, app),
        Size::Normal => normal(layout, rest, app),
        Size::Wide => wide(layout, rest, app),
    }
    layout.knobs = knob_rows(layout, app);
}

fn compact(layout: &mut Layout, rest: Rect, app: &App) {
    let failed = app.snapshot().is_some_and(|snapshot| snapshot.items.failed > 0);
    let columns = (rest.width / KNOB_COLUMN).clamp(1, 3);
    let rows = app.shown_knobs().len().div_ceil(usize::from(columns)) as u16;
    let [knobs, rest] =
        Split::vertical([Constraint::Length((rows + 1).min(rest.height)), Constraint::Fill(1)])
            .areas(rest);
    layout.knob_panel = knobs;
    let [charts, failures] =
        Split::vertical([Constraint::Fill(1), Constraint::Length(u16::from(failed))]).areas(rest);
    layout.failures = (failed && failures.height > 0).then_some(failures);
    let gpu = u16::from(app.engine_gpu().is_some() && charts.height >= 4);
    let [gpu, charts] =
        Split::vertical([Constraint::Length(gpu), Constraint::Fill(1)]).areas(charts);
    layout.gpu_panel = (gpu.height > 0).then_some(gpu);
    if charts.height >= 3 {
        let [throughput, _, threads] =
            Split::horizontal([Constraint::Fill(1), Constraint::Length(1), Constraint::Fill(1)])
                .areas(charts);
        layout.throughput = Some(throughput);
        layout.threads = Some(threads);
    }
}

fn normal(layout: &mut Layout, rest: Rect, app: &App) {
    let left = (rest.width * 2 / 5).max(48);
    let [left, right] =
        Split::horizontal([Constraint::Length(left), Constraint::Fill(1)]).areas(rest);
    left_column(layout, left, app);
    let gpu = if app.engine_gpu().is_some() && right.height >= 15 { GPU_PANEL } else { 0 };
    let [right, gpu] = Split::vertical([Constraint::Fill(1), Constraint::Length(gpu)]).areas(right);
    layout.gpu_panel = (gpu.height > 0).then_some(gpu);
    if right.height >= 24 {
        let [throughput, latency, threads] =
            Split::vertical([Constraint::Fill(2), Constraint::Fill(2), Constraint::Fill(3)])
                .areas(right);
        layout.throughput = Some(throughput);
        layout.latency = Some(latency);
        layout.threads = Some(threads);
    } else {
        // Every thread if the chart keeps room for four rows, or else the stages.
        let all = app.thread_count() as u16 + 2;
        let threads = if all + 6 <= right.height { all.max(7) } else { STAGE_ROWS + 2 };
        let [throughput, threads] =
            Split::vertical([Constraint::Fill(1), Constraint::Length(threads)]).areas(right);
        layout.throughput = Some(throughput);
        layout.threads = Some(threads);
    }
}

fn wide(layout: &mut Layout, rest: Rect, app: &App) {
    let [left, middle, right] =
        Split::horizontal([Constraint::Length(56), Constraint::Fill(1), Constraint::Fill(1)])
            .areas(rest);
    let failed = app.snapshot().is_some_and(|snapshot| snapshot.items.failed > 0);
    let gpu = if app.engine_gpu().is_some() { GPU_PANEL } else { 0 };
    let [knobs, machine, gpu, queues] = Split::vertical([
        Constraint::Length(app.shown_knobs().len() as u16 + 2),
        Constraint::Length(5 + if failed { 4 } else { 0 }),
        Constraint::Length(gpu),
        Constraint::Fill(1),
    ])
    .areas(left);
    layout.gpu_panel = (gpu.height > 0).then_some(gpu);
    layout.knob_panel = knobs;
    layout.machine = Some(machine);
    layout.queues = Some(queues);
    let [throughput, latency] =
        Split::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(middle);
    layout.throughput = Some(throughput);
    layout.latency = Some(latency);
    layout.threads = Some(right);
}

fn left_column(layout: &mut Layout, left: Rect, app: &App) {
    // Border, the knobs, and the help of the selected one.
    let knobs = app.shown_knobs().len() as u16 + 2;
    let [knobs, machine] =
        Split::vertical([Constraint::Length(knobs.min(left.height)), Constraint::Fill(1)])
            .areas(left);
    layout.knob_panel = knobs;
    layout.machine = (machine.height > 0).then_some(machine);
}

/// The rows of knobs in their panel; where they are too many, the selected one is among those shown.
fn knob_rows(layout: &Layout, app: &App) -> Vec<KnobRow> {
    let panel = layout.knob_panel;
    let inner = if layout.size.bordered() {
        Rect {
            x: panel.x + 1,
            y: panel.y + 1,
            width: panel.width.saturating_sub(2),
            height: panel.height.saturating_sub(2),
        }
    } else {
        Rect { y: panel.y + 1, height: panel.height.saturating_sub(1), ..panel }
    };
    if inner.is_empty() {
        return Vec::new();
    }
    let columns = if layout.size.bordered() { 1 } else { (inner.width / KNOB_COLUMN).clamp(1, 3) };
    let rows = usize::from(inner.height);
    let shown = rows * usize::from(columns);
    let all = app.shown_knobs();
    let selected = all.iter().position(|&id| id == app.selected()).unwrap_or(0);
    // Whole columns scroll in a panel of one; panels of more hold all knobs.
    let first = if shown >= all.len() {
        0
    } else {
        (selected + 1).saturating_sub(shown.div_ceil(2)).min(all.len() - shown)
    };
    let rows = rows.min(all.len().div_ceil(usize::from(columns))).max(1);
    let width = inner.width / columns;
    let visible = all.into_iter().skip(first).take(shown);
    visible
        .enumerate()
        .map(|(index, id)| {
            let row = Rect {
                x: inner.x + (index / rows) as u16 * width,
                y: inner.y + (index % rows) as u16,
                width,
                height: 1,
            };
            let gauge = Rect {
                x: row.x + KNOB_NAME,
                width: row.width.saturating_sub(KNOB_NAME + KNOB_VALUE),
                ..row
            };
            KnobRow { id, row, gauge }
        })
        .collect()
}
