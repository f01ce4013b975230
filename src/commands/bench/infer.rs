//! `pipetop bench infer`: an engine and a model alone, batch after batch.

mod gpu;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cli::BenchInferArgs;
use crate::commands::run::setup::tell;
use crate::commands::{Exit, Failure};
use crate::pipeline::infer::cuda::Devices;
use crate::pipeline::infer::graph::{Graph, Node, Op};
use crate::pipeline::infer::{
    Engine, EngineChoice, EngineInfo, InputSpec, ModelOptions, Output, Pixels, build_cpu,
    build_cuda, build_for_threads,
};
use crate::pipeline::pixels::PixelFormat;
use crate::probe::os::process_cpu;

/// Batches before any is counted.
const WARM_UP: usize = 2;

/// All that is said; times in the unit of their names.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    engine: EngineInfo,
    runs: Vec<Run>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layers: Vec<Layer>,
}

/// One batch size on so many threads.
#[derive(Debug, Serialize)]
struct Run {
    batch: usize,
    threads: usize,
    /// How many batches were measured.
    batches: usize,
    /// By the median.
    img_s: f64,
    ms_median: f64,
    ms_p95: f64,
    /// CPU time a batch, of all threads, as a mean.
    cpu_ms: Option<f64>,
    /// What a GPU did; `img_s` is then of all batches together, and `ms_…` of each from handing it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<gpu::Device>,
}

/// One node of the graph, or the conversion of the input.
#[derive(Debug, Serialize)]
struct Layer {
    batch: usize,
    name: String,
    op: String,
    /// What comes out, an image; for convolutions with window, step and groups.
    shape: String,
    /// The least of several passes: what the layer takes undisturbed.
    us: f64,
    gflop_s: Option<f64>,
}

/// Measures an engine.
///
/// # Errors
/// Where the model cannot be run, or a file or stdout not be read or written.
pub fn run(args: &BenchInferArgs) -> Result<Exit, Failure> {
    if !args.engine.runs_models() {
        return Err(Failure::usage(format!(
            "the engine {} runs no model: cpu or rten do",
            args.engine
        )));
    }
    let options = options(args);
    if let (Some(input), Some(logits)) = (&args.input, &args.logits) {
        return dump(args, &options, input, logits);
    }
    let mut report = Report {
        schema: "pipetop.bench.infer/1",
        engine: EngineInfo::default(),
        runs: Vec::new(),
        layers: Vec::new(),
    };
    if let EngineChoice::Cuda(devices) = args.engine {
        on_gpu(args, &options, devices, &mut report)?;
        return write(args, &report);
    }
    let mut told = false;
    for &threads in &args.threads {
        let threads = threads as usize;
        let (engine, notes) = build_for_threads(&args.engine, &options, Some(threads))?;
        if !told {
            tell(&notes);
            told = true;
        }
        report.engine = engine.info().clone();
        for &batch in &args.batch {
            report.runs.push(measure(&*engine, batch as usize, threads, args.seconds)?);
        }
    }
    if args.layers {
        report.layers = layers(args, &options)?;
    }
    write(args, &report)
}

/// The runs of an engine on a GPU.
fn on_gpu(
    args: &BenchInferArgs,
    options: &ModelOptions,
    devices: Devices,
    report: &mut Report,
) -> Result<(), Failure> {
    let engine = build_cuda(devices, options)?;
    report.engine = engine.info().clone();
    tell(&engine.notices().into_iter().map(|notice| notice.text).collect::<Vec<_>>());
    for &batch in &args.batch {
        let batch = batch as usize;
        let cpu = process_cpu();
        let run = gpu::measure(&engine, batch, args.in_flight as usize, args.seconds)?;
        let cpu = process_cpu().zip(cpu).map(|(after, before)| after.saturating_sub(before));
        let times = &run.latencies;
        let at = |part: usize| times.get(times.len() * part / 100).or(times.last()).copied();
        report.runs.push(Run {
            batch,
            threads: args.in_flight as usize,
            batches: times.len(),
            img_s: run.rate,
            ms_median: at(50).unwrap_or(f64::NAN),
            ms_p95: at(95).unwrap_or(f64::NAN),
            cpu_ms: cpu.map(|nanos| nanos as f64 / 1e6 / times.len().max(1) as f64),
            device: Some(run.device),
        });
        if args.layers {
            let steps = engine.steps(batch).map_err(|error| Failure::new(error.to_string()))?;
            report.layers.extend(steps.into_iter().map(|step| Layer {
                batch,
                name: step.name,
                op: step.kernel,
                shape: String::new(),
                us: step.ms * 1e3,
                gflop_s: None,
            }));
        }
    }
    Ok(())
}

