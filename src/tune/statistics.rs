//! A mean with its confidence interval, from slices of time that may depend on one another.

/// The least number of batches of slices from which an interval is believed.
pub const LEAST_BATCHES: usize = 8;

/// A rate with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Images a second over all slices together.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval; `None` of fewer than two slices.
    pub half: Option<f64>,
    /// Slices measured.
    pub slices: usize,
    /// Batches of adjacent slices that the interval is made from.
    pub batches: usize,
    /// Correlation of adjacent batches that is left; an interval is too narrow where it is far above 0.
    pub correlation: f64,
}

/// A slice: images that came out, and the seconds that they took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// Images.
    pub images: u64,
    /// Seconds.
    pub seconds: f64,
}

impl Estimate {
    /// Half the interval as a share of the mean.
    pub fn relative(&self) -> Option<f64> {
        self.half.filter(|_| self.mean > 0.0).map(|half| half / self.mean)
    }

    /// Both ends of the interval; the lower one is not below 0.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.half.map(|half| ((self.mean - half).max(0.0), self.mean + half))
    }

    /// Of some slices, by batch means: Student's t over the means of batches of adjacent slices, which
    /// are doubled in length until adjacent batches no longer go up and down together (A. M. Law and
    /// J. S. Carson, *A Sequential Procedure for Determining the Length of a Steady-State Simulation*,
    /// Operations Research 27, 1979), as long as there are [`LEAST_BATCHES`] of them.
    pub fn of(slices: &[Slice]) -> Self {
        let images: u64 = slices.iter().map(|slice| slice.images).sum();
        let seconds: f64 = slices.iter().map(|slice| slice.seconds).sum();
        let mean = if seconds > 0.0 { images as f64 / seconds } else { 0.0 };
        let mut size = 1;
        loop {
            let rates = rates(slices, size);
            let correlation = correlation(&rates);
            let longer = slices.len() / (size * 2) >= LEAST_BATCHES;
            if longer && correlation > bound(rates.len()) {
                size *= 2;
                continue;
            }
            return Self {
                mean,
                half: half_width(&rates),
                slices: slices.len(),
                batches: rates.len(),
                correlation,
            };
        }
    }

    /// Whether what correlation is left may be chance.
    pub fn is_independent(&self) -> bool {
        self.correlation <= bound(self.batches)
    }
}

/// Correlation that chance alone exceeds once in twenty, in `n` independent values: 1.645 / √n
/// (M. S. Bartlett, 1946).
fn bound(n: usize) -> f64 {
    1.645 / (n.max(1) as f64).sqrt()
}

