//! What pipetop measures with: the clock, the scheduler's statistics, threads' CPU time.

use std::fs;

use super::Finding;
use crate::probe::clock;

pub(super) fn examine() -> Vec<Finding> {
    vec![clock(), schedstat(), threads()]
}

fn clock() -> Finding {
    match clock::source() {
        clock::Source::Tsc => Finding::ok("clock", "the CPU's time-stamp counter"),
        clock::Source::Os => {
            Finding::note("clock", "the system's clock: exact, at a little more cost a reading")
        }
    }
}

fn schedstat() -> Finding {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let numbers = text.split_whitespace().filter(|field| field.parse::<u64>().is_ok()).count();
    if numbers >= 3 {
        Finding::ok("schedstat", "run-queue time of threads can be read")
    } else {
        Finding::missing("schedstat", "no run-queue time: `runnable` cannot be told from blocked")
            .way_out("it counts as `other`; a Linux kernel with CONFIG_SCHED_INFO has it")
    }
}

fn threads() -> Finding {
    if fs::read_dir("/proc/self/task").is_ok() {
        Finding::ok("threads", "/proc/self/task is there: foreign threads are listed")
    } else {
        Finding::missing("threads", "no /proc/self/task: foreign threads are not listed")
            .way_out("mount /proc; pipetop's own pipeline threads are measured all the same")
    }
}
