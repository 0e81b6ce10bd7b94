"""The traps of CasADi that a user would fall into without the model: in-place writes, NumPy, names, hashes."""

import warnings

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


def test_vectors_are_not_hashable_and_nothing_needs_them_to_be(d):
    with pytest.raises(NotImplementedError):
        hash(d.x)
    assert d.texts(d.der(d.x)) == ["x_dot[0]", "x_dot[1]"]


def test_writing_into_returned_symbols_changes_no_model():
    m = dd.Model()
    x, z, u, k = m.state("x", 2), m.algebraic("z", 2), m.input("u", 2), m.parameter("k", [1.0, 2.0])
    m.equation(m.der(x), z * m.time)
    m.equation(z, u * k * x)
    m.output("o", m.der(x) * 2)
    m.event("e", x[0], reset={"x": [1, x[1]]})
    before, frozen = m.freeze(), m.freeze().digest

    for symbol in (x, z, u, k, m["x"], m["x_dot"], m.der(x), m.der(m.der(x)), m.time, m["t"], m["o"], m.outputs["o"]):
        symbol[0] = 0
    for symbol in (
        before.residual,
        before.guards,
        before.resets,
        before.outputs["o"],
        before.symbol("x"),
        before.symbol("t"),
    ):
        symbol[0] = 0
    for whole, element in (("x", "x[0]"), ("x_dot", "x_dot[0]"), ("z", "z[0]"), ("o", "o[0]")):
        assert not m[whole][0].is_constant()
        assert not m[element].is_constant()
    assert not m.time.is_constant()
    assert m.equations["equation_1"] == ["x_dot[0] - z[0]*t = 0", "x_dot[1] - z[1]*t = 0"]
    m.state("later")
    m._forget("later")
    assert m.freeze() is not before
    assert m.freeze().digest == frozen


def test_writing_into_a_given_expression_changes_no_model(d):
    rate, value = 2 * d.x, 3 * d.x
    d.m.equation(d.der(d.x), rate)
    d.m.output("o", value)
    d.m.event("e", d.y, reset={"x": value})
    rate[0] = value[0] = 0
    assert d.m.equations["equation_1"][0] == "x_dot[0] - 2*x[0] = 0"
    assert d.texts(d.m.outputs["o"]) == ["3*x[0]", "3*x[1]"]
    assert d.texts(d.m.written.events["e"].resets["x"]) == ["3*x[0]", "3*x[1]"]


NUMPY = {
    "np.sin(x)": (2, 1), "np.cos(R)": (2, 2), "np.exp(-y)": (1, 1), "np.sqrt(x)": (2, 1), "np.abs(x)": (2, 1),
    "np.tanh(x)": (2, 1), "np.arctan2(x[0], x[1])": (1, 1), "np.arctan2(x, w)": (2, 1), "np.hypot(x, w)": (2, 1),
    "np.maximum(x, 0)": (2, 1), "np.minimum(x, w)": (2, 1), "np.clip(x, 0, 1)": (2, 1), "np.sign(x)": (2, 1),
    "np.power(x, 2)": (2, 1), "np.square(R)": (2, 2), "np.where(y > 0, y, -y)": (1, 1), "np.log1p(x)": (2, 1),
    "np.sum(x)": (1, 1), "np.dot(R, x)": (2, 1), "np.dot(x, w)": (1, 1), "np.linalg.norm(x)": (1, 1),
    "np.eye(2) @ x": (2, 1), "R @ np.ones(2)": (2, 1), "np.ones(2) * x": (2, 1), "x * np.ones(2)": (2, 1),
    "np.array([1.0, 2.0]) - x": (2, 1), "x / np.array([1.0, 2.0])": (2, 1), "np.array([1.0, 2.0]) * y": (2, 1),
    "np.float64(2) * x": (2, 1), "np.array(2.0) * y": (1, 1), "np.deg2rad(x)": (2, 1), "np.outer(x, w)": (2, 2),
    "np.concatenate([x, w])": (4, 1), "np.vstack([x, w])": (4, 1), "np.hstack([x, w])": (2, 2),
    "np.transpose(R)": (2, 2),
    "x ** 2": (2, 1), "2 ** x": (2, 1), "-x": (2, 1), "x.T @ x": (1, 1), "x[::-1]": (2, 1),
}  # fmt: skip


