//! What only the operating system can tell: CPU clocks of threads, their ids and names.
//!
//! All unsafe code of the probes but the time-stamp counter lives in here, behind safe functions.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::fs::FileExt;

use super::clock::Nanos;

/// The kernel's id of the calling thread.
#[expect(unsafe_code, reason = "the system call has no safe interface in std")]
pub fn thread_id() -> i32 {
    // SAFETY: `gettid` takes nothing, touches no memory and cannot fail.
    unsafe { libc::gettid() }
}

/// Names the calling thread for the kernel; names of more than 15 bytes are cut there.
#[expect(unsafe_code, reason = "std names threads only when it starts them")]
pub fn name_thread(name: &str) {
    let Ok(name) = CString::new(name) else { return };
    // SAFETY: `name` is a NUL-terminated string that outlives the call, which copies 16 bytes at most.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
    }
}

#[expect(unsafe_code, reason = "clocks other than the monotonic one are not in std")]
fn clock(id: libc::clockid_t) -> Option<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for one timespec; an unknown clock id returns an error.
    let answer = unsafe { libc::clock_gettime(id, &raw mut time) };
    (answer == 0).then(|| time.tv_sec as Nanos * 1_000_000_000 + time.tv_nsec as Nanos)
}

/// CPU time of a thread of this process; `None` once it has ended.
///
/// The clock id is the kernel's encoding of a per-thread CPU clock (`~tid << 3 | 6`, as
/// `pthread_getcpuclockid` makes it), which needs no handle of the thread.
pub fn thread_cpu(tid: i32) -> Option<Nanos> {
    clock((!tid << 3) | 6)
}

/// CPU time of the calling thread.
pub fn own_cpu() -> Option<Nanos> {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of the whole process, ended threads included.
pub fn process_cpu() -> Option<Nanos> {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// A thread's `schedstat`, kept open: reading it is 7 times cheaper than opening it anew.
#[derive(Debug)]
pub struct SchedStat(File);

impl SchedStat {
    /// Opens the file of a thread of this process; `None` where the kernel keeps no such statistics.
    pub fn open(tid: i32) -> Option<Self> {
        File::open(format!("/proc/self/task/{tid}/schedstat")).ok().map(Self)
    }

    /// Time that the thread spent on the run queue, wanting a CPU. The kernel adds a wait when it
    /// ends. Read the CPU clock of the thread first: that brings its account up to date.
    pub fn run_queue(&self) -> Option<Nanos> {
        let mut text = [0u8; 96];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

/// Context switches and the last core of a thread of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// It gave the CPU up by itself.
    pub voluntary: Option<u64>,
    /// The kernel took the CPU away.
    pub involuntary: Option<u64>,
    /// The core it ran on last.
    pub core: Option<u32>,
}

/// Reads a thread's context switches and last core (about 30 µs: not for every sample).
pub fn switches(tid: i32) -> Switches {
    let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status"));
    let status = status.unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse().ok())
    };
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
    // The name in parentheses may hold spaces: fields count from behind it. Field 39 is `processor`.
    let core = stat.rsplit_once(") ").and_then(|(_, rest)| {
        let field = rest.split_ascii_whitespace().nth(36);
        field.and_then(|field| field.parse().ok())
    });
    Switches {
        voluntary: field("voluntary_ctxt_switches:"),
        involuntary: field("nonvoluntary_ctxt_switches:"),
        core,
    }
}

/// Whether a thread of this process is on a CPU or waits for one, rather than for anything else (about
/// 15 µs: not for every sample).
pub fn is_runnable(tid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
}

/// Ids of all threads of this process, ascending.
pub fn thread_ids() -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let mut ids: Vec<i32> =
        tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

/// The kernel's name of a thread of this process.
pub fn thread_name(tid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// Resident memory of this process in bytes.
pub fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size())
}

#[expect(unsafe_code, reason = "the system call has no safe interface in std")]
fn page_size() -> u64 {
    // SAFETY: `sysconf` touches no memory of ours.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_clock_is_the_same_from_inside_and_outside() {
        let (send, receive) = std::sync::mpsc::channel();
        let worker = std::thread::spawn(move || {
            let mut sum = 0u64;
            while own_cpu().unwrap() < 30_000_000 {
                sum = std::hint::black_box(sum + 1);
            }
            let tid = thread_id();
            let outside = thread_cpu(tid).unwrap();
            let inside = own_cpu().unwrap();
            send.send((tid, outside, inside)).unwrap();
        });
        let (tid, outside, inside) = receive.recv().unwrap();
        assert!(outside >= 30_000_000 && inside - outside < 5_000_000, "{outside} {inside}");
        worker.join().unwrap();
        assert!(process_cpu().unwrap() >= 30_000_000);
        // Its id is free again once the kernel has reaped it.
        assert!(tid > 0);
    }

    #[test]
    fn a_named_thread_is_found_by_its_name() {
        std::thread::spawn(|| {
            name_thread("probe-test-17");
            let tid = thread_id();
            assert!(thread_ids().contains(&tid));
            assert_eq!(thread_name(tid).as_deref(), Some("probe-test-17"));
            let switches = switches(tid);
            assert!(switches.voluntary.is_some() && switches.core.is_some());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn resident_memory_is_of_a_sane_size() {
        let bytes = resident_bytes().unwrap();
        assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
    }
}
