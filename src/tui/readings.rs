//! What a GPU's figures say together, as a table of named readings: the first that applies is told.
//!
//! Occupancy alone is never called a fault: a matrix multiplication at the power limit fills 14 % of the
//! warps. It counts where SMs are empty too, and neither tensor cores nor memory are at work.

use crate::profile::snapshot::{Metric, Throttle};
use crate::profile::window::Window;
use crate::profile::window::gpu::DeviceUse;
use crate::tui::format::{clock, length, percent};

/// What readings look at; shares are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// When it was lost, as a clock, and why.
    pub lost: Option<(String, String)>,
    /// NVML's busy.
    pub busy: Option<f64>,
    /// GPM's graphics engine.
    pub graphics: Option<f64>,
    /// GPM's SM active.
    pub sm_active: Option<f64>,
    /// GPM's SM occupancy.
    pub occupancy: Option<f64>,
    /// GPM's tensor active.
    pub tensor: Option<f64>,
    /// GPM's DRAM bandwidth.
    pub dram: Option<f64>,
    /// Our own work, by events.
    pub events: Option<f64>,
    /// Our batches, where they are known.
    pub device: Option<DeviceUse>,
    /// Share of the time in which the power limit held the clocks down.
    pub power_capped: Option<f64>,
    /// Share of the time in which heat did.
    pub heat: Option<f64>,
    /// Memory in use.
    pub memory: Option<f64>,
    /// Other processes with memory on it.
    pub others: usize,
    /// Why there is no occupancy.
    pub no_occupancy: String,
}

impl Figures {
    /// The figures of a GPU in a window.
    pub fn of(window: &Window<'_>, gpu: usize) -> Option<Self> {
        let used = window.gpu(gpu)?;
        let sample = used.sample();
        let total = sample.facts.memory_total.filter(|&total| total > 0);
        let memory = used.mean(Metric::MemoryUsed).zip(total);
        let heat = [Throttle::SoftwareHeat, Throttle::HardwareHeat];
        let processes = sample.processes.as_deref();
        let ours = window.to().engine_gpu() == Some(gpu);
        Some(Self {
            lost: sample.lost.as_ref().map(|lost| (clock(lost.at), lost.why.clone())),
            busy: used.mean(Metric::Busy),
            graphics: used.mean(Metric::Graphics),
            sm_active: used.mean(Metric::SmActive),
            occupancy: used.mean(Metric::SmOccupancy),
            tensor: used.mean(Metric::Tensor),
            dram: used.mean(Metric::Dram),
            events: window.event_busy(gpu),
            device: window.device().filter(|_| ours),
            power_capped: used.throttled(Throttle::PowerCap),
            heat: heat.into_iter().filter_map(|heat| used.throttled(heat)).reduce(f64::max),
            memory: memory.map(|(used, total)| used / total as f64),
            others: processes.map_or(0, |processes| {
                processes.list.iter().filter(|process| !process.own).count() + processes.more
            }),
            no_occupancy: sample.reason(Metric::SmOccupancy).to_owned(),
        })
    }

    /// How much of the time anything ran, as exactly as it is known.
    fn active(&self) -> Option<f64> {
        self.graphics.or(self.busy)
    }
}

/// A reading: what it is called, when it applies, and what it says.
pub struct Reading {
    /// Its name.
    pub name: &'static str,
    /// Whether it applies; `None` where a figure that it needs is missing.
    pub applies: fn(&Figures) -> Option<bool>,
    /// What it says.
    pub says: fn(&Figures) -> String,
}

fn p(share: Option<f64>) -> String {
    percent(share).trim().to_owned()
}

/// Nearly all of the time.
const FULL: f64 = 0.9;
/// Enough of the time to be told.
const NOTABLE: f64 = 0.1;

