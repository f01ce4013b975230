//! One work's points along one axis, with what follows from them: speed-up, ideal, the laws of scaling.

use super::axis::number;
use super::fit::{Fit, Law};
use super::say;
use super::sweep::{Measured, Point, Sweep};
use crate::pipeline::knobs::KnobValue;

/// One work's points, in the order of the axis. Only for sweeps over one knob.
#[derive(Clone, Debug)]
pub struct Curve<'a> {
    /// Which work.
    pub work: usize,
    /// Whether the axis counts threads: only then there is a speed-up.
    pub threads: bool,
    /// Its points.
    pub rows: Vec<Row<'a>>,
    /// Images a second of one thread at the smallest number of threads, from which the ideal line goes.
    pub unit: Option<f64>,
    /// Amdahl's law, or why there is none.
    pub amdahl: Result<Fit, String>,
    /// The universal scalability law, or why there is none.
    pub usl: Result<Fit, String>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The point.
    pub point: &'a Point,
    /// The knob's value.
    pub value: KnobValue,
    /// What was measured, if it was.
    pub measured: Option<&'a Measured>,
    /// What `n` threads would make if each made as much as at the smallest number of threads.
    pub ideal: Option<f64>,
    /// Throughput as a multiple of one thread's.
    pub speedup: Option<f64>,
    /// The speed-up as a share of the threads.
    pub efficiency: Option<f64>,
    /// There are more threads than cores.
    pub beyond: bool,
}

impl Row<'_> {
    /// The knob's value as a number.
    pub const fn number(&self) -> Option<f64> {
        number(self.value)
    }

    /// Images a second.
    pub fn rate(&self) -> Option<f64> {
        self.measured.map(|measured| measured.rate.mean)
    }
}

impl<'a> Curve<'a> {
    /// The curve of a work; `None` where two knobs are swept.
    pub fn of(sweep: &'a Sweep, work: usize) -> Option<Self> {
        let [axis] = &sweep.axes[..] else { return None };
        let threads = axis.counts_threads();
        let points: Vec<_> = sweep.of_work(work).collect();
        let first = points.iter().find_map(|point| {
            let n = number(axis.values[point.at[0]])?;
            // The smallest number of threads itself: where it is missing there is no ideal.
            Some(point.measured().map(|measured| (n, measured.rate.mean)))
        });
        let unit = first.flatten().filter(|_| threads).map(|(n, rate)| rate / n);
        let row = |point: &'a Point| {
            let value = axis.values[point.at[0]];
            let measured = point.measured();
            let n = number(value).filter(|_| threads);
            let unit = unit.filter(|&unit| unit > 0.0);
            let speedup = measured.zip(unit).map(|(measured, unit)| measured.rate.mean / unit);
            Row {
                point,
                value,
                measured,
                ideal: unit.zip(n).map(|(unit, n)| unit * n),
                speedup,
                efficiency: speedup.zip(n).map(|(speedup, n)| speedup / n),
                beyond: sweep.beyond_cores(point),
            }
        };
        let rows: Vec<_> = points.into_iter().map(row).collect();
        let fitted = |law: Law| {
            if !threads {
                return Err("only for a number of threads".to_owned());
            }
            let within = rows.iter().filter(|row| !row.beyond);
            let points: Vec<_> = within
                .filter_map(|row| Some((row.number()?, row.rate().filter(|&rate| rate > 0.0)?)))
                .collect();
            law.fit(&points)
        };
        let (amdahl, usl) = (fitted(Law::Amdahl), fitted(Law::Usl));
        Some(Self { work, threads, rows, unit, amdahl, usl })
    }

    /// All curves of a sweep over one knob.
    pub fn all(sweep: &'a Sweep) -> Vec<Self> {
        (0..sweep.works.len()).filter_map(|work| Self::of(sweep, work)).collect()
    }

    /// What it shows, in a sentence.
    pub fn sentence(&self, sweep: &Sweep) -> String {
        say::curve(self, sweep)
    }

    /// The row with the highest throughput.
    pub fn best(&self) -> Option<&Row<'a>> {
        let measured = self.rows.iter().filter(|row| row.measured.is_some());
        measured.max_by(|a, b| a.rate().unwrap_or(0.0).total_cmp(&b.rate().unwrap_or(0.0)))
    }

    /// The last row that was measured with no more threads than cores, or else the last one.
    pub fn last(&self) -> Option<&Row<'a>> {
        let measured = || self.rows.iter().rev().filter(|row| row.measured.is_some());
        measured().find(|row| !row.beyond).or_else(|| measured().next())
    }

    /// The first row that was measured.
    pub fn first(&self) -> Option<&Row<'a>> {
        self.rows.iter().find(|row| row.measured.is_some())
    }
}
