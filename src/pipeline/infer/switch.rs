//! One model on several devices, of which one infers: `infer.device` says which, while a run goes on.
//!
//! An engine is made when its device is first wanted, and the one before serves until it is ready. It is kept from then on,
//! so that going back costs nothing, and what devices spent adds up over all of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::notice::Notice;
use super::{DeviceTimes, Engine, EngineError, EngineInfo, InputSpec, Pixels, Ticket};
use crate::pipeline::knobs::DEVICES;
use crate::pipeline::slab::HostMemory;
use crate::probe::clock::Nanos;

/// Makes the engine of a device, by its name in [`DEVICES`], or says why there is none.
pub type Make = Box<dyn Fn(&'static str) -> Result<Arc<dyn Engine>, String> + Send + Sync>;

/// See the module.
pub struct SwitchEngine {
    /// By device, in the order of [`DEVICES`].
    places: [OnceLock<Arc<dyn Engine>>; DEVICES.len()],
    current: AtomicUsize,
    make: Make,
    /// One change at a time.
    changing: Mutex<()>,
}

impl SwitchEngine {
    /// Begins with `engine`, which is that of `device`.
    ///
    /// # Panics
    /// If no device is named so.
    pub fn new(device: &str, engine: Arc<dyn Engine>, make: Make) -> Self {
        let current = place(device).expect("devices are named as in the table");
        let places = std::array::from_fn(|_| OnceLock::new());
        let _ = places[current].set(engine);
        Self { places, current: current.into(), make, changing: Mutex::new(()) }
    }

    fn current(&self) -> &Arc<dyn Engine> {
        self.places[self.current.load(Ordering::Acquire)].get().expect("it was made before")
    }

    fn made(&self) -> impl Iterator<Item = &Arc<dyn Engine>> {
        self.places.iter().filter_map(OnceLock::get)
    }
}

fn place(device: &str) -> Option<usize> {
    DEVICES.iter().position(|&known| known == device)
}

impl Engine for SwitchEngine {
    fn info(&self) -> &EngineInfo {
        self.current().info()
    }

    /// The same on all devices.
    fn input(&self) -> &InputSpec {
        self.current().input()
    }

    fn class_names(&self) -> Arc<[String]> {
        self.current().class_names()
    }

    fn submit(&self, pixels: Pixels, images: usize) -> Result<Box<dyn Ticket>, EngineError> {
        self.current().submit(pixels, images)
    }

    fn host_memory(&self, bytes: usize) -> Option<Box<dyn HostMemory>> {
        self.current().host_memory(bytes)
    }

    fn outputs_probabilities(&self) -> bool {
        self.current().outputs_probabilities()
    }

    /// Of all devices that were used; `None` as long as none of them tells.
    fn device_busy(&self) -> Option<Nanos> {
        self.made().filter_map(|engine| engine.device_busy()).reduce(|sum, one| sum + one)
    }

    /// Of all devices that were used, so that it never runs backwards.
    fn device_times(&self) -> Option<DeviceTimes> {
        self.made().filter_map(|engine| engine.device_times()).reduce(DeviceTimes::and)
    }

    fn device_uuid(&self) -> Option<&str> {
        self.current().device_uuid()
    }

    fn notices(&self) -> Vec<Notice> {
        let mut all: Vec<Notice> = self.made().flat_map(|engine| engine.notices()).collect();
        all.sort_by_key(|notice| notice.at);
        all
    }

    fn device(&self) -> Option<&'static str> {
        Some(DEVICES[self.current.load(Ordering::Acquire)])
    }

    fn move_to(&self, device: &str) -> Result<(), EngineError> {
        let index =
            place(device).ok_or_else(|| EngineError(format!("no device is named {device}")))?;
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.places[index].get().is_none() {
            let engine = (self.make)(DEVICES[index]).map_err(EngineError)?;
            if engine.input() != self.input() {
                return Err(EngineError(format!("{device} takes other pictures")));
            }
            let _ = self.places[index].set(engine);
        }
        self.current.store(index, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::infer::{Output, builtin};

    /// Answers every batch with its own number.
    struct Fixed(f32, EngineInfo);

    struct Told(f32);

    impl Ticket for Told {
        fn wait(self: Box<Self>) -> Result<Output, EngineError> {
            Ok(Output::Logits(vec![self.0]))
        }
    }

    impl Engine for Fixed {
        fn info(&self) -> &EngineInfo {
            &self.1
        }

        fn input(&self) -> &InputSpec {
            &builtin::INPUT
        }

        fn class_names(&self) -> Arc<[String]> {
            Arc::new([])
        }

        fn submit(&self, _: Pixels, _: usize) -> Result<Box<dyn Ticket>, EngineError> {
            Ok(Box::new(Told(self.0)))
        }

        fn device_times(&self) -> Option<DeviceTimes> {
            (self.0 > 0.0).then(|| DeviceTimes { batches: self.0 as u64, ..DeviceTimes::default() })
        }
    }

    fn fixed(number: f32) -> Arc<dyn Engine> {
        Arc::new(Fixed(number, EngineInfo { name: number.to_string(), ..EngineInfo::default() }))
    }

    fn switch() -> SwitchEngine {
        let make = |device: &str| match device {
            "cuda:0" => Ok(fixed(1.0)),
            "cuda:1" => Ok(fixed(2.0)),
            _ => Err(format!("{device} is not there")),
        };
        SwitchEngine::new("cpu", fixed(0.0), Box::new(make))
    }

    fn answer(engine: &dyn Engine) -> f32 {
        let ticket = engine.submit(Arc::new(vec![0_u8]), 1).unwrap();
        let Ok(Output::Logits(logits)) = ticket.wait() else { panic!("it predicts") };
        logits[0]
    }

    #[test]
    fn batches_go_to_the_device_that_is_set() {
        let engine = switch();
        assert_eq!((engine.device(), answer(&engine)), (Some("cpu"), 0.0));
        engine.move_to("cuda:1").unwrap();
        assert_eq!((engine.device(), answer(&engine)), (Some("cuda:1"), 2.0));
        assert_eq!(engine.info().name, "2");
        engine.move_to("cpu").unwrap();
        assert_eq!((engine.device(), answer(&engine)), (Some("cpu"), 0.0));
    }

    #[test]
    fn a_device_that_is_not_there_changes_nothing() {
        let engine = switch();
        let error = engine.move_to("cuda:5").unwrap_err();
        assert_eq!(error.0, "cuda:5 is not there");
        assert_eq!((engine.device(), answer(&engine)), (Some("cpu"), 0.0));
    }

    #[test]
    fn what_devices_spent_adds_up_and_never_runs_backwards() {
        let engine = switch();
        assert_eq!(engine.device_times(), None, "the CPU keeps no account");
        let batches = || engine.device_times().map(|times| times.batches);
        for (device, sum) in [("cuda:0", 1), ("cuda:1", 3), ("cpu", 3)] {
            engine.move_to(device).unwrap();
            assert_eq!(batches(), Some(sum), "{device}");
        }
    }
}
