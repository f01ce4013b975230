//! A sleeping accelerator: on a machine without one, the pipeline around it can be seen and tested.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Engine, EngineError, EngineInfo, InputSpec, Output, Pixels, Ticket};
use crate::probe::clock::{Clock, Nanos};

/// A serial device of a given rate: a batch of n images occupies it n/rate seconds, starting when it
/// is submitted or when the device is free, whichever is later; its result arrives a fixed time after
/// that, during which the device already works on the next. It predicts nothing.
pub struct EmulatedEngine {
    info: EngineInfo,
    input: InputSpec,
    rate: f64,
    latency: Nanos,
    clock: Arc<dyn Clock>,
    device: Mutex<Device>,
}

#[derive(Default)]
struct Device {
    /// When the last batch taken ends.
    free_at: Nanos,
    /// All work taken so far, done or not.
    taken: Nanos,
}

impl EmulatedEngine {
    /// A device of `rate` images a second (above 0) on the time line of `clock`.
    pub fn new(input: InputSpec, rate: f64, latency: Duration, clock: Arc<dyn Clock>) -> Self {
        let name = match latency.as_secs_f64() * 1e3 {
            0.0 => format!("emulated {rate} img/s"),
            ms => format!("emulated {rate} img/s + {ms} ms"),
        };
        let info = EngineInfo {
            kind: "emulated".into(),
            model: "none".into(),
            name,
            side: input.side,
            classes: 0,
            device: true,
        };
        let latency = u64::try_from(latency.as_nanos()).unwrap_or(Nanos::MAX);
        Self { info, input, rate, latency, clock, device: Mutex::default() }
    }
}

impl Engine for EmulatedEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn input(&self) -> &InputSpec {
        &self.input
    }

    fn class_names(&self) -> Arc<[String]> {
        Arc::new([])
    }

    fn submit(&self, _pixels: Pixels, images: usize) -> Result<Box<dyn Ticket>, EngineError> {
        // A float above the range becomes u64::MAX: a device slower than the universe is old.
        let work = (images as f64 / self.rate * 1e9).round() as Nanos;
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        device.free_at = device.free_at.max(self.clock.now()).saturating_add(work);
        device.taken = device.taken.saturating_add(work);
        let ready = device.free_at.saturating_add(self.latency);
        Ok(Box::new(Asleep { ready, clock: Arc::clone(&self.clock) }))
    }

    /// Work taken less work still to do: a batch that waits starts exactly when the device is free,
    /// so that from now to `free_at` the device has no pause.
    fn device_busy(&self) -> Option<Nanos> {
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let to_do = device.free_at.saturating_sub(self.clock.now());
        Some(device.taken.saturating_sub(to_do))
    }
}

struct Asleep {
    ready: Nanos,
    clock: Arc<dyn Clock>,
}

impl Ticket for Asleep {
    fn wait(self: Box<Self>) -> Result<Output, EngineError> {
        loop {
            let left = self.ready.saturating_sub(self.clock.now());
            if left == 0 {
                return Ok(Output::Nothing);
            }
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Geometry;
    use super::*;
    use crate::pipeline::pixels::PixelFormat;
    use crate::probe::clock::VirtualClock;

    const INPUT: InputSpec = InputSpec {
        side: 2,
        geometry: Geometry::Squash,
        mean: [0.0; 3],
        std: [1.0; 3],
        format: PixelFormat::F32Nchw,
    };
    const MS: Nanos = 1_000_000;

    struct Bench {
        clock: Arc<VirtualClock>,
        engine: EmulatedEngine,
    }

    impl Bench {
        fn new(rate: f64, ms: u64) -> Self {
            let clock = Arc::new(VirtualClock::default());
            let engine = EmulatedEngine::new(
                INPUT,
                rate,
                Duration::from_millis(ms),
                Arc::<VirtualClock>::clone(&clock),
            );
            Self { clock, engine }
        }

        fn submit(&self, images: usize) -> Box<dyn Ticket> {
            self.engine.submit(Arc::new(Vec::<f32>::new()), images).unwrap()
        }

        fn busy(&self) -> Nanos {
            self.engine.device_busy().unwrap()
        }

        fn advance(&self, ms: u64) {
            self.clock.advance(Duration::from_millis(ms));
        }
    }

    #[test]
    fn a_batch_occupies_the_device_for_images_by_rate() {
        let bench = Bench::new(1000.0, 0);
        assert_eq!(bench.busy(), 0);
        bench.advance(7);
        let ticket = bench.submit(10);
        assert_eq!(bench.busy(), 0);
        bench.advance(4);
        assert_eq!(bench.busy(), 4 * MS, "the open interval counts up to now");
        bench.advance(6);
        assert_eq!(ticket.wait().unwrap(), Output::Nothing);
        bench.advance(100);
        assert_eq!(bench.busy(), 10 * MS, "an idle device is not busy");
    }

    #[test]
    fn two_batches_in_flight_queue_up_and_the_latency_overlaps() {
        let bench = Bench::new(1000.0, 30);
        let (first, second) = (bench.submit(10), bench.submit(20));
        // 10 ms of work and 30 of latency; then 20 ms more of work.
        bench.advance(40);
        assert_eq!(first.wait().unwrap(), Output::Nothing);
        assert_eq!(bench.busy(), 30 * MS);
        bench.advance(20);
        assert_eq!(second.wait().unwrap(), Output::Nothing);
        // Submitted late, a batch starts when it comes.
        let third = bench.submit(5);
        bench.advance(3);
        assert_eq!(bench.busy(), 33 * MS);
        bench.advance(32);
        assert_eq!(third.wait().unwrap(), Output::Nothing);
        assert_eq!(bench.busy(), 35 * MS);
    }

    #[test]
    fn wait_sleeps_until_the_result_is_there() {
        let bench = Bench::new(1000.0, 0);
        let ticket = bench.submit(20);
        let (sent, arrived) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                ticket.wait().unwrap();
                sent.send(()).unwrap();
            });
            bench.advance(19);
            assert!(arrived.recv_timeout(Duration::from_millis(30)).is_err(), "1 ms is missing");
            bench.advance(1);
            arrived.recv_timeout(Duration::from_secs(10)).unwrap();
        });
    }

    #[test]
    fn a_long_run_keeps_the_rate() {
        let bench = Bench::new(3000.0, 5);
        for _ in 0..3000 {
            drop(bench.submit(7));
        }
        bench.advance(10_000);
        // 21,000 images at 3,000 a second, each batch rounded to a nanosecond.
        assert!(bench.busy().abs_diff(7_000 * MS) < 3_000, "{}", bench.busy());
    }

    #[test]
    fn a_device_slower_than_time_does_not_overflow() {
        let bench = Bench::new(1e-300, 600_000);
        drop((bench.submit(usize::MAX), bench.submit(1)));
        bench.advance(1);
        assert!(bench.busy() <= MS);
    }

    #[test]
    fn it_says_what_it_is() {
        let info = Bench::new(2000.0, 5).engine.info().clone();
        assert_eq!(info.name, "emulated 2000 img/s + 5 ms");
        assert_eq!((info.kind.as_str(), info.classes, info.device), ("emulated", 0, true));
        assert_eq!(Bench::new(2000.0, 0).engine.info().name, "emulated 2000 img/s");
    }
}
