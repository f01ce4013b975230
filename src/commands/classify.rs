//! `pipetop classify`: the best classes of each image, in order of input.
//!
//! As JSON (schema `pipetop.classify/1`) one object; an image has either `top`, best first, or `error`
//! with a word of [`Reason`] and a sentence:
//!
//! ```json
//! {"schema":"pipetop.classify/1","model":"efficientnet_lite0","images":[
//! {"name":"otter.jpg","top":[{"class":360,"name":"otter","p":0.97}]},
//! {"name":"notes.txt","error":{"reason":"not-an-image","detail":"…"}}
//! ],"predicted":1,"failed":1}
//! ```

mod command;

use rayon::prelude::*;
use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;

use crate::pipeline::decode::{Prediction, top_k_into};
use crate::pipeline::failure::{ImageError, Reason};
use crate::pipeline::infer::{Engine, Output, Pixels, Ticket};
use crate::pipeline::pixels::PixelsMut;
use crate::pipeline::preprocess::{Filter, Preprocessor};
use crate::pipeline::slab::{Filling, Full, Slot};
use crate::pipeline::source::{Entry, MAX_BYTES, Source, read_file};

pub use command::run;

/// How many images came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Images with predictions.
    pub predicted: u64,
    /// Images without.
    pub failed: u64,
}

/// What takes results: an image's name, and its best classes or why it failed.
pub type Sink<'a> = dyn FnMut(&str, Result<&[Prediction], &ImageError>) + 'a;

/// Images that are preprocessed and inferred together, where they are of the usual size.
const CHUNK: usize = 16;
/// Bytes of a chunk at most, as long as one picture fits.
const CHUNK_BYTES: usize = 64 << 20;

/// Predicts the `k` likeliest classes of each image and hands them to `sink` with the image's name, in
/// order of input; a failed image's error instead. Images over `max_pixels` fail.
///
/// Bicubic resizing; preprocessing uses rayon's global pool, the engine the calling thread. An engine
/// that predicts nothing gives empty predictions.
pub fn classify(
    engine: &dyn Engine,
    source: &Source,
    k: usize,
    max_pixels: u64,
    sink: &mut Sink<'_>,
) -> Summary {
    let chunk = (CHUNK_BYTES / engine.input().bytes().max(1)).clamp(1, CHUNK);
    let mut summary = Summary::default();
    let mut spare = None;
    let mut top = Vec::new();
    for first in (0..source.len()).step_by(chunk) {
        let images = first..(first + chunk).min(source.len());
        let Some(filling) = spare.take().or_else(|| Filling::new(chunk, engine.input())) else {
            let detail = format!("there is no memory for a batch of {chunk} images");
            let error = ImageError::new(Reason::Internal, detail);
            summary.failed += images.len() as u64;
            images.for_each(|index| sink(source.name(index), Err(&error)));
            continue;
        };
        let (filling, prepared) = preprocess(engine, source, images.clone(), max_pixels, filling);
        let good = prepared.iter().filter(|r| r.is_ok()).count();
        let pixels = Arc::new(filling.freeze());
        let scores = infer(engine, &pixels, good);
        spare = Full::reuse(pixels);
        let mut next = 0;
        for (index, prepared) in images.zip(prepared) {
            let result = prepared.and_then(|()| {
                next += 1;
                predictions(engine, &scores, next - 1, k, &mut top)
            });
            match &result {
                Ok(()) => summary.predicted += 1,
                Err(_) => summary.failed += 1,
            }
            sink(source.name(index), result.as_ref().map(|()| top.as_slice()));
        }
    }
    summary
}

/// Writes the good pictures one behind another into `filling`; says which are good.
fn preprocess(
    engine: &dyn Engine,
    source: &Source,
    images: std::ops::Range<usize>,
    max_pixels: u64,
    mut filling: Filling,
) -> (Filling, Vec<Result<(), ImageError>>) {
    let worker = || (Preprocessor::new(engine.input(), max_pixels), Vec::new());
    let slots: Vec<Slot> = std::iter::from_fn(|| filling.take()).take(images.len()).collect();
    let done: Vec<_> = slots
        .into_par_iter()
        .zip(images.into_par_iter())
        .map_init(worker, |(preprocessor, buffer), (mut slot, index)| {
            let result = one(preprocessor, source.entry(index), buffer, slot.pixels());
            (slot, result)
        })
        .collect();
    let mut results = Vec::with_capacity(done.len());
    let mut slots = Vec::with_capacity(done.len());
    for (slot, result) in done {
        slots.push(filling.filled(slot));
        results.push(result);
    }
    let good = slots.into_iter().zip(&results).filter(|(_, result)| result.is_ok());
    for (to, (from, _)) in good.enumerate() {
        filling.copy(from, to);
    }
    (filling, results)
}

