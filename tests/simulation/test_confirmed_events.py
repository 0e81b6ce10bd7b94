"""Events on algebraic variables: a crossing of the dense output counts only where the redone step confirms it."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def ripple(frequency, level):
    """z = cos(w t) as the derivative of what x is held to: index 2, so that z has a dense output of low order."""
    m = dd.Model("ripple")
    x, y, z = m.state("x"), m.state("y", start=1.0), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(x, ca.sin(frequency * m.time) / frequency)
    m.equation(m.der(y), -0.01 * y)
    m.event("high", z - level, direction=1, reset={"y": 2 * y})
    return m


@pytest.mark.parametrize("frequency", [9.0, 14.0, 18.0])
def test_what_the_dense_output_alone_crosses_is_no_event(frequency):
    tr = dd.simulate(ripple(frequency, 1.0005), 10.0, method="radau9", rtol=1e-3)
    assert tr.success
    assert tr.events == []
    assert tr["y"][-1] == pytest.approx(np.exp(-0.1), rel=1e-3)


def test_what_the_redone_step_crosses_is_one():
    tr = dd.simulate(ripple(9.0, 0.5), 10.0, method="radau9", rtol=1e-6)
    first = (2 * np.pi - np.arccos(0.5)) / 9
    expected = first + 2 * np.pi / 9 * np.arange(14)
    assert [e.time for e in tr.events] == pytest.approx(expected, abs=1e-4)
    assert [float(e.before["z"]) for e in tr.events] == pytest.approx([0.5] * 14, abs=1e-4)


@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_behind_a_jump_in_time_z_has_its_later_value_from_the_first(method):
    """x follows a ramp that begins at t = 1: z, its slope, jumps there from 0 to 2."""
    m = dd.Model("ramp")
    x, z = m.state("x"), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(x, ca.if_else(m.time < 1, 0, 2 * (m.time - 1)))
    tr = dd.simulate(m, 3.0, method=method, save_at=[0.5, 1.0, 1.001, 2.0])
    assert tr["z"] == pytest.approx([0.0, 2.0, 2.0, 2.0], abs=1e-7)
    whole = dd.simulate(m, 3.0, method=method)
    after = np.linspace(1.0, 3.0, 50)
    assert whole.at(after)["z"] == pytest.approx(np.full(50, 2.0), abs=1e-7)
    assert whole.at(np.linspace(0.0, 0.999, 20))["z"] == pytest.approx(np.zeros(20), abs=1e-7)
