"""What Python offers from JPEG bytes to a normalised float32 CHW square: three steps a library.

Each function returns {name: (decode, resize, normalise)} for a framing and raises ImportError where its library is
absent.
"""
import io

import numpy as np

MEAN = np.array([123.675, 116.28, 103.53], np.float32)
STD = np.array([58.395, 57.12, 57.375], np.float32)
SCALE, SHIFT = 1 / STD, -MEAN / STD


class Framing:
    """Which part of a picture comes into the square: all of it, or the middle of the resized one."""

    def __init__(self, name):
        self.name = name
        if name.startswith("squash"):
            self.side, self.short = int(name[len("squash"):]), None
        else:
            short, side = name.removeprefix("short").split("-crop")
            self.side, self.short = int(side), int(short)

    def whole(self, width, height):
        """Size to which the whole picture would be resized."""
        if self.short is None:
            return self.side, self.side
        if width <= height:
            return self.short, self.short * height // width
        return self.short * width // height, self.short

    def box(self, width, height):
        """The part of a picture of that size that the square covers: left, top, right, bottom."""
        w, h = self.whole(width, height)
        left, top = (w - self.side) // 2, (h - self.side) // 2
        x, y = width / w, height / h
        return left * x, top * y, (left + self.side) * x, (top + self.side) * y


def planes(rgb):
    """HWC uint8 RGB to CHW float32, one pass a plane."""
    out = np.empty((3, *rgb.shape[:2]), np.float32)
    for channel in range(3):
        np.multiply(rgb[:, :, channel], SCALE[channel], out=out[channel])
        out[channel] += SHIFT[channel]
    return out


def opencv(framing):
    import cv2

    cv2.setNumThreads(1)
    side = (framing.side, framing.side)

    def decode(flag):
        return lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), flag)

    def resize(picture):
        if framing.short is not None:
            # Cutting first and resizing only what is kept is the fastest; cv2 has no crop in parts of pixels.
            height, width = picture.shape[:2]
            left, top, right, bottom = (round(edge) for edge in framing.box(width, height))
            picture = picture[top:bottom, left:right]
        return cv2.resize(picture, side, interpolation=cv2.INTER_CUBIC)

    def blob(bgr):  # one factor for the three channels: not quite the same numbers, but the fastest
        return cv2.dnn.blobFromImage(bgr, float(SCALE.mean()), side, MEAN.tolist(), swapRB=True)[0]

    found = {
        "cv2-blob": (decode(cv2.IMREAD_COLOR), resize, blob),
        "cv2-numpy": (decode(cv2.IMREAD_COLOR), resize, lambda bgr: planes(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB))),
        "cv2-reduced2": (decode(cv2.IMREAD_REDUCED_COLOR_2), resize, blob),
        "cv2-reduced4": (decode(cv2.IMREAD_REDUCED_COLOR_4), resize, blob),
    }
    if hasattr(cv2, "IMREAD_COLOR_RGB"):
        found["cv2-rgb"] = (decode(cv2.IMREAD_COLOR_RGB), resize, planes)
    return cv2.__version__, found


def pillow(framing):
    import PIL
    from PIL import Image

    def decode(data, draft=False):
        picture = Image.open(io.BytesIO(data))
        if draft:
            picture.draft("RGB", framing.whole(*picture.size))
        return picture.convert("RGB")

    def resize(picture):
        size = (framing.side, framing.side)
        return picture.resize(size, Image.Resampling.BICUBIC, box=framing.box(*picture.size))

    def normalise(picture):
        return planes(np.asarray(picture))

    return PIL.__version__, {
        "pillow": (decode, resize, normalise),
        "pillow-draft": (lambda data: decode(data, draft=True), resize, normalise),
    }


def torchvision(framing):
    import torch
    import torchvision as library
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms.v2 import functional

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    scale, shift = (torch.tensor(values)[:, None, None] for values in (SCALE, SHIFT))

    def decode(data):
        return decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), mode=ImageReadMode.RGB)

    def resize(picture):
        size = framing.whole(picture.shape[2], picture.shape[1])[::-1]
        done = functional.resize(picture, list(size), interpolation=InterpolationMode.BICUBIC, antialias=True)
        return done if framing.short is None else functional.center_crop(done, [framing.side] * 2)

    def normalise(picture):
        return torch.addcmul(shift, picture.float(), scale)

    return library.__version__, {"torchvision": (decode, resize, normalise)}


LIBRARIES = {"OpenCV": opencv, "Pillow": pillow, "torchvision": torchvision}
