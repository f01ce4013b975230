//! Reads casts of version 2 and 3, from pipetop or any other program.

use std::io::{self, BufRead, Read as _};
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Event, Header, Rgb, Theme, Timed};

/// The longest time that an event may have, in seconds: a year. Longer is a broken file.
const LONGEST: f64 = 366.0 * 86_400.0;

/// Why a cast cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CastError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line makes no sense.
    #[error("line {line}: {what}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The last line has no end: the recording was cut off while it was written.
    #[error("line {line}, the last one, is cut off")]
    Cut {
        /// Counted from 1.
        line: usize,
    },
}

/// Reads a cast event by event.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: Header,
    line: usize,
    last: Duration,
    over: bool,
}

/// The longest line that is read: a frame of the largest screen with colours everywhere takes a tenth of it.
const LONGEST_LINE: u64 = 256 << 20;
const TOO_LONG: &str = "no asciicast: it is longer than 256 MiB";

/// The next line with its end, one byte longer than allowed at most; empty at the end of the input.
fn one_line(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    input.take(LONGEST_LINE + 1).read_until(b'\n', &mut line)?;
    Ok(line)
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Where the input cannot be read, or its first line is no header of version 2 or 3.
    pub fn new(mut input: R) -> Result<Self, CastError> {
        let line = one_line(&mut input)?;
        let error = |what: String| CastError::Line { line: 1, what };
        if line.len() as u64 > LONGEST_LINE {
            return Err(error(TOO_LONG.to_owned()));
        }
        let expected = "no asciicast: the first line must be a JSON object such as \
                        {\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}";
        let header = match serde_json::from_slice(&line) {
            Ok(Value::Object(header)) => header,
            Ok(_) | Err(_) if line.trim_ascii().is_empty() => {
                return Err(error(format!("empty; {expected}")));
            }
            Ok(_) | Err(_) => return Err(error(expected.to_owned())),
        };
        let header = read_header(&header).map_err(error)?;
        Ok(Self { input, header, line: 1, last: Duration::ZERO, over: false })
    }

    /// The header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The next event; `None` at the end.
    fn read(&mut self) -> Result<Option<Timed>, CastError> {
        loop {
            let bytes = one_line(&mut self.input)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            let line = self.line;
            if bytes.len() as u64 > LONGEST_LINE {
                return Err(CastError::Line { line, what: TOO_LONG.to_owned() });
            }
            let ended = bytes.ends_with(b"\n");
            let text = bytes.trim_ascii();
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            let value = match serde_json::from_slice(text) {
                Ok(value) => value,
                Err(error) if error.is_eof() && !ended => return Err(CastError::Cut { line }),
                Err(error) => {
                    return Err(CastError::Line { line, what: format!("no JSON: {error}") });
                }
            };
            let (seconds, event) =
                read_event(&value).map_err(|what| CastError::Line { line, what })?;
            let at = if self.header.version == 2 { Duration::ZERO } else { self.last }
                .saturating_add(Duration::from_secs_f64(seconds));
            // Some recorders' clocks step back a little; time never does.
            self.last = self.last.max(at);
            return Ok(Some(Timed { at: self.last, event }));
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Timed, CastError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.read().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}

fn read_header(header: &Map<String, Value>) -> Result<Header, String> {
    let version = match header.get("version").and_then(Value::as_u64) {
        Some(2) => 2,
        Some(3) => 3,
        Some(version) => {
            return Err(format!(
                "an asciicast of version {version}; versions 2 and 3 can be read \
                 (asciinema convert makes them from version 1)"
            ));
        }
        None => return Err("no asciicast: \"version\" must be 2 or 3".to_owned()),
    };
    let empty = Map::new();
    let term = header.get("term").and_then(Value::as_object).unwrap_or(&empty);
    let (place, names) =
        if version == 2 { (header, ["width", "height"]) } else { (term, ["cols", "rows"]) };
    let size = |name: &str| {
        let value = place.get(name).and_then(Value::as_u64);
        let size = value.and_then(|value| u16::try_from(value).ok()).filter(|&size| size > 0);
        size.ok_or_else(|| format!("\"{name}\" must be a number from 1 to 65535"))
    };
    let theme = if version == 2 { header.get("theme") } else { term.get("theme") };
    Ok(Header {
        version,
        cols: size(names[0])?,
        rows: size(names[1])?,
        timestamp: header.get("timestamp").and_then(Value::as_u64),
        title: header.get("title").and_then(Value::as_str).map(str::to_owned),
        idle_time_limit: header
            .get("idle_time_limit")
            .and_then(Value::as_f64)
            .filter(|&limit| limit > 0.0),
        theme: theme.filter(|theme| !theme.is_null()).map(read_theme).transpose()?,
    })
}

fn read_theme(theme: &Value) -> Result<Theme, String> {
    let color = |name: &str| {
        let text = theme.get(name).and_then(Value::as_str).unwrap_or_default();
        read_color(text).ok_or_else(|| format!("the theme's \"{name}\" is no colour as in #1d1f21"))
    };
    let palette = theme.get("palette").and_then(Value::as_str).unwrap_or_default();
    let palette: Option<Vec<Rgb>> = palette.split(':').map(read_color).collect();
    let palette = palette.filter(|colors| colors.len() == 8 || colors.len() == 16);
    Ok(Theme {
        fg: color("fg")?,
        bg: color("bg")?,
        palette: palette.ok_or(
            "the theme's \"palette\" must be 8 or 16 colours as in #1d1f21, with colons between",
        )?,
    })
}

fn read_color(text: &str) -> Option<Rgb> {
    let hex = text.trim().strip_prefix('#').filter(|hex| hex.len() == 6 && hex.is_ascii())?;
    let value = u32::from_str_radix(hex, 16).ok()?;
    let [_, rgb @ ..] = value.to_be_bytes();
    Some(rgb)
}

/// An event's time in seconds, and what happened.
fn read_event(value: &Value) -> Result<(f64, Event), String> {
    let [time, code, data] = value.as_array().map_or(&[][..], Vec::as_slice) else {
        return Err("no event: it must be a JSON array [time, code, data]".to_owned());
    };
    let seconds = time.as_f64().filter(|time| (0.0..=LONGEST).contains(time));
    let seconds = seconds.ok_or_else(|| format!("{time} is no time in seconds"))?;
    let Some(code) = code.as_str() else {
        return Err(format!("{code} is no event's code as in \"o\""));
    };
    let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
    let event = match code {
        "o" => Event::Output(data),
        "i" => Event::Input(data),
        "m" => Event::Marker(data),
        "r" => {
            let size = data.split_once('x').and_then(|(cols, rows)| {
                Some((cols.parse().ok().filter(|&n| n > 0)?, rows.parse().ok().filter(|&n| n > 0)?))
            });
            let (cols, rows) =
                size.ok_or_else(|| format!("{data:?} is no size as in \"80x24\""))?;
            Event::Resize { cols, rows }
        }
        "x" => Event::Exit(
            data.trim().parse().map_err(|_| format!("{data:?} is no exit status as in \"0\""))?,
        ),
        _ => Event::Other(code.chars().next().unwrap_or_default(), data),
    };
    Ok((seconds, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Header, Vec<Timed>), CastError> {
        let reader = Reader::new(text.as_bytes())?;
        let header = reader.header().clone();
        Ok((header, reader.collect::<Result<_, _>>()?))
    }

    fn error(text: &str) -> String {
        read(text).expect_err("it is broken").to_string()
    }

    const V2: &str = "{\"version\":2,\"width\":80,\"height\":24,\"idle_time_limit\":1.5,\
        \"theme\":{\"fg\":\"#d0d0d0\",\"bg\":\"#212121\",\"palette\":\
        \"#000000:#ac4142:#7e8e50:#e5b567:#6c99bb:#9f4e85:#7dd6cf:#ffffff\"}}\n";
    const V3: &str = "{\"version\":3,\"term\":{\"cols\":100,\"rows\":30,\"type\":\"xterm\"},\
        \"timestamp\":1700000000,\"title\":\"a film\"}\n";

    #[test]
    fn version_2_has_times_from_the_start() {
        let (header, events) = read(&format!(
            "{V2}[0.25,\"o\",\"\\u001b[1mhi\"]\n[1,\"i\",\"q\"]\n[0.9,\"m\",\"late\"]\n"
        ))
        .unwrap();
        assert_eq!((header.version, header.cols, header.rows), (2, 80, 24));
        assert_eq!(header.idle_time_limit, Some(1.5));
        let theme = header.theme.unwrap();
        assert_eq!((theme.fg, theme.bg), ([0xd0; 3], [0x21; 3]));
        assert_eq!((theme.palette.len(), theme.palette[1]), (8, [0xac, 0x41, 0x42]));
        let at: Vec<_> = events.iter().map(|event| event.at.as_millis()).collect();
        assert_eq!(at, [250, 1000, 1000]);
        assert_eq!(events[0].event, Event::Output("\u{1b}[1mhi".to_owned()));
    }

    #[test]
    fn version_3_has_intervals_comments_and_codes_of_the_future() {
        let (header, events) = read(&format!(
            "{V3}# a comment\n\n[0.5,\"o\",\"a\"]\n[0.25,\"r\",\"120x36\"]\n# more\n\
             [0.0,\"z\",\"?\"]\n[1.0,\"m\",\"\"]\n[0.125,\"x\",\"3\"]"
        ))
        .unwrap();
        assert_eq!((header.version, header.cols, header.rows), (3, 100, 30));
        assert_eq!(header.title.as_deref(), Some("a film"));
        assert_eq!(header.timestamp, Some(1_700_000_000));
        let events: Vec<_> =
            events.into_iter().map(|timed| (timed.at.as_millis(), timed.event)).collect();
        assert_eq!(
            events,
            [
                (500, Event::Output("a".into())),
                (750, Event::Resize { cols: 120, rows: 36 }),
                (750, Event::Other('z', "?".into())),
                (1750, Event::Marker(String::new())),
                (1875, Event::Exit(3)),
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        assert!(error("").starts_with("line 1: empty"));
        assert!(error("hello\n").starts_with("line 1: no asciicast"));
        assert!(error("[1]\n").starts_with("line 1: no asciicast"));
        assert!(error("{\"version\":1,\"width\":1,\"height\":1}").contains("version 1"));
        let size = error("{\"version\":2,\"width\":0,\"height\":24}\n");
        assert_eq!(size, "line 1: \"width\" must be a number from 1 to 65535");
        let size = error("{\"version\":3,\"term\":{\"cols\":80}}\n");
        assert_eq!(size, "line 1: \"rows\" must be a number from 1 to 65535");
        let theme = "{\"version\":3,\"term\":{\"cols\":8,\"rows\":2,\"theme\":{\"fg\":\"red\"}}}";
        assert!(error(theme).contains("\"fg\" is no colour") || error(theme).contains("palette"));
        for (line, says) in [
            ("[1,\"o\"]", "no event"),
            ("[-1,\"o\",\"\"]", "-1 is no time"),
            ("[1e300,\"o\",\"\"]", "is no time"),
            ("[\"1\",\"o\",\"\"]", "is no time"),
            ("[1,2,\"\"]", "2 is no event's code"),
            ("[1,\"r\",\"80\"]", "\"80\" is no size"),
            ("[1,\"r\",\"0x24\"]", "\"0x24\" is no size"),
            ("[1,\"x\",\"died\"]", "\"died\" is no exit status"),
            ("[1,\"o\",\"\u{1}\"]", "no JSON"),
        ] {
            let error = error(&format!("{V3}# one\n[0,\"o\",\"fine\"]\n{line}\n"));
            assert!(error.starts_with("line 4: ") && error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn what_the_writer_wrote_is_read_again() {
        for version in [2, 3] {
            let header =
                Header { title: Some("\"a\" film".into()), ..Header::new(version, 80, 24) };
            let mut bytes = Vec::new();
            let mut writer = super::super::write::Writer::begin(&mut bytes, &header).unwrap();
            let events = [
                (0, Event::Output("\u{1b}[1mä\"\r\n".into())),
                (333, Event::Marker("one".into())),
                (667, Event::Input("q".into())),
                (1001, Event::Resize { cols: 120, rows: 36 }),
            ];
            let events =
                events.map(|(millis, event)| Timed { at: Duration::from_millis(millis), event });
            for timed in &events {
                writer.event(timed.at, &timed.event).unwrap();
            }
            let (read_header, read_events) = read(std::str::from_utf8(&bytes).unwrap()).unwrap();
            assert_eq!((read_header, read_events.as_slice()), (header, &events[..]));
        }
    }

    #[test]
    fn a_recording_that_was_cut_off_is_told_from_a_broken_one() {
        let text = format!("{V2}[0,\"o\",\"a\"]\n[1,\"o\",\"b");
        let mut reader = Reader::new(text.as_bytes()).unwrap();
        assert!(reader.next().unwrap().is_ok());
        assert!(matches!(reader.next(), Some(Err(CastError::Cut { line: 3 }))));
        assert!(reader.next().is_none());
        assert!(error(&format!("{V2}[0,\"o\",\"a\n[1,\"o\",\"b\"]\n")).contains("line 2: no JSON"));
    }
}
