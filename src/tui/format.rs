//! Numbers as people read them, in fixed widths, so that they do not jump. What is missing reads `—`.

use crate::probe::clock::Nanos;

/// What stands for a missing value.
pub const MISSING: &str = "—";

/// A whole number with its thousands set apart: `12 480`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A rate: `12 480`, below ten `8.4`, below one `0.43`.
pub fn rate(value: Option<f64>) -> String {
    match value {
        None => MISSING.to_owned(),
        Some(v) if v <= 0.0 => "0".to_owned(),
        Some(v) if v < 0.995 => format!("{v:.2}"),
        Some(v) if v < 9.95 => format!("{v:.1}"),
        Some(v) => thousands(v.round() as u64),
    }
}

/// A rate in at most six cells, for axes: `5 000`, `12.5k`, `100k`.
pub fn short_rate(value: f64) -> String {
    match value {
        v if v < 10_000.0 => rate(Some(v)),
        v if v < 1e6 => format!("{}k", v / 1e3),
        v => format!("{}M", v / 1e6),
    }
}

/// A rate in at most five cells: `9.0`, `400`, `12.5k`.
pub fn compact(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".to_owned(),
        v if v < 9.95 => format!("{v:.1}"),
        v if v < 999.5 => format!("{v:.0}"),
        v if v < 99_950.0 => format!("{:.1}k", v / 1e3),
        v if v < 999_500.0 => format!("{:.0}k", v / 1e3),
        v => format!("{:.1}M", v / 1e6),
    }
}

/// A length of time in nanoseconds, in the unit that fits: `480 ns`, `12.3 µs`, `480 ms`, `1.20 s`.
pub fn length(nanos: Option<f64>) -> String {
    let three = |v: f64| match v {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    };
    match nanos {
        None => MISSING.to_owned(),
        Some(v) if v <= 0.0 => "0".to_owned(),
        Some(v) if v < 999.5 => format!("{v:.0} ns"),
        Some(v) if v < 999.5e3 => format!("{} µs", three(v / 1e3)),
        Some(v) if v < 999.5e6 => format!("{} ms", three(v / 1e6)),
        Some(v) => format!("{} s", three(v / 1e9)),
    }
}

/// A share as percent: ` 41%`, always four wide.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| format!("{MISSING:>4}"), |s| format!("{:>3.0}%", (s * 100.0).round()))
}

/// Milliseconds in three digits: `0.04`, `9.13`, `41.2`, `1 042`.
pub fn millis(ms: Option<f64>) -> String {
    match ms {
        None => MISSING.to_owned(),
        Some(v) if v > 0.0 && v < 0.005 => "<0.01".to_owned(),
        Some(v) if v < 9.995 => format!("{v:.2}"),
        Some(v) if v < 99.95 => format!("{v:.1}"),
        Some(v) => thousands(v.round() as u64),
    }
}

/// Nanoseconds as milliseconds in three digits.
pub fn nanos(ns: Option<f64>) -> String {
    millis(ns.map(|ns| ns / 1e6))
}

