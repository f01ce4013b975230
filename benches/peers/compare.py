#!/usr/bin/env python3
"""pipetop's preprocessing beside Python's on the same photos, by turns in one run.

In every round each of Python's variants takes every photo once, and `pipetop bench preprocess` runs for a moment; the
first round is thrown away. Steps are CPU time of one thread in microseconds an image, medians over the rounds; a ratio
is the median of the rounds' ratios, with its quartiles. Photos of each PATH are taken apart by their size.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from peers import LIBRARIES, Framing

# Ours with its filter, and what each is compared with: the same filter first.
OURS = {
    "conventional-cv": ("conventional", "cubic-cv"),
    "zune-cv": ("zune", "cubic-cv"),
    "conventional": ("conventional", "cubic"),
    "scaled": ("scaled", "cubic"),
    "scaled-u8": ("scaled-u8", "cubic"),
}
PAIRS = [
    ("conventional-cv", "cv2"),
    ("zune-cv", "cv2"),
    ("conventional", "pillow"),
    ("conventional", "torchvision"),
    ("scaled", "cv2"),
    ("scaled", "cv2-reduced2"),
    ("scaled", "cv2-reduced4"),
    ("scaled", "pillow-draft"),
    ("scaled", "torchvision"),
]
# Full decoding with OpenCV, in the ways to normalise: the fastest counts as `cv2`.
FULL = ["cv2-blob", "cv2-numpy", "cv2-rgb"]
# Libraries of which it was said that they are not there.
MISSING = set()
STEPS = ["decode_us", "resize_us", "normalise_us", "total_us"]


def jpeg_size(data):
    """Width and height from the frame header; None where there is none."""
    at = 2
    while data[:2] == b"\xff\xd8" and at + 9 < len(data) and data[at] == 0xFF:
        if data[at + 1] in (0xC0, 0xC1, 0xC2):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def sets(paths, least):
    """Photos by size: {(width, height): [path, …]}, those sizes of which there are enough."""
    found = {}
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            size = jpeg_size(file.read_bytes()) if file.is_file() else None
            if size:
                found.setdefault(size, []).append(file)
    for size, files in found.items():
        if len(files) < least:
            print(f"left out: {len(files)} photos of {size[0]}x{size[1]}, fewer than {least}", file=sys.stderr)
    return {size: files for size, files in sorted(found.items()) if len(files) >= least}


def turn(steps, photos):
    """CPU microseconds an image by step, on this thread, and images a second."""
    decode, resize, normalise = steps
    clock, spent = time.thread_time_ns, [0, 0, 0]
    begin = time.perf_counter()
    for data in photos:
        a = clock()
        picture = decode(data)
        b = clock()
        picture = resize(picture)
        c = clock()
        normalise(picture)
        d = clock()
        spent[0] += b - a
        spent[1] += c - b
        spent[2] += d - c
    took = time.perf_counter() - begin
    each = [nanos / 1e3 / len(photos) for nanos in spent]
    return dict(zip(STEPS, [*each, sum(each)])), len(photos) / took


def pooled(steps, photos, pool):
    decode, resize, normalise = steps
    begin = time.perf_counter()
    for _ in pool.map(lambda data: normalise(resize(decode(data))) is None, photos):
        pass
    return len(photos) / (time.perf_counter() - begin)


def ours(pipetop, listed, framing, threads, seconds):
    """One moment of each of our variants: {name: (steps, images a second)}."""
    found = {}
    for filter in dict.fromkeys(filter for _, filter in OURS.values()):
        wanted = {variant: name for name, (variant, with_filter) in OURS.items() if with_filter == filter}
        command = [pipetop, "bench", "preprocess", "--json", "-", "--threads", str(threads), "--filter", filter]
        command += ["--geometry", framing.name, "--seconds", str(seconds * len(wanted)), listed]
        for variant in wanted:
            command += ["--variant", variant]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
        for variant in json.loads(done.stdout)["variants"]:
            found[wanted[variant["name"]]] = ({step: variant[step] for step in STEPS}, variant["img_s"])
    return found


def measure(args, files, framing, threads):
    """By name: a list of (steps, {threads: images a second}), one a round."""
    photos = [file.read_bytes() for file in files]
    python, versions = {}, {}
    for library, make in LIBRARIES.items():
        try:
            versions[library], found = make(framing)
        except ImportError as why:
            if library not in MISSING:
                print(f"left out: {library}: {why}", file=sys.stderr)
            MISSING.add(library)
            continue
        python.update(found)
    for name, (decode, resize, normalise) in python.items():
        shape = tuple(normalise(resize(decode(photos[0]))).shape)
        assert shape == (3, framing.side, framing.side), (name, shape)
    pools = {n: ThreadPoolExecutor(n) for n in threads if n > 1}
    rounds = {name: [] for name in [*OURS, *python]}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("".join(f"{file.resolve()}\n" for file in files))
        listed.flush()
        for number in range(args.rounds + 1):
            now = {name: [None, {}] for name in rounds}
            for n in threads:
                for name, (steps, rate) in ours(args.pipetop, listed.name, framing, n, args.seconds).items():
                    now[name][1][n] = rate
                    if n == 1:
                        now[name][0] = steps
                for name, steps in python.items():
                    if n == 1:
                        now[name][0], now[name][1][1] = turn(steps, photos)
                    else:
                        now[name][1][n] = pooled(steps, photos, pools[n])
            for name in rounds if number else []:
                rounds[name].append(now[name])
    full = [name for name in FULL if name in rounds]
    if full:
        fastest = min(full, key=lambda name: statistics.median(steps["total_us"] for steps, _ in rounds[name]))
        rounds["cv2"] = rounds[fastest]
        print(f"cv2 is {fastest}, the fastest of {', '.join(full)}")
    return rounds, versions


def quartiles(values):
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def summary(rounds, threads):
    rows = {}
    for name, all in rounds.items():
        rows[name] = {step: statistics.median(steps[step] for steps, _ in all) for step in STEPS}
        rows[name]["img_s"] = {n: statistics.median(rate[n] for _, rate in all) for n in threads}
    ratios = []
    for mine, theirs in PAIRS:
        if theirs not in rounds:
            continue
        pairs = list(zip(rounds[mine], rounds[theirs]))
        row = {"ours": mine, "theirs": theirs, "cpu": quartiles([t[0]["total_us"] / o[0]["total_us"] for o, t in pairs])}
        row["img_s"] = {n: quartiles([o[1][n] / t[1][n] for o, t in pairs]) for n in threads}
        ratios.append(row)
    return rows, ratios


def show(rows, ratios, threads):
    print(f"{'':18}{'decode':>9}{'resize':>9}{'norm':>7}{'total':>9}  us   " + "".join(f"{f'{n}t img/s':>10}" for n in threads))
    for name, row in rows.items():
        steps = "{:9.0f}{:9.0f}{:7.0f}{:9.0f}".format(*(row[step] for step in STEPS))
        print(f"{name:18}{steps}       " + "".join(f"{row['img_s'][n]:10.0f}" for n in threads))
    print("\ntimes as fast: medians (quartiles)" + " " * 8 + "CPU time of one thread" + "".join(f"{f'img/s, {n}t':>22}" for n in threads))
    for row in ratios:
        cells = [row["cpu"], *(row["img_s"][n] for n in threads)]
        text = "".join(f"{f'{mid:.2f} ({low:.2f} to {high:.2f})':>22}" for low, mid, high in cells)
        print(f"{row['ours'] + ' / ' + row['theirs']:42}{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="photos, or folders of them")
    parser.add_argument("--pipetop", required=True, help="the binary")
    parser.add_argument("--geometry", default="short256-crop224,squash224", help="comma-separated")
    parser.add_argument("--threads", default="1", help="comma-separated, 1 first")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2, help="for each of our variants in a round")
    parser.add_argument("--least", type=int, default=4, help="photos of a size, below which it is left out")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    args = parser.parse_args()
    threads = sorted({1, *(int(n) for n in args.threads.split(","))})
    found = sets(args.paths, args.least)
    if not found:
        sys.exit(f"no JPEG photos of one size in {', '.join(map(str, args.paths))}")
    all = []
    for size, files in found.items():
        for geometry in args.geometry.split(","):
            name = f"{size[0]}x{size[1]}"
            mean = sum(file.stat().st_size for file in files) / len(files) / 1000
            print(f"\n== {len(files)} photos of {name}, {mean:.1f} kB each, {geometry}, {args.rounds} rounds, "
                  f"Python {platform.python_version()}, {os.cpu_count()} cores")
            rounds, versions = measure(args, files, Framing(geometry), threads)
            print("  ".join(f"{library} {version}" for library, version in versions.items()))
            rows, ratios = summary(rounds, threads)
            show(rows, ratios, threads)
            all.append({"size": name, "files": len(files), "geometry": geometry, "versions": versions,
                        "variants": rows, "ratios": ratios})
    if args.json:
        args.json.write_text(json.dumps({"rounds": args.rounds, "threads": threads, "sets": all}, indent=1) + "\n")


if __name__ == "__main__":
    main()
