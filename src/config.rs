//! The settings of a run, settled once: flags before the config file before defaults.

pub mod file;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::{
    ClassifyArgs, ColorChoice, LogLevel, ModelArgs, Picture, RecordingArgs, RunArgs, Setting, Sink,
};
use crate::pipeline::infer::model::GPU_BATCH;
use crate::pipeline::infer::{EngineChoice, EngineInfo, ModelOptions, parse_engine};
use crate::pipeline::knobs::{DEVICES, KnobError, KnobId, KnobValue, KnobValues, nearest};
use crate::pipeline::source::{DEFAULT_COUNT, DEFAULT_SEED, Source, SourceError};
use crate::record::cast::DEFAULT_VERSION;
use crate::record::stream::save::DEFAULT_LIMIT;
use file::FileSettings;

/// The most pixels that an image may have where nothing else is set.
pub const DEFAULT_MAX_PIXELS: u64 = 100_000_000;
/// Samples a second where nothing else is set.
pub const DEFAULT_SAMPLE_HZ: f64 = 10.0;
/// Frames a second at most where nothing else is set.
pub const DEFAULT_FPS: u32 = 20;
/// How long a run without a terminal lasts where neither `--once` nor `--duration` ends it.
pub const UNATTENDED: Duration = Duration::from_secs(10);

/// The settings of a run, valid in themselves; whether files exist and can be read is seen when
/// they are opened.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct RunConfig {
    /// Where images come from.
    pub input: InputChoice,
    /// Images of more pixels are refused.
    pub max_pixels: u64,
    /// Each image exactly once.
    pub once: bool,
    /// Stop after this time.
    pub duration: Option<Duration>,
    /// No dashboard was asked for (there may be none for lack of a terminal, too).
    pub headless: bool,
    /// Where the JSON report goes.
    pub json: Option<Sink>,
    /// Where a JSON line an image goes.
    pub output: Option<PathBuf>,
    /// Where the run is saved.
    pub save: Option<PathBuf>,
    /// The most bytes that a saved run takes.
    pub save_limit: u64,
    /// Screencast and script.
    pub recording: RecordingConfig,
    /// The engine.
    pub engine: EngineChoice,
    /// The model and what it wants of each picture.
    pub model: ModelOptions,
    /// The knobs at the start.
    pub knobs: KnobValues,
    /// The knobs that a person set; the others are defaults, which may follow the engine.
    pub set: Vec<KnobId>,
    /// Samples a second.
    pub sample_hz: f64,
    /// Threads, queues and locks are measured.
    pub probes: bool,
    /// Frames a second at most.
    pub fps: u32,
    /// The dashboard takes the mouse.
    pub mouse: bool,
    /// ASCII characters alone.
    pub ascii: bool,
    /// When to use colour.
    pub color: ColorChoice,
    /// What the screen is kept as.
    pub screenshot: Picture,
    /// Where the log goes.
    pub log: Option<PathBuf>,
    /// How much to log.
    pub log_level: LogLevel,
    /// The config file that was read.
    pub config_file: Option<PathBuf>,
}

/// What holds where neither a flag nor the config file says otherwise.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The engine.
    pub engine: EngineChoice,
    /// The knobs.
    pub knobs: KnobValues,
}

impl Defaults {
    /// Those of a run on so many cores.
    pub fn of_run(cores: usize) -> Self {
        Self { engine: EngineChoice::default(), knobs: KnobValues::defaults(cores) }
    }
}

/// How the dashboard is recorded, and who drives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingConfig {
    /// Where a screencast goes from the start.
    pub record: Option<PathBuf>,
    /// The version of screencasts.
    pub version: u8,
    /// The size of a screen without a terminal.
    pub size: Option<(u16, u16)>,
    /// The script.
    pub script: Option<PathBuf>,
}

impl RecordingConfig {
    /// The settings that the arguments make.
    ///
    /// # Errors
    /// Where they ask for a dashboard and for none.
    pub fn settle(args: RecordingArgs, headless: bool) -> Result<Self, ConfigError> {
        let RecordingArgs { record, cast_version, screen: size, script } = args;
        let asked = [("--record", record.is_some()), ("--script", script.is_some())];
        if let Some((flag, _)) =
            asked.iter().find(|(_, asked)| *asked && headless && size.is_none())
        {
            return Err(ConfigError::Usage(format!(
                "{flag} is for the dashboard, and this is to be headless: to record one without a \
                 terminal, leave --headless out and say --record FILE.cast --screen 100x30"
            )));
        }
        let version = cast_version.unwrap_or(DEFAULT_VERSION);
        Ok(Self { record, version, size, script })
    }
}

