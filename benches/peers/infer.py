#!/usr/bin/env python3
"""pipetop's engine on the CPU against ONNX Runtime (and tract's and rten's where asked for), alternated in one run.

    python -m venv /tmp/models-venv
    /tmp/models-venv/bin/pip install onnxruntime numpy
    cargo build --release
    /tmp/models-venv/bin/python benches/peers/infer.py target/release/pipetop MODEL.onnx [MODEL.onnx …]
        [--batch 1,8] [--threads 1,2] [--rounds 5] [--seconds 1] [--engines cpu,rten] [--json FILE]

In every round each engine runs for so many seconds, one after another, so that what else the machine does hits all alike. Given are
the medians of the rounds, and the ratio of images a second to ONNX Runtime's as the median of the rounds' ratios. On one
thread the ratio of CPU times is given too, which a busy machine does not disturb.
"""

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import onnxruntime

median = statistics.median


class OnnxRuntime:
    def __init__(self, model: Path, batch: int, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
        given = self.session.get_inputs()[0]
        side = next((size for size in given.shape[2:] if isinstance(size, int)), 224)
        random = np.random.default_rng(1)
        self.feed = {given.name: random.uniform(-1, 1, (batch, 3, side, side)).astype(np.float32)}
        self.batch = batch

    def round(self, seconds: float) -> tuple[float, float]:
        """Images a second by the median, and CPU ms an image of this process."""
        self.session.run(None, self.feed)
        times = []
        end, cpu = time.perf_counter() + seconds, time.process_time()
        while time.perf_counter() < end or not times:
            begin = time.perf_counter()
            self.session.run(None, self.feed)
            times.append(time.perf_counter() - begin)
        cpu = time.process_time() - cpu
        return self.batch / median(times), cpu * 1e3 / len(times) / self.batch


class Pipetop:
    def __init__(self, program: str, engine: str, model: Path, batch: int, threads: int) -> None:
        self.command = [program, "bench", "infer", "--json", "--engine", engine, "--model", str(model)]
        self.command += ["--batch", str(batch), "--threads", str(threads)]
        self.batch, self.engine = batch, engine

    def round(self, seconds: float) -> tuple[float, float]:
        command = [*self.command, "--seconds", str(seconds)]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        assert report["engine"]["kind"] == self.engine, report["engine"]
        (run,) = report["runs"]
        return run["img_s"], run["cpu_ms"] / self.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--batch", default="1,8")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--engines", default="cpu")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    numbers = lambda text: [int(part) for part in text.split(",")]
    rows = []
    print(f"ONNX Runtime {onnxruntime.__version__}; img/s, ratio to it (of CPU time on one thread)")
    for model in args.models:
        for threads in numbers(args.threads):
            for batch in numbers(args.batch):
                peers = {"onnxruntime": OnnxRuntime(model, batch, threads)}
                for engine in args.engines.split(","):
                    peers[engine] = Pipetop(args.program, engine, model, batch, threads)
                rounds = [{name: peer.round(args.seconds) for name, peer in peers.items()} for _ in range(args.rounds)]
                line = f"{model.stem:22} t{threads} b{batch}"
                for name in peers:
                    speed = median(one[name][0] for one in rounds)
                    ratio = median(one[name][0] / one["onnxruntime"][0] for one in rounds)
                    cpu = median(one["onnxruntime"][1] / one[name][1] for one in rounds)
                    rows.append(
                        {"model": model.stem, "threads": threads, "batch": batch, "engine": name}
                        | {"img_s": speed, "ratio": ratio, "cpu_ratio": cpu}
                    )
                    line += f"  {name} {speed:.1f}"
                    if name != "onnxruntime":
                        line += f" ({ratio:.2f}" + (f", {cpu:.2f})" if threads == 1 else ")")
                print(line, flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
