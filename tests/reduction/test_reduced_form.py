"""What a reduced model keeps of its original: names, outputs, events, symbols, invariants, files."""

import pickle

import casadi as ca
import numpy as np
import pytest
from reduced_models import pendulum

import daedalus as dd

SHARP = {"rtol": 1e-11, "atol": 1e-13}


def test_a_model_of_index_one_comes_back_as_it_is():
    m = dd.Model("tank")
    x, z, u = m.state("x", start=1.0), m.algebraic("z", start=2.0), m.input("u")
    m.equation(m.der(x), u - z, name="balance")
    m.equation(z, 2 * x, name="law")
    n = dd.reduce(m)
    assert n is not m
    assert n.freeze() == m.freeze()
    assert n.reduction.text.startswith(
        "tank: nothing to differentiate, the equations determine every highest derivative"
    )
    assert n.constraints == {}
    assert n.reduction.differentiated == {}
    assert n.reduction.inputs == {"u": 0}


def test_a_state_without_derivative_becomes_algebraic():
    m = dd.Model("lazy")
    x, y = m.state("x", start=1.0), m.state("y", start=2.0)
    m.equation(m.der(x), -y)
    m.equation(y, 2 * x)
    n = dd.reduce(m)
    assert n.variables["y"].kind == "algebraic"
    assert dd.simulate(n, 1.0, rtol=1e-9)["y"][-1] == pytest.approx(2 * np.exp(-2), abs=1e-8)


def test_outputs_events_and_symbols_live_on():
    m = pendulum()
    p = m["p"]
    m.output("energy", 0.5 * ca.sumsqr(m.der(p)) + 9.81 * p[1])
    m.event("left", p[0] + 0.5, terminal=True)
    n = dd.reduce(m)
    n.output("height", p[1] + 1)
    tr = dd.simulate(n, 5.0, **SHARP)
    assert np.ptp(tr["energy"]) < 1e-8
    assert tr.events[0].name == "left"
    assert tr["p"][-1, 0] == pytest.approx(-0.5, abs=1e-9)
    assert np.array_equal(tr["height"], tr["p"][:, 1] + 1)
    assert "height" not in m.outputs
    assert list(m.equations) == ["motion of p", "rod"]


def test_an_output_with_a_derivative_keeps_it():
    m = dd.Model("path")
    x, z = m.state("x", start=0.0), m.algebraic("z")
    m.equation(x, ca.sin(m.time), name="path")
    m.equation(z, 2 * x, name="double")
    m.output("speed", m.der(x))
    n = dd.reduce(m)
    assert n.reduction.differentiated == {"path": 1}
    assert dd.simulate(n, 1.0, rtol=1e-9)["speed"][-1] == pytest.approx(np.cos(1.0), abs=1e-12)


def test_events_may_set_states():
    m = dd.Model("path")
    x, y = m.state("x", start=1.0), m.state("y", start=0.0)
    m.equation(x, 1.0, name="constant")
    m.equation(m.der(y), x, name="growth")
    m.event("reset", y - 0.5, reset={"x": 1.0, "y": 0.0})
    n = dd.reduce(m)
    assert n.variables["x"].kind == "state"
    assert dd.simulate(n, 1.2, rtol=1e-9)["y"][-1] == pytest.approx(0.2, abs=1e-7)


def test_existing_invariants_stay():
    m = dd.Model("body")
    m.body("b", mass=1.0, inertia=np.eye(3))
    n = dd.reduce(m)
    assert list(n.freeze().invariants) == list(m.freeze().invariants) != []
    assert "13 start values may be chosen freely, less what b.quaternion length fixes" in n.reduction.text


def test_it_travels():
    n = dd.reduce(pendulum())
    twin = pickle.loads(pickle.dumps(n))
    assert twin.freeze() == n.freeze()
    assert twin.reduction.text == n.reduction.text
    assert list(twin.constraints) == list(n.constraints)
    assert twin.reduction.original == pendulum().freeze()


def test_constraints_are_expressions_of_states():
    n = dd.reduce(pendulum())
    length, rate = n.constraints.values()
    f = ca.Function("f", [n["p"], n["p_dot"]], [length, rate])
    assert [float(part) for part in f([0.6, 0.9], [2.0, 3.0])] == pytest.approx([0.36 + 0.81 - 1, 2 * (1.2 + 2.7)])


def test_reducing_twice_changes_nothing():
    n = dd.reduce(pendulum())
    twice = dd.reduce(n)
    assert twice.freeze() == n.freeze()
    assert list(twice.constraints) == list(n.constraints)
    assert dd.to_first_order(n).constraints["rod, differentiated once"].n_dep() == 2