/// Where images come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputChoice {
    /// Built-in images.
    Synthetic {
        /// How many.
        images: usize,
        /// From what they are made.
        seed: u64,
    },
    /// Files, and folders to search for files.
    Paths(Vec<PathBuf>),
    /// A file of paths, one a line.
    List(PathBuf),
}

impl InputChoice {
    /// The files and folders that were named.
    pub fn places(&self) -> Vec<&Path> {
        match self {
            Self::Synthetic { .. } => Vec::new(),
            Self::Paths(paths) => paths.iter().map(PathBuf::as_path).collect(),
            Self::List(list) => vec![list],
        }
    }

    /// Finds the images.
    ///
    /// # Errors
    /// Where there is nothing to read.
    pub fn open(&self) -> Result<Source, SourceError> {
        match self {
            Self::Synthetic { images, seed } => Source::synthetic(*seed, *images),
            Self::Paths(paths) => Source::from_paths(paths, &[]),
            Self::List(list) => Source::from_paths(&[], std::slice::from_ref(list)),
        }
    }
}

/// Settings that make no sense; the text is for the person who wrote them.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A knob's value that this run cannot take.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// The config file could not be read.
    #[error("cannot read the config file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line of the config file.
    #[error("{}:{line}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it, and what to write.
        message: String,
    },
    /// Flags that contradict each other or mean nothing together.
    #[error("{0}")]
    Usage(String),
}

impl RunConfig {
    /// Settles the settings for a machine of `cores` cores; reads the config file.
    ///
    /// # Errors
    /// Where the config file or a combination of flags makes no sense.
    pub fn load(args: RunArgs, cores: usize) -> Result<Self, ConfigError> {
        Self::load_onto(args, Defaults::of_run(cores))
    }