fn write(args: &BenchInferArgs, report: &Report) -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    let written = if args.json {
        serde_json::to_writer_pretty(&mut out, report)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        text(report, &mut out)
    };
    written.map_err(|error| Failure::output("stdout", &error))?;
    Ok(Exit::Fine)
}

fn options(args: &BenchInferArgs) -> ModelOptions {
    let own = args.model.as_os_str() != "builtin";
    ModelOptions {
        model: own.then(|| args.model.clone()),
        size: args.size,
        precision: args.precision,
        no_cudnn: args.no_cudnn,
        batch: args.batch.first().map(|&batch| batch as usize),
        ..ModelOptions::default()
    }
}

/// Noise, the same each time.
fn noise(values: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..values).map(|_| next()).collect()
}

/// Normalised planes in the form that an engine wants. Bytes are the nearest ones, so that planes made of bytes give
/// these again.
fn in_form(planes: Vec<f32>, input: &InputSpec) -> Pixels {
    let plane = input.values() / 3;
    let value = |at: usize| {
        let (picture, rest) = (at / (3 * plane), at % (3 * plane));
        planes[picture * 3 * plane + rest % 3 * plane + rest / 3]
    };
    match input.format {
        PixelFormat::F32Nchw => Arc::new(planes),
        PixelFormat::F32Nhwc => Arc::new((0..planes.len()).map(value).collect::<Vec<f32>>()),
        PixelFormat::U8Nhwc => {
            let byte = |at: usize| value(at).mul_add(input.std[at % 3], input.mean[at % 3]).round();
            Arc::new((0..planes.len()).map(|at| byte(at) as u8).collect::<Vec<u8>>())
        }
    }
}

fn infer(engine: &dyn Engine, pixels: &Pixels, images: usize) -> Result<Vec<f32>, Failure> {
    let output = engine
        .submit(Arc::clone(pixels), images)
        .and_then(crate::pipeline::infer::Ticket::wait)
        .map_err(|error| Failure::new(error.to_string()))?;
    match output {
        Output::Logits(logits) => Ok(logits),
        Output::Nothing => Err(Failure::new("the engine predicted nothing")),
    }
}

