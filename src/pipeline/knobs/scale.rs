//! A knob's values: read from text, stepped by keys, placed on a gauge.

use super::{KnobError, KnobKind, KnobSpec, KnobValue, Step, nearest, plain};

impl KnobSpec {
    /// What the knob takes, in words: `1 to 64 threads`.
    pub fn expects(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.kind {
            KnobKind::Int { min, max, .. } => format!("{min} to {max}{unit}"),
            KnobKind::Millis { min, max, .. } | KnobKind::Number { min, max, .. } => {
                format!("{} to {}{unit}", plain(min), plain(max))
            }
            KnobKind::Rate { min, max, .. } => {
                format!("{} to {}{unit}, or `unlimited`", plain(min), plain(max))
            }
            KnobKind::Choice(words) => words.join(", "),
        }
    }

    fn bad(&self, text: &str) -> KnobError {
        let nearest = match self.kind {
            KnobKind::Choice(words) => nearest(text, words.iter().copied()),
            _ => text.parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| {
                let value = match self.kind {
                    KnobKind::Int { min, max, .. } => {
                        KnobValue::Int((n.round().max(0.0) as u64).clamp(min, max))
                    }
                    KnobKind::Millis { min, max, .. } => KnobValue::Millis(n.clamp(min, max)),
                    KnobKind::Number { min, max, .. } => KnobValue::Number(n.clamp(min, max)),
                    KnobKind::Rate { min, max, .. } => KnobValue::Rate(Some(n.clamp(min, max))),
                    KnobKind::Choice(_) => unreachable!("handled above"),
                };
                value.to_string()
            }),
        };
        KnobError::BadValue {
            knob: self.name,
            value: text.to_owned(),
            expected: self.expects(),
            nearest,
        }
    }

    /// Reads a value that a person wrote; the knob's own unit may follow (`20ms`, `500 img/s`).
    ///
    /// # Errors
    /// [`KnobError::BadValue`] with what the knob takes, where it is none or out of range.
    pub fn parse(&self, text: &str) -> Result<KnobValue, KnobError> {
        let text = text.trim();
        // Few keyboards have a µ.
        let plain_unit = self.unit.replace('µ', "u");
        let without = text.strip_suffix(self.unit).or_else(|| text.strip_suffix(&plain_unit));
        let number = without.unwrap_or(text).trim();
        let bad = || self.bad(number);
        match self.kind {
            KnobKind::Int { min, max, .. } => number
                .parse()
                .ok()
                .filter(|n| (min..=max).contains(n))
                .map(KnobValue::Int)
                .ok_or_else(bad),
            KnobKind::Millis { min, max, .. } => number
                .parse()
                .ok()
                .filter(|n| (min..=max).contains(n))
                .map(KnobValue::Millis)
                .ok_or_else(bad),
            KnobKind::Number { min, max, .. } => number
                .parse()
                .ok()
                .filter(|n| (min..=max).contains(n))
                .map(KnobValue::Number)
                .ok_or_else(bad),
            KnobKind::Rate { min, max, .. } => {
                if text.eq_ignore_ascii_case("unlimited") {
                    return Ok(KnobValue::Rate(None));
                }
                let rate = number.parse().ok().filter(|n| (min..=max).contains(n));
                rate.map(|n| KnobValue::Rate(Some(n))).ok_or_else(bad)
            }
            KnobKind::Choice(words) => {
                let index = words.iter().position(|word| word.eq_ignore_ascii_case(text));
                index.map(|i| KnobValue::Choice(i, words[i])).ok_or_else(bad)
            }
        }
    }

    /// The value one step up or down from `value`; `big` takes a larger stride where there is one.
    /// At the end of the range the value stays.
    pub fn step(&self, value: KnobValue, up: bool, big: bool) -> KnobValue {
        match (self.kind, value) {
            (KnobKind::Int { min, max, step: Step::One }, KnobValue::Int(n)) => {
                let by = if big { (max - min).div_ceil(10).max(1) } else { 1 };
                let moved = if up { n.saturating_add(by) } else { n.saturating_sub(by) };
                KnobValue::Int(moved.clamp(min, max))
            }
            (KnobKind::Int { min, max, step: Step::Double }, KnobValue::Int(n)) => {
                let once = |n: u64| {
                    if up {
                        (n + 1).next_power_of_two()
                    } else if n <= 1 {
                        n
                    } else {
                        1 << (n - 1).ilog2()
                    }
                };
                let moved = if big { once(once(n)) } else { once(n) };
                KnobValue::Int(moved.clamp(min, max))
            }
            (KnobKind::Millis { min, max, ladder }, KnobValue::Millis(ms)) => {
                KnobValue::Millis(rung(ladder, ms, up).unwrap_or(ms).clamp(min, max))
            }
            (KnobKind::Number { min, max, ladder }, KnobValue::Number(n)) => {
                KnobValue::Number(rung(ladder, n, up).unwrap_or(n).clamp(min, max))
            }
            (KnobKind::Rate { ladder, .. }, KnobValue::Rate(rate)) => match rate {
                None if up => KnobValue::Rate(None),
                None => KnobValue::Rate(ladder.last().copied()),
                Some(rate) => match rung(ladder, rate, up) {
                    Some(next) => KnobValue::Rate(Some(next)),
                    None if up => KnobValue::Rate(None),
                    None => value,
                },
            },
            (KnobKind::Choice(words), KnobValue::Choice(index, _)) => {
                let last = words.len() - 1;
                let moved = if up { (index + 1).min(last) } else { index.saturating_sub(1) };
                KnobValue::Choice(moved, words[moved])
            }
            _ => value,
        }
    }

    /// Where a value lies on a gauge from 0 to 1: logarithmic where steps double.
    pub fn position(&self, value: KnobValue) -> f64 {
        match (self.kind, value) {
            (KnobKind::Int { min, max, step }, KnobValue::Int(n)) => match step {
                Step::One => (n - min.min(n)) as f64 / (max - min) as f64,
                Step::Double => log_position(min as f64, max as f64, n as f64),
            },
            (KnobKind::Millis { ladder, .. }, KnobValue::Millis(n))
            | (KnobKind::Number { ladder, .. }, KnobValue::Number(n)) => ladder_position(ladder, n),
            (KnobKind::Rate { ladder, .. }, KnobValue::Rate(rate)) => rate.map_or(1.0, |rate| {
                ladder_position(ladder, rate) * (ladder.len() - 1) as f64 / ladder.len() as f64
            }),
            (KnobKind::Choice(words), KnobValue::Choice(index, _)) => {
                index as f64 / (words.len() - 1).max(1) as f64
            }
            _ => 0.0,
        }
    }

    /// The value at a place on a gauge from 0 to 1; the inverse of [`Self::position`] to the nearest
    /// step.
    pub fn at(&self, position: f64) -> KnobValue {
        let p = position.clamp(0.0, 1.0);
        match self.kind {
            KnobKind::Int { min, max, step: Step::One } => {
                KnobValue::Int(min + (p * (max - min) as f64).round() as u64)
            }
            KnobKind::Int { min, max, step: Step::Double } => {
                let steps = (max as f64 / min as f64).log2();
                let value = min as f64 * (p * steps).round().exp2();
                KnobValue::Int((value as u64).clamp(min, max))
            }
            KnobKind::Millis { ladder, .. } => KnobValue::Millis(ladder_at(ladder, p)),
            KnobKind::Number { ladder, .. } => KnobValue::Number(ladder_at(ladder, p)),
            KnobKind::Rate { ladder, .. } => {
                let rung = (p * ladder.len() as f64).round() as usize;
                KnobValue::Rate(ladder.get(rung).copied())
            }
            KnobKind::Choice(words) => {
                let index = (p * (words.len() - 1) as f64).round() as usize;
                KnobValue::Choice(index, words[index])
            }
        }
    }
}

fn log_position(min: f64, max: f64, value: f64) -> f64 {
    ((value / min).max(1.0).log2() / (max / min).log2()).clamp(0.0, 1.0)
}

/// The next value on a ladder from `from`, or `None` past its ends.
fn rung(ladder: &[f64], from: f64, up: bool) -> Option<f64> {
    if up {
        ladder.iter().copied().find(|&r| r > from)
    } else {
        ladder.iter().copied().rev().find(|&r| r < from)
    }
}

/// The rung nearest to a place from 0 to 1.
fn ladder_at(ladder: &[f64], place: f64) -> f64 {
    ladder[(place * (ladder.len() - 1) as f64).round() as usize]
}

/// A value's place among the rungs, from 0 to 1, between rungs in proportion.
fn ladder_position(ladder: &[f64], value: f64) -> f64 {
    let last = (ladder.len() - 1) as f64;
    let above = ladder.iter().position(|&r| r >= value).unwrap_or(ladder.len() - 1);
    if above == 0 {
        return 0.0;
    }
    let (low, high) = (ladder[above - 1], ladder[above]);
    let part = ((value - low) / (high - low)).min(1.0);
    ((above - 1) as f64 + part) / last
}
