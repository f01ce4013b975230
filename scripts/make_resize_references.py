#!/usr/bin/env python3
"""Small pictures resized by the libraries that pipetop's filters follow, for its tests to compare with.

usage: make_resize_references.py [FOLDER]      (tests/data/resize by default; needs numpy, Pillow < 13, OpenCV)

Pillow 13 goes along the columns first where that is cheaper, as in a tall picture that is squashed; the versions before
it always went along the rows first, as pipetop does.

Writes the sources and the results as PNG files, and cases.json, which says for each result what made it. Where
torchvision is installed its antialiased filters on tensors are added. The same versions write the same files.
"""
import json
import sys
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
PHOTO = ROOT / "tests/data/canyon-wren_1.jpg"


def sources():
    """Name, picture, side of the square, length of the shorter side before the crop."""
    random = np.random.default_rng(7)
    photo = Image.open(PHOTO).convert("RGB")
    yield "photo", np.asarray(photo.crop((120, 90, 120 + 97, 90 + 61))), 32, 36
    # Hard edges and noise: what overshoots and what aliases.
    edges = np.zeros((83, 41, 3), np.uint8)
    edges[20:50, 10:30] = (255, 0, 128)
    edges[40:70, 5:15] = (0, 255, 255)
    edges[::7] = 255
    yield "edges", edges, 32, 37
    yield "noise", random.integers(0, 256, (167, 211, 3), dtype=np.uint8), 33, 33
    yield "tiny", random.integers(0, 256, (11, 15, 3), dtype=np.uint8), 40, 45


def geometries(width, height, side, short):
    """Name, size to which the whole is resized, offset of the crop."""
    yield f"squash{side}", (side, side), (0, 0)
    if width <= height:
        size = (short, short * height // width)
    else:
        size = (short * width // height, short)
    yield f"short{short}-crop{side}", size, ((size[0] - side) // 2, (size[1] - side) // 2)


def pillow():
    for word, filter in [
        ("nearest", Image.Resampling.NEAREST),
        ("bilinear", Image.Resampling.BILINEAR),
        ("cubic", Image.Resampling.BICUBIC),
        ("lanczos3", Image.Resampling.LANCZOS),
    ]:
        def resize(picture, size, filter=filter):
            return np.asarray(Image.fromarray(picture).resize(size, filter))

        yield word, resize


def opencv():
    cv2.setNumThreads(1)
    for word, filter in [("cubic-cv", cv2.INTER_CUBIC), ("nearest", cv2.INTER_NEAREST_EXACT)]:
        def resize(picture, size, filter=filter):
            return cv2.resize(picture, size, interpolation=filter)

        yield word, resize


def torchvision():
    import torch
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms.v2 import functional

    for word, filter in [("bilinear", InterpolationMode.BILINEAR), ("cubic", InterpolationMode.BICUBIC)]:
        def resize(picture, size, filter=filter):
            tensor = torch.from_numpy(picture.copy()).permute(2, 0, 1)
            done = functional.resize(tensor, [size[1], size[0]], interpolation=filter, antialias=True)
            return done.permute(1, 2, 0).numpy()

        yield word, resize


def libraries():
    import PIL

    if int(PIL.__version__.split(".")[0]) >= 13:
        sys.exit(f"Pillow {PIL.__version__} is too new: take a version before 13, as this file's head says")
    yield "pillow", PIL.__version__, list(pillow())
    yield "opencv", cv2.__version__, list(opencv())
    try:
        import torchvision as library

        yield "torchvision", library.__version__, list(torchvision())
    except ImportError as error:
        print(f"left out: torchvision: {error}", file=sys.stderr)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/data/resize"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    cases = []
    for name, picture, side, short in sources():
        Image.fromarray(picture).save(folder / f"{name}.png", optimize=True)
        height, width = picture.shape[:2]
        for geometry, size, (left, top) in geometries(width, height, side, short):
            for library, version, filters in libraries():
                for word, resize in filters:
                    resized = resize(picture, size)[top : top + side, left : left + side]
                    file = f"{name}-{geometry}-{library}-{word}.png"
                    Image.fromarray(np.ascontiguousarray(resized)).save(folder / file, optimize=True)
                    cases.append({
                        "source": f"{name}.png", "side": side,
                        "short_side": None if geometry.startswith("squash") else short,
                        "library": f"{library} {version}", "filter": word, "result": file,
                    })
    lines = ",\n".join(json.dumps(case) for case in cases)
    (folder / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
