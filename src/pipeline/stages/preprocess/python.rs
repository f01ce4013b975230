//! What a worker does around its work where it stands for a Python thread: when it holds the emulated GIL.
//!
//! | `preprocess.gil` | before the native work | during it | after it |
//! |---|---|---|---|
//! | `off` | – | – | – |
//! | `release` | takes it; half of `preprocess.gil_hold` of binding work; drops it | – | the same with the other half |
//! | `hold` | takes it | held; drop requests are looked for between groups of rows | – |
//!
//! With `hold` a worker keeps it from one image to the next unless it is asked to drop it, as a Python thread does, and
//! drops it before it waits for anything else: an image, a batch's slot, a lock, its own turn at the gate. It wants its
//! slot only when the picture is ready for it: whoever waits for the GIL in the middle of an image would hold up a
//! whole batch.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::pipeline::knobs::{GILS, KnobId, LiveKnobs};
use crate::pipeline::preprocess::counted::count;
use crate::probe::lock::gil::{Gil, Seat};

/// When the GIL is held; fixed for an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Off,
    Release,
    Hold,
}

impl Mode {
    fn of(knobs: &LiveKnobs) -> Self {
        match GILS[knobs.choice(KnobId::PreprocessGil)] {
            "release" => Self::Release,
            "hold" => Self::Hold,
            _ => Self::Off,
        }
    }
}

/// A worker as a Python thread.
pub(super) struct Thread {
    seat: Rc<Seat>,
    mode: Mode,
    /// Binding work of an image.
    hold: Duration,
}

impl Thread {
    pub(super) fn new(gil: &Arc<Gil>) -> Self {
        Self { seat: Rc::new(Seat::at(gil)), mode: Mode::Off, hold: Duration::ZERO }
    }

    /// Begins an image, by the knobs as they are now.
    pub(super) fn begin(&mut self, knobs: &LiveKnobs) {
        self.mode = Mode::of(knobs);
        self.hold = Duration::from_secs_f64(knobs.number(KnobId::PreprocessGilHold) / 1e6);
        self.resume();
    }

    /// Whether it holds the GIL.
    pub(super) fn holds(&self) -> bool {
        self.seat.holds()
    }

    /// To be called before anything is waited for.
    pub(super) fn pause(&self) {
        self.seat.give();
    }

    /// Goes on with the image after [`Self::pause`].
    pub(super) fn resume(&self) {
        match self.mode {
            Mode::Off | Mode::Release => self.seat.give(),
            Mode::Hold => self.seat.take(),
        }
    }

    /// Does an image's work, which does not wait for anything.
    pub(super) fn call<R>(&self, work: impl FnOnce() -> R) -> R {
        match self.mode {
            Mode::Off => work(),
            Mode::Hold => self.seat.at_work(work),
            Mode::Release => {
                let before = self.hold / 2;
                self.bind(before);
                let done = work();
                self.bind(self.hold.saturating_sub(before));
                done
            }
        }
    }

    /// Binding work.
    fn bind(&self, time: Duration) {
        self.seat.take();
        self.count(time);
        self.seat.give();
    }

    /// The counted loop; where it holds the GIL, it looks at the drop request all along.
    pub(super) fn count(&self, time: Duration) {
        count(time, || self.seat.checkpoint());
    }
}
