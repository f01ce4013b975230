#!/usr/bin/env python3
"""Makes tests/data/ops: a tiny model for each operator and fusion, with what ONNX Runtime makes of it.

    python -m venv /tmp/models-venv
    /tmp/models-venv/bin/pip install onnx onnxruntime numpy
    /tmp/models-venv/bin/python scripts/make_op_models.py

Each NAME.onnx takes N×3×6×6 and gives N×classes. expected.json says for each: the operations that are to be left after fusing, in
order, and the outputs for two pictures of noise (the generator is `noise` below and in the test). refused.json says what is not
taken, and what its message must contain.
"""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "ops"
SIDE = 6


def noise(count: int) -> np.ndarray:
    state, values = 1, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values.append((state >> 8) / (1 << 23) - 1.0)
    return np.array(values, dtype=np.float32)


class Net:
    """A model in the making; `x` is the value that the next operator takes."""

    def __init__(self, opset: int = 17) -> None:
        self.opset, self.nodes, self.weights = opset, [], []
        self.random = np.random.default_rng(3)
        self.x = "x"
        self.count = 0

    def constant(self, values, dtype=np.float32) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def draw(self, *shape: int, low: float = -1.0, high: float = 1.0) -> str:
        return self.constant(self.random.uniform(low, high, shape).round(3))

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes):
        names = [f"v{self.count + i}" for i in range(outputs)]
        self.count += outputs
        node = helper.make_node(kind, list(inputs), names, name=f"{kind.lower()}_{self.count}", **attributes)
        self.nodes.append(node)
        self.x = names[0]
        return names if outputs > 1 else names[0]

    def conv(self, inputs: int, outputs: int, kernel: int = 3, groups: int = 1, bias: bool = True, x: str = "", **attributes):
        given = [x or self.x, self.draw(outputs, inputs // groups, kernel, kernel)]
        if bias:
            given.append(self.draw(outputs))
        if "pads" not in attributes and "auto_pad" not in attributes:
            attributes["pads"] = [kernel // 2] * 4
        return self.op("Conv", *given, group=groups, kernel_shape=[kernel] * 2, **attributes)

    def norm(self, channels: int, x: str = ""):
        parameters = [self.draw(channels) for _ in range(3)] + [self.draw(channels, low=0.2, high=2.0)]
        return self.op("BatchNormalization", x or self.x, *parameters)

    def bytes(self, ir: int = 8) -> bytes:
        flat = self.op("Flatten", self.x)
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, SIDE, SIDE])],
            [helper.make_tensor_value_info(flat, TensorProto.FLOAT, ["N", "classes"])],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=ir)
        return model.SerializeToString()


MODELS, REFUSED = {}, {}


def model(ops: str, opset: int = 17):
    """Registers a builder with the operations that are to be left of it."""

    def register(build):
        net = Net(opset)
        build(net)
        MODELS[build.__name__] = (net.bytes(), ops.split(", "))
        return build

    return register


def refused(*parts: str, opset: int = 17):
    def register(build):
        net = Net(opset)
        build(net)
        REFUSED[build.__name__] = (net.bytes(), parts)
        return build

    return register


@model("conv, conv, transpose")
def conv_groups(n):
    n.conv(3, 6, 1)
    n.conv(6, 9, 3, groups=3)


@model("conv, depthwise, depthwise, transpose")
def depthwise(n):
    n.conv(3, 5, 1)
    n.conv(5, 5, 5, groups=5, strides=[2, 2])
    n.conv(5, 5, 3, groups=5, bias=False)


@model("conv, transpose")
def conv_dilated_asymmetric(n):
    n.conv(3, 4, 3, dilations=[2, 1], pads=[0, 1, 2, 0], strides=[1, 2])


@model("conv, conv, transpose")
def conv_same(n):
    n.conv(3, 4, 3, auto_pad="SAME_UPPER", strides=[2, 2])
    n.conv(4, 3, 2, auto_pad="SAME_LOWER")


@model("conv, transpose")
def conv_norm_relu(n):
    n.conv(3, 4, 3, bias=False)
    n.norm(4)
    n.op("Relu", n.x)


@model("affine, conv, affine, conv, transpose")
def norm_between(n):
    n.norm(3)
    n.op("Relu", n.x)
    n.conv(3, 4)
    n.op("Relu", n.x)
    n.norm(4)
    n.conv(4, 3)


@model("conv, transpose", opset=10)
def clip_of_old(n):
    n.conv(3, 4)
    n.op("Clip", n.x, min=0.0, max=0.5)


@model("conv, transpose")
def clip_of_new(n):
    n.conv(3, 4)
    n.op("Clip", n.x, n.constant(-0.25), n.constant(0.5))