/// One image into its slot.
fn one(
    preprocessor: &mut Preprocessor,
    entry: Entry<'_>,
    buffer: &mut Vec<u8>,
    slot: PixelsMut<'_>,
) -> Result<(), ImageError> {
    let bytes = match entry {
        Entry::Memory(bytes) => bytes,
        Entry::File(path) => {
            read_file(path, buffer, MAX_BYTES)?;
            buffer.as_slice()
        }
    };
    let header = preprocessor.header(bytes)?;
    preprocessor.run(bytes, &header, Filter::Cubic, slot)
}

/// Runs the first `images` pictures.
fn infer(engine: &dyn Engine, pixels: &Arc<Full>, images: usize) -> Result<Output, ImageError> {
    if images == 0 {
        return Ok(Output::Nothing);
    }
    let batch: Pixels = Arc::<Full>::clone(pixels);
    let output = engine.submit(batch, images).and_then(Ticket::wait);
    output.map_err(|error| ImageError::new(Reason::Engine, error.to_string()))
}

/// Writes the best classes of the image at `index` of a batch into `top`.
fn predictions(
    engine: &dyn Engine,
    output: &Result<Output, ImageError>,
    index: usize,
    k: usize,
    top: &mut Vec<Prediction>,
) -> Result<(), ImageError> {
    top.clear();
    let scores = match output {
        Err(error) => return Err(error.clone()),
        Ok(Output::Nothing) => return Ok(()),
        Ok(Output::Logits(scores)) => scores,
    };
    let classes = engine.info().classes;
    let mine = scores.get(index * classes..(index + 1) * classes).unwrap_or_default();
    top_k_into(mine, k, engine.outputs_probabilities(), top);
    if top.is_empty() && k > 0 {
        let detail = "the model gave a number for no class";
        return Err(ImageError::new(Reason::Engine, detail));
    }
    Ok(())
}

/// Writes one image's result for people: its name, then a line a class; a failed one's in one line.
///
/// Control characters in names become `�`: a file's name must not drive the terminal.
///
/// # Errors
/// Where `out` cannot be written.
pub fn write_text(
    out: &mut dyn Write,
    image: &str,
    result: Result<&[Prediction], &ImageError>,
    classes: &[String],
) -> io::Result<()> {
    match result {
        Err(error) => writeln!(out, "{}: {}", printable(image), printable(&error.to_string())),
        Ok([]) => writeln!(out, "{}: no prediction, the engine makes none", printable(image)),
        Ok(top) => {
            writeln!(out, "{}", printable(image))?;
            for one in top {
                writeln!(
                    out,
                    "  {:5.1} %  {}",
                    one.p * 100.0,
                    printable(class(classes, one.class))
                )?;
            }
            Ok(())
        }
    }
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn class(classes: &[String], index: usize) -> &str {
    classes.get(index).map_or("?", String::as_str)
}

/// Writes the JSON object of this module's description, an image a line as it comes.
pub struct JsonWriter<W: Write> {
    out: W,
    classes: Arc<[String]>,
    empty: bool,
}

#[derive(Serialize)]
struct Image<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<Vec<Class<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure<'a>>,
}

#[derive(Serialize)]
struct Class<'a> {
    #[serde(rename = "class")]
    index: usize,
    name: &'a str,
    p: f32,
}

#[derive(Serialize)]
struct Failure<'a> {
    reason: &'static str,
    detail: &'a str,
}

impl<W: Write> JsonWriter<W> {
    /// Writes the beginning, for what `engine` will predict.
    ///
    /// # Errors
    /// Where `out` cannot be written.
    pub fn start(mut out: W, engine: &dyn Engine) -> io::Result<Self> {
        let model = serde_json::to_string(&engine.info().model)?;
        write!(out, "{{\"schema\":\"pipetop.classify/1\",\"model\":{model},\"images\":[")?;
        Ok(Self { out, classes: engine.class_names(), empty: true })
    }

    /// Writes one image's result.
    ///
    /// # Errors
    /// Where the output cannot be written.
    pub fn image(
        &mut self,
        name: &str,
        result: Result<&[Prediction], &ImageError>,
    ) -> io::Result<()> {
        let classes = &self.classes;
        let named = |one: &Prediction| Class {
            index: one.class,
            name: class(classes, one.class),
            p: one.p,
        };
        let (top, error) = match result {
            Ok(top) => (Some(top.iter().map(named).collect()), None),
            Err(error) => (None, Some(Failure { reason: error.reason(), detail: error.detail() })),
        };
        self.out.write_all(if self.empty { b"\n" } else { b",\n" })?;
        self.empty = false;
        serde_json::to_writer(&mut self.out, &Image { name, top, error })?;
        Ok(())
    }

    /// Writes the end and gives the output back, flushed.
    ///
    /// # Errors
    /// Where the output cannot be written.
    pub fn finish(mut self, summary: Summary) -> io::Result<W> {
        let Summary { predicted, failed } = summary;
        writeln!(self.out, "\n],\"predicted\":{predicted},\"failed\":{failed}}}")?;
        self.out.flush()?;
        Ok(self.out)
    }
}
