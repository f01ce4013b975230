//! Arguments of `render`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values;
use crate::record::render::Place;

/// What to make of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A film that every viewer shows.
    Gif,
    /// A film, or a still, that stays sharp at any size.
    Svg,
    /// A still.
    Png,
    /// A still's text.
    Text,
}

/// A terminal's colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ThemeChoice {
    /// The cast's own, or dark where it has none.
    #[default]
    Auto,
    /// Light text on a dark ground.
    Dark,
    /// Dark text on a light ground.
    Light,
    /// xterm's own.
    Xterm,
}

/// Arguments of `render`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "A film: pipetop render run.cast run.gif --from 5 --to 35 --speed 2\n\
    A still: pipetop render run.cast run.png --at 12.5")]
pub struct RenderArgs {
    /// An asciicast of version 2 or 3, from pipetop or any other program; `-` is stdin
    #[arg(value_name = "IN.cast")]
    pub input: PathBuf,
    /// What to write; its name's end says what: .gif or .svg (a film), .png or .txt (a still)
    #[arg(value_name = "OUT", value_parser = output)]
    pub output: PathBuf,
    /// Frames a second at most, 1 to 50 [default: 20]
    #[arg(long, value_name = "N", value_parser = values::film_fps)]
    pub fps: Option<f64>,
    /// So many times as fast as recorded, 0.1 to 100 [default: 1]
    #[arg(long, value_name = "X", value_parser = values::film_speed)]
    pub speed: Option<f64>,
    /// Cut pauses to so many seconds [default: what the cast asks for]
    #[arg(long, value_name = "S", value_parser = values::duration)]
    pub idle_limit: Option<Duration>,
    /// Begin here: seconds since the start, or a marker's label
    #[arg(long, value_name = "S|MARKER", value_parser = values::place)]
    pub from: Option<Place>,
    /// End here
    #[arg(long, value_name = "S|MARKER", value_parser = values::place)]
    pub to: Option<Place>,
    /// Show the last frame for so many seconds more [default: 3]
    #[arg(long, value_name = "S", value_parser = values::hold)]
    pub last_frame: Option<Duration>,
    /// A still of this moment: seconds since the start, or a marker's label [default: the end]
    #[arg(long, value_name = "S|MARKER", value_parser = values::place, conflicts_with_all = ["from", "to"])]
    pub at: Option<Place>,
    /// A still where .svg would be a film
    #[arg(long)]
    pub still: bool,
    /// The colours
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub theme: ThemeChoice,
    /// Height of the text in pixels, 6 to 96 [default: 15; 30 for .png]
    #[arg(long, value_name = "PIXELS", value_parser = values::font_size)]
    pub font_size: Option<f32>,
}

impl RenderArgs {
    /// What to make.
    pub fn format(&self) -> Format {
        // The name was looked at when it was read.
        format(&self.output).unwrap_or(Format::Text)
    }
}

fn format(path: &Path) -> Option<Format> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    match end.as_str() {
        "gif" => Some(Format::Gif),
        "svg" => Some(Format::Svg),
        "png" => Some(Format::Png),
        "txt" => Some(Format::Text),
        _ => None,
    }
}

fn output(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match format(&path) {
        Some(_) => Ok(path),
        None => Err("its name must end in .gif, .svg, .png or .txt".into()),
    }
}
