#!/bin/sh
# Draws throughput against the number of preprocess threads for four works: native threads, an emulated GIL that
# is released during the native work, one that is held through it, and a loop that holds it all the time.
#
#   PIPETOP=path/to/pipetop demo/gil/run.sh [OUTDIR [OPTION…]]
#
# Writes gil.svg, gil.png, gil.csv, gil.json and gil.txt to OUTDIR (by default the folder of this script). It
# takes about 3 s a point. More options go to `pipetop sweep`, as in --limit 5s or --seed 2.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
pipetop=${PIPETOP:-$here/../../target/release/pipetop}
if ! command -v "$pipetop" >/dev/null 2>&1; then
    echo "$pipetop is no program: build it (cargo build --release) or name it: PIPETOP=path $0" >&2
    exit 2
fi
out=${1:-$here}
[ $# -gt 0 ] && shift
mkdir -p "$out"

# Cores that this process may use; THREADS=1,2,4,8 measures fewer points.
cores=$(nproc 2>/dev/null || echo 2)

# Why these settings: README.md.
"$pipetop" sweep \
    --no-config \
    --over "preprocess.threads=${THREADS:-1..$cores}" \
    --work native,gil-release,gil-hold,loop-hold \
    --engine null:u8 --geometry squash2160 \
    --set preprocess.scaled_decode=off \
    --set preprocess.filter=cubic-cv \
    --set preprocess.loop_rate=200 \
    --set infer.batch=2 \
    --seed 1 \
    --csv "$out/gil.csv" --json "$out/gil.json" --svg "$out/gil.svg" --png "$out/gil.png" \
    "$@" | tee "$out/gil.txt"