/// Rates of batches of `size` slices; what is left over at the start goes with the first.
fn rates(slices: &[Slice], size: usize) -> Vec<f64> {
    let (first, rest) = slices.split_at(slices.len() % size);
    let mut batches: Vec<(u64, f64)> = rest
        .chunks(size)
        .map(|chunk| {
            let images = chunk.iter().map(|slice| slice.images).sum();
            (images, chunk.iter().map(|slice| slice.seconds).sum())
        })
        .collect();
    if let Some(batch) = batches.first_mut() {
        for slice in first {
            batch.0 += slice.images;
            batch.1 += slice.seconds;
        }
    }
    batches.into_iter().map(|(images, seconds)| images as f64 / seconds.max(1e-9)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Correlation of each value with the next one.
fn correlation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let all: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    if all <= 0.0 {
        return 0.0;
    }
    values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / all
}

/// Half the width of the 95 % confidence interval of the mean of independent values.
fn half_width(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = mean(values);
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    Some(student_t(n - 1) * (variance / n as f64).sqrt())
}

/// The value that |t| exceeds with a probability of 5 %, for Student's t with so many degrees of
/// freedom (at least 1).
pub fn student_t(freedom: usize) -> f64 {
    let (mut low, mut high) = (1.9, 13.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if within(middle, freedom.max(1)) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The probability that |T| ≤ t: Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.3 and
/// 26.7.4, which are exact for whole degrees of freedom.
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let mut sum = 0.0;
    if freedom % 2 == 1 {
        let mut term = cos;
        for k in (3..=freedom).step_by(2) {
            sum += term;
            term *= cos * cos * (k - 1) as f64 / k as f64;
        }
        return std::f64::consts::FRAC_2_PI * (angle + sin * sum);
    }
    let mut term = 1.0;
    for k in (2..=freedom).step_by(2) {
        sum += term;
        term *= cos * cos * (k - 1) as f64 / k as f64;
    }
    sin * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(rates: &[f64]) -> Vec<Slice> {
        rates.iter().map(|rate| Slice { images: (rate * 1e6) as u64, seconds: 1e6 }).collect()
    }

    /// From the table of critical values of Student's t in the NIST/SEMATECH e-Handbook of Statistical
    /// Methods, 1.3.6.7.2, column 0.975.
    #[test]
    fn students_t_is_that_of_the_tables() {
        for (freedom, t) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (10, 2.228),
            (29, 2.045),
            (30, 2.042),
            (60, 2.000),
            (100, 1.984),
        ] {
            assert!((student_t(freedom) - t).abs() < 6e-4, "{freedom}: {}", student_t(freedom));
        }
        assert!((student_t(100_000) - 1.959_96).abs() < 1e-4, "the normal distribution's");
    }

    /// NIST/SEMATECH e-Handbook 1.3.5.2, confidence limits of the mean: of its 195 values mean
    /// 9.261460 and standard deviation 0.022789 the half width is 0.003219.
    #[test]
    fn the_interval_is_that_of_a_known_example() {
        let (n, mean, deviation) = (195, 9.261_460, 0.022_789);
        // Values with exactly this mean and standard deviation: the odd one lies in the middle.
        let values: Vec<f64> = (0..n)
            .map(|i| match i {
                0 => mean,
                i if i % 2 == 0 => mean + deviation,
                _ => mean - deviation,
            })
            .collect();
        let half = half_width(&values).unwrap();
        assert!((half - 0.003_219).abs() < 1e-6, "{half}");
    }

    #[test]
    fn independent_slices_stay_single_and_their_mean_is_weighted_by_time() {
        let estimate = Estimate::of(&[
            Slice { images: 100, seconds: 1.0 },
            Slice { images: 50, seconds: 1.0 },
            Slice { images: 600, seconds: 4.0 },
        ]);
        assert!((estimate.mean - 125.0).abs() < 1e-9);
        assert_eq!((estimate.slices, estimate.batches), (3, 3));
        assert_eq!(Estimate::of(&[]).half, None);
        assert_eq!(Estimate::of(&slices(&[5.0])).half, None);
    }

    /// A first-order autoregression with coefficient 0.8: its mean's variance is (1 + 0.8)/(1 − 0.8) = 9
    /// times that of independent values, so that the interval of single slices is 3 times too narrow.
    #[test]
    fn slices_that_drift_together_widen_the_interval() {
        let mut state = 1_u64;
        let mut noise = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        let mut level = 0.0;
        let rates: Vec<f64> = (0..512)
            .map(|_| {
                level = 0.8 * level + noise();
                100.0 + level
            })
            .collect();
        let estimate = Estimate::of(&slices(&rates));
        let naive = half_width(&rates).unwrap();
        let ratio = estimate.half.unwrap() / naive;
        assert!(estimate.batches < 100 && estimate.is_independent(), "{estimate:?}");
        assert!((2.0..4.5).contains(&ratio), "{ratio}");
        assert!((estimate.mean - 100.0).abs() < estimate.half.unwrap());
    }

    #[test]
    fn correlation_that_cannot_be_removed_is_told() {
        let rising: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i)).collect();
        let estimate = Estimate::of(&slices(&rising));
        assert!(!estimate.is_independent(), "{estimate:?}");
    }

    #[test]
    fn steady_slices_have_no_width() {
        let estimate = Estimate::of(&slices(&[7.0; 12]));
        assert_eq!((estimate.relative(), estimate.ends()), (Some(0.0), Some((7.0, 7.0))));
    }
}