@model("conv, conv, conv, transpose")
def sigmoids(n):
    n.op("Sigmoid", n.conv(3, 4))
    n.op("HardSigmoid", n.conv(4, 4), alpha=0.25, beta=0.4)
    n.op("LeakyRelu", n.conv(4, 3), alpha=0.2)


@model("conv, conv, transpose")
def silu(n):
    y = n.conv(3, 4)
    n.op("Mul", y, n.op("Sigmoid", y))
    y = n.conv(4, 3)
    n.op("Mul", n.op("Sigmoid", y), y)


@model("conv, conv, conv, conv, transpose")
def hard_swishes(n):
    n.op("HardSwish", n.conv(3, 4))
    y = n.conv(4, 4)
    n.op("Mul", y, n.op("HardSigmoid", y, alpha=1 / 6, beta=0.5))

    def gate(y):
        return n.op("Clip", n.op("Add", y, n.constant(3.0)), n.constant(0.0), n.constant(6.0))

    y = n.conv(4, 4)
    n.op("Mul", y, n.op("Div", gate(y), n.constant(6.0)))
    y = n.conv(4, 3)
    n.op("Div", n.op("Mul", y, gate(y)), n.constant(6.0))


@model("conv, conv, conv, transpose")
def gelu_written_out(n):
    def one_plus_erf(y, factor):
        inner = n.op("Div", y, n.constant(2**0.5)) if factor else n.op("Mul", y, n.constant(2**-0.5))
        return n.op("Add", n.op("Erf", inner), n.constant(1.0))

    y = n.conv(3, 4)
    n.op("Mul", n.op("Mul", y, one_plus_erf(y, True)), n.constant(0.5))
    y = n.conv(4, 4)
    n.op("Mul", n.op("Mul", y, n.constant(0.5)), one_plus_erf(y, False))
    y = n.conv(4, 3)
    n.op("Mul", y, n.op("Mul", one_plus_erf(y, True), n.constant(0.5)))


@model("conv, conv, transpose", opset=20)
def gelu_and_tanh(n):
    n.op("Gelu", n.conv(3, 4))
    n.op("Tanh", n.conv(4, 3))


@model("conv, conv, conv, transpose")
def residual(n):
    y = n.conv(3, 4, bias=False)
    z = n.norm(4, n.conv(4, 4, x=n.op("Relu", y), bias=False))
    y = n.norm(4, n.conv(3, 4, 1, x="x", bias=False))
    n.op("Relu", n.op("Add", z, y))


@model("conv, add, transpose")
def sum_that_is_read_twice(n):
    y = n.conv(3, 3)
    # Both terms are needed elsewhere or are no products.
    n.op("Add", n.op("Relu", y), "x")


@model("conv, global average, conv, conv, mul, transpose")
def squeeze_excite(n):
    y = n.op("Relu", n.conv(3, 5))
    n.op("GlobalAveragePool", y)
    n.op("Relu", n.conv(5, 2, 1))
    gate = n.op("HardSigmoid", n.conv(2, 5, 1), alpha=1 / 6, beta=0.5)
    n.op("Mul", gate, y)


