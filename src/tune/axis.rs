//! A knob and the values that it visits, as written after `--over`.

use std::fmt;
use std::str::FromStr;

use crate::pipeline::knobs::{KnobError, KnobId, KnobKind, KnobSpec, KnobValue, Step};

/// The most values of one knob.
pub const MOST_VALUES: usize = 128;

/// A knob and the values that it visits: numbers ascending, words as they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The knob.
    pub knob: KnobId,
    /// Its values; at least one, none twice.
    pub values: Vec<KnobValue>,
}

/// Why a text is no axis; the text is for the person who wrote it.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum AxisError {
    /// There is no `=`.
    #[error("`{0}` is no range: write KNOB=RANGE, as in preprocess.threads=1..16")]
    NoEquals(String),
    /// The knob or one of its values is none.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// Nothing behind the `=`, or between two commas.
    #[error(
        "{knob}: the range `{text}` has an empty value: write values and ranges, as in {example}"
    )]
    Empty {
        /// The knob.
        knob: &'static str,
        /// What was written.
        text: String,
        /// A range that it takes.
        example: &'static str,
    },
    /// A range that ends before it begins.
    #[error("{knob}: the range {from}..{to} runs backwards: write {to}..{from}")]
    Inverted {
        /// The knob.
        knob: &'static str,
        /// Its first value.
        from: String,
        /// Its last value.
        to: String,
    },
    /// A range of words, or to "unlimited".
    #[error(
        "{knob}: `{text}` is no range that can be stepped through: list the values, as in {example}"
    )]
    NoRange {
        /// The knob.
        knob: &'static str,
        /// What was written.
        text: String,
        /// Values that it takes.
        example: &'static str,
    },
    /// A step that leads nowhere.
    #[error(
        "{knob}: `{text}` is no step: write a number above 0 (1..16:5), or x2 to double (1..16:x2)"
    )]
    BadStep {
        /// The knob.
        knob: &'static str,
        /// What was written.
        text: String,
    },
    /// A value that is there already.
    #[error("{knob}: {value} is given twice")]
    Twice {
        /// The knob.
        knob: &'static str,
        /// The value.
        value: String,
    },
    /// More values than anybody waits for.
    #[error(
        "{knob}: `{text}` is more than {MOST_VALUES} values: take larger steps, as in 1..64:8 or 1..64:x2"
    )]
    TooMany {
        /// The knob.
        knob: &'static str,
        /// What was written.
        text: String,
    },
}

impl Axis {
    /// Its name: the knob's.
    pub fn name(&self) -> &'static str {
        self.knob.spec().name
    }

    /// Whether it counts threads: then speed-up, efficiency and the laws of scaling mean something.
    pub fn counts_threads(&self) -> bool {
        self.knob.spec().unit == "threads"
    }

    /// Whether its values stand on a scale of numbers, rather than side by side.
    pub fn is_number(&self) -> bool {
        self.values.iter().all(|&value| number(value).is_some())
    }

    /// Whether its numbers are spread so that a logarithmic scale shows them best.
    pub fn is_logarithmic(&self) -> bool {
        let doubles = !matches!(self.knob.spec().kind, KnobKind::Int { step: Step::One, .. });
        let numbers: Option<Vec<f64>> = self.values.iter().map(|&value| number(value)).collect();
        let ends = numbers.as_ref().and_then(|all| Some((*all.first()?, *all.last()?)));
        doubles && ends.is_some_and(|(first, last)| first > 0.0 && last / first > 8.0)
    }

    /// Where a value stands between the ends, 0 to 1.
    pub fn place(&self, index: usize) -> f64 {
        let last = self.values.len().saturating_sub(1);
        if last == 0 {
            return 0.5;
        }
        let ordinal = index as f64 / last as f64;
        let at = |index: usize| self.values.get(index).copied().and_then(number);
        let (Some(value), Some(first), Some(end)) = (at(index), at(0), at(last)) else {
            return ordinal;
        };
        if !self.is_number() || end <= first {
            return ordinal;
        }
        if self.is_logarithmic() {
            return (value / first).ln() / (end / first).ln();
        }
        (value - first) / (end - first)
    }
}

/// A value as a number; words and "unlimited" are none.
pub const fn number(value: KnobValue) -> Option<f64> {
    match value {
        KnobValue::Int(n) => Some(n as f64),
        KnobValue::Millis(number) | KnobValue::Number(number) | KnobValue::Rate(Some(number)) => {
            Some(number)
        }
        KnobValue::Rate(None) | KnobValue::Choice(..) => None,
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<_> = self.values.iter().map(ToString::to_string).collect();
        write!(f, "{}={}", self.name(), values.join(","))
    }
}

impl FromStr for Axis {
    type Err = AxisError;

