//! Traces played through the watch on a clock that is turned by hand.

use std::sync::Arc;
use std::time::Duration;

use super::Gpus;
use super::call::{Answer, Call, GpmWindow, Lane, Refusal};
use super::metric::Metric;
use super::sample::{GpuSample, GpuWatch};
use super::source::{Facts, Gpm, Inventory, Missing, Source};
use super::trace::{Recorded, Recorder, SCHEMA, TraceError};
use super::visible::Visible;
use super::watch::{Account, MOST_GPUS, MOST_PROCESSES, MOST_XIDS, Watch};
use crate::probe::clock::{self, Clock, RealClock, VirtualClock};
use crate::probe::registry::Registry;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// A watch that is driven by hand.
struct Bench {
    clock: Arc<VirtualClock>,
    account: Arc<Account>,
    lanes: Vec<Watch>,
}

impl Bench {
    fn new(source: impl Source + 'static, clock: Arc<VirtualClock>) -> Self {
        Self::shared(&(Arc::new(source) as Arc<dyn Source>), clock)
    }

    fn shared(source: &Arc<dyn Source>, clock: Arc<VirtualClock>) -> Self {
        let account = Arc::new(Account::default());
        let gpus = account.open(&**source, &Visible::default());
        let watch = |lane| {
            Watch::new(
                lane,
                &gpus,
                Arc::clone(source),
                Arc::clone(&account),
                Arc::<VirtualClock>::clone(&clock),
                0,
            )
        };
        let lanes = vec![watch(Lane::Fast), watch(Lane::Slow)];
        Self { clock, account, lanes }
    }