    /// The same with other defaults.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_onto(args: RunArgs, defaults: Defaults) -> Result<Self, ConfigError> {
        let chosen = if args.no_config {
            None
        } else {
            args.config.clone().or_else(|| standard_place().filter(|path| path.is_file()))
        };
        let file = match &chosen {
            Some(path) => FileSettings::read(path)?,
            None => FileSettings::default(),
        };
        Self { config_file: chosen, ..Self::merge(args, file, defaults)? }.checked()
    }

    /// Flags before the file before defaults.
    fn merge(args: RunArgs, file: FileSettings, defaults: Defaults) -> Result<Self, ConfigError> {
        let Defaults { engine, mut knobs } = defaults;
        let mut set = Vec::new();
        for setting in file.knobs.iter().chain(&args.knobs.set) {
            knobs.set(setting.id, setting.value);
            set.push(setting.id);
        }
        for (flag, setting) in args.knobs.short() {
            refuse_twice(flag, setting, &args.knobs.set)?;
            knobs.set(setting.id, setting.value);
            set.push(setting.id);
        }
        let device = device(&knobs, &set)?;
        if let (Some(engine), Some(device)) = (args.engine, device)
            && engine != device
        {
            return Err(ConfigError::Usage(format!(
                "--engine {engine} and infer.device={device} say two different things; leave one out"
            )));
        }
        let engine = args.engine.or(device).or(file.engine).unwrap_or(engine);
        if !engine.runs_models() && args.model.model.is_some() {
            return Err(ConfigError::Usage(format!(
                "--model is for --engine cpu: the engine {engine} runs no model"
            )));
        }
        let input = if let Some(list) = args.list {
            InputChoice::List(list)
        } else if args.paths.is_empty() {
            InputChoice::Synthetic {
                images: args.synthetic.map_or(DEFAULT_COUNT, |images| images as usize),
                seed: args.seed.unwrap_or(DEFAULT_SEED),
            }
        } else {
            InputChoice::Paths(args.paths)
        };
        let headless = args.headless || args.json == Some(Sink::Stdout);
        Ok(Self {
            input,
            max_pixels: args.max_pixels.or(file.max_pixels).unwrap_or(DEFAULT_MAX_PIXELS),
            once: args.once,
            duration: args.duration,
            headless,
            save: args.save,
            save_limit: args.save_limit.map_or(DEFAULT_LIMIT, |mib| mib << 20),
            recording: RecordingConfig::settle(args.recording, headless)?,
            json: args.json,
            output: to_file(args.output)?,
            engine,
            model: ModelOptions {
                batch: match knobs.get(KnobId::InferBatch) {
                    KnobValue::Int(images) if set.contains(&KnobId::InferBatch) => {
                        Some(images as usize)
                    }
                    _ => None,
                },
                ..model_options(args.model, file.model)?
            },
            knobs,
            set,
            probes: !args.no_probes,
            sample_hz: args.sample_hz.or(file.sample_hz).unwrap_or(DEFAULT_SAMPLE_HZ),
            fps: args.fps.or(file.fps).unwrap_or(DEFAULT_FPS),
            mouse: !args.no_mouse && file.mouse.unwrap_or(true),
            ascii: args.ascii || file.ascii.unwrap_or(false),
            color: args.color.or(file.color).unwrap_or_default(),
            screenshot: args.screenshot.or(file.screenshot).unwrap_or_default(),
            log: args.log,
            log_level: args.log_level.unwrap_or_default(),
            config_file: None,
        })
    }

    /// Lets the knobs that nobody set follow the engine: a GPU wants large batches, and two or three under way.
    pub fn follow(&mut self, engine: &EngineInfo) {
        if engine.kind != "cuda" {
            return;
        }
        for (id, value) in [(KnobId::InferBatch, GPU_BATCH as u64), (KnobId::InferThreads, 3)] {
            if !self.set.contains(&id) {
                self.knobs.set(id, KnobValue::Int(value));
            }
        }
    }

    /// Refuses what each setting allows and all together do not.
    fn checked(self) -> Result<Self, ConfigError> {
        let cache = self.knobs.get(KnobId::SourceCache);
        if self.once && cache.to_string() == "batches" {
            return Err(KnobError::Refused {
                knob: KnobId::SourceCache.spec().name,
                value: cache.to_string(),
                reason: "with --once each image is taken once, and ready batches come again and \
                         again; use none or bytes",
            }
            .into());
        }
        if let InputChoice::Paths(paths) = &self.input
            && let [path] = &paths[..]
            && let Some(command) = meant_command(path)
        {
            return Err(ConfigError::Usage(format!(
                "no file or folder is named {}: did you mean the command `pipetop {command}`?",
                path.display()
            )));
        }
        Ok(self)
    }
}

/// The model settings of `classify`, which reads no config file.
///
/// # Errors
/// Where they contradict each other.
pub fn classify_model(args: &ClassifyArgs) -> Result<ModelOptions, ConfigError> {
    model_options(args.model.clone(), ModelArgs::default())
}

/// Flags before the file. What describes a model goes with it: a model from a flag takes nothing
/// that the file says about another one.
fn model_options(flags: ModelArgs, file: ModelArgs) -> Result<ModelOptions, ConfigError> {
    let file = if flags.model.is_some() { ModelArgs::default() } else { file };
    let (mean, std) = (flags.mean.or(file.mean), flags.std.or(file.std));
    on_one_scale(mean, std)?;
    let size = flags.size.or(file.size);
    let resize = flags.resize.or(file.resize);
    if let (Some(size), Some(resize)) = (size, resize)
        && resize < size
    {
        return Err(ConfigError::Usage(format!(
            "--resize {resize} is less than --size {size}: the square is cut out of the resized \
             image, so --resize must be {size} or more"
        )));
    }
    Ok(ModelOptions {
        model: flags.model.or(file.model),
        labels: flags.labels.or(file.labels),
        mean,
        std,
        size,
        resize,
        framing: match flags.geometry {
            // Of the file, unless a flag says otherwise.
            None if flags.size.is_none() && flags.resize.is_none() => file.geometry,
            framing => framing,
        },
        preprocessor: flags.preprocessor.or(file.preprocessor),
        precision: flags.precision.or(file.precision),
        no_cudnn: flags.no_cudnn || file.no_cudnn,
        batch: None,
    })
}

