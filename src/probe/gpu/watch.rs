//! Asks what is due and books the answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::call::{Answer, Call, GPM, GpmWindow, Lane, Owner, Refusal, Throttle};
use super::metric::Metric;
use super::sample::{
    Ecc, Energy, Gauge, GpuSample, GpuWatch, Lost, Process, Processes, Throttled, Xid,
};
use super::source::{Facts, Gpm, Source};
use super::visible::Visible;
use crate::probe::clock::{Clock, Nanos};

const SECOND: Nanos = 1_000_000_000;
/// The most GPUs that are watched, parts of GPUs counted.
pub const MOST_GPUS: usize = 32;
/// The most processes that are listed of a GPU.
pub const MOST_PROCESSES: usize = 16;
/// The most of the driver's errors that are kept of a GPU.
pub const MOST_XIDS: usize = 16;
/// What a device does not have is asked for again this much later.
const ASK_AGAIN: Nanos = 30 * SECOND;
/// A lost device is asked whether it is back this often.
const LOST_AGAIN: Nanos = 5 * SECOND;
/// A device whose driver fails without a reason so many times in a row is lost.
const PATIENCE: u32 = 3;
/// For so long may a reading stand for the time after it: so many of its periods.
const HOLD: Nanos = 4;
/// A driver that has no new counters for so long is said to have none.
const NO_COUNTERS: Nanos = 3 * SECOND;
/// GPUs that the run may not use are asked so many times more seldom.
const UNUSED: Nanos = 5;

/// The account of all GPUs, shared by those who ask and those who look.
#[derive(Debug, Default)]
pub struct Account(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    watch: GpuWatch,
    gpus: Vec<GpuSample>,
    /// Failures without a reason in a row, by GPU.
    unknown: Vec<u32>,
    /// The question by which a GPU was found lost: what the driver keeps itself it still answers.
    lost_by: Vec<Option<Call>>,
}

impl Account {
    /// The state of the watch and all GPUs, as of now.
    pub fn read(&self) -> (GpuWatch, Vec<GpuSample>) {
        let books = self.lock();
        (books.watch.clone(), books.gpus.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the driver is being asked for the first time.
    pub(super) fn starting(&self) {
        self.lock().watch = GpuWatch::Starting;
    }

    /// Opens the books on what a source has; tells the GPUs, none where there is nothing to watch.
    pub(super) fn open(&self, source: &dyn Source, visible: &Visible) -> Vec<GpuSample> {
        let inventory = source.inventory();
        let mut books = self.lock();
        match inventory {
            Ok(mut inventory) => {
                inventory.gpus.truncate(MOST_GPUS);
                let usable = visible.usable(&inventory.gpus);
                let facts = inventory.gpus.into_iter().zip(usable);
                books.gpus = facts.map(|(facts, usable)| opened(facts, usable)).collect();
                books.unknown = vec![0; books.gpus.len()];
                books.lost_by = vec![None; books.gpus.len()];
                books.watch = GpuWatch::On {
                    driver: inventory.driver,
                    cuda: inventory.cuda,
                    recorded: inventory.recorded,
                };
            }
            Err(missing) => books.watch = GpuWatch::Missing(missing),
        }
        books.gpus.clone()
    }
}

/// A GPU at the start, with the reasons for what it will never tell.
fn opened(facts: Facts, usable: Option<bool>) -> GpuSample {
    let mut absent = BTreeMap::new();
    let asked: Vec<Call> = Call::ALL.into_iter().filter(|&call| is_asked(call, &facts)).collect();
    for metric in Metric::ALL {
        if !asked.iter().any(|call| call.metrics().contains(&metric)) {
            absent.insert(metric, why_not_asked(metric, &facts).to_owned());
        }
    }
    GpuSample { absent: Arc::new(absent), ..GpuSample::new(facts, usable) }
}

fn why_not_asked(metric: Metric, facts: &Facts) -> &'static str {
    match facts.gpm {
        _ if facts.part.is_some() && !GPM.contains(&metric) => "MIG: told of the whole GPU alone",
        Gpm::No if facts.part.is_some() => "MIG: needs GPM, which comes with Hopper",
        Gpm::No => "needs GPM: Hopper or later",
        Gpm::Unknown => "the driver does not tell whether there is GPM",
        Gpm::Yes => "not asked",
    }
}

/// Whether a call makes sense for a device. Figures of the whole GPU are not told of its parts.
fn is_asked(call: Call, facts: &Facts) -> bool {
    match call {
        Call::Gpm => facts.gpm == Gpm::Yes,
        // GPM tells the same without blocking.
        Call::PcieRx | Call::PcieTx => facts.gpm != Gpm::Yes && facts.part.is_none(),
        Call::GpmKeep => false,
        Call::Memory | Call::Processes => true,
        _ => facts.part.is_none(),
    }
}

/// A question and when it is next asked.
#[derive(Clone, Copy, Debug)]
struct Due {
    gpu: usize,
    call: Call,
    period: Nanos,
    next: Nanos,
}

/// Asks the questions of one lane.
pub struct Watch {
    source: Arc<dyn Source>,
    account: Arc<Account>,
    clock: Arc<dyn Clock>,
    start: Nanos,
    due: Vec<Due>,
    /// Since when a GPU's GPM has had nothing new.
    stale: BTreeMap<usize, Nanos>,
}

impl Watch {
    /// A watch over `gpus`, whose times count from `start` on `clock`.
    pub fn new(
        lane: Lane,
        gpus: &[GpuSample],
        source: Arc<dyn Source>,
        account: Arc<Account>,
        clock: Arc<dyn Clock>,
        start: Nanos,
    ) -> Self {
        let sharing = gpus.iter().filter(|gpu| gpu.usable != Some(false)).count().max(1);
        let now = clock.now();
        let mut due = Vec::new();
        for (gpu, sample) in gpus.iter().enumerate() {
            let calls = Call::ALL.into_iter().filter(|call| call.lane() == lane);
            for call in calls.filter(|&call| is_asked(call, &sample.facts)) {
                let mut period = call.period();
                if call.is_dear() {
                    period *= sharing as Nanos;
                }
                if sample.usable == Some(false) {
                    period *= UNUSED;
                }
                due.push(Due { gpu, call, period, next: now });
            }
        }
        Self { source, account, clock, start, due, stale: BTreeMap::new() }
    }

