#!/usr/bin/env python3
"""Runs pipetop on a GPU and compares what it says of it with what outside observers say.

    scripts/gpu_truth.py [--seconds 30] [--gpu UUID] [--binary target/release/pipetop] [-- OPTIONS FOR PIPETOP…]

Observers: nvidia-smi, asked four times a second, and GPM through pynvml (pip install nvidia-ml-py) in this
process, with windows of 0.5 s of its own. All means are of pipetop's own window, from the end of its
warm-up to the stop: the run's id tells when it started. Limits: busy, memory, clocks and temperature within
one unit of nvidia-smi's (and twice the standard error of its mean), power within 2 %; SM active, SM
occupancy, tensor and DRAM within 2 points of GPM's; the engine's events within 2 points of GPM's graphics
engine, where nobody else uses the GPU. What cannot be compared is said and left out. Exit code 1 beyond a
limit, 2 where nothing could be compared.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SMI = {
    "busy %": ("utilization.gpu", "busy", 100.0),
    "memory MiB": ("memory.used", "memory_used_mib", 1.0),
    "SM clock MHz": ("clocks.sm", "sm_mhz", 1.0),
    "memory clock MHz": ("clocks.mem", "memory_mhz", 1.0),
    "temperature °C": ("temperature.gpu", "temperature_c", 1.0),
    "power W": ("power.draw", "power_w", 1.0),
}
# By NVIDIA's numbers for them.
GPM = {"graphics": 1, "sm_active": 2, "sm_occupancy": 3, "tensor": 5, "dram": 10}
POINTS = 2.0


class Smi(threading.Thread):
    """nvidia-smi's figures with the time at which each line came."""

    def __init__(self, gpu):
        super().__init__(daemon=True)
        fields = ",".join(field for field, _, _ in SMI.values())
        command = ["nvidia-smi", "-i", gpu, f"--query-gpu={fields}", "--format=csv,noheader,nounits", "-lms", "250"]
        self.rows, self.process = [], subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def run(self):
        for line in self.process.stdout:
            try:
                values = [float(text) for text in line.split(",")]
            except ValueError:
                values = [float(t) if t.strip().replace(".", "", 1).isdigit() else math.nan for t in line.split(",")]
            self.rows.append((time.time(), values))

    def column(self, index, begin, end):
        values = [row[index] for at, row in self.rows if begin <= at <= end and index < len(row)]
        return [value for value in values if not math.isnan(value)]


class Gpm(threading.Thread):
    """GPM's figures, by windows of half a second; a window without new counters is joined to the next."""

    def __init__(self, gpu):
        super().__init__(daemon=True)
        import pynvml

        self.nvml, self.rows, self.over = pynvml, [], threading.Event()
        pynvml.nvmlInit()
        self.device = pynvml.nvmlDeviceGetHandleByUUID(gpu)
        if not pynvml.nvmlGpmQueryDeviceSupport(self.device).isSupportedDevice:
            raise RuntimeError("this GPU has no GPM")

    def sample(self):
        return time.time(), self.nvml.nvmlGpmSampleGet(self.device, self.nvml.nvmlGpmSampleAlloc())

    def run(self):
        kept = self.sample()
        while not self.over.wait(0.5):
            newest = self.sample()
            request = self.nvml.c_nvmlGpmMetricsGet_t()
            request.version = self.nvml.NVML_GPM_METRICS_GET_VERSION
            request.numMetrics = len(GPM)
            request.sample1, request.sample2 = kept[1], newest[1]
            for place, number in enumerate(GPM.values()):
                request.metrics[place].metricId = number
            self.nvml.nvmlGpmMetricsGet(request)
            values = [request.metrics[place].value for place in range(len(GPM))]
            stale = any(math.isnan(value) for value in values)
            self.nvml.nvmlGpmSampleFree((newest if stale else kept)[1])
            if not stale:
                self.rows.append((kept[0], newest[0], values))
                kept = newest

    def mean(self, index, begin, end):
        """The mean over a stretch, windows counted by how much of them lies in it."""
        parts = [(min(b, end) - max(a, begin), values[index]) for a, b, values in self.rows]
        parts = [(length, value) for length, value in parts if length > 0]
        total = sum(length for length, _ in parts)
        return sum(length * value for length, value in parts) / total if total else None


