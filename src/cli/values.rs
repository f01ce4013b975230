//! Values of single arguments: read, and refused with what they should look like.

use std::path::PathBuf;
use std::time::Duration;

use crate::pipeline::knobs::{KnobError, KnobId, KnobValue};
use crate::record::render::Place;

/// A knob and the value to give it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The knob.
    pub id: KnobId,
    /// Its value.
    pub value: KnobValue,
}

impl Setting {
    /// Reads `NAME=VALUE`.
    ///
    /// # Errors
    /// Where the name, the value or the `=` is wrong.
    pub fn read(text: &str) -> Result<Self, KnobError> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| KnobError::NoEquals(text.to_owned()))?;
        let id = KnobId::by_name(name.trim())?;
        Ok(Self { id, value: id.spec().parse(value)? })
    }
}

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Standard output, which then holds nothing else.
    Stdout,
    /// A file.
    File(PathBuf),
}

pub(super) fn sink(text: &str) -> Result<Sink, String> {
    match text {
        "" => Err("name a file, or `-` for stdout".into()),
        "-" => Ok(Sink::Stdout),
        path => Ok(Sink::File(path.into())),
    }
}

/// A length of time above zero: `30s`, `1m 30s`, or a bare number of seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let read = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    match read {
        None => Err("it takes a time, as in 30s, 2m or 500ms; a bare number is seconds".into()),
        Some(Duration::ZERO) => Err("it must be longer than 0; leave it out to run on".into()),
        Some(time) => Ok(time),
    }
}

/// A moment of a run: a time as in [`duration`], or 0.
pub(super) fn moment(text: &str) -> Result<Duration, String> {
    if text.trim().parse() == Ok(0.0) { Ok(Duration::ZERO) } else { duration(text) }
}

/// How many times as fast as it was.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed = text.trim().trim_end_matches(['x', '×']).parse().ok();
    speed
        .filter(|speed| (0.25..=16.0).contains(speed))
        .ok_or_else(|| "it takes a speed from 0.25 to 16, as in 0.5 or 4".into())
}

/// A screen's size: columns and rows.
pub(super) fn size(text: &str) -> Result<(u16, u16), String> {
    let (columns, rows) = text.split_once(['x', '×']).unwrap_or_default();
    let read = |text: &str, least| text.trim().parse().ok().filter(|n| (least..=1000).contains(n));
    let (least_columns, least_rows) = crate::tui::layout::LEAST;
    read(columns, least_columns).zip(read(rows, least_rows)).ok_or_else(|| {
        format!(
            "it takes columns and rows, as in 100x30: {least_columns}x{least_rows} or more, and up to 1000"
        )
    })
}

/// Seconds above 0 and up to an hour.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.trim().trim_end_matches('s').parse().ok();
    seconds
        .filter(|s| *s > 0.0 && *s <= 3600.0)
        .ok_or_else(|| "it takes seconds, above 0 and up to 3600, as in 5 or 0.5".into())
}

/// A number of threads.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    let threads = text.trim().parse().ok().filter(|n| (1..=1024).contains(n));
    threads.ok_or_else(|| "it takes 1 to 1024 threads".into())
}

/// A number of pixels: `640000`, `100M`, `50MP`, `1.5GP`.
pub(crate) fn pixels(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.strip_suffix("pixels").or(lower.strip_suffix('p')).unwrap_or(&lower).trim();
    let (number, scale) = match number.as_bytes().last() {
        Some(b'k') => (&number[..number.len() - 1], 1e3),
        Some(b'm') => (&number[..number.len() - 1], 1e6),
        Some(b'g') => (&number[..number.len() - 1], 1e9),
        _ => (number, 1.0),
    };
    let value = number.trim().parse::<f64>().ok().map(|n| n * scale);
    value
        .filter(|n| (1.0..=1e12).contains(n))
        .map(|n| n as u64)
        .ok_or_else(|| "it takes a number of pixels, as in 100M, 50MP or 640000".into())
}

pub(crate) fn sample_hz(text: &str) -> Result<f64, String> {
    let hz = text.trim().parse().ok().filter(|hz| (1.0..=50.0).contains(hz));
    hz.ok_or_else(|| "it takes 1 to 50 samples a second".into())
}

