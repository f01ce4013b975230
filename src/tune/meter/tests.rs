use super::*;
use crate::pipeline::knobs::KnobValues;
use crate::pipeline::ledger::Segment;
use crate::probe::histogram::Histogram;
use crate::profile::snapshot::{LockSample, Phase, StageSample, ThreadSample};

const TICK: Nanos = 100_000_000;

/// A pipeline of two workers that is looked at ten times a second.
struct Made {
    now: Snapshot,
    /// Images a second; a batch of 8 comes out when it is full.
    rate: f64,
    owed: f64,
}

impl Made {
    fn new(rate: f64) -> Self {
        let mut now = Snapshot { phase: Phase::Running, epoch: 1, ..Snapshot::empty() };
        now.segments.push(Segment {
            epoch: 1,
            from: 0,
            last_out: 0,
            predicted_before: 0,
            predicted: 0,
            failed: 0,
            latency: Histogram::default(),
            knobs: KnobValues::defaults(2),
        });
        now.stages.push(StageSample {
            stage: Stage::Preprocess,
            workers: 2,
            done: 0,
            service: Histogram::default(),
            device_busy: None,
        });
        for index in 0..3 {
            let mut thread = ThreadSample::unmeasured(&format!("prep-{index}"), index);
            (thread.cpu, thread.runnable, thread.waits) =
                (Some(0), Some(0), Some([0; Wait::ALL.len()]));
            now.threads.push(thread);
        }
        now.locks.push(LockSample { name: "gil".into(), ..LockSample::default() });
        Self { now, rate, owed: 0.0 }
    }

    fn step(&mut self, meter: &mut Meter) -> Look {
        self.now.at += TICK;
        self.owed += self.rate * TICK as f64 / 1e9;
        let batches = (self.owed / 8.0).floor();
        self.owed -= batches * 8.0;
        if batches > 0.0 {
            let segment = &mut self.now.segments[0];
            segment.predicted += batches as u64 * 8;
            // The last batch was full as long ago as its rest has been growing.
            segment.last_out = self.now.at - (self.owed / self.rate * 1e9) as Nanos;
        }
        // Two workers: a quarter on a CPU, three quarters waiting for the lock; the third is parked.
        for (index, thread) in self.now.threads.iter_mut().enumerate() {
            let wait = if index < 2 { Wait::Lock } else { Wait::Parked };
            let share = if index < 2 { 3 } else { 4 };
            thread.cpu = thread.cpu.map(|cpu| cpu + TICK / 4 * (4 - share));
            thread.waits.as_mut().unwrap()[wait as usize] += TICK / 4 * share;
        }
        self.now.locks[0].wait += TICK / 4 * 3 * 2;
        meter.look(&Arc::new(self.now.clone()))
    }
}

fn meter(relative: f64) -> Meter {
    let target = Target { relative, limit: 5_000_000_000, slice: 200_000_000 };
    Meter::new(target, Stage::Preprocess, 1)
}

fn run(made: &mut Made, meter: &mut Meter) -> Result<Box<Measured>, String> {
    for _ in 0..200 {
        match made.step(meter) {
            Look::Done(measured) => return Ok(measured),
            Look::Gap(why) => return Err(why),
            Look::Warming | Look::Measuring(_) => {}
        }
    }
    Err("it never ends".into())
}

#[test]
fn a_steady_rate_is_told_exactly_though_batches_fall_between_the_looks() {
    let measured = run(&mut Made::new(113.0), &mut meter(0.03)).unwrap();
    assert!((measured.rate.mean - 113.0).abs() < 0.01, "{:?}", measured.rate);
    assert!(measured.met && measured.rate.relative().unwrap() < 1e-3);
    assert_eq!(measured.rate.slices, LEAST_SLICES);
    assert!(measured.warmup >= 0.4 && measured.warmup < 1.5, "{}", measured.warmup);
    assert_eq!((measured.epoch, measured.workers), (1, 2));
}

#[test]
fn shares_leave_out_who_is_parked_and_the_lock_is_named() {
    let measured = run(&mut Made::new(400.0), &mut meter(0.03)).unwrap();
    let shares = measured.shares.unwrap();
    assert!(
        (shares.running - 0.25).abs() < 1e-9 && (shares.sum() - 1.0).abs() < 1e-9,
        "{shares:?}"
    );
    assert!((shares.wait(Wait::Lock) - 0.75).abs() < 1e-9);
    let lock = measured.lock.unwrap();
    assert_eq!(lock.name, "gil");
    assert!((lock.share - 0.75).abs() < 1e-9);
    // Half a core at 400 images a second.
    assert!((measured.cpu_ms.unwrap() - 1.25).abs() < 0.02, "{:?}", measured.cpu_ms);
}

#[test]
fn what_was_before_the_change_does_not_count() {
    let mut made = Made::new(50.0);
    let mut meter = meter(0.03);
    made.now.epoch = 0;
    for _ in 0..20 {
        assert!(matches!(made.step(&mut meter), Look::Warming), "the change is not in force");
    }
    made.now.epoch = 1;
    made.now.applying.push("infer.batch".into());
    assert!(matches!(made.step(&mut meter), Look::Warming), "it is being applied");
    made.now.applying.clear();
    made.rate = 500.0;
    let measured = run(&mut made, &mut meter).unwrap();
    assert!((measured.rate.mean - 500.0).abs() < 0.5, "{:?}", measured.rate);
}

#[test]
fn an_unsteady_rate_takes_all_its_time_and_says_so() {
    let mut made = Made::new(400.0);
    let mut meter = meter(0.001);
    let mut state = 7_u64;
    let measured = loop {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        made.rate = 300.0 + (state >> 56) as f64;
        match made.step(&mut meter) {
            Look::Done(measured) => break measured,
            Look::Gap(why) => panic!("{why}"),
            _ => {}
        }
    };
    assert!(!measured.met && measured.seconds > 4.0, "{measured:?}");
    assert!(measured.rate.relative().unwrap() > 0.001);
}

#[test]
fn without_an_image_there_is_a_gap() {
    let mut made = Made::new(1e-6);
    let why = run(&mut made, &mut meter(0.03)).unwrap_err();
    assert_eq!(why, "no image came out in 5.0 s");
}

#[test]
fn a_stall_after_the_warm_up_is_a_gap_and_not_a_rate() {
    let mut made = Made::new(800.0);
    let mut meter = meter(0.03);
    while !matches!(made.step(&mut meter), Look::Measuring(_)) {}
    made.rate = 1e-6;
    made.owed = 0.0;
    assert!(run(&mut made, &mut meter).unwrap_err().starts_with("no image came out"));
}