/// All readings, the weightiest first.
pub const READINGS: &[Reading] = &[
    Reading {
        name: "lost",
        applies: |f| Some(f.lost.is_some()),
        says: |f| {
            let (at, why) = f.lost.clone().unwrap_or_default();
            format!("it ceased to answer at {at}: {why}; the run goes on without its figures")
        },
    },
    Reading {
        name: "hot",
        applies: |f| Some(f.heat? >= NOTABLE),
        says: |f| {
            format!("heat holds the clocks down {} of the time: see to its cooling", p(f.heat))
        },
    },
    Reading {
        name: "shared",
        applies: |f| Some(f.others > 0 && f.active()? - f.events? >= 0.15),
        says: |f| {
            let s = if f.others == 1 { "" } else { "es" };
            format!(
                "active {}, our batches {}: the rest is the work of {} other process{s}",
                p(f.active()),
                p(f.events),
                f.others
            )
        },
    },
    Reading {
        name: "idle",
        applies: |f| Some(f.active()? < 0.02),
        says: |_| "idle: nothing runs on it".to_owned(),
    },
    Reading {
        name: "starved",
        applies: |f| Some(f.events? < 0.7),
        says: |f| {
            let gap = f.device.as_ref().and_then(|device| device.gap);
            let gaps = gap.map_or_else(String::new, |gap| {
                format!(", with gaps of {} between batches", length(Some(gap)))
            });
            format!(
                "busy {} of the time{gaps}: it waits for batches; the stage before it limits",
                p(f.events)
            )
        },
    },
    Reading {
        name: "partly",
        applies: |f| Some(f.active()? < 0.7),
        says: |f| format!("active {} of the time, and idle for the rest", p(f.active())),
    },
    Reading {
        name: "copying",
        applies: |f| {
            let device = f.device.as_ref()?;
            let copies = device.h2d? + device.d2h?;
            Some(copies >= device.compute?)
        },
        says: |f| {
            let device = f.device.unwrap_or_default();
            format!(
                "copies take {} of a batch and kernels {}: more batches in flight would overlap them",
                length(device.h2d.zip(device.d2h).map(|(to, from)| to + from)),
                length(device.compute)
            )
        },
    },
    Reading {
        name: "small kernels",
        applies: |f| Some(f.active()? >= FULL && f.sm_active? < 0.5),
        says: |f| {
            format!(
                "busy {}, SM active {}, SM occupancy {}: kernels are resident but small; \
                 try a larger batch",
                p(f.busy.or(f.graphics)),
                p(f.sm_active),
                p(f.occupancy)
            )
        },
    },
    Reading {
        name: "power limit",
        applies: |f| Some(f.power_capped? >= 0.5),
        says: |f| {
            let pipes = f.tensor.zip(f.dram).map_or_else(String::new, |(tensor, dram)| {
                format!("; tensor {}, DRAM {}", p(Some(tensor)), p(Some(dram)))
            });
            format!("at its power limit {} of the time: clocks give way{pipes}", p(f.power_capped))
        },
    },
    Reading {
        name: "memory bound",
        applies: |f| Some(f.dram? >= 0.6),
        says: |f| {
            format!("DRAM {}: memory traffic is what limits; fused kernels need less", p(f.dram))
        },
    },
    Reading {
        name: "tensor cores",
        applies: |f| Some(f.tensor? >= 0.6),
        says: |f| {
            format!(
                "tensor cores {}: well used; SM occupancy {} is no fault then",
                p(f.tensor),
                p(f.occupancy)
            )
        },
    },
    Reading {
        name: "thin warps",
        applies: |f| {
            Some(f.active()? >= FULL && f.occupancy? < NOTABLE && f.tensor? < 0.3 && f.dram? < 0.3)
        },
        says: |f| {
            format!(
                "busy {}, SM occupancy {}, tensor {}, DRAM {}: few warps and no pipe is full; \
                 try a larger batch",
                p(f.busy.or(f.graphics)),
                p(f.occupancy),
                p(f.tensor),
                p(f.dram)
            )
        },
    },
    Reading {
        name: "memory full",
        applies: |f| Some(f.memory? >= 0.97),
        says: |f| format!("its memory is {} full: a larger batch may not fit", p(f.memory)),
    },
    Reading {
        name: "working",
        applies: |f| Some(f.active().is_some() && f.sm_active?.is_finite()),
        says: |f| {
            format!(
                "busy {}, SM active {}, SM occupancy {}, tensor {}: it works, and no figure stands out",
                p(f.busy.or(f.graphics)),
                p(f.sm_active),
                p(f.occupancy),
                p(f.tensor)
            )
        },
    },
    Reading {
        name: "busy alone",
        applies: |f| Some(f.busy?.is_finite()),
        says: |f| {
            format!(
                "busy {}: so much of the time a kernel was resident; how full it was is not known \
                 ({})",
                p(f.busy),
                f.no_occupancy
            )
        },
    },
];

/// What is said while nothing is known.
const NOTHING: &str = "nothing was read of it in this window";

