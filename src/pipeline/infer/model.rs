//! The options of a run's model, and from choice and options an engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::choice::{EngineChoice, parse_engine};
use super::cpu::CpuEngine;
use super::cuda::{CudaEngine, Devices, Precision, Setup};
use super::emulated::EmulatedEngine;
use super::graph::{self, Graph, GraphError};
use super::labels::{parse_labels, read_labels};
use super::null::NullEngine;
use super::onnx::{self, MAX_SIDE};
use super::preprocessor::{PreprocessorConfig, read_preprocessor};
use super::rten::RtenEngine;
use super::switch::SwitchEngine;
use super::{Engine, Framing, Geometry, InputSpec, builtin};
use crate::pipeline::knobs::DEVICES;
use crate::pipeline::pixels::PixelFormat;
use crate::probe::clock::RealClock;

/// The model and how it wants its pictures, as given on the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelOptions {
    /// An ONNX file; without it the built-in model.
    pub model: Option<PathBuf>,
    /// Names of the classes; see [`read_labels`].
    pub labels: Option<PathBuf>,
    /// What is subtracted, by channel. The scale is read off the numbers: where every value of `mean`
    /// and `std` is at most 1 they are for pixels of 0 to 1 (as torchvision writes), else for pixels
    /// of 0 to 255.
    pub mean: Option<[f32; 3]>,
    /// By what is divided, by channel; the scale as for `mean`.
    pub std: Option<[f32; 3]>,
    /// Side of the square that the model sees, in pixels; only where the model leaves it open.
    pub size: Option<u32>,
    /// Length to which the shorter side is resized, in pixels; at first 256/224 of the side.
    pub resize: Option<u32>,
    /// Side and geometry in one; outranks `size` and `resize`.
    pub framing: Option<Framing>,
    /// A Hugging Face `preprocessor_config.json`; the options above outrank it.
    pub preprocessor: Option<PathBuf>,
    /// In what an engine on a GPU computes; `None`: fp16 where the device is fast in it and the model's logits stand it.
    pub precision: Option<Precision>,
    /// Whether a GPU goes without cuDNN where that is found.
    pub no_cudnn: bool,
    /// Images of a batch that an engine on a GPU is made ready for; any other size runs too.
    pub batch: Option<usize>,
}

impl ModelOptions {
    /// The side that was asked for.
    fn side(&self) -> Option<u32> {
        self.framing.map(|framing| framing.side).or(self.size)
    }
}

/// Why there is no engine; the text is for the person who chose the model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file that cannot be read.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is no ONNX model, or a broken one.
    #[error("{}: no ONNX model can be read from it ({found}); {way_out}", file.display())]
    NotOnnx {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        found: String,
        /// What to do.
        way_out: &'static str,
    },
    /// A model with an operator or a form that the engine lacks.
    #[error("{}: the engine on the CPU cannot run it: {found}; {way_out}", file.display())]
    Unsupported {
        /// The file.
        file: PathBuf,
        /// What it lacks.
        found: String,
        /// What to do.
        way_out: &'static str,
    },
    /// A model whose input is no picture.
    #[error("{}: {found}; expected is one float input of N×3×H×W or 1×3×H×W with H = W; {way_out}", file.display())]
    Input {
        /// The file.
        file: PathBuf,
        /// What its input is.
        found: String,
        /// What to do.
        way_out: String,
    },
    /// A model whose outputs are no classes.
    #[error("{}: {found}; expected is a float output of N×classes, one vector a picture; {way_out}", file.display())]
    Output {
        /// The file.
        file: PathBuf,
        /// What its outputs are.
        found: String,
        /// What to do.
        way_out: &'static str,
    },
    /// A file of class names that does not fit.
    #[error("{}: {problem}", file.display())]
    Labels {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A `preprocessor_config.json` that cannot be followed.
    #[error("{}: {problem}", file.display())]
    Preprocessor {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// No thread to compute on.
    #[error("no thread can be started: {0}")]
    Threads(std::io::Error),
    /// A model that no memory holds.
    #[error(
        "the model cannot be run: {error}; export it with smaller pictures (--size where it leaves them open)"
    )]
    Large {
        /// What is too large.
        error: GraphError,
    },
    /// No GPU, or none that takes the model.
    #[error("the engine cuda cannot run: {why}; with --engine auto the CPU infers instead")]
    Gpu {
        /// Why.
        why: String,
    },
    /// An option that cannot be.
    #[error("{option}: {problem}")]
    Option {
        /// The option: `--mean`.
        option: &'static str,
        /// What is wrong and what to do.
        problem: String,
    },
}

