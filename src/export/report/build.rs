//! From three snapshots to a report.

use super::{
    ChangeReport, HostReport, ItemsReport, LaneReport, LaneShareReport, LockReport, OwnReport,
    Quantiles, QueueReport, Report, SCHEMA, SegmentReport, ShareReport, StageReport, ThreadReport,
    gpu, group_name, rounded,
};
use crate::probe::clock::Nanos;
use crate::profile::limit::{Limit, limit, locked};
use crate::profile::snapshot::{
    Group, LabelWord, LaneSample, Snapshot, Switching, ThreadSample, Wait,
};
use crate::profile::window::{Shares, Window};

fn seconds(nanos: Nanos) -> f64 {
    rounded(nanos as f64 / 1e9)
}

fn mib(bytes: u64) -> f64 {
    rounded(bytes as f64 / f64::from(1 << 20))
}

impl Report {
    /// The report of a run, from its snapshots at the end of warm-up, the last before the drain, and
    /// the last of all, in this order.
    pub fn new(warm: &Snapshot, end: &Snapshot, done: &Snapshot) -> Self {
        let window = Window::between(warm, end);
        Self {
            schema: SCHEMA,
            run_id: done.run.id.clone(),
            version: done.run.version.clone(),
            labels: done.label_words(),
            labelled: done.labels.clone(),
            input: done.run.input.clone(),
            engine: done.run.engine.clone(),
            knobs: end.knobs.clone(),
            duration_s: seconds(end.at),
            warmup_s: seconds(warm.at),
            window_s: seconds(window.nanos()),
            throughput_img_s: window.throughput().map(rounded),
            read_mb_s: window.bytes_per_second().map(|bytes| rounded(bytes / 1e6)),
            limit: limit(&window),
            limit_lock: limit_lock(&window),
            items: items(end, done),
            latency_ms: Quantiles::of(&window.latency()),
            stages: stages(&window),
            queues: queues(&window),
            threads: end
                .threads
                .iter()
                .map(|thread| report_thread(thread, &window, done))
                .collect(),
            lanes: end.lanes.iter().map(|lane| report_lane(lane, &window, done)).collect(),
            locks: locks(&window),
            gpus: gpu::gpus(&window),
            gpus_missing: gpu::missing(&end.gpu_watch),
            device: gpu::device(&window),
            segments: segments(warm, end),
            segments_dropped: end.segments_dropped,
            knob_changes: changes(done),
            host: host(&window),
            own: own(&window, done),
        }
    }
}

fn limit_lock(window: &Window<'_>) -> Option<String> {
    match limit(window) {
        Limit::Stage(stage) => locked(window, stage)?.lock,
        Limit::Measuring | Limit::Input => None,
    }
}

fn items(end: &Snapshot, done: &Snapshot) -> ItemsReport {
    let of = &done.items;
    let listed: u64 = of.failed_items.iter().map(|item| item.times).sum();
    ItemsReport {
        read: of.read,
        predicted: of.predicted,
        failed: of.failed,
        abandoned: of.abandoned,
        bytes: of.bytes,
        failures: of.failures.clone(),
        failed_items: of.failed_items.to_vec(),
        failed_unlisted: of.failed.saturating_sub(listed),
        behind_s: end.items.behind.map(seconds),
    }
}

fn stages(window: &Window<'_>) -> Vec<StageReport> {
    let of = |sample: &crate::profile::snapshot::StageSample| {
        let stage = sample.stage;
        StageReport {
            name: stage,
            threads: sample.workers,
            img_s: window.stage_rate(stage).map(rounded),
            busy: window.busy(stage).map(rounded),
            device_busy: window.device_busy(stage).map(rounded),
            service_ms: window
                .service(stage)
                .as_ref()
                .map_or_else(Quantiles::default, Quantiles::of),
        }
    };
    window.to().stages.iter().map(of).collect()
}

fn queues(window: &Window<'_>) -> Vec<QueueReport> {
    let of = |queue: &crate::profile::snapshot::QueueSample| QueueReport {
        name: queue.name.clone(),
        unit: queue.unit.clone(),
        capacity: queue.capacity,
        depth_mean: window.queue_depth(&queue.name).map(rounded),
        ready: window.queue_ready(&queue.name).map(rounded),
        full: window.queue_full(&queue.name).map(rounded),
    };
    window.to().queues.iter().map(of).collect()
}

fn report_thread(thread: &ThreadSample, window: &Window<'_>, done: &Snapshot) -> ThreadReport {
    let shares = window.thread(thread).map(|(_, shares)| shares);
    let last = done.threads.iter().find(|t| t.tid == thread.tid && t.name == thread.name);
    ThreadReport {
        name: thread.name.clone(),
        tid: thread.tid,
        group: group_name(thread.group),
        stage: match thread.group {
            Group::Stage(stage) => Some(stage),
            Group::Runtime | Group::Own | Group::Foreign => None,
        },
        cpu: window.thread_cpu(thread).map(rounded),
        items: last.unwrap_or(thread).items,
        overlap: shares.map(|shares| rounded(shares.overlap)),
        share: shares.as_ref().map(share),
    }
}

fn share(of: &Shares) -> ShareReport {
    let wait = |wait| rounded(of.wait(wait));
    ShareReport {
        running: rounded(of.running),
        runnable: rounded(of.runnable),
        lock: wait(Wait::Lock),
        starved: wait(Wait::Starved),
        backpressured: wait(Wait::Backpressured),
        gpu: wait(Wait::Gpu),
        io: wait(Wait::Io),
        parked: wait(Wait::Parked),
        // Delays are a lane's, not a thread's; were there one, the sum would still be 1.
        other: rounded(of.other + of.wait(Wait::Delay)),
    }
}