    fn played(trace: &str) -> Self {
        let clock = Arc::new(VirtualClock::default());
        let path = format!("{}/tests/data/gpu/{trace}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let recorded = Recorded::read(&text, Arc::<VirtualClock>::clone(&clock)).unwrap();
        Self::new(recorded, clock)
    }

    /// Goes on until `ms` after the start, in steps of 10 ms, and tells what is known then.
    fn until(&mut self, ms: u64) -> Vec<GpuSample> {
        loop {
            for lane in &mut self.lanes {
                lane.turn();
            }
            if self.clock.now() >= ms * MS {
                return self.account.read().1;
            }
            self.clock.advance(Duration::from_millis(10));
        }
    }
}

fn mean(from: &GpuSample, to: &GpuSample, metric: Metric) -> f64 {
    let zero = super::Gauge::default();
    let from = from.gauges.get(&metric).unwrap_or(&zero);
    let to = &to.gauges[&metric];
    (to.integral - from.integral) / ((to.covered - from.covered) as f64 / 1e9)
}

#[test]
fn means_over_any_stretch_are_differences_of_the_account() {
    let mut bench = Bench::played("hopper");
    let early = bench.until(950).remove(0);
    assert_eq!(early.value(Metric::Busy), Some(0.0));
    assert_eq!(early.value(Metric::SmOccupancy), Some(0.0), "idle is zero, and no gap");
    let begun = bench.until(1300).remove(0);
    let middle = bench.until(1600).remove(0);
    let late = bench.until(2900).remove(0);
    for (metric, value) in [
        (Metric::Busy, 1.0),
        (Metric::SmActive, 0.9),
        (Metric::SmOccupancy, 0.17),
        (Metric::Dram, 0.4),
        (Metric::Power, 690.0),
        (Metric::SmClock, 1800.0),
        (Metric::MemoryUsed, 4e9),
        (Metric::PcieRx, 1e9),
    ] {
        let got = mean(&middle, &late, metric);
        assert!((got - value).abs() < 1e-9 * value, "{metric:?}: {got}");
    }
    assert!((mean(&early, &begun, Metric::Busy) - 0.875).abs() < 1e-9, "0.35 of 0.4 s");
    let (GpuWatch::On { recorded, .. }, _) = bench.account.read() else { panic!("it is on") };
    assert!(recorded, "it is said that a trace is played");
}

#[test]
fn a_window_without_new_counters_is_no_idle_gpu_and_the_next_one_covers_it() {
    let mut bench = Bench::played("hopper");
    let before = bench.until(1950).remove(0).gauges[&Metric::SmActive];
    let stale = bench.until(2200).remove(0).gauges[&Metric::SmActive];
    assert_eq!(before, stale, "zeros beside NaN are dropped");
    let after = bench.until(2550).remove(0).gauges[&Metric::SmActive];
    assert_eq!(after.covered - before.covered, 1000 * MS);
    assert!((after.integral - before.integral - 0.9).abs() < 1e-9);
}

#[test]
fn zeros_are_idle_unless_a_figure_is_not_a_number() {
    let fresh = |span, values: &[(Metric, Option<f64>)]| {
        let values = values.iter().copied().collect();
        GpmWindow { span, values, ..GpmWindow::default() }.is_fresh()
    };
    let (active, dram) = (Metric::SmActive, Metric::Dram);
    assert!(fresh(250 * MS, &[(active, Some(0.0)), (dram, Some(0.0))]));
    assert!(!fresh(250 * MS, &[(active, Some(0.0)), (dram, None)]));
    assert!(fresh(250 * MS, &[(active, Some(0.3)), (dram, None)]), "one figure alone is missing");
    assert!(!fresh(99 * MS, &[(active, Some(0.3)), (dram, Some(0.1))]), "too short to be trusted");
    assert!(!fresh(250 * MS, &[]));
}

#[test]
fn what_a_device_does_not_have_is_absent_with_a_reason() {
    let gpu = Bench::played("hopper").until(1500).remove(0);
    assert_eq!((gpu.value(Metric::Fan), gpu.reason(Metric::Fan)), (None, "this card has no fan"));
    assert_eq!(gpu.reason(Metric::NvlinkRx), "no NVLink");
    assert_eq!(gpu.reason(Metric::OwnMemory), "this process has none on it");
    let gpu = Bench::played("no-gpm").until(1500).remove(0);
    assert_eq!(gpu.value(Metric::SmOccupancy), None);
    assert_eq!(gpu.reason(Metric::SmOccupancy), "needs GPM: Hopper or later");
    assert_eq!(gpu.value(Metric::PcieRx), Some(2e9), "asked of the driver where there is no GPM");
    assert_eq!(gpu.reason(Metric::OwnMemory), "this user may not ask");
    assert_eq!(gpu.energy, None);
    assert_eq!(gpu.reason(Metric::Temperature), "this GPU does not tell");
    let gpus = Bench::played("hopper").until(1500);
    assert!(
        Metric::ALL.iter().all(|&metric| {
            gpus[0].value(metric).is_some() || !gpus[0].reason(metric).is_empty()
        })
    );
}

#[test]
fn energy_throttling_errors_and_processes_are_booked() {
    let mut bench = Bench::played("hopper");
    let early = bench.until(950).remove(0);
    let gpu = bench.until(2990).remove(0);
    let energy = gpu.energy.unwrap();
    assert!((energy.joules - 1810.0).abs() < 1e-9 && energy.at >= 2 * SECOND);
    let throttled = gpu.throttle.unwrap();
    assert_eq!(throttled.now, [super::Throttle::PowerCap]);
    let capped = throttled.time[&super::Throttle::PowerCap];
    assert!(capped.abs_diff(1950 * MS) <= 110 * MS, "{capped}");
    assert!(early.throttle.unwrap().time.contains_key(&super::Throttle::Idle));
    assert_eq!((gpu.xids_seen, gpu.xids[0].code), (1, 31), "an event is told once");
    assert!(gpu.xids[0].meaning().contains("memory"));
    assert_eq!(gpu.ecc.unwrap().corrected, Some(2));
    let processes = gpu.processes.unwrap();
    let names: Vec<_> = processes.list.iter().map(|p| (p.owner.pid, p.own)).collect();
    assert_eq!(names, [(4242, false), (7, false)]);
}

#[test]
fn a_lost_device_says_so_and_the_others_go_on_and_it_may_come_back() {
    let mut bench = Bench::played("lost");
    assert_eq!(bench.until(900)[0].lost, None);
    let gpus = bench.until(2000);
    let lost = gpus[0].lost.clone().unwrap();
    assert!(lost.at.abs_diff(1000 * MS) <= 10 * MS, "{lost:?}");
    assert_eq!(lost.why, "device fell off the bus");
    assert_eq!(gpus[0].reason(Metric::Busy), "the GPU was lost");
    // A driver that fails without a reason now and then has lost nothing yet.
    assert_eq!((&gpus[1].lost, gpus[1].value(Metric::Busy)), (&None, Some(0.3)));
    let frozen = gpus[0].gauges[&Metric::Busy];
    assert!(frozen.covered <= 1010 * MS, "nothing is booked of the time without an answer");
    let gpus = bench.until(5500);
    assert_eq!(gpus[0].value(Metric::PowerLimit), Some(700.0), "the driver keeps that itself");
    assert!(gpus[0].lost.is_some(), "which does not mean that the device is back");
    let gpus = bench.until(14_000);
    assert_eq!((&gpus[0].lost, gpus[0].value(Metric::Busy)), (&None, Some(0.2)));
    assert!(gpus[0].gauges[&Metric::Busy].covered < 8 * SECOND);
}

/// Fails without a reason.
struct Failing;

impl Source for Failing {
    fn inventory(&self) -> Result<Inventory, Missing> {
        Ok(Inventory { gpus: vec![Facts::default(); MOST_GPUS + 8], ..Inventory::default() })
    }

