//! The command line: what may be typed, and its help.
//!
//! Arguments are read here and nowhere else; what they mean together with the config file is
//! settled in [`crate::config`]. Knob names, ranges and help come from [`KNOBS`].

pub mod render;
mod sweep;
mod values;

use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::bench::variants::Variant;
use crate::pipeline::infer::{EngineChoice, Framing, Precision, parse_engine};
use crate::pipeline::knobs::{FILTERS, KNOBS, KnobId, KnobValue};
use crate::record::render::screenshot::Kind;

pub use render::RenderArgs;
pub use sweep::SweepArgs;
pub use values::{Setting, Sink};
pub(crate) use values::{pixels, sample_hz, triple};

/// What follows every long help of a run.
const EXAMPLES: &str = "\
Examples:
  pipetop                                   built-in images, live dashboard
  pipetop photos/                           every image under a folder
  pipetop run ./doctor                      a folder that is named like a command
  pipetop --engine emulated:2000 -t 1       an accelerator that starves
  pipetop --headless --duration 30s --json report.json
  pipetop photos/ --once --json -           each image once, JSON alone on stdout

Exit codes:
  0  fine
  1  nothing could be done
  2  usage: a bad option, knob or config file
  3  some inputs failed (with --once, in classify and in bench)";

/// What follows the long help of a sweep.
const SWEEP_EXAMPLES: &str = "\
Examples:
  pipetop sweep --over preprocess.threads=1..16
  pipetop sweep --over preprocess.threads=1..8 --work native,lock-pool --svg chart.svg --csv points.csv
  pipetop sweep photos/ --engine cpu --over infer.batch=1..64 --json -
  pipetop sweep --over preprocess.threads=1..8 --over infer.batch=1,8,64 --png map.png

Ctrl-C, Esc and q end it; what was measured until then is printed and written. All knobs: pipetop --help";

// Help is plain text; backticks, which belong into a doc comment, would be printed.
const ENGINE_HELP: &str = "The engine that infers: auto, cpu, rten, cuda[:N|:all], null[:FORMAT] (drops each batch) or emulated:IMG_S[:MS]";
const ENGINE_LONG_HELP: &str = "\
The engine that infers: auto, cpu, rten, cuda[:N|:all], null[:FORMAT] (drops each batch) or emulated:IMG_S[:MS]

cpu is an engine of our own; a model with an operator that it lacks runs on rten, another engine on the CPU, with a \
notice. rten runs any model there. cuda is an NVIDIA GPU: the first one, number N, or all of them, with nothing \
installed but the driver (525 or later). auto, the default, is cuda where that works, and cpu where it does not, with \
the reason. A model moves from one to another while it runs: the knob infer.device.

The null engine takes pictures in the form that a real one would want: f32 (planes, normalised; the \
default), f32-nhwc (pixels, normalised) or u8 (bytes as they are, for engines that normalise on the GPU), \
so that the speed of all the rest can be seen alone.

An emulated engine sleeps as an accelerator would that takes so many images a second and answers so \
many milliseconds later; it predicts nothing and is labelled emulated.";
const PREPROCESSOR_HELP: &str =
    "Take --mean, --std, --size and --resize from a Hugging Face preprocessor_config.json";

/// Live terminal dashboard profiler for image-inference pipelines.
///
/// Runs a real load → preprocess → infer → decode → respond pipeline, shows which thread waits for
/// what, and lets you turn its knobs while it runs. Without an argument it feeds built-in
/// synthetic images to the built-in classifier.
#[derive(Debug, Parser)]
#[command(
    name = "pipetop",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Long help with all knobs, examples and exit codes: pipetop --help",
    after_long_help = run_epilogue(),
    max_term_width = 100
)]
pub struct Cli {
    /// What to do; a run where none is named.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Arguments of a run where no command is named.
    #[command(flatten)]
    pub run: RunArgs,
}

/// What pipetop can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the pipeline: a dashboard, or a report with --headless (this is the default command)
    #[command(after_long_help = run_epilogue())]
    Run(Box<RunArgs>),
    /// Name what is on each image: the five likeliest classes
    Classify(Box<ClassifyArgs>),
    /// Measure throughput at each value of a knob, and draw it: --over preprocess.threads=1..16
    #[command(after_long_help = SWEEP_EXAMPLES)]
    Sweep(Box<SweepArgs>),
    /// Measure one stage by itself, variant against variant
    Bench(BenchArgs),
    /// Make a film or a still of a recording: GIF, SVG, PNG
    Render(Box<RenderArgs>),
    /// Play a saved run again: the dashboard, or its report with --headless
    Replay(Box<ReplayArgs>),
    /// Say what this machine has, and what to do about what is missing
    Doctor(DoctorArgs),
}

