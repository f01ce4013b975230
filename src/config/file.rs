//! The config file: TOML, knobs as tables or dotted keys, everything else under `[run]`.
//!
//! ```toml
//! preprocess.threads = 8
//!
//! [infer]
//! batch = 16
//!
//! [run]
//! engine = "emulated:2000"
//! ascii = true
//! ```

use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigError;
use crate::cli::{ColorChoice, ModelArgs, Picture, Setting};
use crate::pipeline::infer::{EngineChoice, Framing, Precision, parse_engine};
use crate::pipeline::knobs::{KNOBS, KnobId, nearest};

/// What a config file sets.
#[derive(Clone, Debug, Default)]
pub struct FileSettings {
    /// Knobs, in the order of the file.
    pub knobs: Vec<Setting>,
    /// The engine.
    pub engine: Option<EngineChoice>,
    /// The model; paths are relative to the file's folder.
    pub model: ModelArgs,
    /// Samples a second.
    pub sample_hz: Option<f64>,
    /// Frames a second at most.
    pub fps: Option<u32>,
    /// ASCII characters alone.
    pub ascii: Option<bool>,
    /// When to use colour.
    pub color: Option<ColorChoice>,
    /// Whether the dashboard takes the mouse.
    pub mouse: Option<bool>,
    /// What the screen is kept as.
    pub screenshot: Option<Picture>,
    /// The most pixels that an image may have.
    pub max_pixels: Option<u64>,
}

/// The keys of `[run]`.
const RUN_KEYS: &[&str] = &[
    "engine",
    "model",
    "labels",
    "mean",
    "std",
    "size",
    "resize",
    "geometry",
    "precision",
    "no_cudnn",
    "preprocessor",
    "sample_hz",
    "fps",
    "ascii",
    "color",
    "mouse",
    "screenshot",
    "max_pixels",
];

/// What is wrong, and where in the text.
struct Fault {
    at: Range<usize>,
    message: String,
}

impl Fault {
    fn new(at: Range<usize>, message: impl Display) -> Self {
        Self { at, message: message.to_string() }
    }
}

impl FileSettings {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be read, is no TOML, or has an unknown key or a bad value.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    /// Reads the text of a file at `path`.
    ///
    /// # Errors
    /// Where it is no TOML, or has an unknown key or a bad value.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        settings(text, folder).map_err(|fault| {
            let start = fault.at.start.min(text.len());
            let line = text.char_indices().filter(|&(at, c)| at < start && c == '\n').count() + 1;
            ConfigError::File { path: path.to_owned(), line, message: fault.message }
        })
    }
}

fn settings(text: &str, folder: &Path) -> Result<FileSettings, Fault> {
    let table = DeTable::parse(text).map_err(|error| {
        Fault::new(error.span().unwrap_or(0..0), format!("no TOML: {}", error.message()))
    })?;
    let mut settings = FileSettings::default();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        match value.get_ref() {
            DeValue::Table(run) if name == "run" => {
                for (key, value) in run {
                    settings.set_run(key, value, folder)?;
                }
            }
            DeValue::Table(group) => {
                for (key, value) in group {
                    let name = format!("{name}.{}", key.get_ref());
                    settings.set_knob(&name, key.span(), value)?;
                }
            }
            _ => settings.set_knob(name, key.span(), value)?,
        }
    }
    Ok(settings)
}