    /// Reads `KNOB=RANGE`: values and ranges with commas between them. `A..B` goes as the arrow keys
    /// would, `A..B:S` by S, `A..B:xF` by the factor F; a range's end is always visited.
    fn from_str(text: &str) -> Result<Self, AxisError> {
        let (name, range) =
            text.split_once('=').ok_or_else(|| AxisError::NoEquals(text.to_owned()))?;
        let spec = KnobId::by_name(name.trim())?.spec();
        let mut values = Vec::new();
        for part in range.split(',').map(str::trim) {
            if part.is_empty() {
                let (knob, text) = (spec.name, range.to_owned());
                return Err(AxisError::Empty { knob, text, example: example(spec) });
            }
            match part.split_once("..") {
                Some((from, rest)) => stretch(spec, part, from, rest, &mut values)?,
                None => values.push(spec.parse(part)?),
            }
            if values.len() > MOST_VALUES {
                return Err(AxisError::TooMany { knob: spec.name, text: range.to_owned() });
            }
        }
        if !matches!(spec.kind, KnobKind::Choice(_)) {
            let order = |value: &KnobValue| number(*value).unwrap_or(f64::INFINITY);
            values.sort_by(|a, b| order(a).total_cmp(&order(b)));
        }
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                return Err(AxisError::Twice { knob: spec.name, value: value.to_string() });
            }
        }
        Ok(Self { knob: spec.id, values })
    }
}

/// Values that a knob takes, for messages.
const fn example(spec: &KnobSpec) -> &'static str {
    match spec.kind {
        KnobKind::Int { .. } => "1..16 or 1,2,4,8",
        KnobKind::Millis { .. } | KnobKind::Number { .. } => "0..50:10 or 0,5,20",
        KnobKind::Rate { .. } => "100..1000:100 or 200,500,unlimited",
        KnobKind::Choice(_) => "nearest,cubic for preprocess.filter",
    }
}

/// The values of `from..to`, `from..to:step` or `from..to:xfactor`.
fn stretch(
    spec: &'static KnobSpec,
    text: &str,
    from: &str,
    rest: &str,
    values: &mut Vec<KnobValue>,
) -> Result<(), AxisError> {
    let (to, step) = match rest.split_once(':') {
        Some((to, step)) => (to, Some(step.trim())),
        None => (rest, None),
    };
    let knob = spec.name;
    if from.trim().is_empty() || to.trim().is_empty() {
        return Err(AxisError::Empty { knob, text: text.to_owned(), example: example(spec) });
    }
    let (first, last) = (spec.parse(from)?, spec.parse(to)?);
    let (Some(low), Some(high)) = (number(first), number(last)) else {
        return Err(AxisError::NoRange { knob, text: text.to_owned(), example: example(spec) });
    };
    if high < low {
        let (from, to) = (first.to_string(), last.to_string());
        return Err(AxisError::Inverted { knob, from, to });
    }
    let next: Box<dyn Fn(KnobValue) -> KnobValue> = match step {
        None => Box::new(|value| spec.step(value, true, false)),
        Some(step) => {
            let by = Stride::read(step).filter(|by| by.moves(spec.kind, low));
            let by = by.ok_or_else(|| AxisError::BadStep { knob, text: step.to_owned() })?;
            Box::new(move |value| with(value, by.next(number(value).unwrap_or(high))))
        }
    };
    let mut value = first;
    let before = values.len();
    while number(value).is_some_and(|number| number < high) {
        values.push(value);
        let following = next(value);
        if following == value || values.len() - before > MOST_VALUES {
            break;
        }
        value = following;
    }
    values.push(last);
    Ok(())
}

/// The number in a value's kind.
fn with(value: KnobValue, number: f64) -> KnobValue {
    match value {
        KnobValue::Int(_) => KnobValue::Int(number.round() as u64),
        KnobValue::Millis(_) => KnobValue::Millis(number),
        KnobValue::Number(_) => KnobValue::Number(number),
        KnobValue::Rate(_) => KnobValue::Rate(Some(number)),
        KnobValue::Choice(..) => value,
    }
}

/// How a range is gone through.
#[derive(Clone, Copy)]
enum Stride {
    By(f64),
    Times(f64),
}

impl Stride {
    fn read(text: &str) -> Option<Self> {
        let number = |text: &str| text.trim().parse().ok().filter(|n: &f64| n.is_finite());
        match text.strip_prefix(['x', '×', '*']) {
            Some(factor) => number(factor).filter(|&factor| factor > 1.0).map(Self::Times),
            None => number(text).filter(|&by| by > 0.0).map(Self::By),
        }
    }

    fn next(self, number: f64) -> f64 {
        match self {
            Self::By(by) => number + by,
            Self::Times(factor) => number * factor,
        }
    }

