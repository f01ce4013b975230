//! GPUs in a window: means of their figures, energy, throttling, and the engine's own account.

use super::Window;
use crate::probe::clock::Nanos;
use crate::probe::gpu::{Gauge, GpuSample, Metric, Throttle};

/// A value that no reading followed stands for so long.
const STANDS: Nanos = 12_000_000_000;

/// A GPU in a window.
#[derive(Clone, Copy, Debug)]
pub struct GpuUse<'a> {
    window: Window<'a>,
    from: Option<&'a GpuSample>,
    to: &'a GpuSample,
}

/// The engine's own account of its device in a window; lengths are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceUse {
    /// Batches that were booked.
    pub batches: u64,
    /// Share of the window in which anything of ours was on the device.
    pub busy: f64,
    /// Copies to the device, of a batch.
    pub h2d: Option<f64>,
    /// Kernels, of a batch.
    pub compute: Option<f64>,
    /// Copies from the device, of a batch.
    pub d2h: Option<f64>,
    /// Gaps between two batches.
    pub gaps: u64,
    /// A gap's mean length.
    pub gap: Option<f64>,
    /// The longest gap of the whole run.
    pub gap_max: f64,
    /// Mean theoretical occupancy of the running kernels, where the engine knows it.
    pub occupancy: Option<f64>,
}

impl<'a> Window<'a> {
    /// A GPU of the later snapshot.
    pub fn gpu(&self, index: usize) -> Option<GpuUse<'a>> {
        let to = self.to.gpus.get(index)?;
        let from = self.from.gpus.iter().find(|from| from.facts == to.facts);
        Some(GpuUse { window: *self, from, to })
    }

    /// The engine's own account of its device, where it keeps one.
    pub fn device(&self) -> Option<DeviceUse> {
        let to = self.to.device.as_ref()?.times;
        let from = self.from.device.as_ref().map(|device| device.times).unwrap_or_default();
        let length = Some(self.nanos() as f64).filter(|&length| length > 0.0)?;
        let batches = to.batches.saturating_sub(from.batches);
        let each = |to: Nanos, from: Nanos| {
            (batches > 0).then(|| to.saturating_sub(from) as f64 / batches as f64)
        };
        let gaps = to.gaps.saturating_sub(from.gaps);
        let over = to.occupancy_over.saturating_sub(from.occupancy_over);
        let occupied = to.occupancy.saturating_sub(from.occupancy) as f64 / over as f64;
        Some(DeviceUse {
            batches,
            busy: (to.busy.saturating_sub(from.busy) as f64 / length).min(1.0),
            h2d: each(to.h2d, from.h2d),
            compute: each(to.compute, from.compute),
            d2h: each(to.d2h, from.d2h),
            gaps,
            gap: (gaps > 0).then(|| to.gap.saturating_sub(from.gap) as f64 / gaps as f64),
            gap_max: to.gap_max as f64,
            occupancy: (over > 0).then_some(occupied),
        })
    }

    /// Share of the window in which the engine's own work was on a GPU, by its events; `None` where
    /// the engine works elsewhere or keeps no account.
    pub fn event_busy(&self, gpu: usize) -> Option<f64> {
        if self.to.engine_gpu() != Some(gpu) {
            return None;
        }
        let exact = self.device().map(|device| device.busy);
        exact.or_else(|| self.device_busy(crate::pipeline::Stage::Infer))
    }
}

