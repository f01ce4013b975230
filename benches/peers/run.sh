#!/usr/bin/env bash
# pipetop's preprocessing beside Python's, on the same photos and in one run.
#
#   benches/peers/run.sh PATH… [OPTION…]      (options: benches/peers/compare.py --help)
#
# Sets up a Python environment that is thrown away afterwards (PEERS_VENV=FOLDER keeps and reuses one). What cannot be
# installed is left out, and said so; PyTorch is large and asked for only with PEERS_TORCH=1.
# PIPETOP names the binary; otherwise target/release/pipetop is built.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"

if [ $# = 0 ] || [ "$1" = -h ] || [ "$1" = --help ]; then
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
venv="${PEERS_VENV:-$work/venv}"
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv" || { echo "Python with its venv module is needed (python3-venv on Debian)" >&2; exit 1; }
fi
packages=(numpy opencv-python-headless pillow)
[ "${PEERS_TORCH:-}" = 1 ] && packages+=(torch torchvision)
for package in "${packages[@]}"; do
    if ! "$venv/bin/pip" install --quiet --disable-pip-version-check "$package" >"$work/log" 2>&1; then
        echo "left out: $package cannot be installed: $(tail -n 1 "$work/log")" >&2
    fi
done

pipetop="${PIPETOP:-}"
if [ -z "$pipetop" ]; then
    (cd "$root" && cargo build --release --locked --quiet)
    pipetop="${CARGO_TARGET_DIR:-$root/target}/release/pipetop"
fi

# glibc's malloc maps every decoded picture anew otherwise, and page faults come to dominate OpenCV's figures.
export MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
"$venv/bin/python" "$here/compare.py" --pipetop "$pipetop" "$@"
