//! The engine on NVIDIA GPUs.

use std::sync::{Arc, OnceLock};

use super::busy::Spent;
use super::device::{Driver, NoCuda, contained, probe};
use super::driver::{Facts, Fault, Pinned};
use super::gpu::Gpu;
use super::lane::{Lane, Pictures, rung};
use super::layers::Precision;
use super::pinned::Given;
use crate::pipeline::infer::graph::Graph;
use crate::pipeline::infer::{Engine, EngineError, EngineInfo, InputSpec, Output, Pixels, Ticket};
use crate::pipeline::pixels::PixelFormat;
use crate::pipeline::slab::HostMemory;
use crate::probe::clock::Nanos;

/// Which GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// The first one.
    #[default]
    First,
    /// The one of this number, in the driver's order.
    One(usize),
    /// All of them; they share the batches.
    All,
}

/// What is needed besides the graph.
pub struct Setup {
    /// Name of the model.
    pub model: String,
    /// What it wants of each picture; the format becomes bytes.
    pub input: InputSpec,
    /// Names of its classes.
    pub names: Arc<[String]>,
    /// Which GPUs.
    pub devices: Devices,
    /// fp32 although fp16 is there.
    pub precision: Option<Precision>,
    /// Whether cuDNN may be used where it is found.
    pub cudnn: bool,
    /// The batch that is expected: measured and recorded before the first one comes.
    pub batch: usize,
    /// Told what takes a while.
    pub tell: Box<dyn Fn(&str)>,
    /// Makes the engine that goes on where every GPU is lost.
    pub spare: Spare,
}

/// Makes an engine, or says why there is none.
pub type Spare = Box<dyn Fn() -> Result<Arc<dyn Engine>, String> + Send + Sync>;

/// Batches go to the GPU with the fewest under way. Each is the device's from there on: uploaded as bytes, normalised,
/// computed as one CUDA graph, brought back.
pub struct CudaEngine {
    shared: Arc<Shared>,
}

struct Shared {
    info: EngineInfo,
    input: InputSpec,
    names: Arc<[String]>,
    probabilities: bool,
    gpus: Vec<Gpu>,
    given: Arc<Given>,
    make_spare: Spare,
    spare: OnceLock<Result<Arc<dyn Engine>, String>>,
}