@model("max pool, transpose")
def max_pool(n):
    n.op("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)


@model("average pool, transpose")
def average_pool_of_what_is_there(n):
    n.op("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


@model("average pool, transpose")
def average_pool_with_padding(n):
    n.op("AveragePool", "x", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 0], ceil_mode=1, count_include_pad=1)


@model("max pool")
def global_max_pool(n):
    n.op("GlobalMaxPool", "x")


@model("conv, global average, linear")
def mean_then_gemm(n):
    n.op("ReduceMean", n.conv(3, 4), axes=[2, 3], keepdims=0)
    n.op("Gemm", n.x, n.draw(5, 4), n.draw(5), transB=1, alpha=0.5, beta=2.0)


@model("global average, linear", opset=18)
def mean_by_input_then_matmul(n):
    mean = n.op("ReduceMean", "x", n.ints(-1, -2), keepdims=1)
    n.op("Squeeze", mean, n.ints(2, 3))
    n.op("Add", n.op("MatMul", n.x, n.draw(3, 4)), n.draw(4))


@model("conv, conv, concat, conv, transpose")
def concat(n):
    a, b = n.conv(3, 4), n.conv(3, 2, x="x")
    n.op("Concat", a, "x", b, axis=1)
    n.conv(9, 3)


@model("conv, transpose, slice, slice, depthwise, concat, transpose")
def shuffle(n):
    y = n.conv(3, 8, 1)
    size = n.op("Shape", y)
    batch, height, width = (n.op("Gather", size, n.constant(i, np.int64), axis=0) for i in (0, 2, 3))
    unsqueezed = [n.op("Unsqueeze", part, n.ints(0)) for part in (batch, height, width)]
    target = n.op("Concat", unsqueezed[0], n.ints(2), n.ints(4), *unsqueezed[1:], axis=0)
    y = n.op("Transpose", n.op("Reshape", y, target), perm=[0, 2, 1, 3, 4])
    channels = n.op("Mul", n.ints(2), n.ints(4))
    y = n.op("Reshape", y, n.op("Concat", unsqueezed[0], channels, *unsqueezed[1:], axis=0))
    left, right = n.op("Split", y, n.ints(3, 5), axis=1, outputs=2)
    right = n.conv(5, 5, 3, groups=5, x=right)
    n.op("Concat", right, left, axis=1)


@model("conv, slice, slice, transpose")
def slices(n):
    n.conv(3, 7)
    n.op("Slice", n.x, n.ints(1), n.ints(-1), n.ints(1), n.ints(1))
    n.op("Slice", n.x, n.ints(2), n.ints(2**62), n.ints(2))


@model("conv, global average, linear")
def shape_chain(n):
    y = n.op("GlobalAveragePool", n.conv(3, 4))
    batch = n.op("Gather", n.op("Shape", y), n.constant(0, np.int64), axis=0)
    target = n.op("Concat", n.op("Unsqueeze", batch, n.ints(0)), n.ints(-1), axis=0)
    n.op("Gemm", n.op("Reshape", y, target), n.draw(4, 3))


@model("lrn, transpose")
def lrn(n):
    n.op("LRN", "x", size=3, alpha=0.5, beta=0.75, bias=1.5)


@model("conv, pad, transpose")
def pad(n):
    # Zeros go into the convolution, ones do not.
    n.op("Pad", "x", n.ints(0, 0, 1, 0, 0, 0, 2, 1), n.constant(0.0))
    n.conv(3, 4, pads=[0, 0, 0, 0])
    n.op("Pad", n.x, n.ints(0, 0, 0, 1, 0, 0, 1, 0), n.constant(1.0))


@model("global average, linear, softmax")
def softmax(n):
    n.op("Flatten", n.op("GlobalAveragePool", "x"))
    n.op("Softmax", n.op("Gemm", n.x, n.draw(3, 6)), axis=-1)


@model("conv, layer norm, linear, transpose")
def layer_norm(n):
    n.op("Transpose", n.conv(3, 5), perm=[0, 2, 3, 1])
    n.op("LayerNormalization", n.x, n.draw(5), n.draw(5), axis=-1, epsilon=1e-4)
    n.op("MatMul", n.x, n.draw(5, 4))
    n.op("Transpose", n.x, perm=[0, 3, 1, 2])


@model("conv, layer norm, transpose")
def layer_norm_written_out(n):
    y = n.conv(3, 5)
    centred = n.op("Sub", y, n.op("ReduceMean", y, axes=[1], keepdims=1))
    variance = n.op("ReduceMean", n.op("Pow", centred, n.constant(2.0)), axes=[1], keepdims=1)
    root = n.op("Sqrt", n.op("Add", variance, n.constant(1e-4)))
    n.op("Mul", n.op("Div", centred, root), n.draw(5, 1, 1))
    n.op("Add", n.x, n.draw(5, 1, 1))


@model("conv, depthwise, layer norm, linear, linear, transpose")
def convnext_block(n):
    y = n.conv(3, 4, 1)
    n.conv(4, 4, 5, groups=4)
    n.op("Transpose", n.x, perm=[0, 2, 3, 1])
    n.op("LayerNormalization", n.x, n.draw(4), n.draw(4), axis=-1)
    z = n.op("Add", n.op("MatMul", n.x, n.draw(4, 8)), n.draw(8))
    gate = n.op("Add", n.op("Erf", n.op("Div", z, n.constant(2**0.5))), n.constant(1.0))
    n.op("Mul", n.op("Mul", z, gate), n.constant(0.5))
    n.op("Add", n.op("MatMul", n.x, n.draw(8, 4)), n.draw(4))
    n.op("Transpose", n.x, perm=[0, 3, 1, 2])
    n.op("Add", n.op("Mul", n.draw(4, 1, 1), n.x), y)


@model("conv, layer norm, global average, linear")
def tokens(n):
    n.conv(3, 8, 2, pads=[0, 0, 0, 0], strides=[2, 2])
    n.op("Transpose", n.op("Reshape", n.x, n.ints(0, 8, -1)), perm=[0, 2, 1])
    n.op("LayerNormalization", n.x, n.draw(8), n.draw(8))
    n.op("Gemm", n.op("ReduceMean", n.x, axes=[1], keepdims=0), n.draw(8, 4))


@model("conv, transpose")
def half_precision_weights(n):
    half = n.constant(n.random.uniform(-1, 1, (4, 3, 3, 3)), np.float16)
    n.op("Conv", "x", n.op("Cast", half, to=TensorProto.FLOAT), pads=[1] * 4, kernel_shape=[3, 3])


@model("conv, transpose")
def nothing_but_names(n):
    n.op("Identity", "x")
    n.op("Dropout", n.conv(3, 4), n.constant(0.5))
    n.op("Unsqueeze", n.x, n.ints(2))
    n.op("Squeeze", n.x, n.ints(2))
    n.op("Cast", n.x, to=TensorProto.FLOAT)


@model("affine, conv, affine, transpose")
def arithmetic_with_constants(n):
    n.op("Sub", "x", n.draw(1, 3, 1, 1))
    n.op("Div", n.x, n.draw(3, 1, 1, low=0.5, high=2.0))
    n.op("Mul", n.op("Relu", n.conv(3, 4)), n.constant(0.5))
    n.op("Add", n.constant([0.25]), n.x)
    n.op("Sub", n.constant(1.0), n.x)


@model("conv, conv, sub, global average, div, transpose")
def arithmetic_of_tensors(n):
    a, b = n.op("Sigmoid", n.conv(3, 4)), n.op("Sigmoid", n.conv(3, 4, x="x"))
    difference = n.op("Sub", a, b)
    n.op("Div", n.op("GlobalAveragePool", b), difference)


@model("conv, transpose, conv, transpose")
def a_layout_of_its_own(n):
    # Rows and columns trade places, which no view of an image can say.
    n.op("Transpose", n.conv(3, 4), perm=[0, 1, 3, 2])
    n.conv(4, 3, 3, pads=[1, 0, 1, 2])


@refused("Resize `resize_1`", "not among those")
def resize(n):
    n.op("Resize", "x", "", n.constant([1.0, 1.0, 2.0, 2.0]))


@refused("MatMul `matmul_3`", "two computed matrices")
def attention(n):
    flat = n.op("Reshape", "x", n.ints(0, 3, -1))
    n.op("MatMul", flat, n.op("Transpose", flat, perm=[0, 2, 1]))


@refused("Erf `erf_1`", "not among those")
def erf_alone(n):
    n.op("Erf", "x")


@refused("Reshape `reshape_1`", "mix images")
def reshape_over_the_batch(n):
    n.op("Reshape", "x", n.ints(-1, SIDE))


@refused("Conv `conv_1`", "two sizes")
def volumes(n):
    n.op("Unsqueeze", "x", n.ints(2))
    n.nodes.clear()
    n.count = 0
    n.op("Conv", "x", n.draw(2, 3, 3, 3), kernel_shape=[3, 3], strides=[1, 1, 1])


@refused("ReduceMean `reducemean_1`", "leaves more than channels")
def spatial_attention(n):
    n.op("ReduceMean", "x", axes=[1], keepdims=1)


@refused("Conv `conv_1`", "sizes up to 4096")
def padding_without_end(n):
    n.conv(3, 4, 3, pads=[1 << 62, 1, 1, 1])


@refused("Conv `conv_1`", "kernel_shape is [5, 5]", "3×3")
def kernel_of_another_size(n):
    n.op("Conv", "x", n.draw(2, 3, 3, 3), kernel_shape=[5, 5], pads=[1, 1, 1, 1])


@refused("MaxPool `maxpool_1`", "as large as its window")
def pool_of_padding(n):
    n.op("MaxPool", "x", kernel_shape=[2, 2], pads=[2, 2, 2, 2])


@refused("GiB", "8 are the limit")
def no_memory_holds_it(n):
    n.op("Pad", "x", n.ints(0, 0, 4096, 4096, 0, 0, 4096, 4096))
    n.conv(3, 40, 1)


def outputs(model: bytes) -> list[float]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options)
    pictures = noise(2 * 3 * SIDE * SIDE).reshape(2, 3, SIDE, SIDE)
    (values,) = session.run(None, {"x": pictures})
    return [float(f"{value:.7g}") for value in values.reshape(-1)]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, (data, ops) in sorted(MODELS.items()):
        onnx.checker.check_model(onnx.load_from_string(data))
        (FOLDER / f"{name}.onnx").write_bytes(data)
        expected[name] = {"ops": ops, "outputs": outputs(data)}
    (FOLDER / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    for name, (data, _) in REFUSED.items():
        (FOLDER / f"refused_{name}.onnx").write_bytes(data)
    parts = {name: list(parts) for name, (_, parts) in sorted(REFUSED.items())}
    (FOLDER / "refused.json").write_text(json.dumps(parts, indent=1) + "\n")
    total = sum(file.stat().st_size for file in FOLDER.iterdir())
    print(f"{len(MODELS)} models and {len(REFUSED)} refused, {total / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
