//! The head: what runs, for how long, how fast, with which latency; and the words of caution.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{big, failures};
use crate::pipeline::knobs::KnobId;
use crate::profile::history::Length;
use crate::profile::snapshot::{Phase, Snapshot};
use crate::tui::app::App;
use crate::tui::format::{
    MISSING, clock, fit_end, megabytes, memory, nanos, percent, rate, thousands,
};
use crate::tui::layout::{Layout, TAB_NAMES};
use crate::tui::screens::Screen;
use crate::tui::theme::Theme;

/// What stands before the first of the latencies.
const LATENCY: &str = "latency ";

/// A figure with its name and unit.
struct Figure {
    name: &'static str,
    value: String,
    unit: &'static str,
    alarm: bool,
}

/// Draws the head.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let area = layout.head;
    if area.height == 0 {
        return;
    }
    first_row(frame, app, theme, layout);
    let rest = Rect { y: area.y + 1, height: area.height - 1, ..area };
    if rest.height >= big::HEIGHT {
        cards(frame, app, theme, rest, layout.machine.is_some());
    } else if rest.height > 0 {
        one_row(frame, app, theme, Rect { height: 1, ..rest });
    }
}

fn first_row(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let row = Rect { height: 1, ..layout.head };
    let end = layout.tabs.first().map_or(row.right(), |(_, rect)| rect.x);
    let mut spans = vec![Span::styled(" pipetop ", theme.accent), Span::raw(" ")];
    let room = usize::from(end - row.x).saturating_sub(11);
    if let Some(snapshot) = app.snapshot() {
        spans.extend(names(snapshot, room, theme));
    }
    frame.render_widget(Line::from(spans), Rect { width: end - row.x, ..row });
    for &(screen, rect) in &layout.tabs {
        let number = layout.tabs.iter().position(|&(s, _)| s == screen).unwrap_or(0) + 1;
        let open = app.screen() == screen;
        let (digit, name) =
            if open { (theme.accent, theme.accent) } else { (theme.text, theme.label) };
        let name = if open {
            Span::styled(screen.name(), name.add_modifier(ratatui::style::Modifier::UNDERLINED))
        } else {
            Span::styled(screen.name(), name)
        };
        let mut line = Line::from(vec![Span::styled(format!(" {number} "), digit)]);
        if open || row.width >= TAB_NAMES {
            line.push_span(name);
        }
        frame.render_widget(line, rect);
    }
    let Some((_, last)) = layout.tabs.last() else { return };
    let state = Rect { x: last.right(), width: row.right() - last.right(), ..row };
    frame.render_widget(run_state(app, theme).right_aligned(), state);
}

/// `photos/ → efficientnet_lite0 · CPU (AVX2)`, the middle first to go.
fn names(snapshot: &Snapshot, room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let run = &snapshot.run;
    let arrow = theme.pick(" → ", " -> ");
    let dot = theme.pick(" · ", " - ");
    if run.engine.classes == 0 || run.engine.model == "none" {
        // No model: the engine itself is all that there is.
        let fixed = arrow.width() + run.engine.name.width();
        let left = room.saturating_sub(fixed);
        if left >= 4 {
            return vec![
                Span::styled(fit_end(&run.input.name, left), theme.text),
                Span::styled(arrow, theme.label),
                Span::styled(run.engine.name.clone(), theme.text),
            ];
        }
        return vec![Span::styled(fit_end(&run.engine.name, room), theme.text)];
    }
    let fixed = arrow.width() + run.engine.model.width();
    let engine = dot.width() + run.engine.name.width();
    let with_engine = fixed + engine + run.input.name.width().min(8) <= room;
    let left = room.saturating_sub(fixed + if with_engine { engine } else { 0 });
    if left < 4 {
        return vec![Span::styled(fit_end(&run.input.name, room), theme.text)];
    }
    let mut spans = vec![
        Span::styled(fit_end(&run.input.name, left), theme.text),
        Span::styled(arrow, theme.label),
        Span::styled(run.engine.model.clone(), theme.text),
    ];
    if with_engine {
        spans.push(Span::styled(format!("{dot}{}", run.engine.name), theme.label));
    }
    spans
}

fn tags(app: &App, snapshot: &Snapshot, theme: &Theme) -> Vec<Span<'static>> {
    let mut words: Vec<_> =
        snapshot.label_words().into_iter().map(|word| specified(word, snapshot)).collect();
    if snapshot.run.bare {
        words.push("no probes".to_owned());
    }
    let tag = |text: String, style| [Span::styled(text, style), Span::raw(" ")];
    let tags = words.iter().flat_map(|word| tag(format!(" {word} "), theme.tag));
    let recording = app.recording().map(|seconds| {
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        tag(format!("{} REC {minutes:02}:{seconds:02}", theme.pick("●", "*")), theme.alarm)
    });
    tags.chain(recording.into_iter().flatten()).collect()
}

