//! What `bench preprocess` prints: a table, or JSON of schema `pipetop.bench.preprocess/1`.
//!
//! Each variant's figures are medians over its rounds, `spread` holds the quartiles, and `rounds` what they are
//! made of. Steps are CPU time of the thread that did them, in microseconds an image (`wall` has them by the
//! clock on the wall); `img_s` is images by wall time, all threads together.

use serde::Serialize;
use std::fmt::Write;

use super::rounds::{Steps, Turn};
use super::statistics::Middle;

/// All that was measured.
#[derive(Debug, Serialize)]
pub struct Report {
    /// `pipetop.bench.preprocess/1`.
    pub schema: &'static str,
    /// Of pipetop.
    pub version: &'static str,
    /// What was read.
    pub input: String,
    /// Images that were measured.
    pub files: usize,
    /// Images that were not, since they cannot be decoded or read.
    pub failed: usize,
    /// Bytes of the images measured.
    pub bytes: u64,
    /// As in `squash224` or `short256-crop224`.
    pub geometry: String,
    /// The word of `preprocess.filter`.
    pub filter: &'static str,
    /// Threads that worked at once.
    pub threads: usize,
    /// The processor's instructions that were used.
    pub cpu: Cpu,
    /// By variant, in the order in which they took turns.
    pub variants: Vec<VariantReport>,
}

/// The processor.
#[derive(Debug, Serialize)]
pub struct Cpu {
    /// Vector instructions in use: `avx512`, `avx2`, `neon` or `baseline`.
    pub instructions: &'static str,
    /// Cores that this process may use.
    pub cores: usize,
}

/// One variant.
#[derive(Debug, Serialize)]
pub struct VariantReport {
    /// Its name.
    pub name: &'static str,
    /// Medians over the rounds.
    #[serde(flatten)]
    pub median: Figures,
    /// By the clock on the wall, medians.
    pub wall: StepTimes,
    /// Quartiles over the rounds.
    pub spread: Spread,
    /// Each round by itself.
    pub rounds: Vec<Figures>,
}

/// Figures of one round, or their medians.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// Images a second by wall time.
    pub img_s: f64,
    /// CPU time of the steps.
    #[serde(flatten)]
    pub steps: StepTimes,
}

/// Microseconds an image.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StepTimes {
    /// Header and decoding.
    pub decode_us: f64,
    /// Resampling.
    pub resize_us: f64,
    /// Into the slot.
    pub normalise_us: f64,
    /// From first to last.
    pub total_us: f64,
}

/// First and third quartile of each figure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// Of images a second.
    pub img_s: [f64; 2],
    /// Of decoding.
    pub decode_us: [f64; 2],
    /// Of resampling.
    pub resize_us: [f64; 2],
    /// Of the way into the slot.
    pub normalise_us: [f64; 2],
    /// Of all of it.
    pub total_us: [f64; 2],
}

impl StepTimes {
    fn of(steps: Steps, images: u64) -> Self {
        let us = |nanos: u64| nanos as f64 / 1e3 / images.max(1) as f64;
        Self {
            decode_us: us(steps.decode),
            resize_us: us(steps.resize),
            normalise_us: us(steps.normalise),
            total_us: us(steps.total),
        }
    }
}

impl VariantReport {
    /// Of one variant's turns.
    pub fn new(name: &'static str, turns: &[Turn]) -> Self {
        let times = |turn: &Turn| StepTimes::of(turn.cpu, turn.images);
        let rounds: Vec<Figures> =
            turns.iter().map(|turn| Figures { img_s: turn.rate(), steps: times(turn) }).collect();
        let walls: Vec<_> =
            turns.iter().map(|turn| StepTimes::of(turn.wall, turn.images)).collect();
        let middle = |figure: fn(&Figures) -> f64| Middle::of(rounds.iter().map(figure));
        let wall = |figure: fn(&StepTimes) -> f64| Middle::of(walls.iter().map(figure)).median;
        let rate = middle(|round| round.img_s);
        let decode = middle(|round| round.steps.decode_us);
        let resize = middle(|round| round.steps.resize_us);
        let normalise = middle(|round| round.steps.normalise_us);
        let total = middle(|round| round.steps.total_us);
        let quartiles = |middle: Middle| [middle.low, middle.high];
        Self {
            name,
            median: Figures {
                img_s: rate.median,
                steps: StepTimes {
                    decode_us: decode.median,
                    resize_us: resize.median,
                    normalise_us: normalise.median,
                    total_us: total.median,
                },
            },
            wall: StepTimes {
                decode_us: wall(|times| times.decode_us),
                resize_us: wall(|times| times.resize_us),
                normalise_us: wall(|times| times.normalise_us),
                total_us: wall(|times| times.total_us),
            },
            spread: Spread {
                img_s: quartiles(rate),
                decode_us: quartiles(decode),
                resize_us: quartiles(resize),
                normalise_us: quartiles(normalise),
                total_us: quartiles(total),
            },
            rounds,
        }
    }
}

impl Report {
    /// The table for people.
    pub fn as_text(&self) -> String {
        let mut text = String::new();
        let rounds = self.variants.first().map_or(0, |variant| variant.rounds.len());
        let each = self.bytes as f64 / 1e3 / self.files.max(1) as f64;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}: {} images of {each:.1} kB each, {}, {} filter, {} on {}, {}, {}",
            self.input,
            self.files,
            self.geometry,
            self.filter,
            plural(self.threads, "thread"),
            plural(self.cpu.cores, "core"),
            plural(rounds, "round"),
            self.cpu.instructions,
        );
        let _ = writeln!(
            text,
            "{:<16}{:>9}{:>9}{:>9}{:>11}{:>9}   quartiles",
            "variant", "img/s", "decode", "resize", "normalise", "total"
        );
        for variant in &self.variants {
            let Figures { img_s, steps } = variant.median;
            let [low, high] = variant.spread.total_us;
            let _ = writeln!(
                text,
                "{:<16}{img_s:>9.0}{:>9.1}{:>9.1}{:>11.1}{:>9.1}   {low:.1} to {high:.1}",
                variant.name, steps.decode_us, steps.resize_us, steps.normalise_us, steps.total_us,
            );
        }
        text += "Steps and total: CPU time in µs an image, medians over the rounds; img/s: by wall time.\n";
        text
    }
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
