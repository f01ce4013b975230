//! Respond: one thread counts the answers and writes them out.

use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::pipeline::Stage;
use crate::pipeline::failure::ImageError;
use crate::pipeline::item::{Answer, Item, Predicted};
use crate::pipeline::shared::Shared;
use crate::probe::clock::{self, Nanos};
use crate::probe::lock::Mutex;
use crate::probe::queue::Popped;
use crate::probe::state;

/// Where answers are written, one JSON line an image.
#[derive(Debug)]
pub(in crate::pipeline) struct OutputFile {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl OutputFile {
    /// Creates the file.
    pub(in crate::pipeline) fn create(path: PathBuf) -> std::io::Result<Self> {
        let writer = BufWriter::with_capacity(1 << 16, File::create(&path)?);
        Ok(Self { path, writer })
    }
}

/// What kept answers from being written, if anything did.
pub(in crate::pipeline) type WriteError = Mutex<Option<String>>;

/// The thread's life.
pub(in crate::pipeline) fn work(shared: &Shared, output: Option<OutputFile>, error: &WriteError) {
    let _registered = shared.registry.register("respond-0", Stage::Respond.name());
    let names = shared.engine.class_names();
    let mut output = output;
    let mut flushed = clock::now();
    while let Popped::Item(answer) = shared.answers.pop(|| true) {
        let start = clock::now();
        let images = book(shared, &answer, start);
        if images == 0 {
            continue;
        }
        if let Some(file) = &mut output {
            // Whoever follows the file sees answers within a second.
            let flush = start.saturating_sub(flushed) > 1_000_000_000;
            let mut written = write(shared, &names, file, &answer, start);
            if flush {
                flushed = start;
                written = written.and_then(|()| file.writer.flush());
            }
            if let Err(cause) = written {
                give_up(file, &cause, error);
                output = None;
            }
        }
        let service = clock::now().saturating_sub(start) / images;
        shared.counters.stage(Stage::Respond).add(images, service);
        state::add_items(images);
    }
    if let Some(mut file) = output
        && let Err(cause) = file.writer.flush()
    {
        give_up(&file, &cause, error);
    }
}

/// The run goes on without the file; what happened is told at the end.
fn give_up(file: &OutputFile, cause: &std::io::Error, error: &WriteError) {
    let text = format!("{}: answers could not be written: {cause}", file.path.display());
    tracing::error!("{text}");
    *error.lock() = Some(text);
}

/// Counts an answer's images; returns how many, 0 where the account is closed.
fn book(shared: &Shared, answer: &Answer, now: Nanos) -> u64 {
    match answer {
        Answer::Predicted(images) => {
            let booked = shared.ledger.predicted(images.iter().map(|image| &image.item), now);
            if booked { images.len() as u64 } else { 0 }
        }
        Answer::Failed(item, error) => {
            let name = shared.source.name(item.input);
            u64::from(shared.ledger.failed(item, name, error, now))
        }
    }
}

/// One line of the output file.
#[derive(Serialize)]
struct Line<'a> {
    index: u64,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<Vec<Class<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Error<'a>>,
    /// `synthetic` where the image's work was the counted loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'static str>,
    ms: Millis,
}

#[derive(Serialize)]
struct Class<'a> {
    #[serde(rename = "class")]
    index: usize,
    name: &'a str,
    p: f32,
}

#[derive(Serialize)]
struct Error<'a> {
    reason: &'a str,
    detail: &'a str,
}

/// Where an image's time went, in milliseconds; absent where it did not get so far.
#[derive(Serialize)]
struct Millis {
    load: Option<f64>,
    queue: Option<f64>,
    preprocess: Option<f64>,
    batch: Option<f64>,
    infer: Option<f64>,
    decode: Option<f64>,
    /// From the engine to here, but for decoding: the queues between.
    respond: Option<f64>,
    total: f64,
}

fn span(from: Nanos, to: Nanos) -> Option<f64> {
    (from > 0 && to > 0).then(|| rounded(to.saturating_sub(from) as f64 / 1e6))
}

/// To nanoseconds: the rest is noise of the conversion.
fn rounded(millis: f64) -> f64 {
    (millis * 1e6).round() / 1e6
}

fn millis(item: &Item, decode: Option<Nanos>, now: Nanos) -> Millis {
    let times = &item.times;
    Millis {
        load: span(times.read, times.loaded),
        queue: span(times.loaded, times.taken),
        preprocess: span(times.taken, times.filled),
        batch: span(times.filled, times.submitted),
        infer: span(times.submitted, times.inferred),
        decode: decode.map(|time| rounded(time as f64 / 1e6)),
        respond: span(times.inferred + decode.unwrap_or(0), now).filter(|_| times.inferred > 0),
        total: rounded(now.saturating_sub(item.origin) as f64 / 1e6),
    }
}

fn write(
    shared: &Shared,
    names: &Arc<[String]>,
    file: &mut OutputFile,
    answer: &Answer,
    now: Nanos,
) -> std::io::Result<()> {
    match answer {
        Answer::Predicted(images) => {
            images.iter().try_for_each(|image| write_predicted(shared, names, file, image, now))
        }
        Answer::Failed(item, error) => write_failed(shared, file, item, error, now),
    }
}

fn write_predicted(
    shared: &Shared,
    names: &Arc<[String]>,
    file: &mut OutputFile,
    image: &Predicted,
    now: Nanos,
) -> std::io::Result<()> {
    let top = image.top.iter().map(|best| Class {
        index: best.class,
        name: names.get(best.class).map_or("", String::as_str),
        p: best.p,
    });
    let line = Line {
        index: image.item.index,
        name: shared.source.name(image.item.input),
        top: Some(top.collect()),
        error: None,
        label: label(&image.item),
        ms: millis(&image.item, Some(image.decode), now),
    };
    put(file, &line)
}

fn write_failed(
    shared: &Shared,
    file: &mut OutputFile,
    item: &Item,
    error: &ImageError,
    now: Nanos,
) -> std::io::Result<()> {
    let line = Line {
        index: item.index,
        name: shared.source.name(item.input),
        top: None,
        error: Some(Error { reason: error.reason(), detail: error.detail() }),
        label: label(item),
        ms: millis(item, None, now),
    };
    put(file, &line)
}

fn label(item: &Item) -> Option<&'static str> {
    item.looped.then_some("synthetic")
}

fn put(file: &mut OutputFile, line: &Line<'_>) -> std::io::Result<()> {
    serde_json::to_writer(&mut file.writer, line)?;
    file.writer.write_all(b"\n")
}
