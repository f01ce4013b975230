//! Medians and quartiles of a few rounds.

use serde::Serialize;

/// The middle of some values and the quarter below and above it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Middle {
    /// First quartile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub high: f64,
}

impl Middle {
    /// Of values in any order; all 0 where there is none. Quartiles between two values are interpolated
    /// (Hyndman and Fan's definition 7, as in NumPy).
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * values.len().saturating_sub(1) as f64;
            let below = values.get(place.floor() as usize).copied().unwrap_or_default();
            let above = values.get(place.ceil() as usize).copied().unwrap_or_default();
            below + (above - below) * place.fract()
        };
        Self { low: at(0.25), median: at(0.5), high: at(0.75) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_in_the_middle() {
        let of = |values: &[f64]| {
            let Middle { low, median, high } = Middle::of(values.iter().copied());
            [low, median, high].map(|value| (value * 100.0).round() / 100.0)
        };
        for (values, expected) in [
            (&[][..], [0.0, 0.0, 0.0]),
            (&[3.0], [3.0, 3.0, 3.0]),
            (&[4.0, 2.0], [2.5, 3.0, 3.5]),
            (&[9.0, 1.0, 5.0, 3.0, 7.0], [3.0, 5.0, 7.0]),
        ] {
            let got = of(values);
            assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{got:?}");
        }
    }
}