    fn ask(&self, _: usize, _: Call) -> Result<Answer, Refusal> {
        Err(Refusal::Unknown)
    }
}

#[test]
fn a_driver_that_fails_again_and_again_without_a_reason_has_lost_the_device() {
    let mut bench = Bench::new(Failing, Arc::default());
    let gpus = bench.until(400);
    assert_eq!(gpus.len(), MOST_GPUS, "however many there are");
    assert_eq!(gpus[0].lost.as_ref().unwrap().why, "the driver failed without a reason");
}

#[test]
fn of_a_gpu_in_parts_nothing_is_zero_that_was_not_told() {
    let gpus = Bench::played("mig").until(1200);
    assert_eq!(gpus[0].value(Metric::Busy), None);
    assert_eq!(gpus[0].reason(Metric::Busy), "MIG is on: the driver tells no busy");
    assert_eq!(gpus[0].reason(Metric::SmActive), "MIG is on: told of each part");
    assert_eq!(gpus[0].value(Metric::Power), Some(300.0));
    assert_eq!(gpus[1].reason(Metric::Power), "MIG: told of the whole GPU alone");
    assert_eq!(gpus[1].reason(Metric::Busy), "MIG: told of the whole GPU alone");
    assert_eq!(
        (gpus[1].value(Metric::Graphics), gpus[1].facts.number()),
        (Some(0.5), "0.0".into())
    );
}

#[test]
fn without_a_driver_there_is_nothing_to_ask_and_the_reason_is_kept() {
    let mut bench = Bench::played("no-driver");
    assert!(bench.until(500).is_empty());
    let (GpuWatch::Missing(missing), _) = bench.account.read() else { panic!("it is missing") };
    assert!(missing.what.contains("libnvidia-ml.so.1"), "{missing:?}");
}

/// Counts how often it is asked, and has more of everything than is kept.
#[derive(Default)]
struct Plenty(std::sync::Mutex<std::collections::BTreeMap<Call, u32>>, usize);

impl Source for Plenty {
    fn inventory(&self) -> Result<Inventory, Missing> {
        let facts = Facts { gpm: Gpm::Yes, ..Facts::default() };
        Ok(Inventory { gpus: vec![facts; self.1], ..Inventory::default() })
    }

