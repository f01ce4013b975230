//! GPUs in the text report.

use super::format::{clipped, count, ms, percent};
use super::{Text, UNBROKEN, WIDTH, wrapped};
use crate::export::report::{DeviceReport, GpuReport, Report};

impl Text {
    /// The GPUs that the run may use; the JSON report has the others.
    pub(super) fn gpus(&mut self, report: &Report) {
        let usable: Vec<_> = report.gpus.iter().filter(|gpu| gpu.usable != Some(false)).collect();
        if usable.is_empty() && report.device.is_none() {
            return;
        }
        self.heading("GPUs");
        for gpu in usable {
            self.gpu(gpu);
        }
        if let Some(device) = &report.device {
            self.device(device);
        }
    }

    fn gpu(&mut self, gpu: &GpuReport) {
        let share = |name: &str, value| format!("{name} {}", percent(value).trim());
        let mut shares = vec![share("busy", gpu.busy)];
        if gpu.engine {
            shares.push(share("our events", gpu.event_busy));
        }
        match gpu.absent.get(&crate::profile::snapshot::Metric::SmOccupancy) {
            Some(reason) => shares.push(format!("SM occupancy —: {reason}")),
            None => shares.extend([
                share("SM active", gpu.sm_active),
                share("SM occupancy", gpu.sm_occupancy),
                share("tensor", gpu.tensor),
                share("DRAM", gpu.dram),
            ]),
        }
        let name = clipped(&format!("GPU {} {}", gpu.number, gpu.name), WIDTH);
        self.line(format!("{name}{}", if gpu.engine { "  (the engine's)" } else { "" }));
        self.parts(&shares, 2);
        let part = |value: Option<f64>, unit: &str| {
            value.map_or_else(|| format!("— {unit}"), |value| format!("{value:.0} {unit}"))
        };
        let gib = |mib: Option<f64>| {
            mib.map_or_else(|| "—".to_owned(), |mib| format!("{:.1}", mib / 1024.0))
        };
        let mut figures = vec![
            format!("{} of {} GiB", gib(gpu.memory_used_mib), gib(gpu.memory_total_mib)),
            part(gpu.power_w, "W"),
            part(gpu.sm_mhz, "MHz"),
            part(gpu.temperature_c, "°C"),
        ];
        figures.extend(gpu.energy_j_image.map(|joules| format!("{joules:.4} J/image")));
        let held = gpu.throttled.iter().filter(|&(_, &share)| share >= 0.01);
        let held: Vec<_> =
            held.map(|(r, &s)| format!("{} {}", r.words(), percent(Some(s)).trim())).collect();
        if !held.is_empty() {
            figures.push(format!("clocks held by {}", held.join(", ")));
        }
        self.parts(&figures, 2);
        if let Some(lost) = gpu.lost_s {
            self.line(format!("  LOST at {lost:.1} s: it does not answer any more"));
        }
        if !gpu.xids.is_empty() {
            let codes: Vec<_> = gpu.xids.iter().map(u64::to_string).collect();
            let line = format!("  errors reported by the driver: Xid {}", codes.join(", "));
            self.line(clipped(&line, WIDTH));
        }
    }

    fn device(&mut self, device: &DeviceReport) {
        let mut parts = vec![
            format!("the engine's events: busy {}", percent(Some(device.busy)).trim()),
            format!("{} batches", count(device.batches)),
            format!(
                "of each: copy in {}, kernels {}, copy out {} ms",
                ms(device.h2d_ms),
                ms(device.compute_ms),
                ms(device.d2h_ms)
            ),
        ];
        parts.push(match device.gap_ms {
            Some(gap) => format!(
                "{} gaps of {} ms, the longest {} ms",
                count(device.gaps),
                ms(Some(gap)),
                ms(Some(device.gap_max_ms))
            ),
            None => "no gaps".to_owned(),
        });
        let occupancy = device.theoretical_occupancy;
        parts.extend(
            occupancy.map(|share| format!("occupancy in theory {}", percent(Some(share)).trim())),
        );
        self.parts(&parts, 0);
    }

    /// Parts side by side, none of them broken over two lines.
    fn parts(&mut self, parts: &[String], indent: usize) {
        let parts: Vec<_> =
            parts.iter().map(|part| part.replace(' ', &UNBROKEN.to_string())).collect();
        let indent = " ".repeat(indent);
        for line in wrapped(&parts.join("  "), WIDTH - indent.len()) {
            self.line(format!("{indent}{}", line.replace(UNBROKEN, " ")));
        }
    }
}
