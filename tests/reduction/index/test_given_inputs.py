"""Inputs as expressions: what may be differentiated, and tables that may not."""

import casadi as ca
import numpy as np
import pytest
from reduced_models import chain, text_of

import daedalus as dd


@pytest.mark.parametrize("given", ["expression", "function", "number", "state"])
def test_what_has_a_derivative(given):
    m = dd.Model("follow")
    x, z, u, y = m.state("x"), m.algebraic("z"), m.input("u"), m.state("y", start=1.0)
    a = m.parameter("a", 2.0)
    m.equation(m.der(x), z, name="balance")
    m.equation(m.der(y), -y, name="decay")
    m.equation(x, u, name="path")
    value = {"expression": a * ca.sin(m.time), "function": lambda t: t**2, "number": 4.0, "state": 3 * y}[given]
    rate = {"expression": 2 * np.cos(1), "function": 2.0, "number": 0.0, "state": -3 * np.exp(-1)}[given]
    start = {"expression": 0.0, "function": 0.0, "number": 4.0, "state": 3.0}[given]
    n = dd.reduce(m, inputs={"u": value})
    assert "u" in n.outputs
    assert not n.inputs
    tr = dd.simulate(n, 1.0, start={"x": start}, rtol=1e-10, atol=1e-12)
    assert tr["z"][-1] == pytest.approx(rate, abs=1e-9)
    assert np.abs(tr["x"] - tr["u"]).max() < 1e-9


def test_inputs_that_are_not_differentiated_may_stay():
    m = dd.Model("driven")
    x, z, u = m.state("x", start=0.0), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), z + u, name="balance")
    m.equation(x, ca.sin(m.time), name="path")
    n = dd.reduce(m)
    assert n.reduction.inputs == {"u": 0}
    tr = dd.simulate(n, 1.0, inputs={"u": dd.signal([0.0, 0.5], [0.0, 5.0])}, rtol=1e-9)
    assert tr["z"][-1] == pytest.approx(np.cos(1.0) - 5.0, abs=1e-9)


@pytest.mark.parametrize("kind", ["hold", "linear"])
def test_tables_are_refused(kind):
    text = text_of(lambda: dd.reduce(chain(), inputs={"u": dd.signal([0, 1], [0, 1], kind)}), dd.InputError)
    assert text == (
        "The input u is a table and cannot be differentiated.\n"
        f"  signal(2 times from 0 to 1, {kind})\n"
        "  Because a held table jumps and a linear one has kinks: its derivative would be an impulse or a jump.\n"
        "  Try: a smooth expression of m.time, or a state u with m.equation(m.der(u), ...)"
    )


def test_functions_that_cannot_be_traced_are_refused():
    text = text_of(lambda: dd.reduce(chain(), inputs={"u": lambda t: [1, 2][int(t)]}), dd.InputError)
    assert text.startswith("The input u is not an expression.\n")
    assert "a function of the time that CasADi can trace" in text


def test_wrong_shapes_and_symbols_are_refused():
    m = chain()
    text = text_of(lambda: dd.reduce(m, inputs={"u": [1.0, 2.0]}), dd.InputError)
    assert "shape (2, 1) given, (1, 1) expected" in text
    text = text_of(lambda: dd.reduce(m, inputs={"u": 2 * m["u"]}), dd.InputError)
    assert "it contains u" in text
