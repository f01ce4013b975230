//! A thread's past: its states over the last minute, its figures, the locks that it waited for.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::columns::Column;
use super::rows::{Figures, Subject, group_name};
use crate::pipeline::Stage;
use crate::probe::clock::Nanos;
use crate::profile::snapshot::{Group, ThreadSample, Wait};
use crate::tui::app::App;
use crate::tui::format::{clock, fit, length, thousands};
use crate::tui::layout::Layout;
use crate::tui::theme::{State, Theme};
use crate::tui::widgets::{bar, chart, panel, stack, threads};

/// How far back the chart reaches.
const SPAN: Nanos = 60_000_000_000;

/// Draws the past of a lane or a thread over the table's place.
pub fn render(
    frame: &mut Frame<'_>,
    app: &App,
    theme: &Theme,
    layout: &Layout,
    subject: Subject<'_>,
) {
    let (group, since) = match subject {
        Subject::Lane(lane) => (Group::Stage(Stage::Load), lane.since),
        Subject::Thread(thread) => (thread.group, thread.since),
    };
    let title = format!("{} · {}", subject.name(), group_name(group));
    let right = vec![Span::styled(format!("measured since {}", clock(since)), theme.label)];
    let inner = panel::panel(frame, theme, layout.size, layout.table, &title, right);
    let width = usize::from(inner.width);
    let mut lines = vec![now(app, subject, theme, width)];
    lines.extend(figures(app, subject, theme, width));
    if let Subject::Thread(thread) = subject {
        lines.extend(totals(thread, theme, width));
        lines.extend(locks(app, thread, theme, width));
    }
    // The chart keeps four rows, whatever there is to say.
    let most = usize::from(inner.height.saturating_sub(6));
    lines.truncate(most);
    let told = lines.len() as u16;
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
    let below = Rect { y: inner.y + told, height: inner.height - told, ..inner };
    over_time(frame, app, theme, subject, below);
}

/// What it does now.
fn now(app: &App, subject: Subject<'_>, theme: &Theme, width: usize) -> Line<'static> {
    let mut spans = vec![Span::styled(" now       ", theme.label)];
    let (state, lock) = match subject {
        Subject::Lane(lane) => (lane.state, None),
        Subject::Thread(thread) => (thread.state, thread.lock.as_deref()),
    };
    let text = match (state, lock) {
        (Some(Wait::Lock), Some(lock)) => {
            let locks = app.snapshot().map(|snapshot| snapshot.locks.as_slice());
            let holder = locks.unwrap_or_default().iter().find(|sample| sample.name == lock);
            let holder = holder.and_then(|sample| sample.holder.as_deref());
            let holder = holder.map_or_else(String::new, |holder| format!(", held by {holder}"));
            format!("waits for the lock {lock}{holder}")
        }
        (Some(wait), _) => State::Wait(wait).name().to_owned(),
        (None, _) => match subject {
            Subject::Lane(_) => "between two waits".to_owned(),
            Subject::Thread(ThreadSample { waits: None, .. }) => "not known".to_owned(),
            Subject::Thread(_) => "in no declared wait: at work".to_owned(),
        },
    };
    let style = state.map_or(theme.text, |wait| theme.state(State::Wait(wait)));
    spans.push(Span::styled(fit(&text, width.saturating_sub(12)), style));
    Line::from(spans)
}

/// The figures of the window, as many a row as have room.
fn figures(app: &App, subject: Subject<'_>, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let Some((window, longer)) = app.window().zip(app.longer()) else { return Vec::new() };
    let figures = Figures::of(subject, &window, &longer);
    let shown = [
        Column::Cpu,
        Column::Share(State::Wait(Wait::Lock)),
        Column::Share(State::Runnable),
        Column::Share(State::Other),
        Column::Overlap,
        Column::Images,
        Column::Voluntary,
        Column::Involuntary,
        Column::Core,
    ];
    let label = |text: &str| Span::styled(format!(" {text:<10}"), theme.label);
    let mut lines = vec![Line::from(label(&app.length_name()))];
    let mut used = 11;
    for column in shown {
        let value = column.write(figures.get(column));
        let name = if column == Column::Images { "images/s" } else { column.name() };
        let pair = name.width() + 1 + value.width() + 3;
        if used + pair > width && used > 11 {
            lines.push(Line::from(label("")));
            used = 11;
        }
        used += pair;
        let Some(line) = lines.last_mut() else { break };
        line.push_span(Span::styled(format!("{name} "), theme.label));
        line.push_span(Span::styled(format!("{value}   "), theme.value));
    }
    lines
}

/// What it has used since it is measured.
fn totals(thread: &ThreadSample, theme: &Theme, width: usize) -> Option<Line<'static>> {
    let time = |time: Option<Nanos>| length(time.map(|time| time as f64));
    let mut parts = vec![format!("CPU {}", time(thread.cpu))];
    if let Some(waits) = thread.waits {
        parts.push(format!("lock {}", time(Some(waits[Wait::Lock as usize]))));
    }
    if thread.items > 0 {
        parts.push(format!("{} images", thousands(thread.items)));
    }
    if let (Some(voluntary), Some(involuntary)) = (thread.voluntary, thread.involuntary) {
        let (voluntary, involuntary) = (thousands(voluntary), thousands(involuntary));
        parts.push(format!("{voluntary} voluntary, {involuntary} involuntary switches"));
    }
    let text = fit(&parts.join(" · "), width.saturating_sub(12));
    let line = vec![Span::styled(" in all    ", theme.label), Span::styled(text, theme.text)];
    (width > 12).then(|| Line::from(line))
}

