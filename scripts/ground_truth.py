"""The work of ground-truth.sh: runs pipetop, watches it from outside, prints both sides.

pipetop's figures are those of its report: of the window from the end of its warm-up to the stop. The
run's id tells when it started, to a millisecond, so that /proc and perf's events are taken of the same
window, the whole of which they watch: watching takes time from the threads, and with it changes how long
they wait. pidstat alone has a window of its own inside it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

CPU_LIMIT, LOCK_LIMIT = 0.01, 0.02
# pidstat begins so long after the start, and ends so long before the end.
LEAD, TAIL = 3.0, 1.5


def observe(pid):
    """CPU and run-queue seconds and context switches of every thread by kernel id, as of now."""
    seen = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        base = f"/proc/{pid}/task/{tid}/"
        try:
            cpu, queue, _ = open(base + "schedstat").read().split()
            status = open(base + "status").read()
        except OSError:
            continue
        voluntary, forced = (int(n) for n in re.findall(r"ctxt_switches:\s*(\d+)", status))
        seen[int(tid)] = (int(cpu) / 1e9, int(queue) / 1e9, voluntary, forced)
    return time.time(), seen


def at(samples, moment, tid):
    """A thread's figures at a moment, between the two samples around it."""
    before = [s for s in samples if s[0] <= moment and tid in s[1]]
    after = [s for s in samples if s[0] > moment and tid in s[1]]
    if not before or not after:
        return (before or after)[-1 if before else 0][1][tid] if before or after else None
    (t0, a), (t1, b) = before[-1], after[0]
    part = (moment - t0) / (t1 - t0)
    return tuple(x + (y - x) * part for x, y in zip(a[tid], b[tid]))


def start_pidstat(pid, seconds):
    if not shutil.which("pidstat"):
        print("pidstat is not installed (Debian: sysstat): left out")
        return None
    command = ["pidstat", "-u", "-t", "-p", str(pid), str(max(1, int(seconds))), "1"]
    env = dict(os.environ, LC_ALL="C", S_COLORS="never")
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)


def read_pidstat(process):
    """CPU shares by kernel id."""
    cpu = {}
    for line in process.communicate()[0].splitlines() if process else ():
        fields = line.split()
        if len(fields) > 9 and fields[0] == "Average:" and fields[3].isdigit():
            cpu[int(fields[3])] = float(fields[8]) / 100
    return cpu


EVENTS = "syscalls:sys_enter_futex,syscalls:sys_exit_futex"


def tracer(folder):
    """The command before pipetop's that records its futex calls; nothing, and the reason printed, if perf can't."""
    if not shutil.which("perf"):
        print("perf is not installed (Debian: linux-perf): no futex waits")
        return []
    # On the clock that this program can read too, and with room for what a busy second brings.
    command = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-m", "8M", "-e", EVENTS, "-o", f"{folder}/perf.data"]
    probe = subprocess.run([*command, "true"], capture_output=True, text=True)
    if probe.returncode:
        print("perf record does not work here:", (probe.stderr.strip() or "no reason given").splitlines()[0])
        return []
    return command


def child_of(pid):
    """The process that perf started, once there is one."""
    for _ in range(500):
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
        if children and open(f"/proc/{children[0]}/comm").read().strip() != "perf":
            return int(children[0])
        time.sleep(0.01)
    sys.exit("perf did not start pipetop")


def read_trace(folder, first, length):
    """Shares of a window that threads waited in futexes by kernel id: in all, and for locks.

    A mutex of the standard library waits while its word is 2 (locked, with waiters), which tells its
    waits from those of conditions. A waiter that is woken and finds the lock taken again spins before it
    calls once more: that time is in pipetop's wait and not in here.
    """
    to_monotonic = time.monotonic() - time.time()
    begin, end = first + to_monotonic, first + to_monotonic + length
    script = ["perf", "script", "-i", f"{folder}/perf.data", "--ns", "--show-lost-events", "-F", "tid,time,event,trace"]
    event = re.compile(r"\s*(\d+)\s+([\d.]+):\s+syscalls:sys_(enter|exit)_futex:\s*(.*)")
    call = re.compile(r"op: 0x(\w+), val: 0x(\w+)")
    waited, locked, open_calls, lost = {}, {}, {}, False
    within = lambda since, until: max(0.0, min(until, end) - max(since, begin))

    def close(tid, until):
        since, is_lock = open_calls.pop(tid)
        waited[tid] = waited.get(tid, 0.0) + within(since, until)
        if is_lock:
            locked[tid] = locked.get(tid, 0.0) + within(since, until)

    for line in subprocess.run(script, capture_output=True, text=True).stdout.splitlines():
        lost |= "LOST" in line
        if not (found := event.match(line)):
            continue
        tid, moment = int(found[1]), float(found[2])
        if found[3] == "exit":
            if tid in open_calls:
                close(tid, moment)
        else:
            op, value = (int(text, 16) for text in call.search(found[4]).groups())
            if op & 0x7F in (0, 9):  # FUTEX_WAIT, FUTEX_WAIT_BITSET
                open_calls[tid] = (moment, value == 2)
    for tid in list(open_calls):
        close(tid, end)
    if lost:
        print("perf lost events: its waits are too short")
    return {tid: (total / length, locked.get(tid, 0.0) / length) for tid, total in waited.items()}


def percent(value, width):
    return f"{'—' if value is None else f'{100 * value:.2f}':>{width}}"


