//! `pipetop doctor`: what this machine has, and what to do about what is missing.

mod capture;
mod cores;
mod cpu;
mod gpu;
mod measuring;
mod terminal;

use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

use super::{Exit, Failure};
use crate::cli::DoctorArgs;

/// What to think of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is there and used.
    Ok,
    /// Something to know; nothing has to be done.
    Note,
    /// It is not there, and some of pipetop's figures or speed with it.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Under which heading it stands.
    pub section: &'static str,
    /// What was looked at.
    pub name: String,
    /// What to think of it.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What can be done, where something can.
    pub way_out: Option<String>,
}

impl Finding {
    fn new(status: Status, name: impl Into<String>, found: impl Into<String>) -> Self {
        Self { section: "", name: name.into(), status, found: found.into(), way_out: None }
    }

    fn ok(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Status::Ok, name, found)
    }

    fn note(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Status::Note, name, found)
    }

    fn missing(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Status::Missing, name, found)
    }

    fn way_out(mut self, way_out: impl Into<String>) -> Self {
        self.way_out = Some(way_out.into());
        self
    }
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    findings: Vec<Finding>,
}

/// Looks at the machine and prints what it found; that something is missing is no failure.
///
/// # Errors
/// Where stdout or the file to record into cannot be written, or there is no GPU to record.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.capture_gpu {
        return capture::run(path, Duration::from_secs(args.seconds.unwrap_or(10)));
    }
    let findings = examine();
    let text = if args.json {
        let report =
            Report { schema: "pipetop.doctor/1", version: env!("CARGO_PKG_VERSION"), findings };
        match serde_json::to_string_pretty(&report) {
            Ok(json) => json + "\n",
            Err(error) => return Err(Failure::new(format!("cannot write JSON: {error}"))),
        }
    } else {
        as_text(&findings)
    };
    super::print(&text)?;
    Ok(Exit::Fine)
}

/// Everything there is to say about this machine, in a fixed order.
pub fn examine() -> Vec<Finding> {
    type Examine = fn() -> Vec<Finding>;
    let sections: [(&str, Examine); 5] = [
        ("CPU", cpu::examine),
        ("cores and memory", cores::examine),
        ("measuring", measuring::examine),
        ("terminal", terminal::examine),
        ("GPU", gpu::examine),
    ];
    sections
        .into_iter()
        .flat_map(|(section, examine)| {
            examine().into_iter().map(move |finding| Finding { section, ..finding })
        })
        .collect()
}

fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    let mut section = "";
    for finding in findings {
        if finding.section != section {
            section = finding.section;
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{section}");
        }
        let status = match finding.status {
            Status::Ok => "ok",
            Status::Note => "note",
            Status::Missing => "missing",
        };
        let _ = writeln!(text, "  {status:<8}{:<16}{}", finding.name, finding.found);
        if let Some(way_out) = &finding.way_out {
            let _ = writeln!(text, "          {:<16}> {way_out}", "");
        }
    }
    let missing = findings.iter().filter(|f| f.status == Status::Missing).count();
    let end = match missing {
        0 => "Nothing is missing.".to_owned(),
        1 => "One thing is missing; its line says what that means and what to do.".to_owned(),
        n => format!("{n} things are missing; their lines say what that means and what to do."),
    };
    let _ = writeln!(text, "\n{end}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_a_way_out() {
        let findings = examine();
        assert!(!findings.is_empty());
        for finding in &findings {
            assert!(!finding.section.is_empty() && !finding.found.is_empty(), "{finding:?}");
            let told = finding.status != Status::Missing || finding.way_out.is_some();
            assert!(told, "{finding:?}");
        }
    }

    #[test]
    fn the_text_has_each_heading_once_and_counts_what_is_missing() {
        let of = |section, finding: Finding| Finding { section, ..finding };
        let text = as_text(&[
            of("A", Finding::ok("one", "here")),
            of("A", Finding::missing("two", "nowhere").way_out("get it")),
            of("B", Finding::note("three", "so so")),
        ]);
        let expected = "\
A
  ok      one             here
  missing two             nowhere
                          > get it

B
  note    three           so so

One thing is missing; its line says what that means and what to do.
";
        assert_eq!(text, expected);
    }
}