    /// Asks all that is due and tells when the next question is; `None` where there is none.
    pub fn turn(&mut self) -> Option<Nanos> {
        for index in 0..self.due.len() {
            let Due { gpu, call, period, next } = self.due[index];
            if self.clock.now() < next {
                continue;
            }
            let again = self.ask(gpu, call, period).unwrap_or(period);
            let now = self.clock.now();
            // What came late is not made up for.
            let due = next + again;
            self.due[index].next = if due > now { due } else { now + again };
        }
        self.due.iter().map(|due| due.next).min()
    }

    /// Asks one question and books the answer; tells when to ask again if not as ever.
    fn ask(&mut self, gpu: usize, call: Call, period: Nanos) -> Option<Nanos> {
        let answer = self.source.ask(gpu, call);
        let at = self.clock.now().saturating_sub(self.start);
        if let Ok(Answer::Gpm(window)) = &answer {
            if window.is_fresh() {
                self.stale.remove(&gpu);
                // A refusal here comes again with the next window.
                let _ = self.source.ask(gpu, Call::GpmKeep);
            } else {
                return self.no_counters(gpu, at);
            }
        }
        let mut books = self.account.lock();
        match answer {
            Ok(answer) => {
                books.unknown[gpu] = 0;
                if books.lost_by[gpu] == Some(call) {
                    books.lost_by[gpu] = None;
                    books.gpus[gpu].lost = None;
                }
                let sample = &mut books.gpus[gpu];
                book(sample, call, answer, at, period);
                None
            }
            Err(refusal) => {
                let count = &mut books.unknown[gpu];
                *count = if refusal == Refusal::Unknown { *count + 1 } else { 0 };
                let gone = match &refusal {
                    Refusal::Lost(why) => Some(why.clone()),
                    Refusal::Unknown if *count >= PATIENCE => Some(refusal.to_string()),
                    _ => None,
                };
                if let Some(why) = gone {
                    books.lost_by[gpu].get_or_insert(call);
                    books.gpus[gpu].lost.get_or_insert(Lost { at, why });
                    return Some(LOST_AGAIN);
                }
                refused(&mut books.gpus[gpu], call, &refusal)
            }
        }
    }