def main():
    binary, photos, seconds, more = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:]
    folder = tempfile.mkdtemp()
    report_path = f"{folder}/report.json"
    command = [binary, photos, "--headless", "--no-config", "--duration", f"{seconds}s", "--json", report_path, *more]
    trace = tracer(folder)
    run = subprocess.Popen([*trace, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = child_of(run.pid) if trace else run.pid
    samples, pidstat = [], None
    began = time.time()
    while run.poll() is None:
        now = time.time() - began
        if now >= LEAD and pidstat is None:
            pidstat = start_pidstat(pid, seconds - LEAD - TAIL) or ()
        try:
            samples.append(observe(pid))
        except OSError:
            break
        time.sleep(0.05)
    if run.wait():
        sys.exit(f"pipetop ended with {run.returncode}")
    report = json.load(open(report_path))
    cpu_of_pidstat = read_pidstat(pidstat or None)

    start = int(report["run_id"].split("-")[0]) / 1e3
    window = report["window_s"]
    first = start + report["warmup_s"]
    futex = read_trace(folder, first, window) if trace else None
    shutil.rmtree(folder)
    print(f"pipetop {report['version']}, {report['host']['cores']} cores, engine {report['engine']['kind']}, "
          f"{report['throughput_img_s']:.1f} img/s over {window:.1f} s; knobs "
          f"{report['knobs'].get('preprocess.threads')} preprocess, lock {report['knobs'].get('preprocess.lock')}")
    print(f"{'':<12}{'CPU %':>32}{'run queue %':>24}{'switches/s':>16}{'waits %':>24}{'of these locks %':>24}")
    print(f"{'thread':<12}{'ours':>8}{'/proc':>8}{'diff':>8}{'pidstat':>8}{'ours':>8}{'/proc':>8}{'diff':>8}"
          f"{'vol.':>8}{'forced':>8}" + f"{'ours':>8}{'futex':>8}{'diff':>8}" * 2 + f"{'other %':>9}{'overlap':>9}")
    failed, small = [], 0
    ours_locked, theirs_locked, all_cpu = 0.0, 0.0, 0.0
    for thread in report["threads"]:
        tid, share = thread["tid"], thread["share"]
        a, b = at(samples, first, tid), at(samples, first + window, tid)
        if thread["cpu"] is None or a is None or b is None:
            continue
        # One that was born within the window has its shares of the rest of it.
        born = max(first, next(sample[0] for sample in samples if tid in sample[1]))
        length = first + window - born if born > first + 0.1 else window
        all_cpu += thread["cpu"] * length / window
        if share is None or (thread["stage"] is None and thread["cpu"] < 0.005):
            small += 1
            continue
        cpu, queue, voluntary, forced = ((y - x) / length for x, y in zip(a, b))
        cpu_off, queue_off = thread["cpu"] - cpu, share["runnable"] - queue
        # The wall-clock waits, as they were before they were fitted to the window: a futex call that
        # ends late for want of a CPU is as long as our wait for it.
        fitted = sum(share[wait] for wait in ("lock", "starved", "backpressured", "parked", "gpu", "io"))
        scale = 1 + thread["overlap"] / fitted if fitted else 1.0
        waits = scale * sum(share[wait] for wait in ("lock", "starved", "backpressured", "parked"))
        lock = scale * share["lock"]
        waited, locked = (None, None) if futex is None else futex.get(tid, (0.0, 0.0))
        less = lambda mine, other: None if other is None else mine - other
        print(f"{thread['name']:<12}{percent(thread['cpu'], 8)}{percent(cpu, 8)}{percent(cpu_off, 8)}"
              f"{percent(cpu_of_pidstat.get(tid), 8)}{percent(share['runnable'], 8)}{percent(queue, 8)}"
              f"{percent(queue_off, 8)}{voluntary:>8.1f}{forced:>8.1f}"
              f"{percent(waits, 8)}{percent(waited, 8)}{percent(less(waits, waited), 8)}"
              f"{percent(lock, 8)}{percent(locked, 8)}{percent(less(lock, locked), 8)}"
              f"{percent(share['other'], 9)}{percent(thread['overlap'], 9)}")
        if thread["stage"] and abs(cpu_off) > CPU_LIMIT:
            failed.append(f"{thread['name']}: CPU differs by {100 * cpu_off:.2f} points")
        if locked is not None and share["lock"] > 0.05:
            ours_locked += lock
            theirs_locked += locked
    print(f"and {small} threads outside the stages with less than 0.5 % CPU each")
    process = report["self"]["process_cpu"]
    print(f"CPU of all threads {all_cpu:.4f} cores, of the process {process:.4f}: {100 * (all_cpu / process - 1):+.2f} %")
    if abs(all_cpu / process - 1) > 0.01:
        failed.append("the threads' CPU is not the process's")
    for lock in report["locks"]:
        if (lock["contended"] or 0) > 0.05:
            print(f"lock {lock['name']}: {lock['acquisitions']} acquisitions, {100 * lock['contended']:.1f} % contended, "
                  f"{lock['wait_s']:.2f} s waited")
    if theirs_locked:
        off = ours_locked / theirs_locked - 1
        print(f"lock wait of all threads that wait for locks: ours {ours_locked:.4f} threads, "
              f"in futex calls {theirs_locked:.4f}: {100 * off:+.2f} %")
        if abs(off) > LOCK_LIMIT:
            failed.append(f"lock wait differs by {100 * off:.2f} %")
    print("\n".join(failed) or "all within limits")
    sys.exit(bool(failed))


main()
