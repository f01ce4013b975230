//! Engines: what turns a batch of pixels into logits.
//!
//! | module | what |
//! |---|---|
//! | [`choice`] | which engine, as written after `--engine` |
//! | [`geometry`] | how a picture comes into the square that a model sees |
//! | [`model`] | the options of a run's model, and from choice and options an engine |
//! | [`builtin`] | the classifier compiled into the binary |
//! | [`onnx`] | a classifier from a file: checked, run once, its labels and its preprocessing |
//! | [`graph`] | a model as engines run it: fused operations over NHWC tensors |
//! | [`cpu`] | the engine on the CPU |
//! | [`rten`] | another on the CPU, for what the first lacks |
//! | [`switch`] | one model on several devices, of which one infers |
//! | [`notice`] | what a person should know that happened |
//! | [`null`], [`emulated`] | engines that predict nothing, to see the other stages |

pub mod builtin;
pub mod choice;
pub mod cpu;
pub mod cuda;
pub mod emulated;
pub mod geometry;
pub mod graph;
pub mod labels;
pub mod model;
pub mod notice;
pub mod null;
pub mod onnx;
pub mod preprocessor;
pub mod rten;
pub mod switch;
mod workers;

pub use choice::{EngineChoice, EngineChoiceError, parse_engine};
pub use cuda::Precision;
pub use geometry::{Framing, Geometry};
pub use model::{
    CpuError, ModelError, ModelOptions, build_cpu, build_cuda, build_engine, build_engine_noting,
    build_for_threads,
};
pub use notice::{Notice, Notices};

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::pixels::{Pictures, PixelFormat};
use super::slab::HostMemory;
use crate::probe::clock::Nanos;

/// The inference engine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// `cpu`, `rten`, `null` or `emulated`.
    pub kind: String,
    /// The model's name.
    pub model: String,
    /// What to call it on screen: `CPU (AVX-512)`, `emulated 2000 img/s`.
    pub name: String,
    /// Side of the square input in pixels.
    pub side: u32,
    /// Classes that the model tells apart; 0 where it predicts nothing.
    pub classes: usize,
    /// Whether a device apart from the CPU does the work (a real or an emulated one).
    pub device: bool,
}

/// What an engine wants of each picture: resized and cut to `side` × `side` as `geometry` says, each value
/// (x − mean) / std where the format is normalised, in the order that the format has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputSpec {
    /// Side of the square input in pixels.
    pub side: u32,
    /// Which part of the picture comes into the square, and how.
    pub geometry: Geometry,
    /// What is subtracted, by channel, on a scale of 0 to 255.
    pub mean: [f32; 3],
    /// By what is then divided, by channel, on a scale of 0 to 255.
    pub std: [f32; 3],
    /// Type and order of the values.
    pub format: PixelFormat,
}

impl InputSpec {
    /// Values of one picture: 3 × side × side.
    pub const fn values(&self) -> usize {
        3 * self.side as usize * self.side as usize
    }

    /// Bytes of one picture.
    pub const fn bytes(&self) -> usize {
        self.values() * self.format.value_bytes()
    }

    /// Geometry and side together.
    pub const fn framing(&self) -> Framing {
        Framing { side: self.side, geometry: self.geometry }
    }
}

/// Pixels of a batch in the form that [`InputSpec::format`] says, one picture after another; shared since a
/// ready batch may be replayed.
pub type Pixels = Arc<dyn Pictures>;

/// What an engine made of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Logits, images × classes, one image after another.
    Logits(Vec<f32>),
    /// The batch was taken and nothing predicted, as [`EngineInfo::classes`] = 0 says.
    Nothing,
}

/// Why a batch came to nothing; the text is for the person who runs the pipeline.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct EngineError(pub String);

/// Where the device's time went so far, by events that the engine recorded on it: exact, and of our own
/// work alone. Cumulative; intervals are booked once their last event is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceTimes {
    /// Batches booked.
    pub batches: u64,
    /// Time during which kernels of ours were on the device, overlapping batches counted once.
    pub busy: Nanos,
    /// Copies to the device, summed over batches.
    pub h2d: Nanos,
    /// Kernels, summed over batches.
    pub compute: Nanos,
    /// Copies from the device, summed over batches.
    pub d2h: Nanos,
    /// Gaps: how often the device computed nothing of ours between two batches.
    pub gaps: u64,
    /// How long these gaps were together.
    pub gap: Nanos,
    /// The longest of them.
    pub gap_max: Nanos,
    /// ∫ theoretical occupancy (0 to 1) of the running kernels over `occupancy_over`: divided by that it is
    /// their mean.
    pub occupancy: Nanos,
    /// The part of `compute` for which it is known.
    pub occupancy_over: Nanos,
}

