//! A network by itself on a device: without copies, and layer by layer; what the engine's speed is compared with.

use std::time::{Duration, Instant};

use super::driver::{Event, Fault};
use super::gpu::{Choice, Gpu, Step};
use super::lane::rung;
use super::layers::Layer;
use super::tuning;

/// Runs of a graph between two looks at the clock.
const RUNS: usize = 10;

/// One step of a batch.
#[derive(Clone, Debug)]
pub struct StepTime {
    /// The layer's name, or what is done around the layers.
    pub name: String,
    /// The kernel.
    pub kernel: String,
    /// Milliseconds, of runs in a row.
    pub ms: f64,
}

/// Milliseconds that a batch of so many images takes without its copies and its normalising, run after run in one stream for
/// `time`: the least of them and the median.
///
/// # Errors
/// Where the device fails, or has no memory for the batch.
pub(super) fn network(gpu: &Gpu, images: usize, time: Duration) -> Result<(f64, f64), Fault> {
    gpu.bind()?;
    let size = rung(images).min(gpu.limit());
    let mut lane = gpu.next_lane()?;
    let mut measure = || -> Result<Vec<f64>, Fault> {
        lane.record(gpu, size)?;
        let (stream, addresses) = (lane.stream(), lane.addresses(gpu));
        let steps = gpu.steps(size);
        // The first normalises.
        let network = &steps[1..];
        gpu.before_capture(network, stream, &addresses)?;
        let graph = stream
            .capture(|| network.iter().try_for_each(|step| gpu.start(step, stream, &addresses)))?;
        let (begin, end) = (Event::new(gpu.context())?, Event::new(gpu.context())?);
        let mut times = Vec::new();
        let start = Instant::now();
        while start.elapsed() < time || times.len() < 3 {
            stream.record(&begin)?;
            (0..RUNS).try_for_each(|_| stream.run(&graph))?;
            stream.record(&end)?;
            end.wait()?;
            times.push(f64::from(begin.until(&end)?) / RUNS as f64);
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    };
    let times = measure();
    match &times {
        Ok(_) => gpu.return_lane(lane),
        Err(_) => gpu.drop_lane(lane),
    }
    times.map(|times| (times[0], times[times.len() / 2]))
}

/// How long each step of such a batch takes.
///
/// # Errors
/// As [`network`].
pub(super) fn steps(gpu: &Gpu, images: usize) -> Result<Vec<StepTime>, Fault> {
    gpu.bind()?;
    let size = rung(images).min(gpu.limit());
    let mut lane = gpu.next_lane()?;
    let mut measure = || -> Result<Vec<StepTime>, Fault> {
        lane.record(gpu, size)?;
        let mut times = Vec::new();
        for (name, steps) in named(gpu, size) {
            let ms = f64::from(tuning::time(gpu, &lane, &steps)?);
            let kernels: Vec<&str> = steps.iter().map(kernel).collect();
            times.push(StepTime { name, kernel: kernels.join(" + "), ms });
        }
        Ok(times)
    };
    let times = measure();
    match &times {
        Ok(_) => gpu.return_lane(lane),
        Err(_) => gpu.drop_lane(lane),
    }
    times
}

const fn kernel(step: &Step) -> &'static str {
    match step {
        Step::Launch(launch) => launch.kernel,
        Step::Cudnn { .. } => "cudnn",
    }
}

/// A batch's steps by layer.
fn named(gpu: &Gpu, size: usize) -> Vec<(String, Vec<Step>)> {
    let all = gpu.steps(size);
    let mut named = vec![("normalise".to_owned(), vec![all[0].clone()])];
    for (index, choice) in gpu.choices(size).into_iter().enumerate() {
        let name = match &gpu.model().layers[index] {
            Layer::Conv(conv) => conv.name.clone(),
            Layer::Plain(node, _) => node.name.clone(),
        };
        named.push((name, gpu.layer_steps(index, choice, size)));
    }
    let so_far: usize = named.iter().map(|(_, steps)| steps.len()).sum();
    if so_far < all.len() {
        named.push(("logits".to_owned(), all[so_far..].to_vec()));
    }
    named
}

/// How many layers cuDNN computes of how many.
pub(super) fn by_cudnn(gpu: &Gpu, images: usize) -> (usize, usize) {
    let choices = gpu.choices(rung(images).min(gpu.limit()));
    (choices.iter().filter(|&&choice| choice == Choice::Cudnn).count(), choices.len())
}
