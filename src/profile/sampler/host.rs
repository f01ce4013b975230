//! The machine: CPU and memory, through sysinfo.

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::probe::clock::Nanos;
use crate::profile::snapshot::HostSample;

/// The machine is looked at this often; sysinfo itself wants 200 ms between two looks.
const REFRESH: Nanos = 500_000_000;

/// Keeps the machine's figures.
pub(super) struct Host {
    system: Option<System>,
    sample: HostSample,
    start: Nanos,
    at: Nanos,
}

impl Host {
    /// Figures from `start` on; none where the system gives none.
    pub(super) fn new(start: Nanos) -> Self {
        let what = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing().with_usage())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(what).ok();
        // Usage needs two looks: the first one is where its account begins.
        let sample = system.as_ref().map_or_else(HostSample::default, |system| HostSample {
            cpus: system.cpus().len() as u32,
            memory_used: system.used_memory(),
            memory_total: system.total_memory(),
            ..HostSample::default()
        });
        Self { system, sample, start, at: start }
    }

    /// The figures as of `now`; the usage of a span is added when it ends.
    pub(super) fn read(&mut self, now: Nanos) -> Option<HostSample> {
        let system = self.system.as_mut()?;
        let span = now.saturating_sub(self.at);
        if span >= REFRESH {
            system.refresh_cpu_usage();
            system.refresh_memory();
            let cpus = system.cpus().len() as u32;
            let busy = f64::from(system.global_cpu_usage()) / 100.0 * f64::from(cpus);
            self.sample = HostSample {
                at: now.saturating_sub(self.start),
                cpus,
                cpu_busy: self.sample.cpu_busy + (busy * span as f64) as Nanos,
                memory_used: system.used_memory(),
                memory_total: system.total_memory(),
            };
            self.at = now;
        }
        Some(self.sample)
    }
}

/// The CPU's own name.
pub(super) fn cpu_name() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