fn measure(
    engine: &dyn Engine,
    batch: usize,
    threads: usize,
    time: Duration,
) -> Result<Run, Failure> {
    let pixels: Pixels = in_form(noise(batch * engine.input().values()), engine.input());
    for _ in 0..WARM_UP {
        infer(engine, &pixels, batch)?;
    }
    let mut times = Vec::new();
    let (start, cpu) = (Instant::now(), process_cpu());
    while start.elapsed() < time || times.is_empty() {
        let begin = Instant::now();
        infer(engine, &pixels, batch)?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let cpu = process_cpu().zip(cpu).map(|(after, before)| after.saturating_sub(before));
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    Ok(Run {
        batch,
        threads,
        batches: times.len(),
        img_s: batch as f64 * 1e3 / median,
        ms_median: median,
        ms_p95: times[(times.len() * 95 / 100).min(times.len() - 1)],
        cpu_ms: cpu.map(|nanos| nanos as f64 / 1e6 / times.len() as f64),
        device: None,
    })
}

/// Writes the logits of the pictures of a file.
fn dump(
    args: &BenchInferArgs,
    options: &ModelOptions,
    input: &Path,
    logits: &Path,
) -> Result<Exit, Failure> {
    let bytes = std::fs::read(input)
        .map_err(|error| Failure::new(format!("{}: cannot be read: {error}", input.display())))?;
    let values: Vec<f32> =
        bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    let threads = args.threads.first().map(|&threads| threads as usize);
    let (engine, notes) = build_for_threads(&args.engine, options, threads)?;
    tell(&notes);
    let each = engine.input().values();
    if values.is_empty() || bytes.len() % (4 * each) != 0 {
        return Err(Failure::new(format!(
            "{}: {} bytes are no pictures for {}, which takes {} bytes each",
            input.display(),
            bytes.len(),
            engine.info().model,
            4 * each
        )));
    }
    let images = values.len() / each;
    let pixels = in_form(values, engine.input());
    let found = infer(&*engine, &pixels, images)?;
    let bytes: Vec<u8> = found.iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(logits, bytes)
        .map_err(|error| Failure::output(&logits.display().to_string(), &error))?;
    tell(&[format!("{images} × {} logits by {}", engine.info().classes, engine.info().name)]);
    Ok(Exit::Fine)
}

/// Passes of which the least time counts.
const PASSES: usize = 10;

fn layers(args: &BenchInferArgs, options: &ModelOptions) -> Result<Vec<Layer>, Failure> {
    if args.engine != EngineChoice::Cpu {
        return Err(Failure::usage("--layers is for the engines cpu and cuda"));
    }
    let (engine, graph) = build_cpu(options).map_err(|error| {
        let file: PathBuf = args.model.clone();
        Failure::new(format!("{}: {error}", file.display()))
    })?;
    let mut layers = Vec::new();
    for &batch in &args.batch {
        let batch = batch as usize;
        let pixels: Pixels = in_form(noise(batch * engine.input().values()), engine.input());
        let pass = || {
            engine
                .profile(Arc::clone(&pixels), batch)
                .map_err(|error| Failure::new(error.to_string()))
        };
        let mut best = pass()?;
        for _ in 1..PASSES {
            for (best, time) in best.iter_mut().zip(pass()?) {
                *best = time.min(*best);
            }
        }
        let us = |time: &Duration| time.as_secs_f64() * 1e6;
        let input = graph.tensor(graph.input);
        layers.push(Layer {
            batch,
            name: input.name.clone(),
            op: "input".to_owned(),
            shape: sizes(&input.dims),
            us: us(&best[0]),
            gflop_s: None,
        });
        for (node, time) in graph.nodes.iter().zip(&best[1..]) {
            let flop = flop(node) * batch;
            layers.push(Layer {
                batch,
                name: node.name.clone(),
                op: node.op.name().to_owned(),
                shape: shape(&graph, node),
                us: us(time),
                gflop_s: (flop > 0).then(|| flop as f64 / us(time) / 1e3),
            });
        }
    }
    Ok(layers)
}

fn flop(node: &Node) -> usize {
    match &node.op {
        Op::Conv(conv) => conv.flop(),
        Op::Linear(linear) => 2 * linear.rows * linear.inputs * linear.outputs,
        _ => 0,
    }
}

fn sizes(dims: &[usize]) -> String {
    dims.iter().map(ToString::to_string).collect::<Vec<_>>().join("×")
}

/// `56×56×64 3×3/1` for a convolution with a window of 3×3 at steps of 1.
fn shape(graph: &Graph, node: &Node) -> String {
    let out = sizes(&graph.tensor(node.output).dims);
    match &node.op {
        Op::Conv(conv) => {
            let window = conv.window;
            let groups = if conv.groups > 1 { format!(" g{}", conv.groups) } else { String::new() };
            format!(
                "{out} ← {} {}/{}{groups}",
                conv.inputs,
                sizes(&window.kernel),
                window.stride[0]
            )
        }
        Op::Linear(linear) => format!("{out} ← {}", linear.inputs),
        _ => out,
    }
}

fn text(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}, {}", report.engine.model, report.engine.name)?;
    writeln!(out)?;
    writeln!(out, "batch  threads     img/s  ms median    ms p95   CPU ms  batches")?;
    for run in &report.runs {
        let cpu = run.cpu_ms.map_or_else(|| "—".into(), |ms| format!("{ms:.2}"));
        writeln!(
            out,
            "{:>5}  {:>7}  {:>8.1}  {:>9.2}  {:>8.2}  {cpu:>7}  {:>7}",
            run.batch, run.threads, run.img_s, run.ms_median, run.ms_p95, run.batches
        )?;
    }
    for run in &report.runs {
        if let Some(device) = &run.device {
            writeln!(out, "\nbatch {}: {device}", run.batch)?;
        }
    }
    if report.layers.is_empty() {
        return Ok(());
    }
    let of = |batch: usize| -> f64 {
        report.layers.iter().filter(|layer| layer.batch == batch).map(|layer| layer.us).sum()
    };
    writeln!(out)?;
    writeln!(out, "batch        µs      %  GFLOP/s  op              shape, name")?;
    for layer in &report.layers {
        let rate = layer.gflop_s.map_or_else(String::new, |rate| format!("{rate:.0}"));
        writeln!(
            out,
            "{:>5}  {:>8.1}  {:>5.1}  {rate:>7}  {:<14}  {}  {}",
            layer.batch,
            layer.us,
            100.0 * layer.us / of(layer.batch),
            layer.op,
            layer.shape,
            crate::commands::without_controls(&layer.name)
        )?;
    }
    Ok(())
}