/// Arguments of `bench infer`.
#[derive(Args, Clone, Debug)]
pub struct BenchInferArgs {
    /// The model: a classifier in ONNX, or the one built in
    #[arg(long, value_name = "FILE.onnx|builtin", default_value = "builtin")]
    pub model: PathBuf,
    /// The engine: cpu, rten, cuda or cuda:N
    #[arg(long, visible_alias = "device", value_name = "ENGINE", value_parser = parse_engine, default_value = "cpu")]
    pub engine: EngineChoice,
    /// Images of a batch; several, one after another
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,8", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub batch: Vec<u32>,
    /// Threads that share a batch; several, one after another
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,
    /// How long each is measured
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "3s")]
    pub seconds: Duration,
    /// Side of the square that the model sees, where it leaves that open, in pixels
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub size: Option<u32>,
    /// In what a GPU computes, fp16 or fp32
    #[arg(long, value_name = "PRECISION", value_parser = str::parse::<Precision>)]
    pub precision: Option<Precision>,
    /// Batches under way at a time on a GPU
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub in_flight: u32,
    /// Without cuDNN, as if it were not installed
    #[arg(long)]
    pub no_cudnn: bool,
    /// How long each layer takes: on one thread of the CPU, or on the GPU
    #[arg(long)]
    pub layers: bool,
    /// Run the pictures of this file (f32, little-endian, N×3×H×W, normalised) and measure nothing; with --logits
    #[arg(long, value_name = "FILE", requires = "logits")]
    pub input: Option<PathBuf>,
    /// Where their logits go (f32, little-endian, N×classes)
    #[arg(long, value_name = "FILE", requires = "input")]
    pub logits: Option<PathBuf>,
    /// JSON in place of text
    #[arg(long)]
    pub json: bool,
}

/// Arguments of a run.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that a person may give")]
pub struct RunArgs {
    /// Images, or folders to search for images; built-in synthetic images where none is given
    ///
    /// What a file holds decides, not what it is called: JPEG, PNG, WebP, GIF (first frame), BMP
    /// and TIFF. A path that is named like a command is written with `run`: pipetop run ./doctor
    #[arg(value_name = "PATH", help_heading = "Input")]
    pub paths: Vec<PathBuf>,
    /// Read the paths from a file, one a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "synthetic"], help_heading = "Input")]
    pub list: Option<PathBuf>,
    /// How many built-in images to make
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "paths", help_heading = "Input")]
    pub synthetic: Option<u32>,
    /// From which number the built-in images are made; the same seed makes the same images
    #[arg(long, value_name = "N", conflicts_with_all = ["paths", "list"], help_heading = "Input")]
    pub seed: Option<u64>,
    /// Refuse images of more pixels (as in 100M, 50MP, 640000); 100M by default
    #[arg(long, value_name = "PIXELS", value_parser = values::pixels, help_heading = "Input")]
    pub max_pixels: Option<u64>,

    /// Take each image exactly once, then stop (otherwise the input loops)
    #[arg(long, help_heading = "Run")]
    pub once: bool,
    /// Stop after this time (as in 30s, 2m, 500ms; a bare number is seconds)
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = "Run")]
    pub duration: Option<Duration>,
    /// No dashboard: progress on stderr, then a report on stdout
    ///
    /// So it is also when stdout is no terminal; without --once or --duration such a run lasts 10 s.
    #[arg(long, conflicts_with_all = ["fps", "no_mouse"], help_heading = "Run")]
    pub headless: bool,
    /// Run without probes, to see what measuring costs: no thread, queue or lock is measured
    #[arg(long, help_heading = "Run")]
    pub no_probes: bool,
    /// Write the final report as JSON; `-` is stdout, which then holds nothing else
    #[arg(long, value_name = "FILE|-", value_parser = values::sink, help_heading = "Run")]
    pub json: Option<Sink>,
    /// Write one JSON line an image: name, five likeliest classes, times
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub output: Option<PathBuf>,

    /// Save the run, to be played again with `pipetop replay FILE`
    #[arg(long, value_name = "FILE", help_heading = "Recording")]
    pub save: Option<PathBuf>,
    /// The most that --save writes, in MiB; what comes after is counted and left out [default: 1024]
    #[arg(long, value_name = "MIB", requires = "save", value_parser = clap::value_parser!(u64).range(2..=1 << 20), help_heading = "Recording")]
    pub save_limit: Option<u64>,
    /// Screencast and script.
    #[command(flatten)]
    pub recording: RecordingArgs,

    /// Settings of the engine and its model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// The engine: `auto`, `cpu`, `rten`, `cuda[:N|:all]`, `null[:FORMAT]` or `emulated:IMG_S[:MS]`.
    #[arg(long, visible_alias = "device", value_name = "ENGINE", value_parser = parse_engine, help = ENGINE_HELP, long_help = ENGINE_LONG_HELP, help_heading = "Engine")]
    pub engine: Option<EngineChoice>,

    /// Knobs at the start.
    #[command(flatten)]
    pub knobs: KnobArgs,
    /// Take settings from this file (otherwise ~/.config/pipetop/config.toml, if there is one)
    #[arg(long, value_name = "FILE", conflicts_with = "no_config", help_heading = "Settings")]
    pub config: Option<PathBuf>,
    /// Take no settings from any file
    #[arg(long, help_heading = "Settings")]
    pub no_config: bool,
    /// Samples a second, 1 to 50 [default: 10]
    #[arg(long, value_name = "HZ", value_parser = values::sample_hz, help_heading = "Settings")]
    pub sample_hz: Option<f64>,
    /// Frames a second at most, 1 to 60 [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60), help_heading = "Settings")]
    pub fps: Option<u32>,
    /// Leave the mouse to the terminal
    #[arg(long, help_heading = "Settings")]
    pub no_mouse: bool,
    /// Draw with ASCII characters alone
    #[arg(long, help_heading = "Settings")]
    pub ascii: bool,
    /// When to use colour [default: auto]
    #[arg(long, value_name = "WHEN", value_enum, help_heading = "Settings")]
    pub color: Option<ColorChoice>,
    /// What the key c keeps the screen as [default: svg]
    #[arg(long, value_name = "KIND", value_enum, help_heading = "Settings")]
    pub screenshot: Option<Picture>,
    /// Write a log to this file (never over the screen)
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub log: Option<PathBuf>,
    /// How much to log [default: info]
    #[arg(long, value_name = "LEVEL", value_enum, requires = "log", help_heading = "Settings")]
    pub log_level: Option<LogLevel>,
}