/// A word of caution, with what it speaks of where that is what preprocess does in place of the plain thing.
fn specified(word: &str, snapshot: &Snapshot) -> String {
    let of: Vec<_> = snapshot.labels.iter().filter(|label| label.word.word() == word).collect();
    let short = |what: &str| match KnobId::by_name(what) {
        Ok(KnobId::PreprocessWork) => Some("loop"),
        Ok(KnobId::PreprocessGil) => Some("gil"),
        Ok(KnobId::LoadDelay) => Some("delay"),
        _ => None,
    };
    let ours = of.iter().any(|label| matches!(short(&label.what), Some("loop" | "gil")));
    let names: Vec<_> =
        of.iter().map(|label| short(&label.what).unwrap_or(&label.what).to_owned()).collect();
    if ours { format!("{word} {}", names.join("+")) } else { word.to_owned() }
}

fn run_state(app: &App, theme: &Theme) -> Line<'static> {
    if app.paused() {
        return Line::from(vec![
            Span::styled(theme.pick(" ‖ PAUSED ", " PAUSED "), theme.sign),
            Span::raw(" "),
        ]);
    }
    let Some(snapshot) = app.snapshot() else {
        return Line::styled(theme.pick("starting… ", "starting "), theme.label);
    };
    let (sign, style) = match snapshot.phase {
        Phase::Starting => (theme.pick("◌", "o"), theme.label),
        Phase::Running => (theme.pick("▶", ">"), theme.busy),
        Phase::Draining => (theme.pick("▽", "v"), theme.notice),
        Phase::Done => (theme.pick("■", "="), theme.label),
    };
    Line::from(vec![
        Span::styled(sign, style),
        Span::styled(format!(" {} ", clock(snapshot.at)), theme.value),
    ])
}

fn figures(app: &App, snapshot: &Snapshot) -> Vec<Figure> {
    let window = app.window();
    let latency = window.map(|w| w.latency());
    let quantile = |q| nanos(latency.as_ref().and_then(|l| l.quantile(q)));
    let figure = |name, value: String, unit| Figure { name, value, unit, alarm: false };
    let items = &snapshot.items;
    let failed = items.failed;
    let host = percent(window.and_then(|w| w.host_cpu())).trim_start().to_owned();
    let own = window.and_then(|w| w.own_cpu());
    let own = own.map_or_else(|| MISSING.to_owned(), |own| format!("{:.1}%", own * 100.0));
    let of = if snapshot.run.once {
        format!(" of {}", thousands(snapshot.run.input.images))
    } else {
        String::new()
    };
    let images = format!("{}{of}", thousands(items.predicted));
    let mut figures = vec![
        figure("latency p50", quantile(0.5), "ms"),
        figure("p95", quantile(0.95), "ms"),
        figure("p99", quantile(0.99), "ms"),
        figure("read", megabytes(window.and_then(|w| w.bytes_per_second())), "MB/s"),
        Figure { name: "failed", value: thousands(failed), unit: "", alarm: failed > 0 },
        figure("host", host, "CPU"),
        figure("predicted", images, ""),
        figure("own threads", own, "of a core"),
    ];
    if let Some(behind) = snapshot.items.behind.filter(|&behind| behind > 50_000_000) {
        let value = format!("{:.1}", behind as f64 / 1e9);
        figures.insert(3, Figure { name: "behind", value, unit: "s", alarm: true });
    }
    if let Some(rss) = snapshot.own.rss {
        figures.push(figure("process", memory(rss), "memory"));
    }
    figures
}