/// The engine that was chosen, with its model; what is in a `preprocessor_config.json` and not followed
/// goes to the log. See [`build_engine_noting`].
///
/// # Errors
/// Where the model, its labels or an option cannot be used.
pub fn build_engine(
    choice: &EngineChoice,
    options: &ModelOptions,
) -> Result<Arc<dyn Engine>, ModelError> {
    let (engine, notes) = build_engine_noting(choice, options)?;
    for note in notes {
        tracing::warn!("{note}");
    }
    Ok(engine)
}

/// The engine that was chosen, with its model, and notes for the person who chose: a sentence each.
///
/// Where the engine on the CPU lacks what a model has, the model runs on `rten` and a note says why. `null` and `emulated` run no model but take its pictures: the preprocessing is the same.
///
/// # Errors
/// Where the model, its labels or an option cannot be used.
pub fn build_engine_noting(
    choice: &EngineChoice,
    options: &ModelOptions,
) -> Result<(Arc<dyn Engine>, Vec<String>), ModelError> {
    let (engine, notes) = build_for_threads(choice, options, None)?;
    Ok((movable(engine, choice, options), notes))
}

/// An engine that runs a model where others can run it too may move to any of their devices.
fn movable(
    engine: Arc<dyn Engine>,
    choice: &EngineChoice,
    options: &ModelOptions,
) -> Arc<dyn Engine> {
    let device = match (engine.info().kind.as_str(), choice) {
        ("cpu", _) => "cpu".to_owned(),
        ("cuda", EngineChoice::Auto | EngineChoice::Cuda(Devices::First)) => "cuda:0".to_owned(),
        ("cuda", choice) => choice.to_string(),
        _ => return engine,
    };
    if !DEVICES.contains(&device.as_str()) {
        return engine;
    }
    let options = options.clone();
    let make = move |device: &str| {
        let choice = parse_engine(device).map_err(|error| error.to_string())?;
        // Whoever is on the screen must not be written over.
        match build(&choice, &options, None, |text| tracing::info!("{text}")) {
            Ok((engine, _)) => Ok(engine),
            Err(ModelError::Gpu { why }) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    };
    Arc::new(SwitchEngine::new(&device, engine, Box::new(make)))
}

/// As [`build_engine_noting`]; where `threads` is given, that many share each batch on the CPU, one batch at a time.
///
/// # Errors
/// As there, and where the system has no thread to give.
pub fn build_for_threads(
    choice: &EngineChoice,
    options: &ModelOptions,
    threads: Option<usize>,
) -> Result<(Arc<dyn Engine>, Vec<String>), ModelError> {
    build(choice, options, threads, |text| {
        use std::io::Write;
        // Where nobody reads it, nothing is lost.
        let _ = writeln!(std::io::stderr(), "pipetop: {text}");
    })
}

/// As [`build_for_threads`]; `tell` is told what takes a while.
fn build(
    choice: &EngineChoice,
    options: &ModelOptions,
    threads: Option<usize>,
    tell: fn(&str),
) -> Result<(Arc<dyn Engine>, Vec<String>), ModelError> {
    let config = match &options.preprocessor {
        Some(path) => read_preprocessor(path)?,
        None => PreprocessorConfig::default(),
    };
    let mut notes = config.notes.clone();
    let engine: Arc<dyn Engine> = match *choice {
        EngineChoice::Auto => match cuda(Devices::First, options, &config, tell) {
            Ok(engine) => engine,
            Err(error) => {
                let ModelError::Gpu { why } = error else { return Err(error) };
                notes.push(format!("inferring on the CPU: {why}"));
                let (engine, more) = build(&EngineChoice::Cpu, options, threads, tell)?;
                notes.extend(more.into_iter().filter(|note| !config.notes.contains(note)));
                engine
            }
        },
        EngineChoice::Cpu => match load_graph(options, &config) {
            Ok(graph) => {
                let engine = cpu(options, &config, &graph)?;
                Arc::new(engine.with_threads(threads.unwrap_or(1)).map_err(ModelError::Threads)?)
            }
            // It would end the process on any engine.
            Err(error @ GraphError::TooLarge(_)) => return Err(ModelError::Large { error }),
            Err(error) => {
                // What rten cannot run either, it refuses in its own words.
                let engine = rten(options, &config)?.with_threads(threads);
                notes.push(format!(
                    "{} runs on rten, since the cpu engine cannot: {error}",
                    engine.info().model
                ));
                Arc::new(engine)
            }
        },
        EngineChoice::Rten => Arc::new(rten(options, &config)?.with_threads(threads)),
        EngineChoice::Cuda(devices) => cuda(devices, options, &config, tell)?,
        EngineChoice::Null(format) => {
            let input = InputSpec { format, ..input_alone(options, &config)? };
            Arc::new(NullEngine::new(input))
        }
        EngineChoice::Emulated { rate, latency } => Arc::new(EmulatedEngine::new(
            input_alone(options, &config)?,
            rate,
            latency,
            Arc::new(RealClock),
        )),
    };
    Ok((engine, notes))
}

/// The model as a graph.
fn load_graph(options: &ModelOptions, config: &PreprocessorConfig) -> Result<Graph, GraphError> {
    match &options.model {
        Some(path) => graph::load_file(path, options.side().or(config.side)),
        None => graph::load_bytes(builtin::MODEL, None),
    }
}

/// The model on the CPU by our own engine, to run in other ways than a pipeline does.
///
/// # Errors
/// Where the model is none that it can run, or an option cannot be used.
pub fn build_cpu(options: &ModelOptions) -> Result<(CpuEngine, Graph), CpuError> {
    let config = PreprocessorConfig::default();
    let graph = load_graph(options, &config)?;
    Ok((cpu(options, &config, &graph)?, graph))
}

/// Why a model does not run on our own engine.
#[derive(Debug, thiserror::Error)]
pub enum CpuError {
    /// It has no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// An option cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
}

fn cpu(
    options: &ModelOptions,
    config: &PreprocessorConfig,
    graph: &Graph,
) -> Result<CpuEngine, ModelError> {
    let about = About::of(options, config, graph.side, graph.classes)?;
    let input = InputSpec { format: PixelFormat::U8Nhwc, ..about.input };
    Ok(CpuEngine::new(about.name, input, about.classes, graph))
}

/// The batch for which an engine on a GPU is made ready before the first one comes, where none is asked for.
pub const GPU_BATCH: usize = 64;

/// The model on GPUs, to run in other ways than a pipeline does.
///
/// # Errors
/// Where there is no GPU or none that takes the model, or an option cannot be used.
pub fn build_cuda(devices: Devices, options: &ModelOptions) -> Result<CudaEngine, ModelError> {
    cuda_with(devices, options, &PreprocessorConfig::default(), |_| {})
}

/// The model on GPUs.
fn cuda(
    devices: Devices,
    options: &ModelOptions,
    config: &PreprocessorConfig,
    tell: fn(&str),
) -> Result<Arc<dyn Engine>, ModelError> {
    Ok(Arc::new(cuda_with(devices, options, config, tell)?))
}

fn cuda_with(
    devices: Devices,
    options: &ModelOptions,
    config: &PreprocessorConfig,
    tell: fn(&str),
) -> Result<CudaEngine, ModelError> {
    let graph = load_graph(options, config).map_err(|error| {
        let file = options.model.clone().unwrap_or_else(|| builtin::NAME.into());
        ModelError::Gpu { why: format!("{}: {error}", file.display()) }
    })?;
    let about = About::of(options, config, graph.side, graph.classes)?;
    let again = options.clone();
    let setup = Setup {
        model: about.name,
        input: about.input,
        names: about.classes,
        devices,
        precision: options.precision,
        cudnn: !options.no_cudnn,
        tell: Box::new(tell),
        batch: options.batch.unwrap_or(GPU_BATCH),
        spare: Box::new(move || {
            let made = build(&EngineChoice::Cpu, &again, None, |text| tracing::info!("{text}"));
            made.map(|(engine, _)| engine).map_err(|error| error.to_string())
        }),
    };
    CudaEngine::new(&graph, setup).map_err(|error| ModelError::Gpu { why: error.to_string() })
}

fn rten(options: &ModelOptions, config: &PreprocessorConfig) -> Result<RtenEngine, ModelError> {
    let network = match &options.model {
        Some(path) => onnx::open(path, options.side().or(config.side))?,
        None => onnx::open_builtin(),
    };
    let about = About::of(options, config, network.side, network.classes)?;
    Ok(RtenEngine::new(about.name, about.input, about.classes, network))
}

/// What stands about a model besides its network.
struct About {
    name: String,
    input: InputSpec,
    /// The names of its classes.
    classes: Arc<[String]>,
}

impl About {
    fn of(
        options: &ModelOptions,
        config: &PreprocessorConfig,
        side: usize,
        classes: usize,
    ) -> Result<Self, ModelError> {
        let builtin = options.model.is_none();
        let names = match &options.labels {
            Some(file) => read_labels(file, classes)?,
            None if builtin => parse_labels(builtin::CLASSES).expect("the built-in list is whole"),
            None => (0..classes).map(|class| format!("class {class}")).collect(),
        };
        let (name, input) = if let Some(path) = &options.model {
            let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
            (stem.into_owned(), user_input(options, config, side as u32)?)
        } else {
            let fixed = Some(builtin::INPUT.side);
            (builtin::NAME.into(), resolve_input(options, config, fixed, &builtin::INPUT)?)
        };
        Ok(Self { name, input, classes: names.into() })
    }
}

/// The pictures of the model that is not run.
fn input_alone(
    options: &ModelOptions,
    config: &PreprocessorConfig,
) -> Result<InputSpec, ModelError> {
    match &options.model {
        Some(path) => {
            let side = match load_graph(options, config) {
                Ok(graph) => graph.side,
                Err(_) => onnx::open(path, options.side().or(config.side))?.side,
            };
            user_input(options, config, side as u32)
        }
        None => resolve_input(options, config, None, &builtin::INPUT),
    }
}

/// What torchvision's models were trained with, on a scale of 0 to 255.
const IMAGENET_MEAN: [f32; 3] = [0.485 * 255.0, 0.456 * 255.0, 0.406 * 255.0];
const IMAGENET_STD: [f32; 3] = [0.229 * 255.0, 0.224 * 255.0, 0.225 * 255.0];

fn user_input(
    options: &ModelOptions,
    config: &PreprocessorConfig,
    side: u32,
) -> Result<InputSpec, ModelError> {
    let defaults = InputSpec {
        side,
        geometry: Geometry::Crop { short_side: short_of(side) },
        mean: IMAGENET_MEAN,
        std: IMAGENET_STD,
        format: PixelFormat::F32Nchw,
    };
    resolve_input(options, config, Some(side), &defaults)
}

/// 256 to a side of 224, as most classifiers were tested.
fn short_of(side: u32) -> u32 {
    (side * 256 + 112) / 224
}

/// Options before the file before the defaults; `fixed` is the side that the model has.
fn resolve_input(
    options: &ModelOptions,
    config: &PreprocessorConfig,
    fixed: Option<u32>,
    defaults: &InputSpec,
) -> Result<InputSpec, ModelError> {
    let side = side(options, config, fixed, defaults)?;
    let from_file = config.short_side.filter(|_| config.side.is_none_or(|of| of == side));
    let default = match defaults.geometry {
        Geometry::Crop { short_side } if side == defaults.side => short_side,
        _ => short_of(side),
    };
    let short_side = options.resize.or(from_file.filter(|&short| short >= side)).unwrap_or(default);
    if short_side < side {
        return Err(ModelError::Option {
            option: "--resize",
            problem: format!("{short_side} is less than the model's side of {side} pixels"),
        });
    }
    if short_side > 2 * MAX_SIDE {
        return Err(ModelError::Option {
            option: "--resize",
            problem: format!("{short_side} is too much; at most {} pixels", 2 * MAX_SIDE),
        });
    }
    let geometry = match options.framing {
        Some(framing) => framing.geometry,
        None if options.resize.is_none() && config.squash => Geometry::Squash,
        None => Geometry::Crop { short_side },
    };
    let (mean, std) = scaled(options)?;
    Ok(InputSpec {
        side,
        geometry,
        mean: mean.or(config.mean).unwrap_or(defaults.mean),
        std: std.or(config.std).unwrap_or(defaults.std),
        format: defaults.format,
    })
}

fn side(
    options: &ModelOptions,
    config: &PreprocessorConfig,
    fixed: Option<u32>,
    defaults: &InputSpec,
) -> Result<u32, ModelError> {
    let asked = options.side();
    if let Some(size) = asked {
        check_size(size)?;
    }
    let option = if options.framing.is_some() { "--geometry" } else { "--size" };
    let Some(fixed) = fixed else {
        return match (asked, config.side) {
            (Some(size), _) | (None, Some(size)) => check_size(size),
            (None, None) => Ok(defaults.side),
        };
    };
    match (asked, config.side, &options.preprocessor) {
        (Some(size), ..) if size != fixed => Err(ModelError::Option {
            option,
            problem: format!(
                "the model takes {fixed} × {fixed} pixels, not {size}; leave {option} out"
            ),
        }),
        (None, Some(side), Some(file)) if side != fixed => Err(ModelError::Preprocessor {
            file: file.clone(),
            problem: format!(
                "it crops {side} × {side} pixels, where the model takes {fixed}; give --size {fixed} to overrule it"
            ),
        }),
        _ => Ok(fixed),
    }
}

fn check_size(size: u32) -> Result<u32, ModelError> {
    if (1..=MAX_SIDE).contains(&size) {
        Ok(size)
    } else {
        let problem = format!("{size} is no side for a picture; 1 to {MAX_SIDE} pixels");
        Err(ModelError::Option { option: "--size", problem })
    }
}

type Channels = Option<[f32; 3]>;

/// `--mean` and `--std` on a scale of 0 to 255; both are on the same scale.
fn scaled(options: &ModelOptions) -> Result<(Channels, Channels), ModelError> {
    let given = || options.mean.iter().chain(&options.std).flatten();
    let problem = |values: &[f32; 3], why: &str| format!("{values:?} {why}");
    if let Some(mean) = options.mean.filter(|mean| mean.iter().any(|m| !m.is_finite())) {
        return Err(ModelError::Option {
            option: "--mean",
            problem: problem(
                &mean,
                "are no means; three numbers are wanted, as in 0.485,0.456,0.406",
            ),
        });
    }
    if let Some(std) = options.std.filter(|std| std.iter().any(|s| !(s.is_finite() && *s > 0.0))) {
        return Err(ModelError::Option {
            option: "--std",
            problem: problem(
                &std,
                "divide by nothing; each must be above 0, as in 0.229,0.224,0.225",
            ),
        });
    }
    let factor = if given().all(|value| value.abs() <= 1.0) { 255.0 } else { 1.0 };
    let scale = |values: Channels| values.map(|values| values.map(|value| value * factor));
    Ok((scale(options.mean), scale(options.std)))
}

/// A file's name for an error, where only a path is at hand.
pub(super) fn not_onnx(path: &Path, found: impl Into<String>, way_out: &'static str) -> ModelError {
    ModelError::NotOnnx { file: path.to_owned(), found: found.into(), way_out }
}
