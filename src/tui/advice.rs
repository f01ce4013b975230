//! What limits, why, and which knob to turn: in sentences that hold no more than was measured.

use super::format::{percent, rate};
use crate::pipeline::Stage;
use crate::pipeline::knobs::{KnobId, KnobValue};
use crate::probe::lock::gil;
use crate::profile::limit::{self, Limit, LockWait, limit};
use crate::profile::snapshot::{Group, LabelWord, Phase, Wait};
use crate::profile::window::Window;

/// From this share of the machine's CPU on, more threads have nothing to run on.
const CPU_FULL: f64 = 0.95;
/// From this share of their time on, waits for a CPU are what is told of threads.
const MUCH: f64 = 0.2;
/// The lock that `preprocess.lock = pool` puts in the way.
const POOL: &str = "preprocess.pool";
/// From this share on, a device has no time left.
const DEVICE_FULL: f64 = 0.9;

/// From this share of the machine on, what other programs use is told.
const OTHERS: f64 = 0.15;

/// What to tell the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The stage that limits, if one does.
    pub stage: Option<Stage>,
    /// What limits, in two or three words.
    pub headline: String,
    /// The numbers that say so.
    pub why: String,
    /// What to turn, or why there is nothing to turn.
    pub turn: String,
}

impl Advice {
    fn plain(headline: &str, why: impl Into<String>, turn: impl Into<String>) -> Self {
        Self { stage: None, headline: headline.to_owned(), why: why.into(), turn: turn.into() }
    }
}

/// What to say of a window of about a second.
pub fn advice(window: Option<&Window<'_>>) -> Advice {
    let Some(window) = window else {
        return Advice::plain("measuring…", "the first second is not over", "");
    };
    if window.to().run.bare {
        return Advice::plain(
            "not measured",
            "the run has no probes: nothing tells what limits",
            "run without --no-probes to see it",
        );
    }
    // Once loading has stopped there is nothing left to turn.
    if window.to().phase != Phase::Running {
        return measuring(window);
    }
    match limit(window) {
        Limit::Measuring => measuring(window),
        Limit::Input => Advice::plain(
            "none: input is slower",
            format!("images come at {} img/s and none waits", rate(window.throughput())),
            "raise arrival.rate to see where the limit is",
        ),
        Limit::Stage(stage) => {
            let told = locked(window, stage).or_else(|| crowded(window, stage));
            let (why, turn) = told.unwrap_or_else(|| match stage {
                Stage::Load => load(window),
                Stage::Preprocess => preprocess(window),
                Stage::Infer => infer(window),
                Stage::Decode => (waits_for("results", window), CPU_SIDE.to_owned()),
                Stage::Respond => {
                    (waits_for("answers", window), "writing the output is the slowest part".into())
                }
            });
            Advice { stage: Some(stage), headline: format!("{stage} limits"), why, turn }
        }
    }
}

const CPU_SIDE: &str = "turning logits into names is the slowest part: it has one thread";

fn measuring(window: &Window<'_>) -> Advice {
    let why = match window.to().phase {
        Phase::Starting => "nothing has come out yet",
        Phase::Draining => "loading has stopped, the rest comes out",
        Phase::Done => "the run is over",
        Phase::Running => "too little came out to say what limits",
    };
    Advice::plain("measuring…", why, "")
}

/// How surely the next stage finds work: what makes a stage the limit.
fn waits_for(queue: &str, window: &Window<'_>) -> String {
    format!("work waits for it {} of the time", share(window.queue_ready(queue)))
}

fn load(window: &Window<'_>) -> (String, String) {
    let starved = starved(window, Stage::Preprocess);
    let why = format!("preprocess waits for images {} of the time", share(starved));
    let in_flight = KnobId::LoadConcurrency;
    let more = next(window, in_flight);
    let delay = window.to().label_of("load.delay") == Some(LabelWord::Emulated);
    let turn = match (more, delay) {
        (Some(more), true) => format!("lower load.delay (emulated), or raise {more}"),
        (Some(more), false) => format!("raise {more}; source.cache=bytes shows the rest's ceiling"),
        (None, true) => "lower load.delay (emulated)".to_owned(),
        (None, false) => "source.cache=bytes shows the ceiling of the rest".to_owned(),
    };
    (why, turn)
}

