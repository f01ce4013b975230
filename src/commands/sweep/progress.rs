//! Progress of a sweep on stderr: a line a point, and on a terminal one that is rewritten meanwhile.

use std::io::{IsTerminal, Write};

use crate::tune::sweep::{Outcome, State, Sweep};

/// Writes progress.
pub(super) struct Progress {
    terminal: bool,
    /// Points told so far.
    told: usize,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), told: 0 }
    }

    /// Tells what is new.
    pub(super) fn show(&mut self, sweep: &Sweep) {
        let mut err = std::io::stderr().lock();
        let clear = if self.terminal { "\r\x1b[K" } else { "" };
        let mut tried: Vec<_> = sweep.points.iter().filter(|point| !point.is_waiting()).collect();
        tried.sort_by_key(|point| point.turn);
        for point in tried.iter().skip(self.told) {
            let line = match &point.outcome {
                Outcome::Measured(measured) => {
                    let width = measured.rate.relative();
                    let width =
                        width.map_or_else(|| "—".to_owned(), |w| format!("{:.1}", w * 100.0));
                    let seconds = measured.seconds;
                    format!("{:.1} img/s ±{width} %  ({seconds:.1} s)", measured.rate.mean)
                }
                Outcome::Gap(why) => format!("gap: {why}"),
                Outcome::Waiting => continue,
            };
            let number = point.turn + 1;
            let (all, name) = (sweep.points.len(), name(sweep, point));
            // Nobody reads it: nobody misses it.
            let _ = writeln!(err, "{clear}[{number}/{all}] {name}: {line}");
        }
        self.told = tried.len();
        if !self.terminal {
            return;
        }
        let _ = match (&sweep.now, sweep.state) {
            (Some(now), State::Running) => {
                let name = name(sweep, &sweep.points[now.point]);
                let rate = now.rate.filter(|rate| rate.slices > 0);
                let said = rate.map_or_else(
                    || "warming up".to_owned(),
                    |rate| {
                        let width = rate.relative().map_or(f64::NAN, |width| width * 100.0);
                        format!("{:.1} img/s ±{width:.1} %", rate.mean)
                    },
                );
                let left = sweep.left().map_or_else(String::new, |left| {
                    format!("  about {} s left", left / 1_000_000_000)
                });
                write!(err, "{clear}{name}: {said}{left}")
            }
            _ => write!(err, "{clear}"),
        };
        let _ = err.flush();
    }
}

/// `native, preprocess.threads 4`.
fn name(sweep: &Sweep, point: &crate::tune::sweep::Point) -> String {
    let values = sweep.values(point).into_iter();
    let values: Vec<_> = values.map(|(id, value)| format!("{} {value}", id.spec().name)).collect();
    let work = &sweep.works[point.work].name;
    if sweep.works.len() > 1 { format!("{work}, {}", values.join(", ")) } else { values.join(", ") }
}
