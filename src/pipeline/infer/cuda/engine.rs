//! The engine on NVIDIA GPUs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::alone::{self, StepTime};
use super::busy::Spent;
use super::check;
use super::device::{Driver, NoCuda, contained, probe};
use super::driver::{Facts, Fault, Pinned};
use super::flight::Flight;
use super::gpu::{Gpu, suits};
use super::lane::{Pictures, rung};
use super::layers::Precision;
use super::pinned::Given;
use crate::pipeline::infer::graph::Graph;
use crate::pipeline::infer::{
    DeviceTimes, Engine, EngineError, EngineInfo, InputSpec, Notice, Notices, Pixels, Ticket,
    check_pictures,
};
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

pub(super) struct Shared {
    pub(super) info: EngineInfo,
    pub(super) input: InputSpec,
    pub(super) names: Arc<[String]>,
    pub(super) probabilities: bool,
    pub(super) gpus: Vec<Gpu>,
    pub(super) given: Arc<Given>,
    pub(super) make_spare: Spare,
    pub(super) spare: OnceLock<Result<Arc<dyn Engine>, String>>,
    pub(super) notices: Notices,
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
        let notices = Notices::default();
        let precision = contained(|| precision(&facts, graph, &input, setup.precision))?
            .map_err(|fault| NoCuda::Failed(fault.to_string()))?;
        if let Some(off) = precision.off {
            let text = format!(
                "{} runs in fp32 on the GPU: in fp16 its logits are off by {:.1} % (--precision fp16 runs it so all the same)",
                setup.model,
                off * 100.0
            );
            (setup.tell)(&text);
            notices.push(text);
        }
        let gpus = contained(|| {
            let open = |facts: &&Facts| {
                let mut gpu = Gpu::new(facts, graph, &input, precision.chosen)?;
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
            name: name(&facts, gpus.iter().all(|gpu| gpu.model().precision == Precision::Floats)),
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
            notices,
        };
        for gpu in &shared.gpus {
            contained(|| warm_up(gpu, driver.version, setup.batch.max(1), &*setup.tell))?
                .map_err(|fault| NoCuda::Failed(format!("{}: {fault}", gpu.facts().name)))?;
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Measures kernels for batches of so many images on the first GPU, if that was not done.
    ///
    /// # Errors
    /// Where the device fails or has no memory for such a batch.
    pub fn prepare(&self, images: usize) -> Result<(), EngineError> {
        let gpu = self.first();
        let driver = probe().map_err(|error| EngineError(error.to_string()))?;
        let size = rung(images).min(gpu.limit());
        let tuned = contained(|| {
            gpu.bind()?;
            gpu.tune(driver.version, size, &|text| tracing::info!("{text}"))
        });
        flat(tuned)
    }

    /// Milliseconds of the network alone, without copies and normalising, in batches of so many images on the first GPU: the
    /// least and the median of runs for `time`.
    ///
    /// # Errors
    /// Where the device fails or has no memory for such a batch.
    pub fn network(&self, images: usize, time: Duration) -> Result<(f64, f64), EngineError> {
        flat(contained(|| alone::network(self.first(), images, time)))
    }

    /// How long each step of a batch takes on the first GPU.
    ///
    /// # Errors
    /// As [`Self::network`].
    pub fn steps(&self, images: usize) -> Result<Vec<StepTime>, EngineError> {
        flat(contained(|| alone::steps(self.first(), images)))
    }

    /// How many layers cuDNN computes in batches of so many images, and how many there are.
    pub fn by_cudnn(&self, images: usize) -> (usize, usize) {
        alone::by_cudnn(self.first(), images)
    }

    fn first(&self) -> &Gpu {
        &self.shared.gpus[0]
    }
}

fn flat<T>(result: Result<Result<T, Fault>, NoCuda>) -> Result<T, EngineError> {
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(fault)) => Err(EngineError(fault.to_string())),
        Err(error) => Err(EngineError(error.to_string())),
    }
}

fn chosen(driver: &Driver, devices: Devices) -> Result<Vec<&Facts>, NoCuda> {
    match devices {
        Devices::First => driver.device(0).map(|facts| vec![facts]),
        Devices::One(index) => driver.device(index).map(|facts| vec![facts]),
        Devices::All => (0..driver.devices.len()).map(|index| driver.device(index)).collect(),
    }
}

/// In which precision a model runs.
struct Chosen {
    /// `None`: what suits each device.
    chosen: Option<Precision>,
    /// How far fp16 was off, where that was too much.
    off: Option<f64>,
}

/// fp16 where it is good enough, unless `wanted` says which.
fn precision(
    facts: &[&Facts],
    graph: &Graph,
    input: &InputSpec,
    wanted: Option<Precision>,
) -> Result<Chosen, Fault> {
    let halves = facts.iter().find(|facts| suits(facts) == Precision::Halves);
    let (None, Some(facts)) = (wanted, halves) else {
        return Ok(Chosen { chosen: wanted, off: None });
    };
    let gpu = Gpu::new(facts, graph, input, None)?;
    let off = check::off(&gpu, graph, input)?.filter(|&off| off > check::LIMIT);
    Ok(Chosen { chosen: off.map(|_| Precision::Floats), off })
}

/// `CUDA on NVIDIA H200`, `CUDA fp32 on 2 × NVIDIA H200`.
fn name(facts: &[&Facts], floats: bool) -> String {
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
    let precision = if floats { " fp32" } else { "" };
    format!("CUDA{precision} on {}", named.collect::<Vec<_>>().join(", "))
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
    if batch <= gpu.limit() {
        gpu.time_steps(&lane, rung(batch).min(gpu.limit()))?;
    }
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
        check_pictures(&pixels, images, (&self.shared.input, &self.shared.info.model))?;
        Ok(Box::new(Flight::new(Arc::clone(&self.shared), pixels, images)))
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

    /// Of all GPUs together where there are several: times are means over them, batches and gaps sums.
    fn device_times(&self) -> Option<DeviceTimes> {
        let gpus = self.shared.gpus.len() as f64;
        let spent: Vec<Spent> = self.shared.gpus.iter().map(|gpu| gpu.account().spent()).collect();
        let mean =
            |of: fn(&Spent) -> f64| (spent.iter().map(of).sum::<f64>() / gpus * 1e6) as Nanos;
        Some(DeviceTimes {
            batches: spent.iter().map(|spent| spent.batches).sum(),
            busy: self.device_busy()?,
            h2d: mean(|spent| spent.upload_ms),
            compute: mean(|spent| spent.compute_ms),
            d2h: mean(|spent| spent.download_ms),
            gaps: spent.iter().map(|spent| spent.gaps).sum(),
            gap: mean(|spent| spent.gap_ms),
            gap_max: (spent.iter().map(|spent| spent.gap_max_ms).fold(0.0, f64::max) * 1e6)
                as Nanos,
            occupancy: mean(|spent| spent.occupancy_ms),
            occupancy_over: mean(|spent| spent.occupancy_over_ms),
        })
    }

    /// Of the only GPU.
    fn device_uuid(&self) -> Option<&str> {
        match &*self.shared.gpus {
            [gpu] => Some(&gpu.facts().uuid),
            _ => None,
        }
    }

    fn notices(&self) -> Vec<Notice> {
        self.shared.notices.all()
    }

    /// The mean over the GPUs.
    fn device_busy(&self) -> Option<Nanos> {
        let busy: Nanos = self.shared.gpus.iter().map(|gpu| gpu.account().busy()).sum();
        Some(busy / self.shared.gpus.len() as Nanos)
    }
}

impl Shared {
    pub(super) fn lose(&self, index: usize, fault: &Fault) {
        let gpu = &self.gpus[index];
        if gpu.lose() {
            let facts = gpu.facts();
            self.notices.push(format!(
                "GPU {} ({}) gave up: {fault}; going on without it",
                facts.index, facts.name
            ));
        }
    }

    pub(super) fn spare(&self) -> Result<&Arc<dyn Engine>, EngineError> {
        let made = self.spare.get_or_init(|| {
            let made = (self.make_spare)();
            self.notices.push(match &made {
                Ok(spare) => format!("no GPU is left: {} takes over", spare.info().name),
                Err(why) => format!("no GPU is left, and nothing to take over: {why}"),
            });
            made
        });
        made.as_ref().map_err(|why| EngineError(format!("no GPU is left, and {why}")))
    }
}
