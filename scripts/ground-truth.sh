#!/usr/bin/env bash
# Runs pipetop over photos and compares what it says of its threads with what outside observers say.
#
#   scripts/ground-truth.sh PHOTOS [SECONDS] [MORE OPTIONS FOR PIPETOP…]
#
# Observers: /proc/PID/task/*/schedstat and status, pidstat -t (Debian: sysstat) and perf's record of
# futex calls (Debian: linux-perf; needs root). What is not there is said and left out. Exit code 1 where
# a pipeline thread's CPU differs by more than 1 percentage point, or its lock wait by more than 2 % of
# the futex time; see docs/ground-truth.md.
set -euo pipefail
if [ $# -lt 1 ] || [ ! -e "$1" ]; then
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
photos=$1
seconds=${2:-30}
shift $(( $# > 1 ? 2 : 1 ))
binary=${PIPETOP:-$(dirname "$0")/../target/release/pipetop}
[ -x "$binary" ] || { echo "no $binary: cargo build --release" >&2; exit 2; }
exec python3 "$(dirname "$0")/ground_truth.py" "$binary" "$photos" "$seconds" "$@"