type Channels = Option<[f32; 3]>;

/// Refuses a mean and a std of which one looks as if on a scale of 0 to 1, the other as if on that of
/// 0 to 255. A mean of 0 and a std of 1 go with either.
fn on_one_scale(mean: Channels, std: Channels) -> Result<(), ConfigError> {
    if std.is_some_and(|std| std.iter().any(|&s| s <= 0.0)) {
        return Err(ConfigError::Usage("--std divides: each of its values must be above 0".into()));
    }
    let (Some(mean), Some(std)) = (mean, std) else { return Ok(()) };
    let large = |channels: [f32; 3]| channels.iter().any(|v| v.abs() > 1.0);
    let all = |channels: [f32; 3], value: f32| channels.iter().all(|v| v.total_cmp(&value).is_eq());
    let mixed = (large(std) && !large(mean) && !all(mean, 0.0))
        || (large(mean) && !large(std) && !all(std, 1.0));
    if !mixed {
        return Ok(());
    }
    Err(ConfigError::Usage(
        "--mean and --std are on two scales: write both from 0 to 1 (0.485,0.456,0.406) or both \
         from 0 to 255 (123.7,116.3,103.5)"
            .into(),
    ))
}

/// The engine that `infer.device` asks for, where it was set.
fn device(knobs: &KnobValues, set: &[KnobId]) -> Result<Option<EngineChoice>, ConfigError> {
    let device = knobs.get(KnobId::InferDevice);
    if !set.contains(&KnobId::InferDevice) || device == KnobValue::Choice(0, DEVICES[0]) {
        return Ok(None);
    }
    parse_engine(&device.to_string()).map(Some).map_err(|e| ConfigError::Usage(e.to_string()))
}

fn refuse_twice(flag: &str, short: Setting, set: &[Setting]) -> Result<(), ConfigError> {
    let other: Option<KnobValue> = set
        .iter()
        .rev()
        .find(|setting| setting.id == short.id && setting.value != short.value)
        .map(|setting| setting.value);
    other.map_or(Ok(()), |other| {
        let name = short.id.spec().name;
        Err(ConfigError::Usage(format!(
            "{name} is given twice: {flag} {} and --set {name}={other}; leave one out",
            short.value
        )))
    })
}

/// A file for answers: `-` would be one of that name, which nobody means.
fn to_file(output: Option<PathBuf>) -> Result<Option<PathBuf>, ConfigError> {
    match output {
        Some(path) if path.as_os_str() == "-" => Err(ConfigError::Usage(
            "--output writes a file: name one, or /dev/stdout together with --json FILE".into(),
        )),
        output => Ok(output),
    }
}

/// The command that a path without a file was meant to be, if it looks like one.
fn meant_command(path: &Path) -> Option<String> {
    let word = path.to_str().filter(|word| !word.contains(['/', '.', '\\']))?;
    if path.exists() {
        return None;
    }
    nearest(word, ["run", "classify", "sweep", "doctor", "help"].into_iter())
}