class Table:
    def __init__(self):
        self.beyond = self.compared = 0
        print(f"{'':<28}{'pipetop':>10}{'observer':>10}{'differs':>10}{'limit':>9}")

    def row(self, name, ours, theirs, limit):
        if ours is None or theirs is None:
            print(f"{name:<28}{'—' if ours is None else f'{ours:.2f}':>10}{'—' if theirs is None else f'{theirs:.2f}':>10}   left out")
            return
        differs, self.compared = abs(ours - theirs), self.compared + 1
        beyond = differs > limit
        self.beyond += beyond
        print(f"{name:<28}{ours:>10.2f}{theirs:>10.2f}{differs:>10.2f}{limit:>9.2f}{'   BEYOND' if beyond else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--binary", default=os.path.join(here, "../target/release/pipetop"))
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--gpu", help="UUID; the first that nvidia-smi lists where it is left out")
    parser.add_argument("options", nargs="*", help="options for pipetop, after --")
    args = parser.parse_args()
    if not os.access(args.binary, os.X_OK):
        sys.exit(f"no {args.binary}: cargo build --release, or name it with --binary")
    if not shutil.which("nvidia-smi"):
        sys.exit("nvidia-smi is not here: it comes with NVIDIA's driver")
    listed = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    gpu = args.gpu or subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()[0]

    smi = Smi(gpu)
    smi.start()
    try:
        gpm = Gpm(gpu)
        gpm.start()
    except Exception as error:  # whatever is missing: the rest can be compared
        print(f"GPM is left out: {error}")
        gpm = None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = [args.binary, "--headless", "--duration", f"{args.seconds + 1}s", "--json", path, *args.options]
        run = subprocess.run(command, stdout=subprocess.DEVNULL)
        if run.returncode:
            sys.exit(f"pipetop failed: {' '.join(command)}")
        report = json.load(open(path))
    smi.process.terminate()
    if gpm:
        gpm.over.set()
        gpm.join()

    started = int(report["run_id"].split("-")[0]) / 1e3
    begin, end = started + report["warmup_s"], started + report["duration_s"]
    ours = next((one for one in report["gpus"] if one["uuid"] == gpu), None)
    if ours is None:
        sys.exit(f"pipetop shows no GPU {gpu}: {report.get('gpus_missing')}")
    print(f"\n{ours['name']}, {report['engine']['name']}, {report['window_s']:.1f} s, {report['throughput_img_s']} images/s\n")
    table = Table()
    for index, (name, (_, key, scale)) in enumerate(SMI.items()):
        values = smi.column(index, begin, end)
        theirs = statistics.fmean(values) if values else None
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        limit = 0.02 * theirs if key == "power_w" and theirs else 1.0 + 2 * error
        table.row(name, None if ours[key] is None else ours[key] * scale, theirs, limit)
    observed = {}
    for index, key in enumerate(GPM):
        observed[key] = gpm.mean(index, begin, end) if gpm else None
        table.row(f"GPM {key} %", None if ours[key] is None else ours[key] * 100, observed[key], POINTS)
    events = None if ours["event_busy"] is None else ours["event_busy"] * 100
    others = [process for process in ours["processes"] if not process["own"]]
    if others:
        print(f"others use this GPU too ({len(others)}): events and GPM may differ by their work")
    table.row("events, and GPM's graphics %", events, observed["graphics"], POINTS)
    print(f"\n{table.compared} compared, {table.beyond} beyond the limit; pipetop itself took {report['self']['cpu'] * 100:.2f} % of a core")
    sys.exit(2 if not table.compared else min(table.beyond, 1))


if __name__ == "__main__":
    main()