impl FileSettings {
    fn set_knob(
        &mut self,
        name: &str,
        at: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Fault> {
        let id = KnobId::by_name(name).map_err(|_| Fault::new(at, unknown(name)))?;
        let text = scalar(value)?;
        let value = id.spec().parse(&text).map_err(|error| Fault::new(value.span(), error))?;
        self.knobs.push(Setting { id, value });
        Ok(())
    }

    fn set_run(
        &mut self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        folder: &Path,
    ) -> Result<(), Fault> {
        let name = key.get_ref().as_ref();
        match name {
            "engine" => self.engine = Some(read(name, value, parse_engine)?),
            "model" => self.model.model = Some(path(value, folder)?),
            "labels" => self.model.labels = Some(path(value, folder)?),
            "preprocessor" => self.model.preprocessor = Some(path(value, folder)?),
            "mean" => self.model.mean = Some(read(name, value, crate::cli::triple)?),
            "std" => self.model.std = Some(read(name, value, crate::cli::triple)?),
            "size" => self.model.size = Some(read(name, value, whole(1..=4096))?),
            "resize" => self.model.resize = Some(read(name, value, whole(1..=8192))?),
            "geometry" => {
                self.model.geometry = Some(read(name, value, str::parse::<Framing>)?);
            }
            "precision" => {
                self.model.precision = Some(read(name, value, str::parse::<Precision>)?);
            }
            "no_cudnn" => self.model.no_cudnn = read(name, value, yes_or_no)?,
            "sample_hz" => self.sample_hz = Some(read(name, value, crate::cli::sample_hz)?),
            "fps" => self.fps = Some(read(name, value, whole(1..=60))?),
            "ascii" => self.ascii = Some(read(name, value, yes_or_no)?),
            "mouse" => self.mouse = Some(read(name, value, yes_or_no)?),
            "color" => {
                self.color = Some(read(name, value, |text| {
                    ColorChoice::from_str(text, true)
                        .map_err(|_| "it takes auto, always or never".to_owned())
                })?);
            }
            "screenshot" => {
                self.screenshot = Some(read(name, value, |text| {
                    Picture::from_str(text, true).map_err(|_| "it takes svg, png or txt".to_owned())
                })?);
            }
            "max_pixels" => self.max_pixels = Some(read(name, value, crate::cli::pixels)?),
            _ => return Err(Fault::new(key.span(), unknown(&format!("run.{name}")))),
        }
        Ok(())
    }
}

/// What to say of a key that does not exist.
fn unknown(name: &str) -> String {
    let run: Vec<String> = RUN_KEYS.iter().map(|key| format!("run.{key}")).collect();
    let all = || KNOBS.iter().map(|spec| spec.name).chain(run.iter().map(String::as_str));
    // A key of [run] that was written outside of it is nearer than any other.
    let near =
        if RUN_KEYS.contains(&name) { Some(format!("run.{name}")) } else { nearest(name, all()) };
    if let Some(near) = near {
        return format!("no setting is named `{name}` (did you mean `{near}`?)");
    }
    let all: Vec<_> = all().collect();
    format!("no setting is named `{name}`; all settings: {}", all.join(", "))
}

/// A value as a person would write it after a flag.
fn scalar(value: &Spanned<DeValue<'_>>) -> Result<String, Fault> {
    Ok(match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        // TOML allows `1_000`; underscores mean nothing.
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
        DeValue::Float(number) => number.as_str().replace('_', ""),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Array(list) => {
            let items: Result<Vec<_>, _> = list.iter().map(scalar).collect();
            items?.join(",")
        }
        other => {
            let what = format!("a {} is no value for this setting", other.type_str());
            return Err(Fault::new(value.span(), what));
        }
    })
}

