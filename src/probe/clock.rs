//! One time line for everything: nanoseconds since the process first asked.
//!
//! Where the kernel itself trusts the time-stamp counter (clock source `tsc`) and the CPU says that
//! it is invariant, a read is one `rdtsc` and a multiplication; elsewhere it is the OS clock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A point in time or a length of time in nanoseconds on the time line of [`now`].
pub type Nanos = u64;

/// Where the time comes from: the real clock in runs, a hand-turned one in tests and replays.
pub trait Clock: Send + Sync {
    /// Nanoseconds since this clock's origin; never goes backwards.
    fn now(&self) -> Nanos;
}

/// The machine's clock: the time line of [`now`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Nanos {
        now()
    }
}

/// A clock that moves only when it is told to.
#[derive(Debug, Default)]
pub struct VirtualClock(AtomicU64);

impl VirtualClock {
    /// Moves the clock forward by `by`.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Nanos {
        self.0.load(Ordering::Relaxed)
    }
}

/// What [`now`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The time-stamp counter, calibrated against the OS clock.
    Tsc,
    /// The operating system's monotonic clock.
    Os,
}

struct TimeLine {
    origin: Instant,
    tsc: Option<Tsc>,
}

/// `ns = ((ticks − base) × mult) >> SHIFT`; a 2.5 GHz counter overflows the 128-bit product never
/// and the 64-bit result in 584 years.
struct Tsc {
    base: u64,
    mult: u64,
}

const SHIFT: u32 = 32;

static LINE: OnceLock<TimeLine> = OnceLock::new();

/// Nanoseconds since the process first asked; the same line for all threads.
pub fn now() -> Nanos {
    let line = LINE.get_or_init(TimeLine::start);
    match &line.tsc {
        Some(tsc) => tsc.nanos(ticks()),
        None => line.origin.elapsed().as_nanos() as Nanos,
    }
}

/// Which clock [`now`] reads on this machine.
pub fn source() -> Source {
    let _ = now();
    match LINE.get() {
        Some(TimeLine { tsc: Some(_), .. }) => Source::Tsc,
        _ => Source::Os,
    }
}

impl TimeLine {
    fn start() -> Self {
        let origin = Instant::now();
        let tsc = tsc_is_trusted().then(|| Tsc::calibrate(origin)).flatten();
        Self { origin, tsc }
    }
}

impl Tsc {
    /// Counts ticks over 20 ms of the OS clock: both edges are known to about 0.1 µs, so that the
    /// rate is right to some 5 parts in a million.
    fn calibrate(origin: Instant) -> Option<Self> {
        let (base, start) = edge(origin)?;
        std::thread::sleep(Duration::from_millis(20));
        let (end_ticks, end) = edge(origin)?;
        let (ticks, nanos) = (end_ticks.checked_sub(base)?, end.checked_sub(start)?);
        if ticks == 0 || nanos == 0 {
            return None;
        }
        let mult = u64::try_from((u128::from(nanos) << SHIFT) / u128::from(ticks)).ok()?;
        // The line starts at the origin, not at the first edge.
        let lead = (u128::from(start) << SHIFT) / u128::from(mult);
        Some(Self { base: base.saturating_sub(u64::try_from(lead).ok()?), mult })
    }

    fn nanos(&self, ticks: u64) -> Nanos {
        let delta = ticks.saturating_sub(self.base);
        ((u128::from(delta) * u128::from(self.mult)) >> SHIFT) as Nanos
    }
}

/// A tick count and the OS time that belongs to it: the closest of a few pairs, since an interrupt
/// may fall between the two reads.
fn edge(origin: Instant) -> Option<(u64, Nanos)> {
    (0..16)
        .map(|_| {
            let before = ticks();
            let time = origin.elapsed().as_nanos() as Nanos;
            let after = ticks();
            (after.saturating_sub(before), before / 2 + after / 2, time)
        })
        .min_by_key(|&(gap, ..)| gap)
        .map(|(_, ticks, time)| (ticks, time))
}

/// The kernel drops `tsc` as its clock source when the counters of the cores disagree or stop.
#[cfg(target_arch = "x86_64")]
fn tsc_is_trusted() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|name| name.trim() == "tsc")
        && cpu_says_invariant()
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_trusted() -> bool {
    false
}

/// CPUID `8000_0007h`, EDX bit 8: the counter runs at one rate in all power states.
#[cfg(target_arch = "x86_64")]
fn cpu_says_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    #[expect(unsafe_code, reason = "the counter has no safe interface")]
    // SAFETY: `rdtsc` exists on every x86-64 CPU and touches no memory.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_os_clock() {
        let (ours, os) = (now(), Instant::now());
        std::thread::sleep(Duration::from_millis(200));
        let (ours, os) = (now() - ours, os.elapsed().as_nanos() as u64);
        let error = ours.abs_diff(os) as f64 / os as f64;
        assert!(error < 0.001, "ours {ours} ns, OS {os} ns");
    }

    #[test]
    fn never_goes_backwards_from_thread_to_thread() {
        let newest = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let seen = newest.load(Ordering::SeqCst);
                        let mine = now();
                        // Counters of two cores may differ by less than a cache line's travel.
                        assert!(mine + 1_000 >= seen, "{mine} after {seen}");
                        newest.fetch_max(mine, Ordering::SeqCst);
                    }
                });
            }
        });
    }

    #[test]
    fn a_virtual_clock_moves_only_by_hand() {
        let clock = VirtualClock::default();
        assert_eq!(clock.now(), 0);
        clock.advance(Duration::from_millis(3));
        assert_eq!(clock.now(), 3_000_000);
    }
}
