//! The state of a GPU in words and numbers: memory, clocks and what holds them, heat, energy, links,
//! errors. What is missing reads `—`, with the reason.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use crate::profile::snapshot::{GpuSample, Metric, Throttle};
use crate::profile::window::Window;
use crate::profile::window::gpu::GpuUse;
use crate::tui::format::{MISSING, clauses, megabytes, memory, memory_of, percent, thousands};
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;
use crate::tui::widgets::panel;

/// Width of a label.
const LABEL: usize = 8;

/// Draws the panel.
pub(super) fn render(
    frame: &mut Frame<'_>,
    used: &GpuUse<'_>,
    window: &Window<'_>,
    index: usize,
    theme: &Theme,
    layout: &Layout,
) {
    let area = layout.gpu.state;
    if area.is_empty() {
        return;
    }
    let inner = panel::panel(frame, theme, layout.size, area, "state", Vec::new());
    let ours = window.to().engine_gpu() == Some(index);
    let room = usize::from(inner.width).saturating_sub(LABEL + 2);
    for ((label, text), row) in lines(used, ours).into_iter().zip(inner.rows()) {
        let alarm = label == "errors" && !used.sample().xids.is_empty();
        let style = if alarm { theme.alarm } else { theme.text };
        let line = vec![
            Span::styled(format!(" {label:<LABEL$}"), theme.label),
            Span::styled(clauses(&theme.write(&text), room), style),
        ];
        frame.render_widget(Line::from(line), row);
    }
}

/// The lines, the ones that matter most first.
fn lines(used: &GpuUse<'_>, ours: bool) -> Vec<(&'static str, String)> {
    let gpu = used.sample();
    let mut lines = vec![
        ("memory", memory_line(used)),
        ("clocks", clocks(used)),
        ("held by", held(used)),
        ("energy", energy(used, ours)),
        ("heat", heat(used)),
        ("engine", pipes(used)),
        ("PCIe", pcie(used)),
        ("NVLink", link(used, Metric::NvlinkRx, Metric::NvlinkTx)),
        ("errors", errors(gpu)),
    ];
    // An error is not left out where there is little room.
    if !gpu.xids.is_empty() {
        lines.rotate_right(1);
    }
    lines
}

/// A value, or a dash with its reason.
fn or_reason(used: &GpuUse<'_>, metric: Metric, write: impl Fn(f64) -> String) -> String {
    used.mean(metric).map_or_else(|| format!("{MISSING} {}", used.sample().reason(metric)), write)
}

fn memory_line(used: &GpuUse<'_>) -> String {
    let total = used.sample().facts.memory_total;
    let all = or_reason(used, Metric::MemoryUsed, |bytes| match total {
        Some(total) if total > 0 => format!(
            "{} ({})",
            memory_of(bytes as u64, total),
            percent(Some(bytes / total as f64)).trim()
        ),
        _ => memory(bytes as u64),
    });
    match used.mean(Metric::OwnMemory) {
        Some(bytes) => format!("{all}; ours {}", memory(bytes as u64)),
        None => all,
    }
}

fn clocks(used: &GpuUse<'_>) -> String {
    let facts = &used.sample().facts;
    let of = |most: Option<u32>| {
        most.map_or_else(String::new, |most| format!("/{}", thousands(u64::from(most))))
    };
    let mhz = |metric, most| {
        or_reason(used, metric, |mhz| format!("{}{}", thousands(mhz.round() as u64), of(most)))
    };
    format!(
        "SM {}; memory {} MHz",
        mhz(Metric::SmClock, facts.sm_mhz_max),
        mhz(Metric::MemoryClock, facts.memory_mhz_max)
    )
}

fn held(used: &GpuUse<'_>) -> String {
    let shares = Throttle::ALL.into_iter().filter_map(|r| Some((r, used.throttled(r)?)));
    let shares: Vec<_> = shares.collect();
    if shares.is_empty() {
        let lost = used.sample().lost.is_some();
        return format!("{MISSING} {}", if lost { "the GPU was lost" } else { "not told" });
    }
    let held: Vec<_> = shares
        .into_iter()
        .filter(|&(_, share)| share >= 0.005)
        .map(|(reason, share)| format!("{} {}", reason.words(), percent(Some(share)).trim()))
        .collect();
    if held.is_empty() { "nothing".to_owned() } else { held.join(", ") }
}

fn energy(used: &GpuUse<'_>, ours: bool) -> String {
    let limit = used.mean(Metric::PowerLimit);
    let limit = limit.map_or_else(String::new, |watts| format!(" of {watts:.0}"));
    let power = or_reason(used, Metric::Power, |watts| format!("{watts:.0}{limit} W"));
    match used.joules_per_image().filter(|_| ours) {
        Some(joules) => format!("{power}; {joules:.3} J an image"),
        None => power,
    }
}

fn heat(used: &GpuUse<'_>) -> String {
    format!(
        "{}; fan {}",
        or_reason(used, Metric::Temperature, |celsius| format!("{celsius:.0} °C")),
        or_reason(used, Metric::Fan, |share| percent(Some(share)).trim().to_owned())
    )
}

fn pipes(used: &GpuUse<'_>) -> String {
    let share = |metric| percent(used.mean(metric)).trim().to_owned();
    let graphics = or_reason(used, Metric::Graphics, |s| percent(Some(s)).trim().to_owned());
    if used.mean(Metric::Graphics).is_none() {
        return graphics;
    }
    format!(
        "{graphics} active; FP16 {}, FP32 {}, INT {}",
        share(Metric::Fp16),
        share(Metric::Fp32),
        share(Metric::Int)
    )
}

fn pcie(used: &GpuUse<'_>) -> String {
    let number =
        |metric| used.mean(metric).map_or_else(|| MISSING.to_owned(), |n| format!("{n:.0}"));
    format!(
        "{}; gen {} ×{}",
        link(used, Metric::PcieRx, Metric::PcieTx),
        number(Metric::PcieGeneration),
        number(Metric::PcieWidth)
    )
}

fn link(used: &GpuUse<'_>, to: Metric, from: Metric) -> String {
    match (used.mean(to), used.mean(from)) {
        (None, None) => format!("{MISSING} {}", used.sample().reason(to)),
        (to, from) => format!("{} MB/s in, {} out", megabytes(to), megabytes(from)),
    }
}

fn errors(gpu: &GpuSample) -> String {
    let count = |n: Option<u64>| n.map_or_else(|| MISSING.to_owned(), thousands);
    let ecc = gpu.ecc.map_or_else(
        || format!("ECC {MISSING} not told"),
        |ecc| format!("ECC {} lasting, {} put right", count(ecc.uncorrected), count(ecc.corrected)),
    );
    match gpu.xids.last() {
        None => format!("{ecc}; no Xid"),
        Some(xid) => {
            let times = if gpu.xids_seen > 1 {
                format!(" (of {})", thousands(gpu.xids_seen))
            } else {
                String::new()
            };
            format!("Xid {}{times}: {}; {ecc}", xid.code, xid.meaning())
        }
    }
}