fn preprocess(window: &Window<'_>) -> (String, String) {
    let looped = window.to().label_of(KnobId::PreprocessWork.spec().name).is_some();
    let mut why = waits_for("loaded", window);
    if looped {
        why = format!("its work is a synthetic loop; {why}");
    }
    // Threads of infer take turns at a device: that each waits tells little of the device.
    if window.to().run.engine.device {
        if let Some(busy) = window.device_busy(Stage::Infer) {
            why = format!("{why}, the device idles {}", share(Some(1.0 - busy)));
        }
    } else if let Some(starved) = starved(window, Stage::Infer) {
        why = format!("{why}, infer starves {}", share(Some(starved)));
    }
    let turn = more_threads(window, KnobId::PreprocessThreads).unwrap_or_else(|cpu| {
        if looped {
            return cpu;
        }
        // Decoding is most of the work: with filters that need all pixels, or told so, JPEGs are decoded in full.
        let KnobValue::Choice(_, filter) = window.to().knob(KnobId::PreprocessFilter) else {
            return cpu;
        };
        let scaled = window.to().knob(KnobId::PreprocessScaledDecode);
        match (filter, scaled) {
            ("nearest" | "cubic-cv", _) => {
                format!("{cpu}; with preprocess.filter=cubic JPEGs need not be decoded in full")
            }
            (_, KnobValue::Choice(_, "off")) => {
                format!("{cpu}; preprocess.scaled_decode=on decodes JPEGs no larger than needed")
            }
            _ => cpu,
        }
    });
    (why, turn)
}

fn infer(window: &Window<'_>) -> (String, String) {
    let waits = waits_for("batches", window);
    if window.to().run.engine.device {
        let busy = window.device_busy(Stage::Infer);
        let why = format!("{waits}, the device is busy {}", share(busy));
        let turn = match busy {
            // A larger batch makes no emulated device faster.
            Some(busy) if busy >= DEVICE_FULL && emulated(window) => {
                "the emulated device is at its limit".to_owned()
            }
            Some(busy) if busy >= DEVICE_FULL => match next(window, KnobId::InferBatch) {
                Some(more) => format!("the device is at its limit; try {more}"),
                None => "the device is at its limit".to_owned(),
            },
            _ => match next(window, KnobId::InferThreads) {
                Some(more) => format!("raise {more}: more batches in flight"),
                None => "every infer thread has a batch in flight".to_owned(),
            },
        };
        return (why, turn);
    }
    let why = format!("{waits}; on the CPU, {} busy", share(window.busy(Stage::Infer)));
    (why, more_threads(window, KnobId::InferThreads).unwrap_or_else(|cpu| cpu))
}

/// Where the stage's threads spend much of their time at a lock: which, and what to do.
fn locked(window: &Window<'_>, stage: Stage) -> Option<(String, String)> {
    let LockWait { share: waits, lock } = limit::locked(window, stage)?;
    let lock = lock.and_then(|name| window.to().locks.iter().find(|lock| lock.name == name));
    let at = lock.map_or_else(|| "locks".to_owned(), |lock| format!("lock {}", lock.title()));
    let why = format!("its threads wait {} for {at}", share(Some(waits)));
    let set = |id: KnobId| window.to().knob(id).to_string();
    let (pool, gil) = (KnobId::PreprocessLock, KnobId::PreprocessGil);
    let turn = match lock.map_or("", |lock| &lock.name) {
        POOL if set(pool) != "none" => format!("turn {} {} → none", pool.spec().name, set(pool)),
        gil::NAME if set(gil) == "hold" => {
            format!("turn {} hold → release or off; more threads bring nothing", gil.spec().name)
        }
        gil::NAME if set(gil) == "release" => format!(
            "turn {} release → off, or lower {}; more threads bring nothing",
            gil.spec().name,
            KnobId::PreprocessGilHold.spec().name
        ),
        _ => "the Locks screen (3) shows who holds it".to_owned(),
    };
    Some((why, turn))
}

