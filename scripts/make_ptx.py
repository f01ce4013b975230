#!/usr/bin/env python3
"""Compiles the CUDA kernels to the PTX that the program carries.

    python3 -m venv /tmp/nvrtc && /tmp/nvrtc/bin/pip install nvidia-cuda-nvrtc-cu12==12.0.76
    /tmp/nvrtc/bin/python scripts/make_ptx.py           # writes src/pipeline/infer/cuda/kernels/*.ptx
    /tmp/nvrtc/bin/python scripts/make_ptx.py --check   # compiles, and fails where the files hold something else

No GPU, driver or toolkit is needed. NVRTC 12.0 writes PTX ISA 8.0, which drivers from 525 on take; a later NVRTC would
lock older drivers out, so the version is checked.
"""

import ctypes
import glob
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src/pipeline/infer/cuda/kernels")
HEADER = "common.cuh"
# PTX file, source, virtual architecture, further options
MODULES = [
    ("igemm.ptx", "igemm.cu", "compute_80", []),
    ("halves.ptx", "ops.cu", "compute_80", ["-DHALVES"]),
    ("floats.ptx", "ops.cu", "compute_60", []),
]


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def fingerprint(text):
    """FNV-1a, 64 bits; the test in kernels.rs computes the same."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def load_nvrtc():
    pattern = "lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    found = glob.glob(os.path.join(sys.prefix, pattern))
    if not found:
        sys.exit(f"no {pattern} in {sys.prefix}: pip install nvidia-cuda-nvrtc-cu12==12.0.76")
    # NVRTC opens its builtins by name alone.
    for builtins in glob.glob(os.path.join(os.path.dirname(found[0]), "libnvrtc-builtins.so*")):
        ctypes.CDLL(builtins, ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(found[0])
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) != (12, 0):
        sys.exit(f"NVRTC {major.value}.{minor.value} writes another PTX version; 12.0 is wanted")
    return nvrtc


def compile_ptx(nvrtc, source, architecture, options):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    texts = (ctypes.c_char_p * 1)(read(HEADER).encode())
    names = (ctypes.c_char_p * 1)(HEADER.encode())
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), read(source).encode(), source.encode(), 1, texts, names)
    given = ["--std=c++17", "--use_fast_math", f"--gpu-architecture={architecture}", *options]
    given = (ctypes.c_char_p * len(given))(*[option.encode() for option in given])
    failed = nvrtc.nvrtcCompileProgram(program, len(given), given)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if failed:
        sys.exit(f"{source} for {architecture}:\n{log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


def main():
    check = sys.argv[1:] == ["--check"]
    nvrtc = load_nvrtc()
    for module, source, architecture, options in MODULES:
        made = fingerprint(" ".join([read(HEADER), read(source), architecture, *options]))
        ptx = f"// made by scripts/make_ptx.py from {source}, {made}\n" + compile_ptx(nvrtc, source, architecture, options)
        entries = ptx.count(".visible .entry")
        if check:
            if read(module) != ptx:
                sys.exit(f"{module} is not what {source} makes: run scripts/make_ptx.py")
        else:
            with open(os.path.join(FOLDER, module), "w", encoding="utf-8") as file:
                file.write(ptx)
        print(f"{module}: {entries} kernels, {len(ptx)} bytes")


main()
