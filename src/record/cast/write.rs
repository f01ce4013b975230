//! The writer: one line an event, each out before the next, so that a kill loses nothing.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{Event, Header};

/// Writes a cast.
///
/// Times are written in milliseconds; in version 3, where each counts from the event before, what
/// rounding left over is carried on, so that the end is as exact as the start.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    version: u8,
    /// What was written of the time so far, in whole milliseconds.
    written: u128,
}

impl<W: Write> Writer<W> {
    /// Begins a cast with its header.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(mut out: W, header: &Header) -> io::Result<Self> {
        let head = serde_json::to_string(&Head::of(header))?;
        out.write_all(format!("{head}\n").as_bytes())?;
        out.flush()?;
        Ok(Self { out, version: header.version, written: 0 })
    }

    /// Writes an event at a time since the start; a time before the last one's counts as that.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn event(&mut self, at: Duration, event: &Event) -> io::Result<()> {
        let (code, data) = match event {
            Event::Output(text) => ('o', text.clone()),
            Event::Input(text) => ('i', text.clone()),
            Event::Marker(label) => ('m', label.clone()),
            Event::Resize { cols, rows } => ('r', format!("{cols}x{rows}")),
            // Version 2 knows of no end.
            Event::Exit(_) if self.version < 3 => return Ok(()),
            Event::Exit(status) => ('x', status.to_string()),
            Event::Other(code, data) => (*code, data.clone()),
        };
        let millis = at.as_millis().max(self.written);
        let time = if self.version < 3 { millis } else { millis - self.written };
        self.written = millis;
        let data = Value::from(data);
        let (seconds, millis) = (time / 1000, time % 1000);
        // One write a line: a reader never finds half of one, short of a full disk.
        let text = format!("[{seconds}.{millis:03}, \"{code}\", {data}]\n");
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Gives back what was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// The first line; players look for the version first.
#[derive(Serialize)]
struct Head<'a> {
    version: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<Term>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_time_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
}

#[derive(Serialize)]
struct Term {
    cols: u16,
    rows: u16,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'a> Head<'a> {
    fn of(header: &'a Header) -> Self {
        let &Header { version, cols, rows, timestamp, idle_time_limit, .. } = header;
        let old = version < 3;
        Self {
            version,
            width: old.then_some(cols),
            height: old.then_some(rows),
            term: (!old).then_some(Term { cols, rows, kind: "xterm-256color" }),
            timestamp,
            idle_time_limit,
            title: header.title.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(version: u8, events: &[(u64, Event)]) -> String {
        let header = Header { title: Some("a \"run\"".into()), ..Header::new(version, 80, 24) };
        let mut writer = Writer::begin(Vec::new(), &header).unwrap();
        for (micros, event) in events {
            writer.event(Duration::from_micros(*micros), event).unwrap();
        }
        String::from_utf8(writer.into_inner()).unwrap()
    }

    fn events() -> Vec<(u64, Event)> {
        vec![
            (0, Event::Output("\u{1b}[2J╭─\"\n".into())),
            (100_600, Event::Marker("preprocess.threads 1 → 4".into())),
            (100_700, Event::Resize { cols: 120, rows: 36 }),
            (2_500_000, Event::Exit(0)),
        ]
    }

    #[test]
    fn version_3_counts_from_event_to_event() {
        let text = written(3, &events());
        let lines: Vec<_> = text.lines().collect();
        let head: Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!((&head["version"], &head["term"]["cols"]), (&json!(3), &json!(80)));
        assert_eq!(head["title"], "a \"run\"");
        let expected = [
            "[0.000, \"o\", \"\\u001b[2J╭─\\\"\\n\"]",
            "[0.100, \"m\", \"preprocess.threads 1 → 4\"]",
            "[0.000, \"r\", \"120x36\"]",
            "[2.400, \"x\", \"0\"]",
        ];
        assert_eq!(lines[1..], expected);
    }

    #[test]
    fn version_2_counts_from_the_start_and_has_no_exit() {
        let text = written(2, &events());
        let lines: Vec<_> = text.lines().collect();
        let head: Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!((&head["width"], &head["height"]), (&json!(80), &json!(24)));
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[3], "[0.100, \"r\", \"120x36\"]");
    }

    /// A thousand events 1.4 ms apart would be 400 ms off if each were rounded by itself.
    #[test]
    fn rounding_does_not_add_up() {
        let events: Vec<_> = (1..=1000).map(|i| (i * 1400, Event::Output("x".into()))).collect();
        let text = written(3, &events);
        let sum: f64 = text
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).unwrap()[0].as_f64().unwrap())
            .sum();
        assert!((sum - 1.4).abs() < 1e-6, "{sum}");
    }
}
