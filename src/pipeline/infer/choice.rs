//! Which engine, as written after `--engine`.

use std::fmt;
use std::time::Duration;

use super::cuda::Devices;
use crate::pipeline::pixels::PixelFormat;

/// The engine that a person chose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum EngineChoice {
    /// A GPU where there is one that can be used, else the CPU.
    #[default]
    Auto,
    /// Our own on the CPU; `rten` where a model has what it lacks.
    Cpu,
    /// The `rten` crate on the CPU.
    Rten,
    /// NVIDIA GPUs.
    Cuda(Devices),
    /// Takes batches of that form and drops them.
    Null(PixelFormat),
    /// Sleeps as an accelerator would.
    Emulated {
        /// Images a second.
        rate: f64,
        /// From the device's end of a batch to its result.
        latency: Duration,
    },
}

/// Why a text names no engine; the text is for the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineChoiceError {
    /// No engine of that name.
    #[error(
        "no engine is named `{name}`{}; engines: auto, cpu, rten, cuda[:N|:all], null[:u8], emulated:IMG_S[:MS] (as in {EXAMPLE})",
        nearest.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
    )]
    UnknownName {
        /// The name given.
        name: String,
        /// The nearest name there is.
        nearest: Option<&'static str>,
    },
    /// `cpu` or `rten` with something behind a colon.
    #[error("`{engine}` takes no settings, so leave out `:{rest}`")]
    TakesNothing {
        /// The engine's name.
        engine: String,
        /// What stood behind the colon.
        rest: String,
    },
    /// `cuda` with something else than a GPU behind the colon.
    #[error("`{0}` is no GPU: write cuda, cuda:0 or cuda:all")]
    BadDevice(String),
    /// `null` with something else than a form of pixels behind the colon.
    #[error("`null` drops batches of f32, f32-nhwc or u8, not of `{0}`, as in null:u8")]
    BadFormat(String),
    /// No rate, or none that can be.
    #[error(
        "`{0}` is no rate: emulated wants images a second above 0 and up to 10⁹, as in {EXAMPLE}"
    )]
    BadRate(String),
    /// A latency that cannot be read or be.
    #[error("`{0}` is no latency: emulated wants 0 to 600000 ms, as in {EXAMPLE}")]
    BadLatency(String),
    /// More than two settings.
    #[error("`{0}` has too many parts: write emulated:IMG_S or emulated:IMG_S:MS, as in {EXAMPLE}")]
    TooMany(String),
}

const EXAMPLE: &str = "emulated:2000:5";
const NAMES: [&str; 6] = ["auto", "cpu", "rten", "cuda", "null", "emulated"];
const MAX_RATE: f64 = 1e9;
const MAX_MS: f64 = 600_000.0;

impl EngineChoice {
    /// Whether it runs a model, so that one may be chosen for it.
    pub const fn runs_models(&self) -> bool {
        matches!(self, Self::Auto | Self::Cpu | Self::Rten | Self::Cuda(_))
    }
}

/// Reads `auto`, `cpu`, `rten`, `cuda[:N|:all]`, `null[:FORMAT]`, or `emulated:IMG_S[:MS]`.
///
/// # Errors
/// Where the text is none of these; the error names the nearest and shows an example.
pub fn parse_engine(text: &str) -> Result<EngineChoice, EngineChoiceError> {
    let text = text.trim();
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let name = name.to_ascii_lowercase();
    match (name.as_str(), rest) {
        ("auto", None) => Ok(EngineChoice::Auto),
        ("cpu", None) => Ok(EngineChoice::Cpu),
        ("rten", None) => Ok(EngineChoice::Rten),
        ("cuda", None) => Ok(EngineChoice::Cuda(Devices::First)),
        ("cuda", Some(which)) => cuda(which),
        ("null", None) => Ok(EngineChoice::Null(PixelFormat::default())),
        ("null", Some(format)) => format
            .trim()
            .to_ascii_lowercase()
            .parse()
            .map(EngineChoice::Null)
            .map_err(|()| EngineChoiceError::BadFormat(format.to_owned())),
        ("emulated", None) => Err(EngineChoiceError::BadRate(String::new())),
        ("emulated", Some(rest)) => emulated(text, rest),
        ("auto" | "cpu" | "rten", Some(rest)) => {
            Err(EngineChoiceError::TakesNothing { engine: name, rest: rest.to_owned() })
        }
        _ => Err(EngineChoiceError::UnknownName { nearest: nearest(&name), name }),
    }
}

fn cuda(which: &str) -> Result<EngineChoice, EngineChoiceError> {
    let which = which.trim().to_ascii_lowercase();
    if which == "all" {
        return Ok(EngineChoice::Cuda(Devices::All));
    }
    let index = which.parse().map(Devices::One);
    index.map(EngineChoice::Cuda).map_err(|_| EngineChoiceError::BadDevice(which))
}