/// The first reading that applies: its name and what it says.
pub fn reading(figures: &Figures) -> (&'static str, String) {
    let found = READINGS.iter().find(|reading| (reading.applies)(figures) == Some(true));
    found.map_or(("no figures", NOTHING.to_owned()), |reading| {
        (reading.name, (reading.says)(figures))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures as they were measured on an H200 under a known load.
    fn measured(figures: [f64; 6]) -> Figures {
        let [busy, graphics, sm_active, occupancy, tensor, dram] = figures.map(Some);
        Figures { busy, graphics, sm_active, occupancy, tensor, dram, ..Figures::default() }
    }

    #[test]
    fn known_loads_are_read_as_what_they_are() {
        let name = |figures: &Figures| reading(figures).0;
        assert_eq!(name(&measured([0.0; 6])), "idle");
        // One block of 128 threads on one of 132 SMs.
        assert_eq!(name(&measured([1.0, 0.999, 0.008, 0.0, 0.0, 0.0])), "small kernels");
        // Such a block on every SM.
        assert_eq!(name(&measured([1.0, 0.999, 0.999, 0.062, 0.0, 0.0])), "thin warps");
        // The same, on half of the time.
        assert_eq!(name(&measured([0.5, 0.49, 0.004, 0.0, 0.0, 0.0])), "partly");
        // A large matrix multiplication: low occupancy is no fault.
        let gemm = measured([1.0, 0.996, 0.962, 0.142, 0.934, 0.17]);
        assert_eq!(name(&gemm), "tensor cores");
        assert_eq!(name(&Figures { power_capped: Some(0.99), ..gemm }), "power limit");
        // ResNet-50, batch 1 and batch 256.
        assert_eq!(name(&measured([1.0, 0.997, 0.359, 0.042, 0.038, 0.036])), "small kernels");
        assert_eq!(name(&measured([1.0, 0.999, 0.922, 0.172, 0.349, 0.402])), "working");
    }

    #[test]
    fn the_reading_has_the_figures_that_it_speaks_of() {
        let (_, text) = reading(&measured([1.0, 1.0, 0.3, 0.12, 0.1, 0.1]));
        assert_eq!(
            text,
            "busy 100%, SM active 30%, SM occupancy 12%: kernels are resident but small; \
             try a larger batch"
        );
    }

    #[test]
    fn every_reading_can_be_met_and_needs_its_figures() {
        let device = |h2d, compute| DeviceUse {
            h2d: Some(h2d),
            d2h: Some(1.0),
            compute: Some(compute),
            ..DeviceUse::default()
        };
        let full = measured([1.0, 1.0, 0.9, 0.3, 0.3, 0.3]);
        let cases = [
            Figures { lost: Some(("00:00:12".into(), "gone".into())), ..full.clone() },
            Figures { heat: Some(0.4), ..full.clone() },
            Figures { others: 1, events: Some(0.5), ..full.clone() },
            measured([0.0; 6]),
            Figures { events: Some(0.4), ..full.clone() },
            measured([0.5, 0.5, 0.4, 0.3, 0.3, 0.3]),
            Figures { device: Some(device(9.0, 5.0)), ..full.clone() },
            measured([1.0, 1.0, 0.2, 0.3, 0.3, 0.3]),
            Figures { power_capped: Some(0.6), ..full.clone() },
            measured([1.0, 1.0, 0.9, 0.3, 0.3, 0.7]),
            measured([1.0, 1.0, 0.9, 0.3, 0.7, 0.3]),
            measured([1.0, 1.0, 0.9, 0.05, 0.1, 0.1]),
            Figures { memory: Some(0.99), ..full.clone() },
            full.clone(),
            Figures { busy: Some(1.0), no_occupancy: "needs Hopper".into(), ..Figures::default() },
        ];
        assert_eq!(cases.len(), READINGS.len());
        for (figures, expected) in cases.iter().zip(READINGS) {
            let (name, text) = reading(figures);
            assert_eq!(name, expected.name);
            assert!(!text.contains('—'), "{name}: {text}");
        }
        assert_eq!(reading(&Figures::default()).0, "no figures");
        // What is missing is left out, and no dash put in its place.
        let older = Figures { busy: Some(1.0), power_capped: Some(0.9), ..Figures::default() };
        let (name, text) = reading(&older);
        assert_eq!(name, "power limit");
        assert!(text.ends_with("clocks give way"), "{text}");
        // Without other processes the difference is a matter of lag.
        assert_ne!(reading(&Figures { events: Some(0.8), ..full }).0, "shared");
    }
}
