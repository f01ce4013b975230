//! Figures and names as the text report writes them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What stands for a value that was not measured.
const NONE: &str = "—";

/// A count, digits in groups of three from 10 000.
pub(in crate::export) fn count(value: u64) -> String {
    let digits = value.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A rate: decimals where they mean something.
pub(in crate::export) fn rate(value: Option<f64>) -> String {
    value.map_or_else(
        || NONE.to_owned(),
        |value| match value {
            v if v < 10.0 => format!("{v:.2}"),
            v if v < 1000.0 => format!("{v:.1}"),
            v => count(v.round() as u64),
        },
    )
}

/// Milliseconds: three digits, more or less.
pub(in crate::export) fn ms(value: Option<f64>) -> String {
    value.map_or_else(
        || NONE.to_owned(),
        |value| match value {
            v if v < 0.0005 => "<0.001".to_owned(),
            v if v < 1.0 => format!("{v:.3}"),
            v if v < 10.0 => format!("{v:.2}"),
            v if v < 100.0 => format!("{v:.1}"),
            v => count(v.round() as u64),
        },
    )
}

/// A share in percent.
pub(in crate::export) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| NONE.to_owned(), |share| format!("{:.0}%", share * 100.0))
}

/// A name from outside: control characters are written out, so that none reaches the terminal.
pub(in crate::export) fn shown(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// The text, cut to `width` columns with a mark where something is missing.
pub(in crate::export) fn clipped(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 2 > width {
            break;
        }
        cut.push(c);
    }
    cut + ".."
}

/// The text in lines of at most `width` columns, broken at spaces.
pub(in crate::export) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let line = lines.last_mut().expect("there is one line from the start");
        if !line.is_empty() && line.width() + word.trim_end().width() > width {
            lines.push(word.to_owned());
        } else {
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well_and_missing_ones_are_dashes() {
        assert_eq!([count(0), count(9_999), count(24_370)], ["0", "9999", "24 370"]);
        assert_eq!(count(1_234_567), "1 234 567");
        let rates = [0.5, 81.23, 812.44, 12_480.4].map(|value| rate(Some(value)));
        assert_eq!(rates, ["0.50", "81.2", "812.4", "12 480"]);
        assert_eq!(
            [0.1234, 2.5, 55.74, 1203.0].map(|v| ms(Some(v))),
            ["0.123", "2.50", "55.7", "1203"]
        );
        assert_eq!(ms(Some(0.0001)), "<0.001");
        assert_eq!([rate(None), ms(None), percent(None)], ["—", "—", "—"]);
        assert_eq!(percent(Some(0.974)), "97%");
    }

    #[test]
    fn names_cannot_steer_the_terminal_and_are_cut_by_columns() {
        assert_eq!(shown("a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(clipped("abcdef", 6), "abcdef");
        assert_eq!(clipped("abcdefg", 6), "abcd..");
        assert_eq!(clipped("写真写真写真", 6), "写真..");
    }

    #[test]
    fn lines_break_at_spaces() {
        let lines = wrapped("one two three four", 9);
        let lines: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
        assert_eq!(lines, ["one two", "three", "four"]);
    }
}
