//! Laws of scaling, fitted to throughput against number of threads.
//!
//! Amdahl's: X(N) = λN / (1 + σ(N−1)), where a share σ of the work is done by one thread at a time
//! (G. M. Amdahl, *Validity of the single processor approach to achieving large scale computing
//! capabilities*, AFIPS 1967). The universal scalability law adds the cost of each pair of threads to
//! keep in step: X(N) = λN / (1 + σ(N−1) + κN(N−1)) (N. J. Gunther, *A Simple Capacity Model of Massively
//! Parallel Transaction Systems*, CMG 1993; *Guerrilla Capacity Planning*, Springer 2007).
//!
//! Least squares of the *relative* errors, since each point is measured to about the same share of itself:
//! first of N/X, in which the laws are linear, then of X by the method of Levenberg and Marquardt. Standard
//! errors are those of the linearised problem.

/// Which law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Amdahl's.
    Amdahl,
    /// The universal scalability law.
    Usl,
}

/// A coefficient with its standard error; `None` where it was held at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coefficient {
    /// Its value.
    pub value: f64,
    /// Its standard error.
    pub error: Option<f64>,
}

/// A value with its error, to the first two digits of the error: `0.00931 ± 0.00044`, `84.74 ± 0.30`.
pub fn written(value: f64, error: f64) -> String {
    let place = if error > 0.0 && error.is_finite() { -error.log10().floor() } else { 4.0 };
    let digits = (place + 1.0).clamp(0.0, 7.0) as usize;
    format!("{value:.digits$} ± {error:.digits$}")
}

impl Coefficient {
    /// As a person reads it.
    pub fn written(&self) -> String {
        self.error.map_or_else(|| "0 (held)".to_owned(), |error| written(self.value, error))
    }
}

/// A fitted law.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Images a second of one thread.
    pub lambda: Coefficient,
    /// The serial share.
    pub sigma: Coefficient,
    /// The cost of a pair of threads; 0 in Amdahl's law.
    pub kappa: Coefficient,
    /// Root of the mean square of the relative errors.
    pub residual: f64,
    /// Points fitted.
    pub points: usize,
    /// What a person must know of it: a coefficient that was held at 0, or cannot be told from it.
    pub note: Option<String>,
}

impl Fit {
    /// The law's throughput at `n` threads.
    pub fn at(&self, n: f64) -> f64 {
        throughput([self.lambda.value, self.sigma.value, self.kappa.value], n)
    }

    /// The number of threads at which throughput is highest, √((1 − σ)/κ) (Gunther 2007, 4.5), where κ can
    /// be told from 0.
    pub fn peak(&self) -> Option<f64> {
        let (sigma, kappa) = (self.sigma.value, self.kappa.value);
        let sure = kappa > 2.0 * self.kappa.error.unwrap_or(f64::INFINITY);
        (sure && sigma < 1.0).then(|| ((1.0 - sigma) / kappa).sqrt())
    }

    /// What throughput Amdahl's law allows at the most, times one thread's: 1/σ.
    pub fn most(&self) -> Option<f64> {
        (self.sigma.value > 0.0).then(|| 1.0 / self.sigma.value)
    }
}

impl Law {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amdahl => "Amdahl",
            Self::Usl => "USL",
        }
    }

    /// Its coefficients: λ, σ, κ.
    const fn free(self) -> [bool; 3] {
        [true, true, matches!(self, Self::Usl)]
    }

    /// The least number of points: two more than there are coefficients.
    pub const fn least(self) -> usize {
        match self {
            Self::Amdahl => 4,
            Self::Usl => 5,
        }
    }

    /// Fits it to points of threads and throughput, all above 0.
    ///
    /// # Errors
    /// Why it says nothing of these points, in words: too few, or a coefficient that cannot be.
    pub fn fit(self, points: &[(f64, f64)]) -> Result<Fit, String> {
        let least = self.least();
        if points.len() < least {
            return Err(format!(
                "{} point{} with at most one thread a core: it takes {least}",
                points.len(),
                if points.len() == 1 { "" } else { "s" },
            ));
        }
        let mut free = self.free();
        let mut held: Option<String> = None;
        // A coefficient below 0 is held at 0, the worst first; at most both are.
        for _ in 0..3 {
            let fit = solve(points, free).ok_or("the points do not determine it")?;
            let negative = |at: usize| free[at] && fit.values[at] < 0.0;
            let depth = |at: usize| fit.values[at] / fit.errors[at].max(f64::MIN_POSITIVE);
            let worst = [1, 2].into_iter().filter(|&at| negative(at));
            let Some(at) = worst.min_by(|&a, &b| depth(a).total_cmp(&depth(b))) else {
                return self.finish(points, free, &fit, held);
            };
            let (name, value, error) = (["λ", "σ", "κ"][at], fit.values[at], fit.errors[at]);
            if value < -3.0 * error {
                return Err(format!(
                    "{name} comes out at {}: below 0, which means nothing; throughput grows faster than the \
                     threads",
                    written(value, error)
                ));
            }
            free[at] = false;
            let said = format!("{name} came out at {} and was held at 0", written(value, error));
            held = Some(held.map_or_else(|| said.clone(), |before| format!("{before}; {said}")));
        }
        Err("its coefficients come out below 0".into())
    }

    fn finish(
        self,
        points: &[(f64, f64)],
        free: [bool; 3],
        fit: &Solved,
        note: Option<String>,
    ) -> Result<Fit, String> {
        let [lambda, sigma, kappa] = std::array::from_fn(|at| Coefficient {
            value: if free[at] { fit.values[at] } else { 0.0 },
            error: free[at].then_some(fit.errors[at]),
        });
        if self == Self::Amdahl && sigma.value > 1.0 + 3.0 * fit.errors[1] {
            return Err(format!(
                "σ comes out at {:.3}, above 1: throughput falls as threads are added, which this law does \
                 not know",
                sigma.value
            ));
        }
        let unsure = kappa.error.is_some_and(|error| kappa.value < 2.0 * error);
        let note = note.or_else(|| unsure.then(|| "κ cannot be told from 0".to_owned()));
        Ok(Fit {
            lambda,
            sigma,
            kappa,
            residual: (fit.squares / points.len() as f64).sqrt(),
            points: points.len(),
            note,
        })
    }
}