impl CudaEngine {
    /// Opens the devices and loads the model.
    ///
    /// # Errors
    /// Where there is no GPU, or it does not take the model: one line for the person who asked for it.
    pub fn new(graph: &Graph, setup: Setup) -> Result<Self, NoCuda> {
        let driver = probe()?;
        let facts = chosen(&driver, setup.devices)?;
        let input = InputSpec { format: PixelFormat::U8Nhwc, ..setup.input };
        let gpus = contained(|| {
            let open = |facts: &&Facts| {
                let mut gpu = Gpu::new(facts, graph, &input, setup.precision)?;
                if setup.cudnn
                    && let Err(why) = gpu.add_cudnn()
                {
                    tracing::info!("{} runs without cuDNN: {why}", facts.name);
                }
                Ok(gpu)
            };
            facts.iter().map(open).collect::<Result<Vec<_>, Fault>>()
        })?
        .map_err(|fault| NoCuda::Failed(fault.to_string()))?;
        let info = EngineInfo {
            kind: "cuda".into(),
            model: setup.model,
            name: name(&facts),
            side: input.side,
            classes: graph.classes,
            device: true,
        };
        let shared = Shared {
            info,
            input,
            names: setup.names,
            probabilities: graph.probabilities,
            gpus,
            given: Arc::default(),
            make_spare: setup.spare,
            spare: OnceLock::new(),
        };
        for gpu in &shared.gpus {
            contained(|| warm_up(gpu, driver.version, setup.batch.max(1), &*setup.tell))?
                .map_err(|fault| NoCuda::Failed(format!("{}: {fault}", gpu.facts().name)))?;
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What was spent on each GPU, and its name.
    pub fn spent(&self) -> Vec<(String, Spent)> {
        let spent = |gpu: &Gpu| (gpu.facts().name.clone(), gpu.account().spent());
        self.shared.gpus.iter().map(spent).collect()
    }
}

fn chosen(driver: &Driver, devices: Devices) -> Result<Vec<&Facts>, NoCuda> {
    match devices {
        Devices::First => driver.device(0).map(|facts| vec![facts]),
        Devices::One(index) => driver.device(index).map(|facts| vec![facts]),
        Devices::All => (0..driver.devices.len()).map(|index| driver.device(index)).collect(),
    }
}

/// `CUDA on NVIDIA H200`, `CUDA on 2 × NVIDIA H200`.
fn name(facts: &[&Facts]) -> String {
    let mut kinds: Vec<(usize, &str)> = Vec::new();
    for facts in facts {
        match kinds.iter_mut().find(|(_, name)| *name == facts.name) {
            Some((count, _)) => *count += 1,
            None => kinds.push((1, &facts.name)),
        }
    }
    let named = kinds.iter().map(|(count, name)| match count {
        1 => (*name).to_owned(),
        _ => format!("{count} × {name}"),
    });
    format!("CUDA on {}", named.collect::<Vec<_>>().join(", "))
}

/// Measures for the batch that is expected, records its graph and runs it once: errors show now.
fn warm_up(gpu: &Gpu, driver: i32, batch: usize, tell: &dyn Fn(&str)) -> Result<(), Fault> {
    gpu.bind()?;
    match gpu.tune(driver, rung(batch).min(gpu.limit()), tell) {
        // Then it runs in passes that fit, as guessed.
        Err(Fault::Memory { .. }) => {}
        result => result?,
    }
    let side = gpu.model().input.side;
    let mut lane = gpu.next_lane()?;
    let bytes = vec![0; batch * 3 * side * side];
    gpu.enqueue(&mut lane, Pictures { bytes: &bytes, pinned: false }, batch)?;
    lane.wait()?;
    gpu.return_lane(lane);
    Ok(())
}

impl Engine for CudaEngine {
    /// The spare engine's once it has taken over.
    fn info(&self) -> &EngineInfo {
        match self.shared.spare.get() {
            Some(Ok(spare)) => spare.info(),
            _ => &self.shared.info,
        }
    }

    fn input(&self) -> &InputSpec {
        &self.shared.input
    }

    fn class_names(&self) -> Arc<[String]> {
        Arc::clone(&self.shared.names)
    }

    fn submit(&self, pixels: Pixels, images: usize) -> Result<Box<dyn Ticket>, EngineError> {
        let have = pixels.view().bytes().map_or(0, <[u8]>::len);
        let want = images * self.shared.input.bytes();
        if images == 0 || have < want {
            return Err(EngineError(format!(
                "a batch of {images} images holds {have} bytes, where {} wants {want}",
                self.shared.info.model
            )));
        }
        let shared = Arc::clone(&self.shared);
        let batch = Batch { shared, pixels, images };
        Ok(Box::new(Flight { stage: batch.take_off(false), batch }))
    }

    /// Pinned memory, which is uploaded without a copy.
    fn host_memory(&self, bytes: usize) -> Option<Box<dyn HostMemory>> {
        let gpu = self.shared.gpus.iter().find(|gpu| !gpu.is_lost())?;
        gpu.bind().ok()?;
        let memory = Pinned::new(gpu.context(), bytes).ok()?;
        Some(self.shared.given.give(memory))
    }

    fn outputs_probabilities(&self) -> bool {
        self.shared.probabilities
    }

    /// The mean over the GPUs.
    fn device_busy(&self) -> Option<Nanos> {
        let busy: Nanos = self.shared.gpus.iter().map(|gpu| gpu.account().busy()).sum();
        Some(busy / self.shared.gpus.len() as Nanos)
    }
}

struct Batch {
    shared: Arc<Shared>,
    /// Kept until the logits are there: another engine may have to start anew.
    pixels: Pixels,
    images: usize,
}

/// A batch under way.
struct Flight {
    batch: Batch,
    stage: Stage,
}

enum Stage {
    /// All lanes were under way.
    Queued,
    /// On a lane of this GPU.
    OnDevice(usize, Box<Lane>),
    /// No GPU is left.
    Stranded,
    /// The logits were fetched, or the lane was given up.
    Landed,
}

impl Batch {
    /// Puts it on the GPU with the fewest batches under way; where all lanes are, it waits for one if it may.
    fn take_off(&self, may_wait: bool) -> Stage {
        loop {
            let live = self.shared.gpus.iter().enumerate().filter(|(_, gpu)| !gpu.is_lost());
            let Some((index, gpu)) = live.min_by_key(|(_, gpu)| gpu.under_way()) else {
                return Stage::Stranded;
            };
            match self.on(gpu, may_wait) {
                Ok(Some(lane)) => return Stage::OnDevice(index, Box::new(lane)),
                Ok(None) => return Stage::Queued,
                Err(fault) => self.shared.lose(index, &fault),
            }
        }
    }

    fn on(&self, gpu: &Gpu, may_wait: bool) -> Result<Option<Lane>, Fault> {
        gpu.bind()?;
        let lane = if may_wait { Some(gpu.next_lane()?) } else { gpu.free_lane()? };
        let Some(mut lane) = lane else { return Ok(None) };
        let view = self.pixels.view();
        let bytes = view.bytes().unwrap_or_default();
        let used = &bytes[..self.images * self.shared.input.bytes()];
        let pictures = Pictures { bytes: used, pinned: self.shared.given.holds(used) };
        match gpu.enqueue(&mut lane, pictures, self.images) {
            Ok(()) => Ok(Some(lane)),
            Err(fault) => {
                gpu.drop_lane(lane);
                Err(fault)
            }
        }
    }

    /// Sleeps until the lane is done, and takes the logits and times.
    fn land(&self, gpu: &Gpu, lane: &mut Lane) -> Result<Vec<f32>, Fault> {
        gpu.bind()?;
        lane.wait()?;
        let logits = lane.logits(self.images * gpu.model().classes);
        let moments = lane.take_moments()?;
        gpu.account().add(self.images, &moments)?;
        Ok(logits)
    }

    fn by_spare(&self) -> Result<Output, EngineError> {
        let spare = self.shared.spare()?;
        let pixels = in_form(&self.pixels, self.images, &self.shared.input, spare.input())?;
        spare.submit(pixels, self.images)?.wait()
    }
}

impl Ticket for Flight {
    fn wait(mut self: Box<Self>) -> Result<Output, EngineError> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Landed) {
                Stage::Queued => self.stage = self.batch.take_off(true),
                Stage::OnDevice(index, mut lane) => {
                    let gpu = &self.batch.shared.gpus[index];
                    match self.batch.land(gpu, &mut lane) {
                        Ok(logits) => {
                            gpu.return_lane(*lane);
                            return Ok(Output::Logits(logits));
                        }
                        Err(fault) => {
                            gpu.drop_lane(*lane);
                            self.batch.shared.lose(index, &fault);
                            self.stage = self.batch.take_off(true);
                        }
                    }
                }
                Stage::Stranded | Stage::Landed => return self.batch.by_spare(),
            }
        }
    }
}