fn emulated(text: &str, rest: &str) -> Result<EngineChoice, EngineChoiceError> {
    let mut parts = rest.split(':');
    let rate = parts.next().unwrap_or_default();
    let ms = parts.next();
    if parts.next().is_some() {
        return Err(EngineChoiceError::TooMany(text.to_owned()));
    }
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    let bad_rate = || EngineChoiceError::BadRate(rate.to_owned());
    let per_second =
        number(rate).filter(|&rate| rate > 0.0 && rate <= MAX_RATE).ok_or_else(bad_rate)?;
    let latency = match ms {
        None => Duration::ZERO,
        Some(text) => number(text.trim().trim_end_matches("ms"))
            .filter(|ms| (0.0..=MAX_MS).contains(ms))
            .map(|ms| Duration::from_secs_f64(ms / 1e3))
            .ok_or_else(|| EngineChoiceError::BadLatency(text.to_owned()))?,
    };
    Ok(EngineChoice::Emulated { rate: per_second, latency })
}

fn nearest(name: &str) -> Option<&'static str> {
    NAMES
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|&(distance, known)| distance * 2 <= known.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}

impl std::str::FromStr for EngineChoice {
    type Err = EngineChoiceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_engine(text)
    }
}

impl fmt::Display for EngineChoice {
    /// As [`parse_engine`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Rten => f.write_str("rten"),
            Self::Cuda(Devices::First) => f.write_str("cuda"),
            Self::Cuda(Devices::One(index)) => write!(f, "cuda:{index}"),
            Self::Cuda(Devices::All) => f.write_str("cuda:all"),
            Self::Null(PixelFormat::F32Nchw) => f.write_str("null"),
            Self::Null(format) => write!(f, "null:{format}"),
            Self::Emulated { rate, latency } if latency.is_zero() => write!(f, "emulated:{rate}"),
            Self::Emulated { rate, latency } => {
                write!(f, "emulated:{rate}:{}", latency.as_secs_f64() * 1e3)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emulated(rate: f64, ms: u64) -> EngineChoice {
        EngineChoice::Emulated { rate, latency: Duration::from_millis(ms) }
    }

    #[test]
    fn good_texts_are_read_and_written_back() {
        for (text, choice) in [
            ("cpu", EngineChoice::Cpu),
            ("rten", EngineChoice::Rten),
            (" CPU ", EngineChoice::Cpu),
            ("auto", EngineChoice::Auto),
            ("cuda", EngineChoice::Cuda(Devices::First)),
            ("cuda:1", EngineChoice::Cuda(Devices::One(1))),
            ("CUDA:All", EngineChoice::Cuda(Devices::All)),
            ("null", EngineChoice::Null(PixelFormat::F32Nchw)),
            ("null:f32", EngineChoice::Null(PixelFormat::F32Nchw)),
            ("null:f32-nhwc", EngineChoice::Null(PixelFormat::F32Nhwc)),
            ("Null:U8", EngineChoice::Null(PixelFormat::U8Nhwc)),
            ("emulated:2000", emulated(2000.0, 0)),
            ("emulated:2000:5", emulated(2000.0, 5)),
            ("emulated:0.5:600000", emulated(0.5, 600_000)),
            ("emulated:1e3:5ms", emulated(1000.0, 5)),
        ] {
            assert_eq!(parse_engine(text), Ok(choice), "{text}");
            assert_eq!(parse_engine(&choice.to_string()), Ok(choice), "{choice}");
        }
    }

    #[test]
    fn bad_texts_say_what_to_write() {
        for (text, part) in [
            ("", "engines: auto, cpu, rten, cuda"),
            ("cuda:first", "`first` is no GPU: write cuda, cuda:0 or cuda:all"),
            ("null:", "not of ``, as in null:u8"),
            ("null:u16", "f32, f32-nhwc or u8, not of `u16`"),
            ("gpu", "did you mean `cpu`?"),
            ("nul", "did you mean `null`?"),
            ("emulate:20", "did you mean `emulated`?"),
            ("tensorrt", "no engine is named `tensorrt`;"),
            ("cpu:4", "leave out `:4`"),
            ("emulated", "emulated:2000:5"),
            ("emulated:", "emulated:2000:5"),
            ("emulated:fast", "`fast` is no rate"),
            ("emulated:0", "`0` is no rate"),
            ("emulated:-5", "`-5` is no rate"),
            ("emulated:nan", "`nan` is no rate"),
            ("emulated:inf", "`inf` is no rate"),
            ("emulated:10:-1", "`-1` is no latency"),
            ("emulated:10:600001", "0 to 600000 ms"),
            ("emulated:10:", "`` is no latency"),
            ("emulated:10:5:5", "too many parts"),
        ] {
            let error = parse_engine(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
