#!/usr/bin/env bash
# What saving and recording cost a run: alternated runs without, with --save, on a dashboard, and on a
# dashboard with --record; medians of the throughput, of images by second of CPU time (which the machine's
# other work does not change), and of pipetop's own CPU time.
#   scripts/recording-cost.sh [ROUNDS] [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds="${1:-8}"
seconds="${2:-6}"
pipetop="${CARGO_TARGET_DIR:-target}/release/pipetop"
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
export XDG_CONFIG_HOME="$out" TERM=xterm-256color
load="--engine null --set source.cache=bytes --duration ${seconds}s"

# measure NAME ROUND COMMAND…: runs it, and keeps its JSON report.
measure() {
    local report="$out/$1.$2.json"
    shift 2
    "$@" --json "$report" >/dev/null 2>&1
}

# The same in a terminal of 120 columns and 36 rows.
in_terminal() {
    script -qec "stty cols 120 rows 36; $*" /dev/null
}

for ((round = 0; round < rounds; round++)); do
    # shellcheck disable=SC2086
    {
        measure headless "$round" "$pipetop" --headless $load
        measure save "$round" "$pipetop" --headless $load --save "$out/run.pipetop"
        measure dashboard "$round" in_terminal "$pipetop" $load
        measure record "$round" in_terminal "$pipetop" $load --record "$out/run.cast"
    }
done

# number FILE KEY PLACE: the PLACE-th value of a key in an indented JSON report.
number() { sed -n "s/^ *\"$2\": *\([-0-9.e+]*\),\{0,1\}$/\1/p" "$1" | sed -n "$3p"; }

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# own FILE KEY: a value of the report's part on pipetop itself.
own() { sed -n '/^  "self"/,$p' "$1" >"$1.self" && number "$1.self" "$2" 1; }

printf '%-10s %12s %16s %12s\n' run 'img/s' 'img/s of a core' 'own CPU, %'
for name in headless save dashboard record; do
    rate="$(for f in "$out/$name".*.json; do number "$f" throughput_img_s 1; done | median)"
    each="$(for f in "$out/$name".*.json; do echo "$(number "$f" throughput_img_s 1) $(own "$f" process_cpu)"; done |
        awk '{ print $1 / $2 }' | median)"
    cpu="$(for f in "$out/$name".*.json; do own "$f" cpu; done | median)"
    awk -v n="$name" -v r="$rate" -v e="$each" -v o="$cpu" 'BEGIN { printf "%-10s %12.1f %16.1f %12.2f\n", n, r, e, o * 100 }'
done
printf 'one run of %s s: saved %s bytes, recorded %s bytes\n' "$seconds" "$(stat -c %s "$out/run.pipetop")" "$(stat -c %s "$out/run.cast")"
