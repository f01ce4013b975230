#!/usr/bin/env python3
"""pipetop's engine on an NVIDIA GPU against PyTorch on the same one, alternated in one run.

    python benches/peers/infer_gpu.py target/release/pipetop FOLDER [--models resnet50,mobilenet_v2,efficientnet_lite0]
        [--batch 1,8,64,256] [--rounds 3] [--seconds 1] [--compile resnet50] [--json FILE]

Wants torch and torchvision with CUDA. Models have random weights (scripts/export_models.py) and lie as ONNX in FOLDER, where they
are exported if missing. PyTorch runs fp16, channels last, inputs on the GPU already:

graph     as torchvision gives the model, recorded as a CUDA graph
folded    the same with batch normalisation folded into the convolutions
compiled  folded, and torch.compile(mode="max-autotune")

pipetop runs the same weights from the ONNX file, with the driver alone and with cuDNN where it is found: `network` is its graph alone
on the GPU, `all` is batches of bytes from host memory to logits in host memory. Given are medians of the rounds in images a second.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torchvision
from torchvision.models.efficientnet import EfficientNet, MBConvConfig
from torch.nn.utils.fusion import fuse_conv_bn_eval

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
import export_models  # noqa: E402

median = statistics.median


def lite0() -> torch.nn.Module:
    """EfficientNet-Lite0: B0 without squeeze and excite, with ReLU6, with stem and head of B0's size."""
    rows = [(1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3)]
    rows += [(6, 5, 1, 80, 112, 3), (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1)]

    class Block(torchvision.models.efficientnet.MBConv):
        def __init__(self, config, stochastic_depth_prob, norm_layer):
            super().__init__(config, stochastic_depth_prob, norm_layer, se_layer=lambda *_, **__: torch.nn.Identity())

    settings = [MBConvConfig(*row, 1.0, 1.0, block=Block) for row in rows]
    model = EfficientNet(settings, dropout=0.2, last_channel=1280)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, torch.nn.SiLU):
                setattr(module, name, torch.nn.ReLU6(inplace=True))
    return model


def load(name: str, folder: Path) -> torch.nn.Module:
    """The model with its weights, which are also those of FOLDER/NAME.onnx."""
    if name == "efficientnet_lite0":
        own = torchvision.models.get_model
        export_models.torchvision.models.get_model = lambda *_, **__: lite0()
        try:
            return made(name, folder)
        finally:
            export_models.torchvision.models.get_model = own
    return made(name, folder)


def made(name: str, folder: Path) -> torch.nn.Module:
    torch.manual_seed(1)
    if not (folder / f"{name}.onnx").exists():
        export_models.export(name, folder)
    torch.manual_seed(1)
    model = export_models.torchvision.models.get_model(name, weights=None)
    export_models.settle(model)
    return model.eval()


def folded(model: torch.nn.Module) -> torch.nn.Module:
    """Batch normalisation in the convolution right before it."""
    for module in model.modules():
        before = None
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.BatchNorm2d) and before is not None:
                setattr(module, before, fuse_conv_bn_eval(getattr(module, before), child))
                setattr(module, name, torch.nn.Identity())
            before = name if isinstance(child, torch.nn.Conv2d) else None
    return model


class Graph:
    """A model in a CUDA graph of its own."""

    def __init__(self, model: torch.nn.Module, batch: int) -> None:
        self.batch = batch
        self.input = torch.randn(batch, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
        stream = torch.cuda.Stream()
        with torch.inference_mode(), torch.cuda.stream(stream):
            for _ in range(5):
                model(self.input)
            stream.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=stream):
                self.output = model(self.input)

    def run(self) -> None:
        self.graph.replay()


class Compiled:
    """A model as torch.compile makes it; mode max-autotune uses CUDA graphs itself."""

    def __init__(self, model: torch.nn.Module, batch: int) -> None:
        torch._dynamo.reset()
        self.batch = batch
        self.input = torch.randn(batch, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
        self.model = torch.compile(model, mode="max-autotune", dynamic=False)
        with torch.inference_mode():
            for _ in range(5):
                self.model(self.input)
        torch.cuda.synchronize()

    def run(self) -> None:
        with torch.inference_mode():
            torch.compiler.cudagraph_mark_step_begin()
            self.model(self.input)


def rate(peer, seconds: float) -> float:
    """Images a second by CUDA events, many runs in a row."""
    runs = 3
    while True:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(runs):
            peer.run()
        end.record()
        end.synchronize()
        ms = begin.elapsed_time(end)
        if ms >= seconds * 1e3:
            return peer.batch * runs * 1e3 / ms
        runs = max(runs + 1, int(runs * min(10.0, 1.2 * seconds * 1e3 / ms)))


def pipetop(program: str, model: Path, batch: int, seconds: float, cudnn: bool) -> dict[str, float]:
    command = [program, "bench", "infer", "--json", "--engine", "cuda", "--model", str(model), "--batch", str(batch)]
    command += ["--precision", "fp16", "--seconds", str(seconds)] + ([] if cudnn else ["--no-cudnn"])
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    (run,) = report["runs"]
    device = run["device"]
    name = "cudnn" if cudnn else "driver"
    return {
        f"{name} network": device["network_img_s"],
        f"{name} all": run["img_s"],
        f"{name} busy": device["busy"],
        f"{name} of network": device["of_network"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", default="resnet50,mobilenet_v2,efficientnet_lite0")
    parser.add_argument("--batch", default="1,8,64,256")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--compile", default="")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, img/s", flush=True)
    for name in args.models.split(","):
        file = args.folder / f"{name}.onnx"
        plain = load(name, args.folder).cuda().half().to(memory_format=torch.channels_last)
        fold = folded(load(name, args.folder)).cuda().half().to(memory_format=torch.channels_last)
        for batch in map(int, args.batch.split(",")):
            peers = {"graph": Graph(plain, batch), "folded": Graph(fold, batch)}
            if name in args.compile.split(","):
                start = time.monotonic()
                try:
                    peers["compiled"] = Compiled(fold, batch)
                    print(f"  compiled for {batch} in {time.monotonic() - start:.0f} s", flush=True)
                except Exception as error:  # noqa: BLE001 - whatever it is, the others are still measured
                    print(f"  not compiled for {batch}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            rounds = []
            for _ in range(args.rounds):
                one = {peer: rate(model, args.seconds) for peer, model in peers.items()}
                for cudnn in (False, True):
                    one |= pipetop(args.program, file, batch, args.seconds, cudnn)
                rounds.append(one)
            row = {key: median(one[key] for one in rounds) for key in rounds[0]}
            rows.append({"model": name, "batch": batch} | row)
            print(f"{name} b{batch}: " + ", ".join(f"{key} {value:.5g}" for key, value in row.items()), flush=True)
            del peers
            torch.cuda.empty_cache()
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