@pytest.mark.parametrize("source", NUMPY)
def test_numpy_on_symbols(d, source):
    """No warning, the shape of CasADi, and the value that NumPy gives on numbers (columns as columns)."""
    numbers = {
        "x": np.array([[0.3], [0.6]]),
        "w": np.array([[0.2], [0.9]]),
        "R": np.array([[0.1, 0.2], [0.3, 0.5]]),
        "y": 0.7,
    }
    scope = {name: getattr(d, name) for name in numbers}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = eval(source, {"np": np}, scope)
        assert isinstance(result, ca.SX)
        assert result.shape == NUMPY[source]
        d.m.output("o", result)
    value = ca.Function("f", list(scope.values()), [result])(*numbers.values()).full()
    if source not in {"np.dot(x, w)", "x.T @ x"}:
        columns = {
            "np.ones(2) ": "np.ones((2, 1)) ",
            "* np.ones(2)": "* np.ones((2, 1))",
            "@ np.ones(2)": "@ np.ones((2, 1))",
            "np.array([1.0, 2.0])": "np.array([[1.0], [2.0]])",
        }
        for one, other in columns.items():
            source = source.replace(one, other)
        assert np.allclose(value, np.reshape(eval(source, {"np": np}, numbers), value.shape), rtol=1e-14)


def test_object_arrays(d):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array = np.array([d.x[0], d.x[1]])
        assert array.dtype == object
        d.m.equation(d.der(d.x), np.sin(array) * 2 + np.array([1, 0]))
        d.m.equation(d.w, np.array([[1, 2], [3, 4]]) @ array)
        d.m.output("o", np.cross(np.array([d.x[0], d.x[1], 0]), np.array([0, 0, 1])))
    assert d.m.equations["equation_1"] == ["x_dot[0] - (2*sin(x[0]) + 1) = 0", "x_dot[1] - 2*sin(x[1]) = 0"]
    assert d.m.equations["equation_2"] == ["w[0] - (x[0] + 2*x[1]) = 0", "w[1] - (3*x[0] + 4*x[1]) = 0"]
    assert d.texts(d.m.outputs["o"])[:2] == ["x[1]", "-x[0]"]


def test_casadi_prints_the_names_of_the_model(d):
    """Even where CasADi itself prints: x[0], never x_0."""
    assert str(d.x) == "[x[0], x[1]]"
    assert str(d.R[0, 1]) == "R[0,1]"
    assert str(d.der(d.x)[1]) == "x_dot[1]"
    outer = dd.Model()
    outer.include("left", d.m)
    assert str(outer["left.x"]) == "[left.x[0], left.x[1]]"


def test_errors_never_show_casadi_names(d):
    shared = ca.sin(d.x) * d.x[0]
    calls = [
        lambda: d.m.equation(shared, shared),
        lambda: d.m.equation(shared <= 0),
        lambda: d.m.equation(d.der(d.y), shared),
        lambda: d.m.equation({"a": shared}),
        lambda: d.m.equation(d.der(d.y), shared == [d.y, d.z]),
        lambda: d.m.event("e", shared),
        lambda: d.m.event("e", d.y, direction=shared),
        lambda: d.m.event("e", d.y, reset={"x[0]": shared}),
        lambda: d.m.parameter("q", shared),
        lambda: d.m.parameter("q", [shared[0], shared[1]]),
        lambda: d.m.state("q", start=shared),
        lambda: dd.Model().output("o", shared),
    ]
    for call in calls:
        text = text_of(call)
        assert "@" not in text
        assert "x_0" not in text
