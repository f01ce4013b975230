#!/usr/bin/env bash
# Runs pipetop for a minute over photos and checks in its report that every thread's time adds up.
#
#   scripts/check-minute.sh PHOTOS [SECONDS] [MORE OPTIONS FOR PIPETOP…]
#
# Every thread's shares sum to 1 ± 0.01; on preprocess, infer, decode and respond threads *other* is at
# most 2 %, and *overlap* at most 2 % unless the machine's other work (rivals) takes the CPUs: then it is
# held to the run-queue time, which is where it comes from.
set -euo pipefail
if [ $# -lt 1 ] || [ ! -e "$1" ]; then
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
photos=$1
seconds=${2:-60}
shift $(( $# > 1 ? 2 : 1 ))
binary=${PIPETOP:-$(dirname "$0")/../target/release/pipetop}
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"$binary" "$photos" --headless --no-config --duration "${seconds}s" --json "$report" "$@" >/dev/null
python3 - "$report" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[1]))
host, own = report["host"], report["self"]
rivals = host["cpu"] * host["cpus"] - own["process_cpu"]
print(f"{report['window_s']:.1f} s, {report['throughput_img_s']:.1f} img/s, engine {report['engine']['kind']}; "
      f"{own['process_cpu']:.2f} cores used, {rivals:.2f} by others")
failed, sums, other, overlap, excused = [], [], (0, ""), (0, ""), 0
for thread in report["threads"]:
    share = thread["share"]
    if share is None:
        continue
    total = sum(share.values())
    sums.append(total)
    if abs(total - 1) > 0.01:
        failed.append(f"{thread['name']}: shares sum to {total}")
    if thread["stage"] is None:
        continue
    print(f"{thread['name']:<12}" + " ".join(f"{k} {100 * v:.2f}" for k, v in share.items() if v >= 5e-5)
          + f" | overlap {100 * thread['overlap']:.2f}")
    other = max(other, (share["other"], thread["name"]))
    overlap = max(overlap, (thread["overlap"], thread["name"]))
    if share["other"] > 0.02:
        failed.append(f"{thread['name']}: other {100 * share['other']:.2f} %")
    if thread["overlap"] > 0.02:
        if rivals > 0.1 and thread["overlap"] <= share["runnable"] + 0.02:
            excused += 1
        else:
            failed.append(f"{thread['name']}: overlap {100 * thread['overlap']:.2f} %")
print(f"sums {min(sums):.6f} to {max(sums):.6f}; most other {100 * other[0]:.2f} % ({other[1]}); "
      f"most overlap {100 * overlap[0]:.2f} % ({overlap[1]})"
      + (f"; {excused} above 2 % beside {rivals:.2f} cores of rivals" if excused else ""))
print("\n".join(failed) or "all within limits")
sys.exit(bool(failed))
PYTHON