/// One row: the rate, then as many figures as fit, and the words of caution at the end.
fn one_row(frame: &mut Frame<'_>, app: &App, theme: &Theme, row: Rect) {
    let Some(snapshot) = app.snapshot() else { return };
    let tags_width = words(frame, app, theme, row);
    let throughput = rate(app.window().and_then(|w| w.throughput()));
    let mut spans = vec![
        Span::styled(format!(" {throughput:>7}"), theme.value),
        Span::styled(" img/s", theme.label),
    ];
    // With the word that the first of the latencies gets.
    let mut used = 14 + LATENCY.len();
    let room = usize::from(row.width).saturating_sub(tags_width + 1);
    let mut figures = figures(app, snapshot);
    for figure in &mut figures {
        figure.name = figure.name.strip_prefix(LATENCY).unwrap_or(figure.name);
        // One unit does for the three.
        if ["p50", "p95"].contains(&figure.name) {
            figure.unit = "";
        }
    }
    // Where little fits, failures and the tail of the latency come before the rest.
    figures.sort_by_key(|figure| match figure.name {
        "behind" => 0,
        "failed" if figure.alarm => 1,
        "p99" => 2,
        "p50" => 3,
        "p95" => 4,
        "host" => 5,
        "read" => 6,
        _ => 7,
    });
    let least = |name: &str| if name.starts_with('p') && name.len() == 3 { 4 } else { 3 };
    let width = |f: &Figure| {
        2 + f.name.len()
            + 1
            + f.value.width().max(least(f.name))
            + usize::from(!f.unit.is_empty())
            + f.unit.len()
    };
    let mut shown = Vec::new();
    for figure in figures {
        if used + width(&figure) > room {
            break;
        }
        used += width(&figure);
        shown.push(figure);
    }
    let order = ["p50", "p95", "p99", "behind", "failed"];
    shown.sort_by_key(|figure| order.iter().position(|&name| name == figure.name).unwrap_or(9));
    let mut latency = LATENCY;
    for figure in shown {
        let style = if figure.alarm { theme.alarm } else { theme.value };
        let word = if least(figure.name) == 4 { std::mem::take(&mut latency) } else { "" };
        spans.push(Span::styled(format!("  {word}{} ", figure.name), theme.label));
        spans.push(Span::styled(
            format!("{:>width$}", figure.value, width = least(figure.name)),
            style,
        ));
        if !figure.unit.is_empty() {
            spans.push(Span::styled(format!(" {}", figure.unit), theme.label));
        }
    }
    let width = row.width.saturating_sub(tags_width as u16);
    frame.render_widget(Line::from(spans), Rect { width, ..row });
}

/// The rate in large digits, then figures in columns: name above, value below.
fn cards(frame: &mut Frame<'_>, app: &App, theme: &Theme, area: Rect, machine: bool) {
    let Some(snapshot) = app.snapshot() else { return };
    let text = rate(app.window().and_then(|w| w.throughput()));
    // Room for five digits, so that the columns stand still.
    let wide = 23.max(big::width(&text));
    let number = Rect { x: area.x + 2, width: wide.min(area.width.saturating_sub(2)), ..area };
    let shown = if theme.ascii {
        let row = Rect { y: area.y + 1, height: 1, ..number };
        frame.render_widget(Line::styled(text.as_str(), theme.accent), row);
        text.width() as u16
    } else {
        big::render(frame, &text, theme.accent, number);
        big::width(&text)
    };
    let unit = Rect { x: number.x + shown + 2, y: area.y + 1, width: 6, height: 1 };
    frame.render_widget(Line::styled("img/s", theme.label), unit.intersection(area));
    // The columns stand still, however many digits the rate has.
    let unit = Rect { x: number.right() + 1, ..unit };
    let mut x = unit.right() + 2;
    for figure in figures(app, snapshot) {
        let text = figure.value.width().max(4) + figure.unit.len() + 3;
        let width = 8.max(text.max(figure.name.len() + 2) as u16);
        if x + width > area.right() {
            break;
        }
        let style = if figure.alarm { theme.alarm } else { theme.value };
        let name = Rect { x, y: area.y, width, height: 1 };
        frame.render_widget(Line::styled(figure.name, theme.label), name);
        let value = Line::from(vec![
            Span::styled(figure.value, style),
            Span::styled(format!(" {}", figure.unit), theme.label),
        ]);
        frame.render_widget(value, Rect { y: area.y + 1, ..name });
        x += width;
    }
    let (x, y) = (unit.right() + 2, area.y + 2);
    let taken = words(frame, app, theme, Rect { y, height: 1, ..area }) as u16;
    let row = Rect { x, y, width: area.right().saturating_sub(x + taken), height: 1 };
    if snapshot.items.failed > 0 && !machine && app.screen() == Screen::Overview {
        // Where no panel has room for them.
        failures::render(frame, app, theme, Rect { x: row.x - 1, ..row });
    } else {
        let note = match app.length() {
            Length::SinceChange => "figures since the last knob change".to_owned(),
            _ => format!("figures of the last {}", app.length_name()),
        };
        let end = snapshot.run.duration_s.map(|seconds| (seconds * 1e9) as u64);
        let end = end.map_or_else(String::new, |end| format!(" · the run ends at {}", clock(end)));
        // Half of it says nothing, and the footer names the window too.
        let room = usize::from(row.width);
        let whole = [format!("{note}{end}"), note].into_iter().find(|text| text.width() <= room);
        frame.render_widget(Line::styled(whole.unwrap_or_default(), theme.label), row);
    }
}

/// The words of caution at the right end of a row; returns the cells that they take.
fn words(frame: &mut Frame<'_>, app: &App, theme: &Theme, row: Rect) -> usize {
    let Some(snapshot) = app.snapshot() else { return 0 };
    let tags = tags(app, snapshot, theme);
    let width: usize = tags.iter().map(Span::width).sum();
    let x = row.right().saturating_sub(width as u16).max(row.x);
    frame.render_widget(Line::from(tags), Rect { x, width: row.right() - x, ..row });
    width
}