impl Drop for Flight {
    /// A ticket that nobody waited for gives its lane back all the same.
    fn drop(&mut self) {
        if let Stage::OnDevice(index, lane) = std::mem::replace(&mut self.stage, Stage::Landed) {
            let gpu = &self.batch.shared.gpus[index];
            if gpu.bind().and_then(|()| lane.wait()).is_ok() {
                gpu.return_lane(*lane);
            } else {
                gpu.drop_lane(*lane);
            }
        }
    }
}

impl Shared {
    fn lose(&self, index: usize, fault: &Fault) {
        let gpu = &self.gpus[index];
        if gpu.lose() {
            let facts = gpu.facts();
            tracing::error!(
                "GPU {} ({}) gave up: {fault}; going on without it",
                facts.index,
                facts.name
            );
        }
    }

    fn spare(&self) -> Result<&Arc<dyn Engine>, EngineError> {
        let made = self.spare.get_or_init(|| {
            let made = (self.make_spare)();
            match &made {
                Ok(spare) => tracing::error!("no GPU is left: {} takes over", spare.info().name),
                Err(why) => tracing::error!("no GPU is left, and nothing to take over: {why}"),
            }
            made
        });
        made.as_ref().map_err(|why| EngineError(format!("no GPU is left, and {why}")))
    }
}

/// Pictures of bytes in the form that another engine wants.
fn in_form(
    pixels: &Pixels,
    images: usize,
    spec: &InputSpec,
    wanted: &InputSpec,
) -> Result<Pixels, EngineError> {
    let bytes = pixels.view().bytes().unwrap_or_default();
    let bytes = &bytes[..images * spec.bytes()];
    let value = |at: usize| (f32::from(bytes[at]) - wanted.mean[at % 3]) / wanted.std[at % 3];
    if (wanted.side, wanted.geometry) != (spec.side, spec.geometry) {
        return Err(EngineError("the engine that takes over wants other pictures".into()));
    }
    let plane = spec.values() / 3;
    Ok(match wanted.format {
        PixelFormat::U8Nhwc => Arc::clone(pixels),
        PixelFormat::F32Nhwc => Arc::new((0..bytes.len()).map(value).collect::<Vec<f32>>()),
        PixelFormat::F32Nchw => {
            let place = |at: usize| {
                let (picture, rest) = (at / (3 * plane), at % (3 * plane));
                picture * 3 * plane + rest % plane * 3 + rest / plane
            };
            Arc::new((0..bytes.len()).map(|at| value(place(at))).collect::<Vec<f32>>())
        }
    })
}
