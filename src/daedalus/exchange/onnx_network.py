"""Networks of dense layers from and to ONNX files, with the keywords of `m.network`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from daedalus.errors import InputError
from daedalus.exchange.extras import needed
from daedalus.model.doors.networks import ACTIVATIONS
from daedalus.model.names import did_you_mean, listed

# Operations of ONNX by our words, and operations that change nothing at run time.
OPERATIONS = {
    "tanh": "Tanh", "sigmoid": "Sigmoid", "softplus": "Softplus", "relu": "Relu", "sin": "Sin", "identity": "Identity",
}  # fmt: skip
WORDS = {operation: word for word, operation in OPERATIONS.items() if word != "identity"}
PASSED_OVER = ("Identity", "Dropout", "Flatten", "Cast")
# Files are data: the largest one that is read, in bytes. A network that can be written out is far smaller.
LARGEST_FILE = 64 * 2**20


class NetworkKeywords(TypedDict):
    """What `m.network` takes beside its name and inputs."""

    outputs: int
    layers: list[int]
    activation: str
    weights: np.ndarray


def read_onnx(path: str | Path) -> NetworkKeywords:
    """Read a network of dense layers from an ONNX file, as keywords of `m.network`.

    The file holds layers W h + b one after the other (Gemm, or MatMul and Add), the same activation after each hidden
    layer and none after the last. Exports of a PyTorch `Sequential` and of a Keras `Sequential` have this form. Other
    operations are refused by name. Needs the extra `onnx`.

    Returns a dictionary with `outputs`, `layers`, `activation` and `weights`: `m.network("drag", [v], **found)`.

    Example
    -------
    >>> import daedalus as dd, numpy as np, tempfile
    >>> from importlib.util import find_spec
    >>> if find_spec("onnx"):
    ...     with tempfile.TemporaryDirectory() as folder:
    ...         dd.exchange.write_onnx(f"{folder}/drag.onnx", np.arange(7.0), inputs=1, outputs=1, layers=[2])
    ...         assert dd.exchange.read_onnx(f"{folder}/drag.onnx")["layers"] == [2]
    """
    graph = _loaded(Path(path)).graph
    constants = _constants(graph, str(path))
    matrices: list[np.ndarray] = []
    biases: list[np.ndarray] = []
    activations: list[str] = []
    for node in _chain(graph, constants, str(path)):
        if node.op_type in WORDS:
            if len(activations) != len(matrices) - 1:
                raise _not_dense(path, f"{node.op_type} ({node.name}) does not follow a layer")
            activations.append(WORDS[node.op_type])
        elif node.op_type == "Add":
            if len(activations) == len(matrices):
                raise _not_dense(path, f"Add ({node.name}) does not follow a layer")
            biases[-1] = biases[-1] + _constant_of(node, constants, path).reshape(-1)
        else:
            activations += ["identity"] * (len(matrices) - len(activations))
            matrix, bias = _layer(node, constants, path)
            matrices.append(matrix)
            biases.append(bias)
    return _keywords(matrices, biases, activations, path)


def write_onnx(
    path: str | Path,
    weights: object,
    *,
    inputs: int,
    outputs: int = 1,
    layers: Sequence[int] = (32, 32),
    activation: str = "tanh",
) -> None:
    """Write the weights of a network of `m.network` as an ONNX file in double precision. Needs the extra `onnx`.

    Parameters
    ----------
    weights: all weights in the order of `m.network`, for example `fit.parameters["drag.weights"]`.
    inputs: how many inputs the network has. outputs, layers, activation: as in `m.network`.

    The file has one input `x` of shape (rows, inputs) and one output `y` of shape (rows, outputs).

    Example
    -------
    >>> import daedalus as dd, numpy as np, tempfile
    >>> from importlib.util import find_spec
    >>> if find_spec("onnx"):
    ...     with tempfile.TemporaryDirectory() as folder:
    ...         dd.exchange.write_onnx(f"{folder}/drag.onnx", np.arange(7.0), inputs=1, outputs=1, layers=[2])
    """
    onnx = needed("onnx", "onnx", "ONNX", "it writes the files")
    helper, numbers = onnx.helper, onnx.numpy_helper
    sizes = [int(inputs), *(int(width) for width in layers), int(outputs)]
    values = np.asarray(weights, dtype=float).reshape(-1)
    count = sum((n + 1) * m for n, m in pairwise(sizes))
    if activation not in ACTIVATIONS or len(values) != count or not np.all(np.isfinite(values)):
        raise InputError(
            "The weights and the layers do not fit together.",
            f"layers {sizes} have {count} weights, got {len(values)}; activation {activation!r}",
            because="each layer has a weight for every input and output, and a bias for every output; all are finite.",
            remedy=did_you_mean(str(activation), ACTIVATIONS, listed=False)
            or "the sizes that m.network was called with",
        )
    nodes, stored, value, offset = [], [], "x", 0
    for k, (n, m) in enumerate(pairwise(sizes)):
        last = k == len(sizes) - 2
        stored += [
            numbers.from_array(values[offset : offset + n * m].reshape(m, n), f"W{k}"),
            numbers.from_array(values[offset + n * m : offset + (n + 1) * m], f"b{k}"),
        ]
        offset += (n + 1) * m
        target = "y" if last else f"h{k}"
        nodes.append(helper.make_node("Gemm", [value, f"W{k}", f"b{k}"], [target], transB=1))
        value = target
        if not last and activation != "identity":
            nodes.append(helper.make_node(OPERATIONS[activation], [target], [f"a{k}"]))
            value = f"a{k}"
    double = onnx.TensorProto.DOUBLE
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", double, ["rows", sizes[0]])],
        [helper.make_tensor_value_info("y", double, ["rows", sizes[-1]])], stored,
    )  # fmt: skip
    # The oldest set of operations that has all of ours in double precision, so that old readers take the file.
    model = helper.make_model(
        graph, producer_name="daedalus", opset_imports=[helper.make_opsetid("", 13)], ir_version=7
    )
    onnx.checker.check_model(model)
    Path(path).write_bytes(model.SerializeToString(deterministic=True))


def _loaded(path: Path) -> Any:
    onnx = needed("onnx", "onnx", "ONNX", "it reads the files")
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= LARGEST_FILE else b""
    except OSError as error:
        raise InputError(f"{path} cannot be read.", str(error), remedy="the path of an .onnx file") from error
    if not content:
        raise InputError(
            f"{path} holds no network that can be read.",
            f"it has {size} bytes, at most {LARGEST_FILE} are read",
            remedy="a network of at most 20000 weights",
        )
    try:
        model = onnx.load_model_from_string(content)
        outside = [tensor.name for tensor in model.graph.initializer if tensor.external_data]
        if not outside:
            onnx.checker.check_model(model)
    except Exception as error:  # the parser and the checker have many of their own
        raise InputError(
            f"{path} is not an ONNX file.",
            str(error).splitlines()[0][:160] if str(error) else type(error).__name__,
            remedy="torch.onnx.export(model, example, path)",
        ) from error
    if outside:
        raise InputError(
            f"The weights of {path} are in another file.",
            f"stored outside: {listed(outside)}",
            because="only the file that you name is read.",
            remedy="onnx.save(model, path, save_as_external_data=False)",
        )
    return model


def _constants(graph: Any, path: str) -> dict[str, np.ndarray]:
    """The stored numbers by name."""
    from onnx import numpy_helper

    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            tensors[node.output[0]] = next((own.t for own in node.attribute if own.name == "value"), None)
    for name, tensor in tensors.items():
        if tensor is None:
            raise _not_dense(path, f"{name} is a constant of another kind than a matrix")
    return {name: np.array(numpy_helper.to_array(tensor), dtype=float) for name, tensor in tensors.items()}


def _chain(graph: Any, constants: dict[str, np.ndarray], path: str) -> Iterator[Any]:
    """The operations from the input to the output, one behind the other, without those that change nothing."""
    own_inputs = [value.name for value in graph.input if value.name not in constants]
    if len(own_inputs) != 1 or len(graph.output) != 1:
        raise _not_dense(path, f"inputs {listed(own_inputs)}; outputs {listed([v.name for v in graph.output])}")
    value, known = own_inputs[0], (*WORDS, "Gemm", "MatMul", "Add", *PASSED_OVER)
    nodes = [node for node in graph.node if node.op_type != "Constant"]
    for node in nodes:
        if node.op_type not in known:
            raise _not_dense(path, f"the operation {node.op_type} is not one of {', '.join(sorted(known))}")
        if value not in node.input:
            raise _not_dense(path, f"{node.op_type} ({node.name}) does not read the value before it")
        value = node.output[0]
        if node.op_type not in PASSED_OVER:
            yield node
    if value != graph.output[0].name:
        raise _not_dense(path, f"{graph.output[0].name} is not the last value")


def _layer(node: Any, constants: dict[str, np.ndarray], path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """W and b of W h + b; values are rows in ONNX, so that W stands on the right and is turned."""
    options = {own.name: own.f if own.type == 1 else own.i for own in node.attribute}
    left = node.input[0] in constants
    if left or options.get("transA", 0):
        raise _not_dense(path, f"{node.op_type} ({node.name}) multiplies from the left")
    matrix = constants.get(node.input[1])
    if matrix is None or matrix.ndim != 2:
        raise _not_dense(path, f"{node.op_type} ({node.name}) has no stored matrix")
    matrix = options.get("alpha", 1.0) * (matrix if options.get("transB", 0) else matrix.T)
    bias = np.zeros(len(matrix))
    if node.op_type == "Gemm" and len(node.input) > 2 and node.input[2]:
        stored = constants.get(node.input[2])
        if stored is None or stored.size not in (1, len(matrix)):
            raise _not_dense(path, f"Gemm ({node.name}) has no stored bias")
        bias = bias + options.get("beta", 1.0) * stored.reshape(-1)
    return matrix, bias


def _constant_of(node: Any, constants: dict[str, np.ndarray], path: str | Path) -> np.ndarray:
    stored = [constants[name] for name in node.input if name in constants]
    if len(stored) != 1:
        raise _not_dense(path, f"{node.op_type} ({node.name}) joins two values")
    return stored[0]


def _keywords(
    matrices: list[np.ndarray], biases: list[np.ndarray], activations: list[str], path: str | Path
) -> NetworkKeywords:
    if not matrices:
        raise _not_dense(path, "it has no layer")
    if len(activations) == len(matrices):
        raise _not_dense(path, f"its last layer has the activation {activations[-1]}")
    if len({*activations}) > 1:
        raise _not_dense(path, f"its layers have the activations {', '.join(activations)}")
    for k, (before, after) in enumerate(pairwise(matrices)):
        if after.shape[1] != len(before):
            raise _not_dense(path, f"layer {k + 1} takes {after.shape[1]} numbers, layer {k} gives {len(before)}")
    if any(bias.size != len(matrix) for matrix, bias in zip(matrices, biases, strict=True)):
        raise _not_dense(path, "a bias has another size than its layer")
    weights = np.concatenate(
        [np.append(matrix.reshape(-1), bias) for matrix, bias in zip(matrices, biases, strict=True)]
    )
    return NetworkKeywords(
        outputs=len(matrices[-1]),
        layers=[len(matrix) for matrix in matrices[:-1]],
        activation=activations[0] if activations else "identity",
        weights=weights,
    )


def _not_dense(path: str | Path, fact: str) -> InputError:
    return InputError(
        f"{path} is not a network of dense layers.",
        fact[:200],
        because="m.network is layers W h + b one after the other, with one activation between them.",
        remedy="a Sequential of Linear layers with the same activation between them",
    )
