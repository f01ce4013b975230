//! The `rten` crate as an engine: for models that our own on the CPU cannot run. One thread a batch.

use ::rten::{Model, NodeId, RunOptions, ThreadPool, Value, ValueView};
use rten_tensor::Tensor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::{
    Engine, EngineError, EngineInfo, InputSpec, Output, Pixels, Ticket, check_pictures, workers,
};

/// A model on the CPU. [`Ticket::wait`] computes: on a thread of [`Engine::spawn_worker`] in place, on
/// any other with the help of a pool that starts with the first such wait.
///
/// Loading packs the weights on `rten`'s global pool; its threads sleep from then on.
pub struct RtenEngine {
    info: EngineInfo,
    input: InputSpec,
    names: Arc<[String]>,
    network: Arc<Network>,
}

/// A loaded model with what was found out about it.
pub(super) struct Network {
    pub(super) model: Model,
    pub(super) input: NodeId,
    pub(super) output: NodeId,
    pub(super) side: usize,
    pub(super) classes: usize,
    /// Whether the model takes one picture at a time only.
    pub(super) one_by_one: bool,
    /// Whether its outputs are probabilities.
    pub(super) probabilities: bool,
    /// For waits on threads that are no workers.
    pub(super) helpers: OnceLock<Arc<ThreadPool>>,
}

impl RtenEngine {
    pub(super) fn new(
        model: String,
        input: InputSpec,
        names: Arc<[String]>,
        network: Network,
    ) -> Self {
        let info = EngineInfo {
            kind: "rten".into(),
            model,
            name: "rten on CPU".into(),
            side: input.side,
            classes: network.classes,
            device: false,
        };
        Self { info, input, names, network: Arc::new(network) }
    }

    /// The same with a pool of so many threads for waits on threads that are no workers, in place of one a core.
    pub(super) fn with_threads(self, threads: Option<usize>) -> Self {
        if let Some(threads) = threads {
            self.network.helpers.get_or_init(|| Arc::new(ThreadPool::with_num_threads(threads)));
        }
        self
    }
}

impl Engine for RtenEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn input(&self) -> &InputSpec {
        &self.input
    }

    fn class_names(&self) -> Arc<[String]> {
        Arc::clone(&self.names)
    }

    fn submit(&self, pixels: Pixels, images: usize) -> Result<Box<dyn Ticket>, EngineError> {
        check_pictures(&pixels, images, (&self.input, &self.info.model))?;
        Ok(Box::new(Ready { network: Arc::clone(&self.network), pixels, images }))
    }

    fn outputs_probabilities(&self) -> bool {
        self.network.probabilities
    }

    /// The thread is the only one of a pool of its own and keeps the pool's name for the kernel,
    /// `rten-0`, until `body` renames it.
    fn spawn_worker(&self, _name: String, body: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        workers::spawn(body)
    }
}

struct Ready {
    network: Arc<Network>,
    pixels: Pixels,
    images: usize,
}

impl Ticket for Ready {
    fn wait(self: Box<Self>) -> Result<Output, EngineError> {
        let values = self.pixels.view().floats().unwrap_or_default();
        self.network.logits(values, self.images).map(Output::Logits)
    }
}

impl Network {
    fn pool(&self) -> Arc<ThreadPool> {
        workers::own_pool().unwrap_or_else(|| {
            Arc::clone(self.helpers.get_or_init(|| {
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                Arc::new(ThreadPool::with_num_threads(threads))
            }))
        })
    }

    /// Logits of the first `images` pictures, one image after another.
    fn logits(&self, pixels: &[f32], images: usize) -> Result<Vec<f32>, EngineError> {
        let picture = 3 * self.side * self.side;
        let pool = self.pool();
        let mut logits = if self.one_by_one {
            let mut all = Vec::with_capacity(images * self.classes);
            for one in pixels.chunks_exact(picture).take(images) {
                all.append(&mut self.run(one, 1, &pool)?);
            }
            all
        } else {
            self.run(&pixels[..images * picture], images, &pool)?
        };
        if logits.len() < images * self.classes {
            return Err(EngineError(format!(
                "the model gave {} values for {images} images of {} classes",
                logits.len(),
                self.classes
            )));
        }
        logits.truncate(images * self.classes);
        Ok(logits)
    }

    fn run(
        &self,
        pixels: &[f32],
        images: usize,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<f32>, EngineError> {
        let shape = [images, 3, self.side, self.side];
        let outputs = run(&self.model, self.input, &[self.output], shape, pixels, pool)?;
        outputs
            .into_iter()
            .next()
            .and_then(Value::into_tensor::<f32>)
            .map(Tensor::into_data)
            .ok_or_else(|| EngineError("the model's output is not a float tensor".into()))
    }
}

/// One run of a model over `pixels`, which are not copied.
///
/// A panic inside `rten` becomes an error: it must not take a worker with it.
pub(super) fn run(
    model: &Model,
    input: NodeId,
    outputs: &[NodeId],
    shape: [usize; 4],
    pixels: &[f32],
    pool: &Arc<ThreadPool>,
) -> Result<Vec<Value>, EngineError> {
    let view =
        ValueView::from_shape(shape, pixels).map_err(|error| EngineError(error.to_string()))?;
    let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
    catch_unwind(AssertUnwindSafe(|| model.run(vec![(input, view.into())], outputs, Some(options))))
        .map_err(|panic| EngineError(format!("the engine broke off: {}", panic_text(&*panic))))?
        .map_err(|error| EngineError(error.to_string()))
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a text")
}