fn throughput([lambda, sigma, kappa]: [f64; 3], n: f64) -> f64 {
    lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

struct Solved {
    values: [f64; 3],
    errors: [f64; 3],
    /// Sum of the squared relative errors.
    squares: f64,
}

/// Relative errors at some coefficients.
fn squares(points: &[(f64, f64)], values: [f64; 3]) -> f64 {
    let error = |&(n, x): &(f64, f64)| throughput(values, n) / x - 1.0;
    let sum: f64 = points.iter().map(|point| error(point).powi(2)).sum();
    if sum.is_finite() { sum } else { f64::INFINITY }
}

/// The free coefficients that make the squares least.
fn solve(points: &[(f64, f64)], free: [bool; 3]) -> Option<Solved> {
    let mut values = start(points, free)?;
    let mut least = squares(points, values);
    let mut damping = 1e-3;
    for _ in 0..200 {
        let (matrix, gradient) = normal(points, values, free);
        let mut damped = matrix;
        for (at, row) in damped.iter_mut().enumerate() {
            row[at] *= 1.0 + damping;
        }
        let Some(step) = invert(damped, free).map(|inverse| times(&inverse, gradient)) else {
            break;
        };
        let next = std::array::from_fn(|at| values[at] - step[at]);
        let reached = squares(points, next);
        if reached < least {
            let gain = least - reached;
            (values, least) = (next, reached);
            damping = (damping / 10.0).max(1e-12);
            if gain <= 1e-14 * (1.0 + least) {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    let count = free.iter().filter(|&&free| free).count();
    let (matrix, _) = normal(points, values, free);
    let inverse = invert(matrix, free)?;
    let variance = least / points.len().checked_sub(count).filter(|&left| left > 0)? as f64;
    let errors = std::array::from_fn(|at| (variance * inverse[at][at]).max(0.0).sqrt());
    Some(Solved { values, errors, squares: least })
}

/// Where to start from: N/X = 1/λ + (σ/λ)(N−1) + (κ/λ)N(N−1) is linear in its coefficients.
fn start(points: &[(f64, f64)], free: [bool; 3]) -> Option<[f64; 3]> {
    let mut matrix = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for &(n, x) in points {
        // Weighed by X/N, so that errors are relative.
        let weight = (x / n).powi(2);
        let terms = [1.0, n - 1.0, n * (n - 1.0)];
        for row in 0..3 {
            right[row] += weight * terms[row] * n / x;
            for column in 0..3 {
                matrix[row][column] += weight * terms[row] * terms[column];
            }
        }
    }
    let [a, b, c] = times(&invert(matrix, free)?, right);
    let first = points.first().map(|&(n, x)| x / n)?;
    // A line that meets the axis below 0 gives no start: the first point's does.
    if a > 0.0 { Some([1.0 / a, b / a, c / a]) } else { Some([first, 0.0, 0.0]) }
}

/// The normal matrix and the gradient of the relative errors.
fn normal(points: &[(f64, f64)], values: [f64; 3], free: [bool; 3]) -> ([[f64; 3]; 3], [f64; 3]) {
    let mut matrix = [[0.0; 3]; 3];
    let mut gradient = [0.0; 3];
    for &(n, x) in points {
        let [lambda, sigma, kappa] = values;
        let below = 1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0);
        let by_sigma = -lambda * n / (below * below);
        let slopes = [n / below, by_sigma * (n - 1.0), by_sigma * n * (n - 1.0)];
        let slopes: [f64; 3] =
            std::array::from_fn(|at| if free[at] { slopes[at] / x } else { 0.0 });
        let error = throughput(values, n) / x - 1.0;
        for row in 0..3 {
            gradient[row] += slopes[row] * error;
            for column in 0..3 {
                matrix[row][column] += slopes[row] * slopes[column];
            }
        }
    }
    (matrix, gradient)
}

fn times(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|row| (0..3).map(|at| matrix[row][at] * vector[at]).sum())
}

/// The inverse on the free rows and columns, 0 elsewhere; `None` where there is none.
fn invert(matrix: [[f64; 3]; 3], free: [bool; 3]) -> Option<[[f64; 3]; 3]> {
    let mut left = matrix;
    let mut right = [[0.0; 3]; 3];
    for at in 0..3 {
        if free[at] {
            right[at][at] = 1.0;
        } else {
            left[at] = [0.0; 3];
            for row in &mut left {
                row[at] = 0.0;
            }
            left[at][at] = 1.0;
        }
    }
    for column in 0..3 {
        let pivot =
            (column..3).max_by(|&a, &b| left[a][column].abs().total_cmp(&left[b][column].abs()))?;
        left.swap(column, pivot);
        right.swap(column, pivot);
        let by = left[column][column];
        if !by.is_finite() || by.abs() < 1e-300 {
            return None;
        }
        for at in 0..3 {
            left[column][at] /= by;
            right[column][at] /= by;
        }
        for row in (0..3).filter(|&row| row != column) {
            let by = left[row][column];
            for at in 0..3 {
                left[row][at] -= by * left[column][at];
                right[row][at] -= by * right[column][at];
            }
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests;