/// Where the stage's threads spend much of their time waiting for a CPU: more threads want one than
/// there are, and the stage that limits is better off with fewer, best with fewer of others.
fn crowded(window: &Window<'_>, stage: Stage) -> Option<(String, String)> {
    let waits = window.mean_share(stage, |shares| shares.runnable).filter(|&w| w >= MUCH)?;
    let (own, other) = match stage {
        Stage::Preprocess => (KnobId::PreprocessThreads, KnobId::InferThreads),
        Stage::Infer => (KnobId::InferThreads, KnobId::PreprocessThreads),
        Stage::Load | Stage::Decode | Stage::Respond => return None,
    };
    let cores = window.to().run.cores;
    let ours = window.to().threads.iter().filter(|thread| thread.group != Group::Own);
    let shares = ours.filter_map(|thread| window.thread(thread));
    let want: f64 = shares.map(|(_, shares)| shares.running + shares.runnable).sum();
    let why = format!("its threads wait {} for a CPU", share(Some(waits)));
    if let Some(others) = others(window) {
        return Some((why, others));
    }
    if want <= cores as f64 {
        return Some((why, "other programs have the CPU".to_owned()));
    }
    let why = format!("{why}: more threads than cores");
    let threads = |id| match window.to().knob(id) {
        KnobValue::Int(threads) => threads,
        _ => 0,
    };
    let most = cores as u64;
    let lower = if threads(own) > most {
        format!("lower {} {} → {most}", own.spec().name, threads(own))
    } else if threads(other) > 1 {
        format!("lower {} {} → {}", other.spec().name, threads(other), threads(other) - 1)
    } else {
        "no knob helps".to_owned()
    };
    Some((why, format!("the CPU is the limit: {lower}")))
}

/// Whether the engine only behaves like a device.
fn emulated(window: &Window<'_>) -> bool {
    window.to().label_of("engine") == Some(LabelWord::Emulated)
        || window.to().run.engine.kind == "emulated"
}

/// How busy the machine is where other programs have a good part of it.
fn others(window: &Window<'_>) -> Option<String> {
    let (host, cpus) = (window.host_cpu()?, window.to().host?.cpus);
    let others = host - window.process_cpu()? / f64::from(cpus.max(1));
    let of = share(Some(others / host));
    let busy = share(Some(host));
    (others >= OTHERS).then(|| format!("the machine is {busy} busy, {of} of it other programs"))
}

/// "raise … 2 → 3" where there is a CPU to run one more on, or else why there is not.
fn more_threads(window: &Window<'_>, id: KnobId) -> Result<String, String> {
    let host = window.host_cpu();
    let cores = window.to().run.cores;
    if host.is_some_and(|host| host >= CPU_FULL) {
        let busy = || format!("the CPU is the limit: the machine is {} busy", share(host));
        return Err(others(window).unwrap_or_else(busy));
    }
    let threads = match window.to().knob(id) {
        KnobValue::Int(threads) => threads,
        _ => 0,
    };
    if threads >= cores as u64 {
        return Err(format!("the CPU is the limit: {threads} threads on {cores} cores"));
    }
    next(window, id).map(|more| format!("raise {more}")).ok_or_else(|| "at its most".to_owned())
}

/// A knob's next step up: `preprocess.threads 2 → 3`; `None` at the top.
fn next(window: &Window<'_>, id: KnobId) -> Option<String> {
    let (spec, now) = (id.spec(), window.to().knob(id));
    let next = spec.step(now, true, false);
    (next != now).then(|| format!("{} {now} → {next}", spec.name))
}

/// Mean share of its time that a stage's threads wait for input.
fn starved(window: &Window<'_>, stage: Stage) -> Option<f64> {
    window.mean_share(stage, |shares| shares.wait(Wait::Starved))
}

fn share(share: Option<f64>) -> String {
    percent(share).trim_start().to_owned()
}
