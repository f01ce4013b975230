#!/usr/bin/env python3
"""Compares pipetop's logits with those of ONNX Runtime, on photos, for each model of a folder and the one built in.

    python -m venv /tmp/models-venv
    /tmp/models-venv/bin/pip install onnxruntime numpy pillow
    /tmp/models-venv/bin/python scripts/check_logits.py target/release/pipetop MODELS PHOTOS

MODELS holds .onnx files (scripts/export_models.py makes some), PHOTOS pictures. Both engines get the same values. Fails where
max|Δ| / max|logit| is above 1e-4, where the likeliest class of a photo differs, or where a model did not run on the engine
that was asked for.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image

BUILTIN = Path(__file__).resolve().parent.parent / "assets" / "models" / "efficientnet_lite0.onnx"
LIMIT = 1e-4
IMAGENET = ([0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255])
LITE = ([127.0] * 3, [128.0] * 3)


def picture(file: Path, mean, std) -> np.ndarray:
    image = Image.open(file).convert("RGB")
    factor = 256 / min(image.size)
    width, height = (round(side * factor) for side in image.size)
    image = image.resize((width, height), Image.Resampling.BICUBIC)
    left, top = (width - 224) // 2, (height - 224) // 2
    pixels = np.asarray(image.crop((left, top, left + 224, top + 224)), dtype=np.float32)
    return ((pixels - np.float32(mean)) / np.float32(std)).transpose(2, 0, 1)


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, models, photos = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    files = sorted(file for file in photos.rglob("*") if file.suffix.lower() in (".jpg", ".jpeg", ".png"))[:16]
    bad = 0
    print(f"{len(files)} photos; max|Δ| / max|logit|, photos with the same likeliest class")
    for model in [BUILTIN, *sorted(models.glob("*.onnx"))]:
        mean, std = LITE if "lite0" in model.name else IMAGENET
        values = np.stack([picture(file, mean, std) for file in files]).astype("<f4")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(model), options)
        name = session.get_inputs()[0].name
        expected = session.run(None, {name: values})[0].reshape(len(files), -1)
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "in", Path(folder) / "out"
            values.tofile(source)
            command = [program, "bench", "infer", "--model", str(model), "--input", str(source), "--logits", str(target)]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
            found = np.fromfile(target, "<f4").reshape(expected.shape)
        error = np.abs(found - expected).max() / np.abs(expected).max()
        same = int((found.argmax(1) == expected.argmax(1)).sum())
        fine = error <= LIMIT and same == len(files) and "by CPU" in said
        bad += not fine
        print(f"{model.stem:24} {error:.1e}  {same}/{len(files)}{'' if fine else '  BAD: ' + said.strip()}", flush=True)
    sys.exit(f"{bad} models disagree" if bad else 0)


if __name__ == "__main__":
    main()
