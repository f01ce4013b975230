//! `pipetop bench preprocess`: from file to batch slot, variant against variant, without the rest of the pipeline.

use std::io::Write;
use std::time::Duration;

use super::report::{Cpu, Report, VariantReport};
use super::rounds::{Setting, measure, sort_out};
use super::variants::Variant;
use crate::cli::{BenchPreprocessArgs, Sink};
use crate::commands::run::setup;
use crate::commands::{Exit, Failure, print, without_controls};
use crate::config::DEFAULT_MAX_PIXELS;
use crate::pipeline::infer::builtin;
use crate::pipeline::knobs::FILTERS;
use crate::pipeline::preprocess::{Filter, vector_instructions};
use crate::pipeline::source::{Entry, MAX_BYTES, Source, read_file};

/// Failures that are told one by one.
const TOLD: usize = 5;

/// Reads all files, measures, and prints.
///
/// # Errors
/// Where there is no image that can be decoded, or a result cannot be written.
pub fn run(args: &BenchPreprocessArgs) -> Result<Exit, Failure> {
    let source = Source::from_paths(&args.paths, &[])?;
    setup::tell(source.notices());
    let mut notes = Notes::default();
    let files = read(&source, &mut notes);
    let variants = if args.variant.is_empty() { &Variant::ALL[..] } else { &args.variant };
    let filter = FILTERS.iter().position(|word| *word == args.filter).unwrap_or_default();
    let setting = Setting {
        framing: args.geometry.unwrap_or_else(|| builtin::INPUT.framing()),
        filter: Filter::from_index(filter),
        threads: args.threads,
        max_pixels: args.max_pixels.unwrap_or(DEFAULT_MAX_PIXELS),
    };
    let bytes: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    let (good, failed) = sort_out(&bytes, variants, &setting);
    for (index, error) in &failed {
        notes.failed(files[*index].0, &error.to_string());
    }
    let images: Vec<&[u8]> = good.into_iter().map(|index| bytes[index]).collect();
    if images.is_empty() {
        return Err(notes.nothing(&source));
    }
    notes.tell();
    let turns = measure(&images, variants, &setting, Duration::from_secs_f64(args.seconds));
    let report = Report {
        schema: "pipetop.bench.preprocess/1",
        version: env!("CARGO_PKG_VERSION"),
        input: source.info().name.clone(),
        files: images.len(),
        failed: notes.failed,
        bytes: images.iter().map(|image| image.len() as u64).sum(),
        geometry: setting.framing.to_string(),
        filter: FILTERS[filter],
        threads: setting.threads,
        cpu: Cpu {
            instructions: vector_instructions(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        },
        variants: variants
            .iter()
            .zip(&turns)
            .map(|(variant, turns)| VariantReport::new(variant.name(), turns))
            .collect(),
    };
    write(&report, args.json.as_ref())?;
    Ok(if notes.failed == 0 { Exit::Fine } else { Exit::SomeFailed })
}

/// All files that can be read, with their names.
fn read<'a>(source: &'a Source, notes: &mut Notes) -> Vec<(&'a str, Vec<u8>)> {
    let (mut files, mut left) = (Vec::new(), setup::cache_bytes());
    for index in 0..source.len() {
        let name = source.name(index);
        let mut bytes = Vec::new();
        let read = match source.entry(index) {
            Entry::Memory(memory) => {
                bytes.extend_from_slice(memory);
                Ok(())
            }
            Entry::File(path) => read_file(path, &mut bytes, MAX_BYTES),
        };
        let size = bytes.len() as u64;
        match read {
            Err(error) => notes.failed(name, &error.to_string()),
            Ok(()) if size > left => {
                let said =
                    format!("only the first {} of {} files fit into memory", index, source.len());
                setup::tell(&[said]);
                break;
            }
            Ok(()) => {
                left -= size;
                files.push((name, bytes));
            }
        }
    }
    files
}

/// JSON or the table.
fn write(report: &Report, json: Option<&Sink>) -> Result<(), Failure> {
    let as_json = || {
        serde_json::to_string_pretty(report)
            .map(|json| json + "\n")
            .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))
    };
    match json {
        Some(Sink::Stdout) => print(&as_json()?),
        Some(Sink::File(path)) => {
            let json = as_json()?;
            std::fs::File::create(path)
                .and_then(|mut file| file.write_all(json.as_bytes()))
                .map_err(|error| Failure::output(&path.display().to_string(), &error))?;
            print(&report.as_text())
        }
        None => print(&report.as_text()),
    }
}

/// What is said on the way.
#[derive(Default)]
struct Notes {
    failed: usize,
    first: Vec<String>,
}

impl Notes {
    fn failed(&mut self, name: &str, error: &str) {
        self.failed += 1;
        if self.first.len() < TOLD {
            self.first.push(format!("{}: {}", without_controls(name), without_controls(error)));
        }
    }

    fn tell(&self) {
        setup::tell(&self.first);
        if self.failed > self.first.len() {
            setup::tell(&[format!("… and {} more that failed", self.failed - self.first.len())]);
        }
    }

    fn nothing(self, source: &Source) -> Failure {
        let name = without_controls(&source.info().name);
        let message = format!("{name}: none of {} files can be decoded", source.len());
        self.first.into_iter().fold(Failure::new(message), Failure::hint)
    }
}
