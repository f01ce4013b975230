//! The report as JSON; `docs/report.md` describes every key.

use std::io::{self, Write};

use super::report::Report;

/// Writes the report as indented JSON and a line's end.
///
/// # Errors
/// Where `out` cannot be written.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, report)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The report as indented JSON with a line's end.
///
/// # Panics
/// Never: a report has string keys and finite numbers, and a `Vec` takes every byte.
pub fn to_string(report: &Report) -> String {
    let mut out = Vec::new();
    write(report, &mut out).expect("a report has string keys, and a Vec takes every byte");
    String::from_utf8(out).expect("JSON is UTF-8")
}