/// A length of time: `00:01:42`.
pub fn clock(at: Nanos) -> String {
    let seconds = at / 1_000_000_000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Bytes a second as `210 MB/s`.
pub fn megabytes(bytes: Option<f64>) -> String {
    bytes.map_or_else(
        || MISSING.to_owned(),
        |b| {
            let mb = b / 1e6;
            if mb < 99.95 { format!("{mb:.1}") } else { thousands(mb.round() as u64) }
        },
    )
}

/// Bytes of memory in the unit that fits: `34 MiB`, `3.1 GiB`.
pub fn memory(bytes: u64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let mib = bytes as f64 / MIB;
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

/// Memory in use of what there is, in one unit: `4.1 of 139.8 GiB`.
pub fn memory_of(used: u64, total: u64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let (used, total) = (used as f64 / MIB, total as f64 / MIB);
    if total < 1024.0 {
        format!("{used:.0} of {total:.0} MiB")
    } else {
        format!("{:.1} of {:.1} GiB", used / 1024.0, total / 1024.0)
    }
}

/// The first `width` cells of a text, the last of them `…` where something is cut off.
pub fn fit(text: &str, width: usize) -> String {
    use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        let cells = c.width().unwrap_or(0);
        if used + cells + 1 > width {
            break;
        }
        kept.push(c);
        used += cells;
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// A sentence in at most `width` cells: without its last clauses where they have no room, or else cut
/// between two words.
pub fn clauses(text: &str, width: usize) -> String {
    use unicode_width::UnicodeWidthStr;
    let mut kept = text;
    while kept.width() > width {
        // A list after a colon goes as a whole.
        let Some(end) = ["; ", ": ", ", "].iter().find_map(|mark| kept.rfind(mark)) else { break };
        kept = &kept[..end];
    }
    while kept.width() + usize::from(kept.len() < text.len()) > width {
        let Some(end) = kept.rfind(' ') else { return fit(kept, width) };
        kept = &kept[..end];
        if kept.width() < width {
            return format!("{kept}…");
        }
    }
    kept.to_owned()
}

/// The unit of a value: `1 thread`, `2 threads`.
pub fn unit_of(value: &str, unit: &'static str) -> &'static str {
    match (value, unit) {
        ("1", "reads") => "read",
        ("1", "images") => "image",
        ("1", "threads") => "thread",
        ("1", "batches") => "batch",
        _ => unit,
    }
}

/// Like [`fit`], but the end is kept: what tells paths apart.
pub fn fit_end(text: &str, width: usize) -> String {
    use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = Vec::new();
    let mut used = 0;
    for c in text.chars().rev() {
        let cells = c.width().unwrap_or(0);
        if used + cells + 1 > width {
            break;
        }
        kept.push(c);
        used += cells;
    }
    if width > 0 {
        kept.push('…');
    }
    kept.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let written: Vec<_> = [0, 999, 1000, 12_480, 1_234_567].map(thousands).into();
        assert_eq!(written, ["0", "999", "1 000", "12 480", "1 234 567"]);
    }

    #[test]
    fn missing_is_a_dash_and_never_zero() {
        assert_eq!(
            (rate(None), millis(None), percent(None)),
            ("—".into(), "—".into(), "   —".into())
        );
        assert_eq!((rate(Some(0.0)), percent(Some(0.0))), ("0".into(), "  0%".into()));
    }

    #[test]
    fn small_numbers_keep_their_digits_and_rounding_moves_to_the_next_form() {
        assert_eq!([0.43, 8.44, 9.96, 52.4].map(|v| rate(Some(v))), ["0.43", "8.4", "10", "52"]);
        assert_eq!(
            [0.04, 9.996, 41.23, 1041.6].map(|v| millis(Some(v))),
            ["0.04", "10.0", "41.2", "1 042"]
        );
    }

    #[test]
    fn axes_write_round_numbers_shortly() {
        let written = [0.0, 0.5, 5000.0, 12_500.0, 100_000.0, 2.5e6].map(short_rate);
        assert_eq!(written, ["0", "0.50", "5 000", "12.5k", "100k", "2.5M"]);
    }

    #[test]
    fn lengths_and_compact_rates_stay_short() {
        let written = [0.0, 480.4, 12_345.0, 999_600.0, 480e6, 1.2e9].map(|v| length(Some(v)));
        assert_eq!(written, ["0", "480 ns", "12.3 µs", "1.00 ms", "480 ms", "1.20 s"]);
        assert_eq!(length(None), MISSING);
        let rates = [0.0, 0.43, 9.96, 999.4, 12_480.0, 99_960.0, 2.5e6].map(compact);
        assert_eq!(rates, ["0", "0.4", "10", "999", "12.5k", "100k", "2.5M"]);
    }

    #[test]
    fn sentences_lose_clauses_and_then_words_but_no_letters() {
        let text = "work waits for it 99% of the time, the device idles 5%";
        assert_eq!(clauses(text, 60), text);
        assert_eq!(clauses(text, 40), "work waits for it 99% of the time");
        assert_eq!(clauses("workers that run: decode, resize", 25), "workers that run");
        assert_eq!(clauses(text, 12), "work waits…");
        assert_eq!(clauses("unbroken", 5), "unbr…");
        assert_eq!((unit_of("1", "batches"), unit_of("2", "batches")), ("batch", "batches"));
        assert_eq!(millis(Some(0.001)), "<0.01");
    }

    #[test]
    fn memory_is_told_in_the_unit_of_the_whole() {
        assert_eq!(memory_of(4_402_341_478, 150_109_107_814), "4.1 of 139.8 GiB");
        assert_eq!(memory_of(3 << 20, 512 << 20), "3 of 512 MiB");
    }

    #[test]
    fn cut_texts_keep_their_width_in_cells() {
        assert_eq!(
            (fit("preprocess", 5), fit("abc", 3), fit("abc", 0)),
            ("prep…".into(), "abc".into(), String::new())
        );
        assert_eq!(fit("日本語の写真", 6), "日本…");
        assert_eq!(fit_end("/photos/one.jpg", 8), "…one.jpg");
    }
}