    /// Whether it leads on from the first value, in whole numbers where the knob's are whole.
    fn moves(self, kind: KnobKind, low: f64) -> bool {
        let whole = |by: f64| by.fract() == 0.0;
        match (self, kind) {
            (Self::By(by), KnobKind::Int { .. }) => whole(by),
            (Self::By(_), _) => true,
            (Self::Times(factor), KnobKind::Int { .. }) => (low * factor).round() > low,
            (Self::Times(_), _) => low > 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        text.parse::<Axis>().map_or_else(|error| error.to_string(), |axis| axis.to_string())
    }

    #[test]
    fn ranges_steps_and_lists_are_read() {
        for (text, values) in [
            ("preprocess.threads=1..4", "1,2,3,4"),
            ("preprocess.threads=1..16:5", "1,6,11,16"),
            ("preprocess.threads=1..16:4", "1,5,9,13,16"),
            ("preprocess.threads=1..12:x2", "1,2,4,8,12"),
            ("preprocess.threads= 8, 1 ,4..5", "1,4,5,8"),
            ("preprocess.threads=7..7", "7"),
            ("infer.batch=1..16", "1,2,4,8,16"),
            ("infer.batch=3..20", "3,4,8,16,20"),
            ("load.delay=0..20", "0,1,2,5,10,20"),
            ("load.delay=0..1:0.25", "0,0.25,0.5,0.75,1"),
            ("arrival.rate=unlimited,100", "100,unlimited"),
            ("preprocess.filter=nearest,Cubic", "nearest,cubic"),
        ] {
            let name = text.split('=').next().unwrap();
            assert_eq!(read(text), format!("{name}={values}"), "{text}");
        }
    }

    #[test]
    fn what_is_no_range_is_told_with_the_way_out() {
        for (text, says) in [
            ("preprocess.threads", "write KNOB=RANGE"),
            ("preproces.thread=1..4", "did you mean `preprocess.threads`?"),
            ("preprocess.threads=", "has an empty value"),
            ("preprocess.threads=1,,2", "has an empty value"),
            ("preprocess.threads=..4", "has an empty value"),
            ("preprocess.threads=4..1", "runs backwards: write 1..4"),
            ("preprocess.threads=0..4", "it takes 1 to 64 threads"),
            ("preprocess.threads=1..99", "(did you mean `64`?)"),
            ("preprocess.threads=1..4:0", "`0` is no step"),
            ("preprocess.threads=1..4:0.5", "`0.5` is no step"),
            ("preprocess.threads=1..4:x1", "`x1` is no step"),
            ("preprocess.threads=1,1..2", "1 is given twice"),
            ("preprocess.filter=nearest..cubic", "list the values"),
            ("preprocess.filter=cubik", "did you mean `cubic`?"),
            ("arrival.rate=100..unlimited", "list the values"),
            ("load.delay=0..10:x2", "`x2` is no step"),
            ("load.concurrency=1..256:1", "more than 128 values"),
            ("load.delay=0..10000:0.001", "more than 128 values"),
        ] {
            assert!(read(text).contains(says), "{text}: {}", read(text));
        }
    }

    #[test]
    fn places_follow_the_numbers_or_the_order() {
        let places = |text: &str| {
            let axis: Axis = text.parse().unwrap();
            let all = (0..axis.values.len()).map(|i| (axis.place(i) * 1000.0).round() / 1000.0);
            all.collect::<Vec<_>>()
        };
        assert_eq!(places("preprocess.threads=1,2,5"), [0.0, 0.25, 1.0]);
        assert_eq!(places("infer.batch=1,4,16"), [0.0, 0.5, 1.0]);
        assert_eq!(places("preprocess.filter=cubic,nearest,bilinear"), [0.0, 0.5, 1.0]);
        assert_eq!(places("arrival.rate=100,10000,unlimited"), [0.0, 0.5, 1.0]);
        assert_eq!(places("preprocess.threads=3"), [0.5]);
    }

    proptest! {
        #[test]
        fn a_range_visits_its_ends_in_order_and_nothing_outside(
            low in 1u64..=64, span in 0u64..=63, step in 1u64..=20,
        ) {
            let high = (low + span).min(64);
            let axis: Axis = format!("preprocess.threads={low}..{high}:{step}").parse().unwrap();
            let values: Vec<u64> = axis.values.iter().map(|v| number(*v).unwrap() as u64).collect();
            prop_assert_eq!(values[0], low);
            prop_assert_eq!(values[values.len() - 1], high);
            prop_assert!(values.windows(2).all(|w| w[0] < w[1] && w[1] - w[0] <= step));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[a-z.]{0,12}=?[0-9.,:x-]{0,12}") {
            let _ = text.parse::<Axis>();
            let _ = format!("preprocess.threads={text}").parse::<Axis>();
            let _ = format!("load.delay={text}").parse::<Axis>();
        }

        #[test]
        fn what_is_written_is_read_back(low in 1u64..=30, n in 1u64..=30) {
            let axis: Axis = format!("preprocess.threads={low}..{}", low + n).parse().unwrap();
            prop_assert_eq!(axis.to_string().parse::<Axis>(), Ok(axis));
        }
    }
}