    fn ask(&self, gpu: usize, call: Call) -> Result<Answer, Refusal> {
        if gpu == 0 {
            *self.0.lock().unwrap().entry(call).or_default() += 1;
        }
        let owner = |pid| super::call::Owner { pid, name: None, memory: Some(u64::from(pid)) };
        Ok(match call {
            Call::Xids => Answer::Xids((0..40).collect()),
            Call::Processes => Answer::Processes((1..100).map(owner).collect()),
            _ => Answer::Values([(Metric::Busy, f64::NAN)].into()),
        })
    }
}

#[test]
fn lists_are_bounded_and_the_rest_is_counted() {
    let mut bench = Bench::new(Plenty(std::sync::Mutex::default(), 1), Arc::default());
    let gpu = bench.until(7000).remove(0);
    assert_eq!((gpu.xids.len(), gpu.xids_seen), (MOST_XIDS, 160));
    assert_eq!(gpu.xids.last().unwrap().code, 39, "the latest are kept");
    let processes = gpu.processes.unwrap();
    assert_eq!((processes.list.len(), processes.more), (MOST_PROCESSES, 99 - MOST_PROCESSES));
    assert_eq!(gpu.gauges.get(&Metric::Busy), None, "NaN is no reading");
}

#[test]
fn each_question_is_asked_at_its_own_rate_and_several_gpus_share_the_dear_ones() {
    let asked = |gpus| {
        let source = Arc::new(Plenty(std::sync::Mutex::default(), gpus));
        Bench::shared(&(Arc::<Plenty>::clone(&source) as Arc<dyn Source>), Arc::default())
            .until(10_000);
        let asked = source.0.lock().unwrap();
        [Call::Busy, Call::Memory, Call::Gpm, Call::Energy, Call::PcieRx, Call::Ecc]
            .map(|call| asked.get(&call).copied().unwrap_or(0))
    };
    // With GPM the driver's blocking PCIe counters are not asked.
    assert_eq!(asked(1), [101, 51, 21, 6, 0, 3]);
    assert_eq!(asked(4), [101, 51, 6, 2, 0, 3]);
}

fn read(text: &str) -> Result<Recorded, TraceError> {
    Recorded::read(text, Arc::new(VirtualClock::default()))
}

#[test]
fn a_trace_that_cannot_be_used_names_the_line() {
    let head = format!("{{\"schema\":\"{SCHEMA}\",\"origin\":\"made up\"}}\n");
    let error = |body: &str| read(&format!("{head}{body}")).err().unwrap().to_string();
    assert!(error("").starts_with("line 1: no line has the inventory"));
    assert!(error("{\"at_us\":1").starts_with("line 2: EOF"), "{}", error("{\"at_us\":1"));
    assert!(error("\n{\"at_us\":1,\"speed\":3}").starts_with("line 3: unknown field `speed`"));
    assert!(error("{\"at_us\":1,\"gpu\":0}").starts_with("line 2: it needs"));
    let two = "{\"at_us\":9,\"gpu\":0,\"call\":\"fan\",\"refusal\":\"unsupported\"}\n\
               {\"at_us\":3,\"gpu\":0,\"call\":\"fan\",\"refusal\":\"unsupported\"}";
    assert!(error(two).starts_with("line 3: it is from before"), "{}", error(two));
    let newer = read("{\"schema\":\"pipetop.gpu-trace/9\",\"origin\":\"x\"}").err().unwrap();
    assert!(newer.to_string().contains("reads pipetop.gpu-trace/1"), "{newer}");
    assert!(read("").err().unwrap().to_string().contains("empty"));
}

#[test]
fn what_is_recorded_plays_as_it_was() {
    let clock = Arc::new(VirtualClock::default());
    let path = format!("{}/tests/data/gpu/hopper.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let source = Recorded::read(&text, Arc::<VirtualClock>::clone(&clock)).unwrap();
    let shared = Shared::default();
    let out = shared.clone();
    let recorder =
        Recorder::new(Arc::new(source), Arc::<VirtualClock>::clone(&clock), out).unwrap();
    let recorder = Arc::new(recorder);
    let source: Arc<dyn Source> = Arc::<Recorder<Shared>>::clone(&recorder);
    let mut bench = Bench::shared(&source, clock);
    let live = bench.until(2500);
    let costs = recorder.finish().unwrap();
    assert_eq!((costs[&Call::Busy].took_us.len(), costs[&Call::Fan].refused), (26, 1));
    let written = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
    let clock = Arc::new(VirtualClock::default());
    let again = Recorded::read(&written, Arc::<VirtualClock>::clone(&clock)).unwrap();
    let played = Bench::new(again, clock).until(2500);
    assert_eq!(live, played);
}

#[test]
fn the_threads_are_pipetops_own_and_end_when_asked() {
    let path = format!("{}/tests/data/gpu/hopper.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let recorded = Recorded::read(&text, Arc::new(RealClock)).unwrap();
    let registry = Arc::new(Registry::default());
    let gpus = Gpus::start(Arc::new(recorded), &registry, clock::now()).unwrap();
    let told =
        || gpus.read().1.first().is_some_and(|gpu| gpu.energy.is_some() && !gpu.gauges.is_empty());
    for _ in 0..1000 {
        if told() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(told(), "both threads have booked something");
    drop(gpus);
    let mut threads: Vec<_> =
        registry.threads().iter().map(|t| (t.name.clone(), t.group, t.ended().is_some())).collect();
    threads.sort();
    let own = |name: &str| (name.to_owned(), "own", true);
    assert_eq!(threads, [own("gpu"), own("gpu-slow")]);
}

#[test]
fn without_a_gpu_no_thread_is_listed() {
    let text = format!(
        "{{\"schema\":\"{SCHEMA}\",\"origin\":\"made up\"}}\n\
         {{\"missing\":{{\"what\":\"none\",\"way_out\":\"buy one\"}}}}"
    );
    let recorded = Recorded::read(&text, Arc::new(RealClock)).unwrap();
    let registry = Arc::new(Registry::default());
    let gpus = Gpus::start(Arc::new(recorded), &registry, 0).unwrap();
    while gpus.read().0 == GpuWatch::Starting {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(matches!(gpus.read(), (GpuWatch::Missing(_), gpus) if gpus.is_empty()));
    drop(gpus);
    assert!(registry.threads().is_empty());
}

/// A file in memory.
#[derive(Clone, Default)]
struct Shared(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_real_h200_at_work_reads_busy_and_a_fifth_full() {
    let mut bench = Bench::played("h200-busy");
    let from = bench.until(500).remove(0);
    let to = bench.until(2900).remove(0);
    for (metric, least, most) in [
        (Metric::Busy, 0.999, 1.001),
        (Metric::SmActive, 0.85, 0.90),
        (Metric::SmOccupancy, 0.20, 0.23),
        (Metric::Tensor, 0.05, 0.07),
        (Metric::Dram, 0.18, 0.21),
        (Metric::Power, 465.0, 485.0),
        (Metric::SmClock, 1979.9, 1980.1),
    ] {
        let got = mean(&from, &to, metric);
        assert!((least..=most).contains(&got), "{metric:?}: {got}");
    }
    assert!(to.value(Metric::Fan).is_none(), "this card has none");
}