fn read<T, E: Display>(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, Fault> {
    let text = scalar(value)?;
    parse(&text).map_err(|takes| {
        Fault::new(value.span(), format!("`{text}` is no value for run.{name}: {takes}"))
    })
}

fn path(value: &Spanned<DeValue<'_>>, folder: &Path) -> Result<PathBuf, Fault> {
    match value.get_ref() {
        DeValue::String(text) if !text.is_empty() => Ok(folder.join(text.as_ref())),
        _ => Err(Fault::new(value.span(), "it takes a path in quotes")),
    }
}

fn whole(range: std::ops::RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("it takes {} to {}", range.start(), range.end()))
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "it takes true or false".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::knobs::KnobValue;
    use crate::pipeline::pixels::PixelFormat;

    fn parse(text: &str) -> Result<FileSettings, String> {
        FileSettings::parse(text, Path::new("/c/p.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn knobs_are_read_as_tables_and_as_dotted_keys() {
        let file = parse(
            "preprocess.threads = 8\narrival.rate = 'unlimited'\n\
             [infer]\nbatch = 16\nmax_delay = 12.5\n[queue]\nloaded = 1_024\n",
        )
        .unwrap();
        let set: Vec<_> = file.knobs.iter().map(|s| (s.id, s.value)).collect();
        assert!(set.contains(&(KnobId::PreprocessThreads, KnobValue::Int(8))));
        assert!(set.contains(&(KnobId::ArrivalRate, KnobValue::Rate(None))));
        assert!(set.contains(&(KnobId::InferBatch, KnobValue::Int(16))));
        assert!(set.contains(&(KnobId::InferMaxDelay, KnobValue::Millis(12.5))));
        assert!(set.contains(&(KnobId::QueueLoaded, KnobValue::Int(1024))));
    }

    #[test]
    fn every_key_of_run_is_read() {
        let text = "[run]\nengine='null'\nmodel='m.onnx'\nlabels='/l.txt'\nmean=[0.5,0.5,0.5]\n\
                    std='0.2,0.2,0.2'\nsize=224\nresize=256\ngeometry='squash224'\nprecision='fp32'\nno_cudnn=true\npreprocessor='p.json'\n\
                    sample_hz=20\nfps=30\nascii=true\ncolor='never'\nmouse=false\nscreenshot='png'\nmax_pixels='9M'\n";
        let file = parse(text).unwrap();
        for key in RUN_KEYS {
            assert!(text.contains(&format!("{key}=")), "{key} is not tried here");
        }
        assert_eq!(file.engine, Some(EngineChoice::Null(PixelFormat::F32Nchw)));
        assert_eq!(file.model.model, Some("/c/m.onnx".into()));
        assert_eq!(file.model.labels, Some("/l.txt".into()));
        assert_eq!((file.model.mean, file.model.std), (Some([0.5; 3]), Some([0.2; 3])));
        assert_eq!((file.model.size, file.model.resize), (Some(224), Some(256)));
        assert_eq!(file.model.geometry, "squash224".parse().ok());
        assert_eq!((file.sample_hz, file.fps), (Some(20.0), Some(30)));
        assert_eq!((file.ascii, file.mouse), (Some(true), Some(false)));
        assert_eq!(file.screenshot, Some(Picture::Png));
        assert_eq!((file.color, file.max_pixels), (Some(ColorChoice::Never), Some(9_000_000)));
    }

    #[test]
    fn faults_name_file_line_key_and_the_nearest_key() {
        let error = |text| parse(text).unwrap_err();
        assert_eq!(
            error("\n[preprocess]\nthread = 8\n"),
            "/c/p.toml:3: no setting is named `preprocess.thread` \
             (did you mean `preprocess.threads`?)"
        );
        assert_eq!(
            error("fps = 8\n"),
            "/c/p.toml:1: no setting is named `fps` (did you mean `run.fps`?)"
        );
        assert_eq!(
            error("[run]\n\nfsp = 8\n"),
            "/c/p.toml:3: no setting is named `run.fsp` (did you mean `run.fps`?)"
        );
        assert_eq!(
            error("[infer]\nbatch = 0"),
            "/c/p.toml:2: `0` is no value for infer.batch: it takes 1 to 512 images \
             (did you mean `1`?)"
        );
        assert_eq!(
            error("[run]\nengine = 'nul'"),
            "/c/p.toml:2: `nul` is no value for run.engine: no engine is named `nul` (did you mean \
             `null`?); engines: auto, cpu, rten, cuda[:N|:all], null[:u8], emulated:IMG_S[:MS] (as in emulated:2000:5)"
        );
        assert!(error("a = 1\nb = [").starts_with("/c/p.toml:2: no TOML: "));
        assert!(error("run = 3").starts_with("/c/p.toml:1: no setting is named `run`"));
        assert!(error("[infer]\nbatch = 1979-05-27").contains("a datetime is no value"));
    }
}