/// Screencast and script: of a run and of a replay.
#[derive(Args, Clone, Debug, Default)]
pub struct RecordingArgs {
    /// Record the dashboard into a screencast for asciinema; the key r does so at any time
    #[arg(long, value_name = "FILE.cast", help_heading = "Recording")]
    pub record: Option<PathBuf>,
    /// The screencast's format: 3, or 2 for older players [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=3), help_heading = "Recording")]
    pub cast_version: Option<u8>,
    /// Record a screen of this size, as in 100x30, without any terminal
    #[arg(long, value_name = "COLSxROWS", value_parser = values::size, requires = "record", help_heading = "Recording")]
    pub screen: Option<(u16, u16)>,
    /// Press keys, turn knobs and show captions as this file says (demo/ has some)
    #[arg(long, value_name = "FILE.toml", help_heading = "Recording")]
    pub script: Option<PathBuf>,
}

/// Arguments of `replay`.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that a person may give")]
pub struct ReplayArgs {
    /// A run that was saved with --save
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Begin at this time of the run; with --headless, report the run up to it
    #[arg(long, value_name = "TIME", value_parser = values::moment)]
    pub at: Option<Duration>,
    /// How many times as fast as it was, 0.25 to 16
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = values::speed)]
    pub speed: f64,
    /// Begin again at the end
    #[arg(long = "loop")]
    pub looping: bool,
    /// No dashboard: the run's report on stdout
    #[arg(long, conflicts_with_all = ["fps", "no_mouse", "speed", "looping"])]
    pub headless: bool,
    /// Write the report as JSON; `-` is stdout, which then holds nothing else
    #[arg(long, value_name = "FILE|-", value_parser = values::sink)]
    pub json: Option<Sink>,
    /// Screencast and script.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Frames a second at most, 1 to 60
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub fps: u32,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Draw with ASCII characters alone
    #[arg(long)]
    pub ascii: bool,
    /// When to use colour
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: ColorChoice,
}

