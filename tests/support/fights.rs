//! Locks as a run would show them: calm ones, and one that all fight for.

use pipetop::probe::histogram::Recorder;
use pipetop::profile::snapshot::{LockSample, Snapshot, Switching, Wait};

/// A lock: acquisitions a second, contended share, time waited as a share of one thread's, time held,
/// and whether each hold is timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fight {
    name: &'static str,
    acquired: f64,
    contended: f64,
    wait: f64,
    hold: f64,
    exact: bool,
    /// Switches, forced ones and requests a second, of an emulated GIL.
    switching: Option<[f64; 3]>,
}

const fn fight(name: &'static str, acquired: f64, contended: f64, wait: f64, hold: f64) -> Fight {
    Fight { name, acquired, contended, wait, hold, exact: false, switching: None }
}

/// Locks that are hardly fought for.
pub(crate) const CALM: [Fight; 5] = [
    fight("queue.loaded", 1650.0, 0.02, 0.0004, 0.0011),
    fight("queue.batches", 410.0, 0.01, 0.0001, 0.0004),
    fight("ledger", 830.0, 0.0, 0.0, 0.0009),
    fight("control", 10.0, 0.0, 0.0, 0.000_01),
    fight("preprocess.gate", 0.0, 0.0, 0.0, 0.0),
];

/// All fight for the pool.
pub(crate) const FOUGHT: [Fight; 6] = [
    CALM[0],
    CALM[1],
    CALM[2],
    CALM[3],
    CALM[4],
    Fight {
        name: "preprocess.pool",
        acquired: 812.0,
        contended: 0.84,
        wait: 1.92,
        hold: 0.97,
        exact: true,
        switching: None,
    },
];

/// All fight for the emulated GIL.
pub(crate) const GIL: [Fight; 6] = [
    CALM[0],
    CALM[1],
    CALM[2],
    CALM[3],
    CALM[4],
    Fight {
        name: "gil",
        acquired: 204.0,
        contended: 0.97,
        wait: 2.96,
        hold: 0.99,
        exact: true,
        switching: Some([196.0, 191.0, 193.0]),
    },
];

/// The locks after one more tick; who waits and who holds takes turns.
pub(crate) fn step(now: &mut Snapshot, locks: &[Fight], waits: &[Recorder], tick: u64) {
    let seconds = now.at as f64 / 1e9;
    let names: Vec<_> = now.threads.iter().map(|thread| thread.name.clone()).collect();
    for (lock, waits) in locks.iter().zip(waits) {
        let acquisitions = (lock.acquired * seconds) as u64;
        let contended = (acquisitions as f64 * lock.contended) as u64;
        let mean = lock.wait * seconds * 1e9 / (contended as f64).max(1.0);
        let so_far = waits.read().count();
        for i in so_far..contended {
            // From a tenth of the mean to a little over twice as much.
            let spread = 0.1 + 1.8 * ((i * 7 % 40) as f64 / 40.0).powi(2);
            waits.record((mean * spread * 1.5) as u64);
        }
        let read = waits.read();
        let holders = |name: &&String| name.starts_with("prep-");
        let fought = lock.contended > 0.5;
        let holder = names.iter().filter(holders).nth(tick as usize % 3);
        let sample = LockSample {
            name: lock.name.into(),
            acquisitions,
            contended,
            wait: (lock.wait * seconds * 1e9) as u64,
            wait_max: read.quantile(1.0).unwrap_or_default() as u64,
            waits: read,
            hold: (acquisitions > 0).then_some((lock.hold * seconds * 1e9) as u64),
            hold_exact: lock.exact,
            holder: holder.filter(|_| fought).cloned(),
            waiters: if fought { 2 } else { 0 },
            switching: lock.switching.map(|rates| {
                let [switches, forced, requests] = rates.map(|rate| (rate * seconds) as u64);
                Switching { switches, forced, requests }
            }),
        };
        if fought {
            let waiting = now.threads.iter_mut().filter(|thread| {
                thread.name.starts_with("prep-") && Some(&thread.name) != sample.holder.as_ref()
            });
            for thread in waiting.take(2) {
                (thread.state, thread.lock) = (Some(Wait::Lock), Some(lock.name.into()));
            }
        }
        match now.locks.iter_mut().find(|before| before.name == lock.name) {
            Some(before) => *before = sample,
            None => now.locks.push(sample),
        }
    }
}
