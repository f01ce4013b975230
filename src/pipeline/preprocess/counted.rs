//! The counted loop: work that is arithmetic and nothing else, so many nanoseconds of it.
//!
//! It stands for interpreted bytecode: every fifty nanoseconds or so comes a place to look at a drop request, as at
//! the interpreter's backward jumps.

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::probe::clock;
use crate::probe::os;

/// Work between two looks.
const SLICE_NS: f64 = 50.0;

/// Of so many tries the fastest counts: whatever comes between makes a try slower, never faster.
const TRIES: usize = 20;

/// How fast this process counts.
struct Pace {
    /// Steps of a slice.
    steps: u32,
    /// CPU time of a slice with the look behind it.
    slice_ns: f64,
}

static PACE: OnceLock<Pace> = OnceLock::new();

/// Measures how fast the calling thread counts, on its own CPU clock, unless that is known in this process; takes
/// about 6 ms.
pub fn calibrate() {
    pace();
}

fn pace() -> &'static Pace {
    PACE.get_or_init(|| {
        let steps = 20_000;
        let step_ns = cost_ns(|| steps_of(steps)) / f64::from(steps);
        let steps = (SLICE_NS / step_ns).round().max(1.0) as u32;
        let (slices, request) = (5_000, AtomicBool::new(false));
        let many = || {
            for _ in 0..slices {
                steps_of(steps);
                if black_box(&request).load(Ordering::Relaxed) {
                    break;
                }
            }
        };
        Pace { steps, slice_ns: cost_ns(many) / f64::from(slices) }
    })
}

/// CPU time of `work`: the least of some tries.
fn cost_ns(work: impl Fn()) -> f64 {
    let time = || os::own_cpu().unwrap_or_else(clock::now);
    let once = || {
        let start = time();
        work();
        time().saturating_sub(start)
    };
    // A clock that stands still would make the loop endless.
    (0..TRIES).map(|_| once()).min().unwrap_or(0).max(1) as f64
}

/// Works for as much of the thread's CPU time as `time`, and calls `look` all along.
pub fn count(time: Duration, mut look: impl FnMut()) {
    let Pace { steps, slice_ns } = pace();
    let slices = (time.as_nanos() as f64 / slice_ns).round() as u64;
    for _ in 0..slices {
        steps_of(*steps);
        look();
    }
}

/// Each step needs the one before, and none can be left out.
fn steps_of(steps: u32) {
    let mut x = u64::from(steps);
    for _ in 0..steps {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_takes_about_the_cpu_time_that_was_asked_for_and_looks_all_along() {
        calibrate();
        for ms in [1, 20] {
            let time = Duration::from_millis(ms);
            let mut looks = 0_u64;
            // The least of some: others on the machine slow a loop down.
            let took = cost_ns(|| count(time, || {})) / 1e6;
            count(time, || looks += 1);
            let wanted = ms as f64;
            assert!(took > 0.7 * wanted && took < 3.0 * wanted, "{took} ms for {wanted}");
            let slices = wanted * 1e6 / SLICE_NS;
            assert!(looks as f64 > 0.3 * slices, "{looks} looks in {wanted} ms");
        }
        count(Duration::ZERO, || panic!("nothing to do"));
    }
}