/// The model and what it wants of each picture.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArgs {
    /// Your own classifier: ONNX, input 1×3×H×W or N×3×H×W, float
    #[arg(long, value_name = "FILE.onnx", help_heading = "Engine")]
    pub model: Option<PathBuf>,
    /// Names of its classes, one a line, or a JSON list
    #[arg(long, value_name = "FILE", requires = "model", help_heading = "Engine")]
    pub labels: Option<PathBuf>,
    /// Subtracted from each channel: 0.485,0.456,0.406 or, on a scale of 255, 123.7,116.3,103.5
    #[arg(long, value_name = "R,G,B", value_parser = values::triple, allow_negative_numbers = true, help_heading = "Engine")]
    pub mean: Option<[f32; 3]>,
    /// By which each channel is then divided, on the same scale as --mean
    #[arg(long, value_name = "R,G,B", value_parser = values::triple, help_heading = "Engine")]
    pub std: Option<[f32; 3]>,
    /// Side of the square that the model sees, in pixels
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Engine")]
    pub size: Option<u32>,
    /// Length to which an image's shorter side is resized before the middle is cut out, in pixels
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=8192), help_heading = "Engine")]
    pub resize: Option<u32>,
    /// How an image comes into the square: squash224 (all of it, resized to the square) or
    /// short256-crop224 (shorter side to 256, then the middle); in place of --size and --resize
    #[arg(long, value_name = "GEOMETRY", conflicts_with_all = ["size", "resize"], help_heading = "Engine")]
    pub geometry: Option<Framing>,
    /// In what a GPU computes, fp16 or fp32; where it is left out, fp16 if the GPU is fast in it and the
    /// model's logits are off by 1 % at most
    #[arg(long, value_name = "PRECISION", value_parser = str::parse::<Precision>, help_heading = "Engine")]
    pub precision: Option<Precision>,
    /// Infer on a GPU without cuDNN, as if it were not installed
    #[arg(long, help_heading = "Engine")]
    pub no_cudnn: bool,
    /// A `preprocessor_config.json`.
    #[arg(long, value_name = "FILE", help = PREPROCESSOR_HELP, help_heading = "Engine")]
    pub preprocessor: Option<PathBuf>,
}

/// Knobs as they stand at the start; all of them can be turned while the pipeline runs.
#[derive(Args, Clone, Debug, Default)]
pub struct KnobArgs {
    /// Set a knob, as in --set queue.loaded=128; may be repeated (--help lists all knobs)
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = Setting::read, help_heading = "Knobs")]
    pub set: Vec<Setting>,
    #[arg(short = 'c', long, value_name = "N", value_parser = knob(KnobId::LoadConcurrency), help = knob_help(KnobId::LoadConcurrency), help_heading = "Knobs")]
    concurrency: Option<KnobValue>,
    #[arg(short = 'r', long, value_name = "IMG_S", value_parser = knob(KnobId::ArrivalRate), help = knob_help(KnobId::ArrivalRate), help_heading = "Knobs")]
    rate: Option<KnobValue>,
    #[arg(short = 't', long, value_name = "N", value_parser = knob(KnobId::PreprocessThreads), help = knob_help(KnobId::PreprocessThreads), help_heading = "Knobs")]
    threads: Option<KnobValue>,
    #[arg(short = 'b', long, value_name = "N", value_parser = knob(KnobId::InferBatch), help = knob_help(KnobId::InferBatch), help_heading = "Knobs")]
    batch: Option<KnobValue>,
    #[arg(short = 'i', long, value_name = "N", value_parser = knob(KnobId::InferThreads), help = knob_help(KnobId::InferThreads), help_heading = "Knobs")]
    infer_threads: Option<KnobValue>,
}

/// Arguments of `classify`.
#[derive(Args, Clone, Debug)]
pub struct ClassifyArgs {
    /// Images, or folders to search for images
    #[arg(value_name = "IMG", required = true)]
    pub images: Vec<PathBuf>,
    /// JSON in place of text, on stdout
    #[arg(long)]
    pub json: bool,
    /// Refuse images of more pixels (as in 100M, 50MP, 640000); 100M by default
    #[arg(long, value_name = "PIXELS", value_parser = values::pixels)]
    pub max_pixels: Option<u64>,
    /// Decode JPEGs in full, then resize them, where they are else decoded no larger than needed
    #[arg(long)]
    pub full_decode: bool,
    /// The engine: auto, cpu, rten or cuda[:N|:all] [default: auto]
    #[arg(long, visible_alias = "device", value_name = "ENGINE", value_parser = parse_engine, help_heading = "Engine")]
    pub engine: Option<EngineChoice>,
    /// The model and what it wants of each picture.
    #[command(flatten)]
    pub model: ModelArgs,
}

/// Arguments of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// What `bench` can measure.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchCommand {
    /// From file to batch slot: decode, resize, normalise
    Preprocess(BenchPreprocessArgs),
    /// Inference: images a second and ms a batch, for a model, batch sizes and threads
    Infer(BenchInferArgs),
}