/// Three numbers, one a channel; a single one stands for all three.
pub(crate) fn triple(text: &str) -> Result<[f32; 3], String> {
    let bad = || "it takes three numbers, one a channel, as in 0.485,0.456,0.406".to_owned();
    let numbers: Option<Vec<f32>> =
        text.split(',').map(|n| n.trim().parse().ok().filter(|n: &f32| n.is_finite())).collect();
    match numbers.ok_or_else(bad)?[..] {
        [all] => Ok([all; 3]),
        [r, g, b] => Ok([r, g, b]),
        _ => Err(bad()),
    }
}

/// Frames a second of a film: a GIF's shortest delay that is kept to is 2 hundredths of a second.
pub(super) fn film_fps(text: &str) -> Result<f64, String> {
    let fps = text.trim().parse().ok().filter(|fps| (1.0..=50.0).contains(fps));
    fps.ok_or_else(|| "it takes 1 to 50 frames a second".into())
}

/// How fast a film runs.
pub(super) fn film_speed(text: &str) -> Result<f64, String> {
    let speed = text.trim().trim_end_matches('x').parse().ok();
    speed
        .filter(|speed| (0.1..=100.0).contains(speed))
        .ok_or_else(|| "it takes a factor from 0.1 to 100, as in 2 or 0.5".into())
}

/// A length of time, which may be none, up to an hour.
pub(super) fn hold(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().trim_end_matches('s').parse().ok();
    let seconds: Option<f64> = seconds.filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "it takes seconds, 0 to 3600, as in 2 or 0.5".into())
}

/// A moment of a cast.
pub(super) fn place(text: &str) -> Result<Place, String> {
    if text.is_empty() {
        return Err("it takes seconds since the start, as in 12.5, or a marker's label".into());
    }
    text.parse().map_err(|error: std::convert::Infallible| match error {})
}

/// The height of text, in pixels.
pub(super) fn font_size(text: &str) -> Result<f32, String> {
    let size = text.trim().parse().ok().filter(|size| (6.0..=96.0).contains(size));
    size.ok_or_else(|| "it takes 6 to 96 pixels".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_zero_is_refused() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2.5"), Ok(Duration::from_millis(2500)));
        for bad in ["0", "0s", "-1", "soon", "", "NaN", "1e300"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_and_speeds_are_read_and_refused_with_what_they_should_be() {
        assert_eq!(size("100x30"), Ok((100, 30)));
        for bad in ["", "100", "x", "40x30", "100x5", "100x30x2", "2000x30", "ax30"] {
            assert!(size(bad).unwrap_err().contains("as in 100x30"), "{bad}");
        }
        assert_eq!((speed("4"), speed("0.25x")), (Ok(4.0), Ok(0.25)));
        assert!(speed("0").is_err() && speed("17").is_err() && speed("fast").is_err());
        assert_eq!(moment("0"), Ok(Duration::ZERO));
        assert_eq!(moment("1m"), Ok(Duration::from_mins(1)));
    }

    #[test]
    fn pixels_take_the_usual_suffixes() {
        for (text, value) in [("100M", 100_000_000), ("50MP", 50_000_000), ("640000", 640_000)] {
            assert_eq!(pixels(text), Ok(value), "{text}");
        }
        assert_eq!(pixels("1.5 gp"), Ok(1_500_000_000));
        for bad in ["", "0", "MP", "-5", "1e20", "many"] {
            assert!(pixels(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_film_takes_is_in_bounds() {
        assert_eq!((film_fps("12.5"), speed("2x"), font_size("15")), (Ok(12.5), Ok(2.0), Ok(15.0)));
        assert_eq!(
            (hold("0"), hold("2.5s")),
            (Ok(Duration::ZERO), Ok(Duration::from_millis(2500)))
        );
        assert_eq!(place("7s"), Ok(Place::At(Duration::from_secs(7))));
        assert_eq!(place("the end"), Ok(Place::Marker("the end".into())));
        for bad in ["0", "51", "NaN", ""] {
            assert!(film_fps(bad).is_err(), "{bad}");
        }
        for bad in ["-1", "NaN", "3601", ""] {
            assert!(speed(bad).is_err() && hold(bad).is_err() && font_size(bad).is_err(), "{bad}");
        }
        assert!(place("").is_err());
    }

    #[test]
    fn channels_are_three_or_one_for_all() {
        assert_eq!(triple("0.485, 0.456,0.406"), Ok([0.485, 0.456, 0.406]));
        assert_eq!(triple("127"), Ok([127.0; 3]));
        for bad in ["1,2", "1,2,3,4", "a,b,c", "1,NaN,2", ""] {
            assert!(triple(bad).is_err(), "{bad}");
        }
    }
}