    /// The driver's counters did not move: the window goes on, and is not taken for an idle GPU.
    fn no_counters(&mut self, gpu: usize, at: Nanos) -> Option<Nanos> {
        let since = *self.stale.entry(gpu).or_insert(at);
        if at.saturating_sub(since) >= NO_COUNTERS {
            let mut books = self.account.lock();
            absent(&mut books.gpus[gpu], &GPM, "the driver has no new counters");
        }
        None
    }
}

/// Notes why metrics are not there; what was read before is too old to be shown.
fn absent(sample: &mut GpuSample, metrics: &[Metric], why: &str) {
    for &metric in metrics {
        if sample.absent.get(&metric).is_none_or(|reason| reason != why) {
            Arc::make_mut(&mut sample.absent).insert(metric, why.to_owned());
        }
    }
}

fn present(sample: &mut GpuSample, metric: Metric) {
    if sample.absent.contains_key(&metric) {
        Arc::make_mut(&mut sample.absent).remove(&metric);
    }
}

/// Books a refusal; what the device does not have is asked for seldom.
fn refused(sample: &mut GpuSample, call: Call, refusal: &Refusal) -> Option<Nanos> {
    let why = match (call, refusal) {
        (_, Refusal::Nothing) => return None,
        (Call::Fan, Refusal::Unsupported | Refusal::Other(_)) => "this card has no fan".to_owned(),
        (Call::Busy, Refusal::Unsupported) if sample.facts.mig => {
            "MIG is on: the driver tells no busy".to_owned()
        }
        (Call::Gpm, Refusal::Unsupported) if sample.facts.mig => {
            "MIG is on: told of each part".to_owned()
        }
        _ => refusal.to_string(),
    };
    absent(sample, call.metrics(), &why);
    (!matches!(refusal, Refusal::Unknown)).then_some(ASK_AGAIN)
}

fn book(sample: &mut GpuSample, call: Call, answer: Answer, at: Nanos, period: Nanos) {
    match answer {
        Answer::Values(values) => {
            for &metric in call.metrics() {
                match values.get(&metric) {
                    Some(&value) => reading(sample, metric, value, at, period),
                    None => absent(sample, &[metric], &Refusal::Unsupported.to_string()),
                }
            }
        }
        Answer::Gpm(window) => gpm(sample, &window, at),
        Answer::Throttle(now) => throttle(sample, now, at, period),
        Answer::Energy(joules) => sample.energy = Some(Energy { joules, at }),
        Answer::Ecc { corrected, uncorrected } => {
            sample.ecc = Some(Ecc { corrected, uncorrected, at });
        }
        Answer::Xids(codes) => {
            if codes.is_empty() {
                return;
            }
            sample.xids_seen += codes.len() as u64;
            let xids = Arc::make_mut(&mut sample.xids);
            xids.extend(codes.into_iter().map(|code| Xid { code, at }));
            let old = xids.len().saturating_sub(MOST_XIDS);
            xids.drain(..old);
        }
        Answer::Processes(owners) => processes(sample, owners, at, period),
        Answer::Kept => {}
    }
}

fn reading(sample: &mut GpuSample, metric: Metric, value: f64, at: Nanos, period: Nanos) {
    if !value.is_finite() {
        return;
    }
    present(sample, metric);
    let gauge = sample.gauges.entry(metric);
    gauge
        .and_modify(|gauge| gauge.reading(value, at, period * HOLD))
        .or_insert(Gauge::first(value, at));
}

fn gpm(sample: &mut GpuSample, window: &GpmWindow, at: Nanos) {
    for (&metric, value) in &window.values {
        let Some(value) = *value else { continue };
        present(sample, metric);
        let gauge = sample.gauges.entry(metric).or_default();
        gauge.mean(value, at, window.span);
    }
    for (&metric, refusal) in &window.refused {
        let why = match (metric, refusal) {
            (Metric::NvlinkRx | Metric::NvlinkTx, Refusal::Unsupported) => "no NVLink".to_owned(),
            _ => refusal.to_string(),
        };
        absent(sample, &[metric], &why);
    }
}

fn throttle(sample: &mut GpuSample, mut now: Vec<Throttle>, at: Nanos, period: Nanos) {
    now.sort_unstable();
    now.dedup();
    let throttled = sample.throttle.get_or_insert_with(|| Throttled { at, ..Throttled::default() });
    let span = at.saturating_sub(throttled.at);
    if span <= period * HOLD {
        throttled.covered += span;
        for &reason in &now {
            *throttled.time.entry(reason).or_default() += span;
        }
    }
    (throttled.now, throttled.at) = (now, at);
}

fn processes(sample: &mut GpuSample, owners: Vec<Owner>, at: Nanos, period: Nanos) {
    let own = std::process::id();
    let mut list: Vec<_> =
        owners.into_iter().map(|owner| Process { own: owner.pid == own, owner }).collect();
    for process in list.iter_mut().filter(|process| process.own) {
        // The kernel has its main thread's name for it.
        process.owner.name = Some(env!("CARGO_PKG_NAME").to_owned());
    }
    let order = |process: &Process| {
        (!process.own, std::cmp::Reverse(process.owner.memory), process.owner.pid)
    };
    list.sort_by_key(order);
    match list.iter().find(|process| process.own) {
        Some(Process { owner: Owner { memory: Some(bytes), .. }, .. }) => {
            reading(sample, Metric::OwnMemory, *bytes as f64, at, period);
        }
        Some(_) => absent(sample, &[Metric::OwnMemory], "the driver tells no memory by process"),
        None => absent(sample, &[Metric::OwnMemory], "this process has none on it"),
    }
    let more = list.len().saturating_sub(MOST_PROCESSES);
    list.truncate(MOST_PROCESSES);
    sample.processes = Some(Arc::new(Processes { at, list, more }));
}