/// The locks at which it was seen waiting, of all kept looks: none says more of a lock by name.
fn locks(app: &App, thread: &ThreadSample, theme: &Theme, width: usize) -> Option<Line<'static>> {
    thread.waits?;
    let mut looks = 0;
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for snapshot in app.history().kept() {
        let same = |other: &&ThreadSample| other.tid == thread.tid && other.name == thread.name;
        let Some(then) = snapshot.threads.iter().find(same) else { continue };
        looks += 1;
        let Some(lock) = then.lock.as_deref() else { continue };
        match seen.iter_mut().find(|(name, _)| *name == lock) {
            Some((_, times)) => *times += 1,
            None => seen.push((lock, 1)),
        }
    }
    seen.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let names: Vec<_> = seen.iter().map(|(name, times)| format!("{name} {times}×")).collect();
    let text = if names.is_empty() {
        format!("at no lock in {looks} looks")
    } else {
        format!("at {} in {looks} looks", names.join(", "))
    };
    let line = vec![
        Span::styled(" waiting   ", theme.label),
        Span::styled(fit(&text, width.saturating_sub(12)), theme.text),
    ];
    Some(Line::from(line))
}

/// Its states over the last minute; of a thread that is not registered, its CPU time.
fn over_time(frame: &mut Frame<'_>, app: &App, theme: &Theme, subject: Subject<'_>, area: Rect) {
    if area.height < 3 {
        return;
    }
    let chart_area = Rect { height: area.height - 2, ..area };
    let plot = chart::plot(chart_area);
    let columns = usize::from(plot.width);
    let windows = app.history().column_windows(columns, SPAN);
    let mut drawn = vec![State::Running];
    chart::axis(frame, chart_area, 1.0, |v| format!("{:.0}%", v * 100.0), theme);
    let measured = |thread: &ThreadSample| thread.waits.is_some();
    if let Subject::Thread(thread) = subject
        && !measured(thread)
    {
        let cpu = windows
            .iter()
            .map(|window| window.as_ref()?.thread_cpu(thread_in(window.as_ref()?, thread)?));
        let cpu: Vec<_> = cpu.collect();
        chart::area(frame, plot, &cpu, 1.0, theme.state(State::Running), theme);
    } else {
        let stacks = windows.iter().map(|window| {
            let window = window.as_ref()?;
            match subject {
                Subject::Lane(lane) => {
                    let lane = window.to().lanes.iter().find(|then| then.name == lane.name)?;
                    Some(bar::lane_states(&window.lane(lane)))
                }
                Subject::Thread(thread) => {
                    let (_, shares) = window.thread(thread_in(window, thread)?)?;
                    Some(bar::states(&shares))
                }
            }
        });
        let stacks: Vec<_> = stacks.collect();
        drawn = threads::drawn(stacks.iter().flatten().copied(), plot.height);
        stack::render(frame, plot, &stacks, theme);
    }
    chart::marks(frame, plot, &app.history().marks(columns, SPAN), theme);
    let row = Rect { y: area.bottom() - 2, height: 1, ..plot };
    frame.render_widget(Line::styled("60 s ago", theme.label), row);
    frame.render_widget(Line::styled("30 s ago", theme.label).centered(), row);
    frame.render_widget(Line::styled("now", theme.label).right_aligned(), row);
    let foot = Rect { y: area.bottom() - 1, height: 1, ..area };
    let mut legend = vec![Span::raw(" ")];
    let room = usize::from(foot.width).saturating_sub(2);
    legend.extend(threads::legend(theme, room, &drawn));
    frame.render_widget(Line::from(legend), foot);
}

/// The thread as it was at a window's end.
fn thread_in<'a>(
    window: &crate::profile::window::Window<'a>,
    thread: &ThreadSample,
) -> Option<&'a ThreadSample> {
    let mut threads = window.to().threads.iter();
    threads.find(|then| then.tid == thread.tid && then.name == thread.name)
}