impl<'a> GpuUse<'a> {
    /// The GPU as it is at the end.
    pub const fn sample(&self) -> &'a GpuSample {
        self.to
    }

    /// A figure's mean over the window, in its unit; where no reading lies in it, the latest value, if
    /// it is not old. `None` where there is none.
    pub fn mean(&self, metric: Metric) -> Option<f64> {
        let to = self.to.gauges.get(&metric)?;
        let before = Gauge::default();
        let from = self.from.and_then(|from| from.gauges.get(&metric)).unwrap_or(&before);
        let covered = to.covered.saturating_sub(from.covered);
        if covered > 0 {
            return Some((to.integral - from.integral) / (covered as f64 / 1e9));
        }
        let stands = self.window.to.at.saturating_sub(to.at) <= STANDS;
        (stands && self.to.lost.is_none()).then_some(to.value)
    }

    /// Joules used in the window, by the device's counter where it has one.
    pub fn joules(&self) -> Option<f64> {
        let counted = || {
            let (from, to) = (self.from?.energy?, self.to.energy?);
            let span = to.at.checked_sub(from.at).filter(|&span| span > 0)? as f64 / 1e9;
            Some((to.joules - from.joules).max(0.0) / span * self.window.seconds())
        };
        counted().or_else(|| Some(self.mean(Metric::Power)? * self.window.seconds()))
    }

    /// Joules of each image predicted in the window.
    pub fn joules_per_image(&self) -> Option<f64> {
        let (from, to) = (self.window.from.items.predicted, self.window.to.items.predicted);
        let images = to.checked_sub(from).filter(|&images| images > 0)?;
        Some(self.joules()? / images as f64)
    }

    /// Share of the window in which a reason held the clocks down.
    pub fn throttled(&self, reason: Throttle) -> Option<f64> {
        let to = self.to.throttle.as_ref()?;
        let from = self.from.and_then(|from| from.throttle.as_ref());
        let covered = to.covered.checked_sub(from.map_or(0, |from| from.covered))?;
        let time = |throttled: &crate::probe::gpu::sample::Throttled| {
            throttled.time.get(&reason).copied().unwrap_or(0)
        };
        let held = time(to).saturating_sub(from.map_or(0, time));
        (covered > 0).then(|| held as f64 / covered as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::probe::gpu::Facts;
    use crate::probe::gpu::sample::{Energy, Lost, Throttled};
    use crate::profile::snapshot::{DeviceSample, DeviceTimes, EngineInfo, RunInfo, Snapshot};

    const SECOND: Nanos = 1_000_000_000;

    fn gpu(at: Nanos, busy: f64) -> GpuSample {
        let facts = Facts { uuid: "GPU-1".into(), ..Facts::default() };
        let mut sample = GpuSample::new(facts, Some(true));
        let gauge = Gauge { value: 0.5, at, integral: busy, covered: at };
        sample.gauges.insert(Metric::Busy, gauge);
        sample.energy = Some(Energy { joules: 1000.0 + at as f64 / 1e9 * 300.0, at });
        sample.throttle = Some(Throttled {
            time: [(Throttle::PowerCap, at / 4)].into(),
            covered: at,
            at,
            ..Throttled::default()
        });
        sample
    }

    fn snapshot(at: Nanos, gpu: GpuSample) -> Snapshot {
        let engine = EngineInfo { device: true, ..EngineInfo::default() };
        let run = Arc::new(RunInfo { engine, ..RunInfo::default() });
        let mut snapshot = Snapshot { run, at, gpus: vec![gpu], ..Snapshot::empty() };
        snapshot.items.predicted = at / 1_000_000;
        snapshot
    }

    fn near(value: Option<f64>, expected: f64) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-9), "{value:?}");
    }

    #[test]
    fn a_mean_is_what_was_integrated_in_the_window() {
        let from = snapshot(SECOND, gpu(SECOND, 0.2));
        let to = snapshot(3 * SECOND, gpu(3 * SECOND, 1.8));
        let used = Window::between(&from, &to).gpu(0).unwrap();
        near(used.mean(Metric::Busy), 0.8);
        near(used.joules(), 600.0);
        near(used.joules_per_image(), 0.3);
        near(used.throttled(Throttle::PowerCap), 0.25);
        near(used.throttled(Throttle::Idle), 0.0);
        assert_eq!(used.mean(Metric::SmOccupancy), None);
        // Without a counter energy is the power's integral.
        let mut meterless = to.clone();
        meterless.gpus[0].energy = None;
        let gauge = Gauge { value: 200.0, at: 3 * SECOND, integral: 400.0, covered: 2 * SECOND };
        meterless.gpus[0].gauges.insert(Metric::Power, gauge);
        near(Window::between(&from, &meterless).gpu(0).unwrap().joules(), 400.0);
    }

    #[test]
    fn without_a_reading_the_latest_value_stands_for_a_while_unless_the_gpu_is_lost() {
        let from = snapshot(SECOND, gpu(SECOND, 0.2));
        let mut to = snapshot(2 * SECOND, gpu(SECOND, 0.2));
        let mean = |to: &Snapshot| Window::between(&from, to).gpu(0).unwrap().mean(Metric::Busy);
        near(mean(&to), 0.5);
        to.at = 20 * SECOND;
        assert_eq!(mean(&to), None, "it is too old");
        to.at = 2 * SECOND;
        to.gpus[0].lost = Some(Lost { at: SECOND, why: "gone".into() });
        assert_eq!(mean(&to), None);
    }

    #[test]
    fn the_engines_account_is_told_by_batch_and_belongs_to_its_own_gpu() {
        let times = |n: u64| DeviceTimes {
            batches: n,
            busy: n * 8_000_000,
            h2d: n * 1_000_000,
            compute: n * 6_000_000,
            d2h: n * 500_000,
            gaps: n / 2,
            gap: n * 1_000_000,
            gap_max: 7_000_000,
            occupancy: n * 1_500_000,
            occupancy_over: n * 3_000_000,
        };
        let with = |at, n, uuid: Option<&str>| {
            let device = DeviceSample { uuid: uuid.map(Into::into), times: times(n) };
            Snapshot { device: Some(device), ..snapshot(at, gpu(at, 0.0)) }
        };
        let (from, to) = (with(SECOND, 100, None), with(2 * SECOND, 200, None));
        let window = Window::between(&from, &to);
        let device = window.device().unwrap();
        near(Some(device.busy), 0.8);
        near(device.h2d, 1e6);
        near(device.compute, 6e6);
        near(device.gap, 2e6);
        near(device.occupancy, 0.5);
        assert_eq!((device.batches, device.gaps), (100, 50));
        near(window.event_busy(0), 0.8);
        let elsewhere = with(2 * SECOND, 200, Some("GPU-2"));
        assert_eq!(Window::between(&from, &elsewhere).event_busy(0), None);
        let idle = Window::between(&to, &with(3 * SECOND, 200, None)).device().unwrap();
        assert_eq!((idle.h2d, idle.gap, idle.occupancy), (None, None, None));
    }
}