impl DeviceTimes {
    /// Of both devices together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            batches: self.batches + other.batches,
            busy: self.busy + other.busy,
            h2d: self.h2d + other.h2d,
            compute: self.compute + other.compute,
            d2h: self.d2h + other.d2h,
            gaps: self.gaps + other.gaps,
            gap: self.gap + other.gap,
            gap_max: self.gap_max.max(other.gap_max),
            occupancy: self.occupancy + other.occupancy,
            occupancy_over: self.occupancy_over + other.occupancy_over,
        }
    }
}

/// Whether pictures hold a batch of so many images as `input` of `model` has them.
///
/// # Errors
/// Where they are none, too few, or of another type.
fn check_pictures(
    pixels: &Pixels,
    images: usize,
    (input, model): (&InputSpec, &str),
) -> Result<(), EngineError> {
    let view = pixels.view();
    if view.bytes().is_some() != (input.format == PixelFormat::U8Nhwc) {
        let format = input.format;
        return Err(EngineError(format!("{model} takes pictures of {format}, and no others")));
    }
    let (have, want) = (view.len(), images * input.values());
    if images == 0 || have < want {
        return Err(EngineError(format!(
            "a batch of {images} images holds {have} values, where {model} wants {want}"
        )));
    }
    Ok(())
}

/// A batch that is under way.
pub trait Ticket: Send {
    /// Blocks until the batch is done. An engine without a device computes in here, on the calling
    /// thread; one with a device sleeps.
    ///
    /// # Errors
    /// Where the engine failed on this batch; its images then count as failed.
    fn wait(self: Box<Self>) -> Result<Output, EngineError>;
}

/// An inference engine: submit → ticket → wait, so that several batches are in flight.
pub trait Engine: Send + Sync {
    /// Its name, model and kind.
    fn info(&self) -> &EngineInfo;

    /// What it wants of each picture.
    fn input(&self) -> &InputSpec;

    /// Names of the classes, by index; as many as [`EngineInfo::classes`].
    fn class_names(&self) -> Arc<[String]>;

    /// Hands over the first `images` pictures of `pixels`; returns at once.
    ///
    /// # Errors
    /// Where the batch cannot be taken.
    fn submit(&self, pixels: Pixels, images: usize) -> Result<Box<dyn Ticket>, EngineError>;

    /// Memory for a batch of so many bytes from which the engine takes pictures with less effort than from any other;
    /// `None` where it has none to give.
    fn host_memory(&self, _bytes: usize) -> Option<Box<dyn HostMemory>> {
        None
    }

    /// Whether [`Output::Logits`] already are probabilities (the model ends in a softmax), so that
    /// none must be applied.
    fn outputs_probabilities(&self) -> bool {
        false
    }

    /// Time during which the device had work so far, where there is a device.
    fn device_busy(&self) -> Option<Nanos> {
        None
    }

    /// Where the device's time went so far, where its events are recorded.
    fn device_times(&self) -> Option<DeviceTimes> {
        None
    }

    /// The device's UUID as the driver writes it (`GPU-…`, `MIG-…`), to find it among those that are
    /// watched; not by number, since CUDA and the driver count in different orders.
    fn device_uuid(&self) -> Option<&str> {
        None
    }

    /// What a person should know that happened so far, oldest first.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// The device on which it infers, as `infer.device` names it; `None` where it cannot move to another.
    fn device(&self) -> Option<&'static str> {
        None
    }

    /// Moves to another device, by its name; blocks until that is ready, while batches go where they went before.
    ///
    /// # Errors
    /// Where it cannot move, or not there; it stays where it was.
    fn move_to(&self, _device: &str) -> Result<(), EngineError> {
        Err(EngineError("this engine has no other device".into()))
    }

    /// Starts a thread of that name for `body`, an infer worker's whole life, where the engine's own
    /// computing on the calling thread is cheapest.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    fn spawn_worker(&self, name: String, body: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        std::thread::Builder::new().name(name).spawn(body).map(drop)
    }
}
