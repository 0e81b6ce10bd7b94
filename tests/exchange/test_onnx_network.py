"""Networks from and to ONNX: values by ONNX's own evaluator, forms of other tools, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError

onnx = pytest.importorskip("onnx", reason="ONNX files need onnx (the extra `onnx`)")
reference = pytest.importorskip("onnx.reference")
helper, numbers = onnx.helper, onnx.numpy_helper


def value_of(keywords, x):
    """What m.network computes at x."""
    m = dd.Model("one")
    state = m.state("x", len(x), start=list(x))
    m.output("y", m.network("net", state, **keywords))
    m.equation(m.der(state), np.zeros(len(x)))
    return np.asarray(dd.simulate(m, 1.0)["y"][0]).reshape(-1)


def file_of(tmp_path, nodes, stored, inputs=2, outputs=1, name="net.onnx", kind=None):
    """An ONNX file of some operations from x to y."""
    kind = onnx.TensorProto.FLOAT if kind is None else kind
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", kind, ["rows", inputs])],
        [helper.make_tensor_value_info("y", kind, ["rows", outputs])],
        [numbers.from_array(value, key) for key, value in stored.items()],
    )  # fmt: skip
    path = tmp_path / name
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString())
    return path


def evaluated(path, x):
    """The file by ONNX's reference evaluator."""
    model = onnx.load(path)
    kind = np.float64 if model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE else np.float32
    return reference.ReferenceEvaluator(model).run(None, {"x": np.array([x], dtype=kind)})[0][0]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "softplus", "relu", "sin", "identity"])
@pytest.mark.parametrize("layers", [[], [3], [4, 5]])
def test_what_is_written_computes_the_same_and_comes_back(tmp_path, activation, layers):
    sizes = [2, *layers, 3]
    weights = np.random.default_rng(5).normal(size=sum((n + 1) * m for n, m in pairwise(sizes)))
    path = tmp_path / "net.onnx"
    dd.exchange.write_onnx(path, weights, inputs=2, outputs=3, layers=layers, activation=activation)
    found = dd.exchange.read_onnx(path)
    assert (found["outputs"], found["layers"]) == (3, layers)
    assert np.array_equal(found["weights"], weights)
    x = np.array([0.4, -1.3])
    assert found["activation"] == (activation if layers else "identity")
    np.testing.assert_allclose(value_of(found, x), evaluated(path, x), rtol=1e-12)


def stored_layers():
    rng = np.random.default_rng(1)
    return {key: rng.normal(size=size).astype(np.float32) for key, size in
            {"W": (4, 2), "b": (4,), "V": (4, 1), "c": (1,)}.items()}  # fmt: skip


def test_layers_as_other_tools_write_them(tmp_path):
    stored = stored_layers()
    nodes = [
        helper.make_node("Gemm", ["x", "W", "b"], ["h"], transB=1, alpha=0.5, beta=2.0),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("Identity", ["a"], ["i"]),
        helper.make_node("MatMul", ["i", "V"], ["m"]),
        helper.make_node("Add", ["c", "m"], ["y"]),
    ]
    path, x = file_of(tmp_path, nodes, stored), np.array([0.3, -0.8])
    found = dd.exchange.read_onnx(path)
    assert (found["layers"], found["activation"], found["outputs"]) == ([4], "relu", 1)
    np.testing.assert_allclose(value_of(found, x), evaluated(path, x), rtol=1e-5)


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([("Gemm", ["x", "W", "b"], ["h"], {"transB": 1}), ("Elu", ["h"], ["y"], {})], "operation Elu is not one of"),
        (
            [("Gemm", ["x", "W", "b"], ["h"], {"transB": 1}), ("Tanh", ["h"], ["y"], {})],
            "last layer has the activation",
        ),
        ([("Tanh", ["x"], ["y"], {})], "does not follow a layer"),
        ([("Identity", ["x"], ["y"], {})], "it has no layer"),
        ([("Gemm", ["x", "W", "b"], ["h"], {"transB": 1}), ("Add", ["h", "x"], ["y"], {})], "joins two values"),
    ],
)
def test_other_networks_are_refused(tmp_path, nodes, text):
    made = [helper.make_node(kind, given, found, **options) for kind, given, found, options in nodes]
    with pytest.raises(InputError, match="is not a network of dense layers") as refused:
        dd.exchange.read_onnx(file_of(tmp_path, made, stored_layers(), outputs=4))
    assert text in str(refused.value)


def test_different_activations_are_refused(tmp_path):
    stored = stored_layers() | {"U": np.eye(4, dtype=np.float32)}
    nodes = [
        helper.make_node("Gemm", ["x", "W", "b"], ["h"], transB=1), helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("MatMul", ["a", "U"], ["i"]), helper.make_node("Tanh", ["i"], ["j"]),
        helper.make_node("MatMul", ["j", "V"], ["y"]),
    ]  # fmt: skip
    with pytest.raises(InputError, match="activations relu, tanh"):
        dd.exchange.read_onnx(file_of(tmp_path, nodes, stored))


def test_files_that_hold_none(tmp_path):
    (tmp_path / "text.onnx").write_text("not a network")
    with pytest.raises(InputError, match=r"text\.onnx is not an ONNX file"):
        dd.exchange.read_onnx(tmp_path / "text.onnx")
    with pytest.raises(InputError, match="cannot be read"):
        dd.exchange.read_onnx(tmp_path / "none.onnx")


def test_weights_in_another_file_are_not_read(tmp_path):
    path = tmp_path / "net.onnx"
    dd.exchange.write_onnx(path, np.ones(7), inputs=1, layers=[2])
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="../secret")
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="are in another file"):
        dd.exchange.read_onnx(path)


def test_weights_that_do_not_fit(tmp_path):
    with pytest.raises(InputError, match="have 7 weights, got 6"):
        dd.exchange.write_onnx(tmp_path / "net.onnx", np.ones(6), inputs=1, layers=[2])
