//! Variants by turns: in each round every variant takes every image once, on so many threads.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::variants::Variant;
use crate::pipeline::failure::{ImageError, Reason};
use crate::pipeline::infer::Framing;
use crate::pipeline::pixels::PixelsMut;
use crate::pipeline::preprocess::{Filter, Options, Preprocessor};
use crate::pipeline::slab::{Filling, Slot};
use crate::probe::clock::{self, Nanos};
use crate::probe::os;

/// What is measured alike for all variants.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How pictures come into the square.
    pub framing: Framing,
    /// How pixels are resampled.
    pub filter: Filter,
    /// Threads that work at once.
    pub threads: usize,
    /// Images of more pixels are refused.
    pub max_pixels: u64,
}

/// Time spent in each step, summed over images; the total is the time from first to last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Header and decoding.
    pub decode: Nanos,
    /// Resampling.
    pub resize: Nanos,
    /// Into the slot.
    pub normalise: Nanos,
    /// All of it.
    pub total: Nanos,
}

/// One variant's turn in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Images that came through.
    pub images: u64,
    /// From the start of all threads to the end of the last.
    pub elapsed: Nanos,
    /// CPU time of the threads, by step.
    pub cpu: Steps,
    /// Wall time of the threads, by step.
    pub wall: Steps,
}

impl Turn {
    /// Images a second, all threads together.
    pub fn rate(&self) -> f64 {
        self.images as f64 / (self.elapsed.max(1) as f64 / 1e9)
    }
}

/// Slots that a worker fills by turns: as many as a batch, so that slots do not stay in the nearest cache.
const SLOTS: usize = 16;

/// A thread's own things, kept from round to round.
struct Worker {
    preprocessor: Preprocessor,
    slots: Vec<Slot>,
    next: usize,
}

impl Worker {
    fn new(variant: Variant, setting: &Setting) -> Option<Self> {
        let mut filling = Filling::new(SLOTS, &variant.input(setting.framing))?;
        let slots = std::iter::from_fn(|| filling.take()).collect();
        let preprocessor = variant.preprocessor(setting.framing, setting.max_pixels);
        Some(Self { preprocessor, slots, next: 0 })
    }

    fn image(&mut self, bytes: &[u8], options: Options, turn: &mut Turn) -> Result<(), ImageError> {
        self.next = (self.next + 1) % SLOTS;
        let stamps = steps(&mut self.preprocessor, bytes, options, self.slots[self.next].pixels())?;
        turn.images += 1;
        turn.cpu.add(stamps.map(|stamp| stamp.cpu));
        turn.wall.add(stamps.map(|stamp| stamp.wall));
        Ok(())
    }
}

impl Steps {
    fn add(&mut self, [start, decoded, resized, end]: [Nanos; 4]) {
        self.decode += decoded.saturating_sub(start);
        self.resize += resized.saturating_sub(decoded);
        self.normalise += end.saturating_sub(resized);
        self.total += end.saturating_sub(start);
    }

    fn merge(&mut self, other: Self) {
        self.decode += other.decode;
        self.resize += other.resize;
        self.normalise += other.normalise;
        self.total += other.total;
    }
}

#[derive(Clone, Copy)]
struct Stamp {
    cpu: Nanos,
    wall: Nanos,
}

impl Stamp {
    fn now() -> Self {
        let wall = clock::now();
        // Where the system has no clock for a thread's CPU time, wall time is the nearest.
        Self { cpu: os::own_cpu().unwrap_or(wall), wall }
    }
}

/// One image; when it began, was decoded, resized and in its slot.
fn steps(
    preprocessor: &mut Preprocessor,
    bytes: &[u8],
    options: Options,
    slot: PixelsMut<'_>,
) -> Result<[Stamp; 4], ImageError> {
    let start = Stamp::now();
    let header = preprocessor.header(bytes)?;
    preprocessor.decode(bytes, &header, options)?;
    let decoded = Stamp::now();
    preprocessor.resize(&header, options)?;
    let resized = Stamp::now();
    preprocessor.normalise(&header, slot);
    Ok([start, decoded, resized, Stamp::now()])
}

/// The images that all variants can take, by index, and why others failed.
pub fn sort_out(
    images: &[&[u8]],
    variants: &[Variant],
    setting: &Setting,
) -> (Vec<usize>, Vec<(usize, ImageError)>) {
    let mut workers: Vec<_> = variants.iter().map(|&v| (v, Worker::new(v, setting))).collect();
    let (mut good, mut failed) = (Vec::new(), Vec::new());
    for (index, bytes) in images.iter().enumerate() {
        let error = workers.iter_mut().find_map(|(variant, worker)| match worker {
            Some(worker) => {
                let options = variant.options(setting.filter);
                worker.image(bytes, options, &mut Turn::default()).err()
            }
            None => Some(ImageError::new(Reason::Internal, "there is no memory for its slot")),
        });
        match error {
            None => good.push(index),
            Some(error) => failed.push((index, error)),
        }
    }
    (good, failed)
}

/// Measures for about so long, one round at least after one for warming up; turns by variant.
pub fn measure(
    images: &[&[u8]],
    variants: &[Variant],
    setting: &Setting,
    time: Duration,
) -> Vec<Vec<Turn>> {
    let mut teams: Vec<(Variant, Vec<Worker>)> = variants
        .iter()
        .map(|&variant| {
            (variant, (0..setting.threads).filter_map(|_| Worker::new(variant, setting)).collect())
        })
        .collect();
    let mut turns = vec![Vec::new(); variants.len()];
    for (variant, team) in &mut teams {
        turn(team, images, variant.options(setting.filter));
    }
    let start = Instant::now();
    loop {
        for ((variant, team), turns) in teams.iter_mut().zip(&mut turns) {
            turns.push(turn(team, images, variant.options(setting.filter)));
        }
        if start.elapsed() >= time {
            return turns;
        }
    }
}

/// One turn: the threads share the images out among themselves.
fn turn(team: &mut [Worker], images: &[&[u8]], options: Options) -> Turn {
    let next = AtomicUsize::new(0);
    let start = Barrier::new(team.len());
    let done: Vec<(Nanos, Nanos, Turn)> = std::thread::scope(|scope| {
        let threads: Vec<_> = team
            .iter_mut()
            .map(|worker| {
                let (next, start) = (&next, &start);
                scope.spawn(move || {
                    start.wait();
                    let began = clock::now();
                    let mut turn = Turn::default();
                    while let Some(bytes) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // What fails was sorted out before.
                        let _ = worker.image(bytes, options, &mut turn);
                    }
                    (began, clock::now(), turn)
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut sum = Turn::default();
    for (_, _, turn) in &done {
        sum.images += turn.images;
        sum.cpu.merge(turn.cpu);
        sum.wall.merge(turn.wall);
    }
    let began = done.iter().map(|(began, ..)| *began).min().unwrap_or_default();
    let ended = done.iter().map(|(_, ended, _)| *ended).max().unwrap_or_default();
    sum.elapsed = ended.saturating_sub(began);
    sum
}
