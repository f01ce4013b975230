//! The arguments of `sweep`.

// Writing to a String cannot fail, so that its results are dropped in here.
use std::fmt::Write as _;

use std::path::PathBuf;

use clap::Args;

use super::{
    ColorChoice, ENGINE_HELP, ENGINE_LONG_HELP, KnobArgs, LogLevel, ModelArgs, RunArgs, Sink,
    values,
};
use crate::pipeline::infer::{EngineChoice, parse_engine};
use crate::tune::axis::Axis;
use crate::tune::work::{WORKS, Work};

/// Arguments of `sweep`.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that a person may give")]
pub struct SweepArgs {
    /// Images, or folders to search for images; built-in synthetic images where none is given
    #[arg(value_name = "PATH", help_heading = "Input")]
    pub paths: Vec<PathBuf>,
    /// Read the paths from a file, one a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "synthetic"], help_heading = "Input")]
    pub list: Option<PathBuf>,
    /// How many built-in images to make
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "paths", help_heading = "Input")]
    pub synthetic: Option<u32>,
    /// Refuse images of more pixels (as in 100M, 50MP, 640000); 100M by default
    #[arg(long, value_name = "PIXELS", value_parser = values::pixels, help_heading = "Input")]
    pub max_pixels: Option<u64>,

    /// The knob to sweep, and its values: 1..16 (as the arrow keys go), 1..16:5 (by 5), 1..16:x2
    /// (doubling), 1,2,4,8, or words as in preprocess.filter=nearest,cubic; a second one gives a map
    #[arg(long, value_name = "KNOB=RANGE", value_parser = str::parse::<Axis>, required = true, help_heading = "Sweep")]
    pub over: Vec<Axis>,
    /// Named settings, a curve each (the long help lists them)
    #[arg(long, value_name = "WORK,…", value_delimiter = ',', value_parser = Work::by_name, long_help = work_help(), help_heading = "Sweep")]
    pub work: Vec<Work>,
    /// A point is done when half its 95 % confidence interval is less than this share of the throughput
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "3", help_heading = "Sweep")]
    pub ci: f64,
    /// The longest that a point is measured, after its warm-up
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "10s", help_heading = "Sweep")]
    pub limit: std::time::Duration,
    /// From which number the order of the points is shuffled, and built-in images are made
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Sweep")]
    pub seed: u64,
    /// No dashboard: progress on stderr (so it is also when stdout is no terminal)
    #[arg(long, conflicts_with_all = ["fps", "no_mouse"], help_heading = "Sweep")]
    pub headless: bool,

    /// Write all points as CSV
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub csv: Option<PathBuf>,
    /// Write everything as JSON; `-` is stdout, which then holds nothing else
    #[arg(long, value_name = "FILE|-", value_parser = values::sink, help_heading = "Results")]
    pub json: Option<Sink>,
    /// Draw the chart as SVG
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub svg: Option<PathBuf>,
    /// Draw the chart as PNG
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub png: Option<PathBuf>,

    /// Settings of the engine and its model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// The engine; null where none is given, to see the stages before it.
    #[arg(long, visible_alias = "device", value_name = "ENGINE", value_parser = parse_engine, help = format!("{ENGINE_HELP} [default: null]"), long_help = ENGINE_LONG_HELP, help_heading = "Engine")]
    pub engine: Option<EngineChoice>,

    /// All other knobs.
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
    /// Write a log to this file (never over the screen)
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub log: Option<PathBuf>,
    /// How much to log [default: info]
    #[arg(long, value_name = "LEVEL", value_enum, requires = "log", help_heading = "Settings")]
    pub log_level: Option<LogLevel>,
}

impl SweepArgs {
    /// The arguments of the run that it is measured on.
    pub fn run(&self) -> RunArgs {
        let synthetic = self.paths.is_empty() && self.list.is_none();
        RunArgs {
            paths: self.paths.clone(),
            list: self.list.clone(),
            synthetic: self.synthetic,
            seed: synthetic.then_some(self.seed),
            max_pixels: self.max_pixels,
            headless: self.headless,
            json: self.json.clone(),
            model: self.model.clone(),
            engine: self.engine,
            knobs: self.knobs.clone(),
            config: self.config.clone(),
            no_config: self.no_config,
            sample_hz: self.sample_hz,
            fps: self.fps,
            no_mouse: self.no_mouse,
            ascii: self.ascii,
            color: self.color,
            log: self.log.clone(),
            log_level: self.log_level,
            ..RunArgs::default()
        }
    }

    /// The curves: those that were named, or else one of the knobs as they are.
    pub fn works(&self) -> Vec<Work> {
        if self.work.is_empty() { vec![Work::as_set()] } else { self.work.clone() }
    }
}

/// A share as percent, above 0.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse().ok();
    number
        .filter(|percent| (0.1..=50.0).contains(percent))
        .map(|percent: f64| percent / 100.0)
        .ok_or_else(|| "it takes 0.1 to 50 percent, as in 3 or 1.5".into())
}

fn work_help() -> String {
    let mut text = String::from("Named settings, a curve each:");
    for work in WORKS {
        let _ = write!(text, "\n  {}: {} ({})", work.name, work.title, work.settings.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_read() {
        assert_eq!(percent("3"), Ok(0.03));
        assert_eq!(percent("1.5 %"), Ok(0.015));
        for bad in ["0", "-1", "100", "x", "", "NaN"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
