#!/usr/bin/env bash
# How fast each part of the pipeline is by itself: the engine, then all before it, then all together.
# Any further arguments go to each run: demo/ceilings.sh photos/ -t 8
set -euo pipefail
cd "$(dirname "$0")/.."
pipetop="${PIPETOP:-target/release/pipetop}"
report="$(mktemp)"
trap 'rm -f "$report"' EXIT

ceiling() {
    local name="$1"
    shift
    "$pipetop" --headless --no-config --duration 8s --json "$report" "$@" >/dev/null 2>&1
    local rate
    rate="$(sed -n 's/^  "throughput_img_s": *\([0-9.]*\),$/\1/p' "$report")"
    printf '%-52s %10.1f img/s\n' "$name" "$rate"
}

ceiling "the engine alone (ready batches)" "$@" --set source.cache=batches
ceiling "reading and preprocessing alone (null engine)" "$@" --engine null
ceiling "all together" "$@"