fn report_lane(lane: &LaneSample, window: &Window<'_>, done: &Snapshot) -> LaneReport {
    let shares = window.lane(lane);
    let wait = |wait: Wait| rounded(shares[wait as usize]);
    let last = done.lanes.iter().find(|last| last.name == lane.name);
    LaneReport {
        name: lane.name.clone(),
        items: last.unwrap_or(lane).items,
        share: LaneShareReport {
            io: wait(Wait::Io),
            delay: wait(Wait::Delay),
            backpressured: wait(Wait::Backpressured),
            starved: wait(Wait::Starved),
            parked: wait(Wait::Parked),
            other: rounded((1.0 - shares.iter().sum::<f64>()).max(0.0)),
        },
    }
}

fn locks(window: &Window<'_>) -> Vec<LockReport> {
    let of = |lock: &crate::profile::snapshot::LockSample| {
        let before = window.from().locks.iter().find(|before| before.name == lock.name);
        let since = |now: u64, then: fn(&crate::profile::snapshot::LockSample) -> u64| {
            now.saturating_sub(before.map_or(0, then))
        };
        let acquisitions = since(lock.acquisitions, |lock| lock.acquisitions);
        let contended = since(lock.contended, |lock| lock.contended);
        let switching = |of: fn(&Switching) -> u64| {
            let before = before.and_then(|before| before.switching).unwrap_or_default();
            lock.switching.map(|now| of(&now).saturating_sub(of(&before)))
        };
        let waits = before.map_or_else(|| lock.waits.clone(), |b| lock.waits.since(&b.waits));
        LockReport {
            name: lock.name.clone(),
            acquisitions,
            contended: (acquisitions > 0).then(|| rounded(contended as f64 / acquisitions as f64)),
            wait_s: seconds(since(lock.wait, |lock| lock.wait)),
            hold_s: lock.hold.map(|hold| seconds(since(hold, |lock| lock.hold.unwrap_or(0)))),
            wait_ms: Quantiles::of(&waits),
            wait_max_ms: rounded(lock.wait_max as f64 / 1e6),
            label: lock.switching.map(|_| LabelWord::Emulated.word()),
            switches: switching(|s| s.switches),
            forced_switches: switching(|s| s.forced),
            drop_requests: switching(|s| s.requests),
        }
    };
    window.to().locks.iter().map(of).collect()
}

/// Each epoch's part of the window. Throughput is what came out while the setting held; images and
/// latency are those of the images that entered in it, whenever they came out.
fn segments(warm: &Snapshot, end: &Snapshot) -> Vec<SegmentReport> {
    let mut segments = Vec::new();
    for (index, segment) in end.segments.iter().enumerate() {
        let next = end.segments.get(index + 1);
        let (to, out_after) =
            next.map_or((end.at, end.items.predicted), |next| (next.from, next.predicted_before));
        if to <= warm.at && next.is_some() {
            // It was over before the window began.
            continue;
        }
        let before = warm.segments.iter().find(|before| before.epoch == segment.epoch);
        let predicted =
            segment.predicted - before.map_or(0, |b| b.predicted.min(segment.predicted));
        let failed = segment.failed - before.map_or(0, |b| b.failed.min(segment.failed));
        let from = segment.from.max(warm.at);
        let out_before =
            if segment.from < warm.at { warm.items.predicted } else { segment.predicted_before };
        let (length, out) = (to.saturating_sub(from), out_after.saturating_sub(out_before));
        let latency =
            before.map_or_else(|| segment.latency.clone(), |b| segment.latency.since(&b.latency));
        segments.push(SegmentReport {
            epoch: segment.epoch,
            from_s: seconds(from),
            to_s: seconds(to.max(from)),
            predicted,
            failed,
            throughput_img_s: (length > 0).then(|| rounded(out as f64 * 1e9 / length as f64)),
            latency_ms: Quantiles::of(&latency),
            knobs: segment.knobs.clone(),
        });
    }
    segments
}

fn changes(done: &Snapshot) -> Vec<ChangeReport> {
    let of = |change: &crate::profile::snapshot::KnobChange| ChangeReport {
        at_s: seconds(change.at),
        epoch: change.epoch,
        knob: change.knob.clone(),
        from: change.from.clone(),
        to: change.to.clone(),
    };
    done.changes.iter().map(of).collect()
}

fn host(window: &Window<'_>) -> HostReport {
    let end = window.to();
    HostReport {
        cpu_name: end.run.cpu.clone(),
        cores: end.run.cores,
        cpus: end.host.map(|host| host.cpus),
        cpu: window.host_cpu().map(rounded),
        memory_used_mib: end.host.map(|host| mib(host.memory_used)),
        memory_total_mib: end.host.map(|host| mib(host.memory_total)),
    }
}

fn own(window: &Window<'_>, done: &Snapshot) -> OwnReport {
    OwnReport {
        cpu: window.own_cpu().map(rounded),
        process_cpu: window.process_cpu().map(rounded),
        rss_mib: window.to().own.rss.map(mib),
        sample_hz: done.run.sample_hz,
        bare: done.run.bare,
        samples_missed: done.own.samples_missed,
    }
}