/// Cores that this process may use (affinity and control group counted); 1 where the system does
/// not tell.
pub fn usable_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// `$XDG_CONFIG_HOME/pipetop/config.toml`, or `~/.config/pipetop/config.toml`.
pub fn standard_place() -> Option<PathBuf> {
    let folder = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
    };
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(config.join("pipetop").join("config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::pipeline::pixels::PixelFormat;

    fn args(line: &str) -> RunArgs {
        let words = std::iter::once("pipetop").chain(line.split_whitespace()).map(Into::into);
        match Cli::read(words).unwrap().command() {
            Command::Run(args) => *args,
            other => panic!("{line} is no run: {other:?}"),
        }
    }

    fn settle(line: &str, file: &str) -> Result<RunConfig, ConfigError> {
        let file = FileSettings::parse(file, Path::new("/etc/pipetop.toml"))?;
        RunConfig::merge(args(line), file, Defaults::of_run(4))?.checked()
    }

    #[test]
    fn flags_come_before_the_file_and_the_file_before_defaults() {
        let file = "[run]\nfps = 30\nengine = 'null'\nmax_pixels = '5M'\n\
                    [preprocess]\nthreads = 3\n[infer]\nbatch = 16\n";
        let config = settle("-t 7 --fps 5", file).unwrap();
        assert_eq!(config.knobs.get(KnobId::PreprocessThreads), KnobValue::Int(7));
        assert_eq!(config.knobs.get(KnobId::InferBatch), KnobValue::Int(16));
        assert_eq!(config.knobs.get(KnobId::InferThreads), KnobValue::Int(4));
        assert_eq!((config.fps, config.max_pixels), (5, 5_000_000));
        assert_eq!(config.engine, EngineChoice::Null(PixelFormat::F32Nchw));
        assert!((config.sample_hz - DEFAULT_SAMPLE_HZ).abs() < 1e-9);
    }

    #[test]
    fn without_a_path_the_input_is_synthetic() {
        let input = |line| settle(line, "").unwrap().input;
        let synthetic = |images, seed| InputChoice::Synthetic { images, seed };
        assert_eq!(input(""), synthetic(DEFAULT_COUNT, DEFAULT_SEED));
        assert_eq!(input("--synthetic 9 --seed 4"), synthetic(9, 4));
        assert_eq!(input("--list a.txt"), InputChoice::List("a.txt".into()));
        assert_eq!(input("run a/ b.png"), InputChoice::Paths(vec!["a/".into(), "b.png".into()]));
        assert_eq!(input("run ./doctor"), InputChoice::Paths(vec!["./doctor".into()]));
    }

    #[test]
    fn json_alone_on_stdout_means_no_dashboard() {
        assert!(settle("--json -", "").unwrap().headless);
        assert!(!settle("--json out.json", "").unwrap().headless);
    }

    #[test]
    fn ready_batches_are_refused_where_each_image_is_taken_once() {
        for (line, file) in
            [("--once --set source.cache=batches", ""), ("--once", "source.cache = 'batches'")]
        {
            let error = settle(line, file).unwrap_err().to_string();
            assert!(error.starts_with("source.cache = batches is refused: with --once"), "{error}");
        }
        assert!(settle("--once --set source.cache=bytes", "").is_ok());
    }

    #[test]
    fn a_knob_given_twice_must_agree_with_itself() {
        let error = settle("-t 2 --set preprocess.threads=3", "").unwrap_err().to_string();
        assert!(error.contains("-t 2 and --set preprocess.threads=3"), "{error}");
        assert!(settle("-t 3 --set preprocess.threads=3", "").is_ok());
    }

    #[test]
    fn mean_and_std_are_read_on_either_scale_but_not_on_two() {
        let config = settle("--mean 0.5,0.5,0.5 --std 0.25", "").unwrap().model;
        assert_eq!((config.mean, config.std), (Some([0.5; 3]), Some([0.25; 3])));
        for fine in ["--mean 127 --std 128", "--mean 104,117,123 --std 1", "--mean 0 --std 255"] {
            assert!(settle(fine, "").is_ok(), "{fine}");
        }
        assert!(settle("--mean 0.5 --std 128", "").is_err());
        assert!(settle("--mean 127 --std 0.5", "").is_err());
        assert!(settle("--std 0", "").is_err());
    }

    #[test]
    fn a_model_from_a_flag_takes_nothing_that_the_file_says_of_another() {
        let file = "[run]\nmodel = 'a.onnx'\nlabels = 'a.txt'\nsize = 299\n";
        let of_file = settle("", file).unwrap().model;
        assert_eq!(of_file.model, Some("/etc/a.onnx".into()));
        assert_eq!((of_file.labels, of_file.size), (Some("/etc/a.txt".into()), Some(299)));
        let of_flag = settle("--model b.onnx", file).unwrap().model;
        assert_eq!(of_flag, ModelOptions { model: Some("b.onnx".into()), ..Default::default() });
    }

    #[test]
    fn a_model_needs_an_engine_that_runs_it_and_a_crop_needs_room() {
        assert!(settle("--model a.onnx --engine null", "").is_err());
        assert!(settle("--size 224 --resize 200", "").is_err());
        assert!(settle("--size 224 --resize 224", "").is_ok());
    }

    #[test]
    fn a_mistyped_command_is_no_missing_path() {
        let error = settle("doctr", "").unwrap_err().to_string();
        assert!(error.contains("`pipetop doctor`"), "{error}");
        assert!(settle("./doctr", "").is_ok());
    }
}