/// Arguments of `bench preprocess`.
#[derive(Args, Clone, Debug)]
pub struct BenchPreprocessArgs {
    /// Images, or folders to search for images; all are read into memory first
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Threads that work at once
    #[arg(short = 't', long, value_name = "N", default_value_t = 1, value_parser = values::threads)]
    pub threads: usize,
    /// How long to measure; each variant takes each image at least twice
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = values::seconds)]
    pub seconds: f64,
    /// Write the figures as JSON; `-` is stdout, which then holds nothing else
    #[arg(long, value_name = "FILE|-", value_parser = values::sink)]
    pub json: Option<Sink>,
    /// How an image comes into the square, as in squash224 [default: short256-crop224]
    #[arg(long, value_name = "GEOMETRY")]
    pub geometry: Option<Framing>,
    /// Resampling filter
    #[arg(long, value_name = "FILTER", default_value = "cubic", value_parser = clap::builder::PossibleValuesParser::new(FILTERS))]
    pub filter: String,
    /// Measure only this variant; may be repeated
    #[arg(long, value_name = "NAME", value_enum)]
    pub variant: Vec<Variant>,
    /// Refuse images of more pixels (as in 100M, 50MP, 640000); 100M by default
    #[arg(long, value_name = "PIXELS", value_parser = values::pixels)]
    pub max_pixels: Option<u64>,
}

/// Arguments of `doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// JSON in place of text
    #[arg(long)]
    pub json: bool,
    /// Record what the GPU driver answers into this file, and tell what each question costs
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub capture_gpu: Option<PathBuf>,
    /// For how long [default: 10]
    #[arg(long, value_name = "N", requires = "capture_gpu", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: Option<u64>,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// Where the terminal has colour and `NO_COLOR` is not set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a picture of the screen is kept as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Picture {
    /// Sharp at any size.
    #[default]
    Svg,
    /// What every program shows.
    Png,
    /// The text alone.
    Txt,
}

impl From<Picture> for Kind {
    fn from(picture: Picture) -> Self {
        match picture {
            Picture::Svg => Self::Svg,
            Picture::Png => Self::Png,
            Picture::Txt => Self::Text,
        }
    }
}

/// How much to log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What went wrong.
    Error,
    /// And what may be wrong.
    Warn,
    /// And what happens.
    #[default]
    Info,
    /// And how.
    Debug,
    /// Everything.
    Trace,
}

impl Cli {
    /// Reads the command line; `--help`, `--version` and wrong usage come back as the error, which
    /// knows its text and its exit code.
    ///
    /// # Errors
    /// Where the command line asks for help or makes no sense.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(args)
    }

    /// The command, `run` where none is named.
    pub fn command(self) -> Command {
        self.command.unwrap_or_else(|| Command::Run(Box::new(self.run)))
    }
}

impl KnobArgs {
    /// What the short flags set, with the flag's name.
    pub(crate) fn short(&self) -> impl Iterator<Item = (&'static str, Setting)> {
        [
            ("-c", KnobId::LoadConcurrency, self.concurrency),
            ("-r", KnobId::ArrivalRate, self.rate),
            ("-t", KnobId::PreprocessThreads, self.threads),
            ("-b", KnobId::InferBatch, self.batch),
            ("-i", KnobId::InferThreads, self.infer_threads),
        ]
        .into_iter()
        .filter_map(|(flag, id, value)| Some((flag, Setting { id, value: value? })))
    }
}

/// Reads one knob's value.
fn knob(
    id: KnobId,
) -> impl Fn(&str) -> Result<KnobValue, crate::pipeline::knobs::KnobError> + Clone {
    move |text| id.spec().parse(text)
}

/// The help of a knob's own flag, from the table.
fn knob_help(id: KnobId) -> String {
    let spec = id.spec();
    format!("{}: {} ({})", spec.name, spec.help, spec.expects())
}

/// The knob table, examples and exit codes.
fn run_epilogue() -> String {
    let mut text = String::from(
        "All knobs (--set NAME=VALUE, NAME = VALUE in a config file, or live with the arrow keys):\n",
    );
    let defaults = crate::pipeline::knobs::KnobValues::defaults(1);
    for spec in KNOBS {
        let default = match spec.id {
            KnobId::PreprocessThreads | KnobId::InferThreads => "one a core".to_owned(),
            id => defaults.get(id).to_string(),
        };
        let mut name = spec.name;
        for line in folded(spec.help, 56) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {name:<19} {line}");
            name = "";
        }
        let _ = writeln!(text, "  {:<19} {} [default: {default}]", "", spec.expects());
    }
    text + "\n" + EXAMPLES
}

/// The text in lines of at most `width` characters, broken at spaces.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
