//! The command itself: arguments to engine and source, results to stdout, notices to stderr.

use std::io::{self, BufWriter, Write};

use super::{JsonWriter, Summary, classify, write_text};
use crate::cli::ClassifyArgs;
use crate::commands::run::setup;
use crate::commands::{Exit, Failure};
use crate::config::{DEFAULT_MAX_PIXELS, classify_model};
use crate::pipeline::decode::Prediction;
use crate::pipeline::failure::ImageError;
use crate::pipeline::infer::Engine;
use crate::pipeline::preprocess::Options;
use crate::pipeline::source::Source;

/// Classes that are named of each image.
const TOP: usize = 5;

/// Names what is on each image, in order of input.
///
/// # Errors
/// Where there is no image, no model, or stdout cannot be written.
pub fn run(args: &ClassifyArgs) -> Result<Exit, Failure> {
    let model = classify_model(args)?;
    let source = Source::from_paths(&args.images, &[])?;
    setup::tell(source.notices());
    let engine = setup::engine(args.engine.unwrap_or_default(), &model)?;
    let max_pixels = args.max_pixels.unwrap_or(DEFAULT_MAX_PIXELS);
    let options = Options { scaled: !args.full_decode, ..Options::default() };
    let out = BufWriter::new(io::stdout().lock());
    let summary = if args.json {
        as_json(engine.as_ref(), &source, (max_pixels, options), out)
    } else {
        as_text(engine.as_ref(), &source, (max_pixels, options), out)
    };
    let summary = summary.map_err(|error| Failure::output("stdout", &error))?;
    Ok(if summary.failed == 0 { Exit::Fine } else { Exit::SomeFailed })
}

fn as_json(
    engine: &dyn Engine,
    source: &Source,
    how: (u64, Options),
    out: impl Write,
) -> io::Result<Summary> {
    let mut json = JsonWriter::start(out, engine)?;
    let summary = each(engine, source, how, |name, result| json.image(name, result))?;
    json.finish(summary)?;
    Ok(summary)
}

fn as_text(
    engine: &dyn Engine,
    source: &Source,
    how: (u64, Options),
    mut out: impl Write,
) -> io::Result<Summary> {
    let classes = engine.class_names();
    let summary =
        each(engine, source, how, |name, result| write_text(&mut out, name, result, &classes))?;
    out.flush()?;
    Ok(summary)
}

/// Calls `write` with each image's result; after its first error, no more.
fn each(
    engine: &dyn Engine,
    source: &Source,
    (max_pixels, options): (u64, Options),
    mut write: impl FnMut(&str, Result<&[Prediction], &ImageError>) -> io::Result<()>,
) -> io::Result<Summary> {
    let mut written = Ok(());
    let summary = classify(engine, source, TOP, max_pixels, options, &mut |name, result| {
        if written.is_ok() {
            written = write(name, result);
        }
    });
    written.map(|()| summary)
}
