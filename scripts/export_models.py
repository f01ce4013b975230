#!/usr/bin/env python3
"""Exports torchvision's classifiers as ONNX models with random weights, to check and measure engines on.

Weights are drawn from a fixed seed. The statistics of each batch normalisation are those of the activations that
really arrive there for smooth pictures with some noise, times a random factor: so folding matters, and nothing dies out or grows
on the way, which would make the network chaotic and logits no measure of an engine.

    python -m venv /tmp/models-venv
    /tmp/models-venv/bin/pip install torch torchvision onnx
    /tmp/models-venv/bin/python scripts/export_models.py FOLDER [NAME ...]

Writes FOLDER/NAME.onnx: opset 17, batch normalisation kept apart, a free batch axis.
"""

import sys
from pathlib import Path

import torch
import torchvision

NAMES = [
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "squeezenet1_1",
    "densenet121",
    "shufflenet_v2_x1_0",
    "regnet_y_400mf",
    "convnext_tiny",
    "alexnet",
    "vgg11_bn",
    "mnasnet1_0",
    "googlenet",
]


def settle(model: torch.nn.Module) -> None:
    """Gives weights and statistics that keep activations of one size through all layers."""
    generator = torch.Generator().manual_seed(1)

    def uniform(like: torch.Tensor, low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(like.shape, generator=generator)

    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d | torch.nn.Linear):
            fan_in = module.weight[0].numel()
            module.weight.data = torch.randn(module.weight.shape, generator=generator) * (2.0 / fan_in) ** 0.5
            if module.bias is not None:
                module.bias.data = uniform(module.bias, -0.1, 0.1)
        elif isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
            module.weight.data = uniform(module.weight, 0.5, 1.5)
            module.bias.data = uniform(module.bias, -0.3, 0.3)
        for name, parameter in module.named_parameters(recurse=False):
            if name == "layer_scale":
                parameter.data = uniform(parameter, 0.2, 1.0)
    for module in model.modules():
        # Gates that follow the picture strongly multiply what differs from layer to layer.
        if isinstance(module, torchvision.ops.SqueezeExcitation):
            module.fc1.weight.data *= 0.2
            module.fc2.weight.data *= 0.2
    model.train()
    for module in model.modules():
        # What is dropped at random would be missing in the statistics.
        if isinstance(module, torch.nn.Dropout | torchvision.ops.StochasticDepth):
            module.eval()
    with torch.no_grad():
        smooth = torch.randn(8, 3, 7, 7, generator=generator) * 1.2
        smooth = torch.nn.functional.interpolate(smooth, size=224, mode="bicubic")
        model(smooth + 0.3 * torch.randn(8, 3, 224, 224, generator=generator))
    model.eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_var *= uniform(module.running_var, 0.7, 1.4)
            module.running_mean += uniform(module.running_mean, -0.2, 0.2) * module.running_var.sqrt()


def export(name: str, folder: Path) -> None:
    options = {"init_weights": False, "aux_logits": False} if name == "googlenet" else {}
    model = torchvision.models.get_model(name, weights=None, **options)
    settle(model)
    file = folder / f"{name}.onnx"
    torch.onnx.export(
        model,
        (torch.randn(1, 3, 224, 224),),
        str(file),
        dynamo=False,
        opset_version=17,
        # Constants are folded, batch normalisation is not: engines are to fold it.
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
        input_names=["input"],
        output_names=["logits"],
        dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}},
    )
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB", flush=True)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NAMES:
        torch.manual_seed(1)
        export(name, folder)


if __name__ == "__main__":
    main()
