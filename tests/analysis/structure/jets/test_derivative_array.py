"""Differentiated equations against differentiating along a known curve, names of derivatives, and consistent jets."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis.points.operating_point import read_point
from daedalus.analysis.structure.jets.consistent_jet import consistent_jet, jet_start
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray


def pendulum(**starts):
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=starts.get("p", [0.6, -0.8]), rate=starts.get("rate", [0.8, 0.6]))
    length = m.parameter("L", 1.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - length**2)
    return m


def test_levels_are_the_derivatives_along_any_curve():
    """Put a curve into F and differentiate by t, or differentiate first and put in the curve: the same."""
    m = dd.Model("m")
    x, z, u = m.state("x", 2, start=[1, 1]), m.algebraic("z"), m.input("u")
    a = m.parameter("a", 0.7)
    m.equation(m.der(x), [x[0] * z + ca.sin(m.time * x[1]), u**2 * x[1] - a])
    m.equation(ca.exp(z) * x[0] - u * m.time)
    array = DerivativeArray(m.freeze())
    t = array.time
    curve = ca.vertcat(ca.sin(t), ca.cos(2 * t), t**3 / 5)
    signal = ca.vertcat(ca.exp(-t))
    derivatives, signals = [curve], [signal]
    for _ in range(5):
        derivatives.append(ca.densify(ca.jacobian(derivatives[-1], t)))
        signals.append(ca.densify(ca.jacobian(signals[-1], t)))
    value = ca.substitute(array.level(0), ca.vertcat(*array.y[:2], *array.u[:1]), ca.vertcat(*derivatives[:2], signal))
    for order in range(4):
        level = array.level(order)
        depth = order + 2
        old = ca.vertcat(*(array.unknowns(k) for k in range(depth)), *(array.inputs(k) for k in range(depth)))
        new = ca.vertcat(*derivatives[:depth], *signals[:depth])
        both = ca.Function("both", [t, array.parameters], [ca.substitute(level, old, new), value])
        one, two = (side.full().ravel() for side in both(0.37, 0.7))
        assert one == pytest.approx(two, rel=1e-12, abs=1e-12)
        value = ca.jacobian(value, t)


def test_derivatives_have_the_names_that_users_write():
    array = DerivativeArray(pendulum().freeze())
    array.level(2)
    assert [array.label(k) for k in range(5)] == ["p[0]", "p[1]", "p_dot[0]", "p_dot[1]", "rod"]
    assert [array.label(k, 1) for k in (0, 3, 4)] == ["p_dot[0]", "p_ddot[1]", "rod_dot"]
    assert array.text(array.level(1)[2]) == "2*p[0]*p_dot[0] + 2*p[1]*p_dot[1]"


def jet_of(model, at=None, order=3):
    system = model.freeze()
    array = DerivativeArray(system)
    return array, consistent_jet(array, jet_start(system, read_point(system, at, None, None)), order)


def test_a_jet_obeys_all_levels_and_holds_what_is_given():
    array, jet = jet_of(pendulum())
    assert jet.consistent
    assert jet.moved == ()
    assert jet.y[0, :4] == pytest.approx([0.6, -0.8, 0.8, 0.6], abs=1e-12)
    # rod: 2 λ = -(v² + g y); the third derivative of the rod equation holds too.
    assert jet.y[0, 4] == pytest.approx(0.5 * (-1.0 + 9.81 * (-0.8)), rel=1e-9)
    values, _ = array.function(3)(*jet.arguments(4))
    assert np.abs(values.full()).max() < 1e-8


def test_values_that_contradict_hidden_constraints_move_and_are_named():
    array, jet = jet_of(pendulum(rate=[1.0, 0.0]))
    assert jet.consistent
    assert {array.label(j, k) for k, j in jet.moved} >= {"p_dot[0]"}
    assert jet.y[0, :2] @ jet.y[0, 2:4] == pytest.approx(0, abs=1e-9)


def test_given_derivatives_are_held():
    m = dd.Model("two branches")
    x = m.state("x", start=1.0)
    m.equation(m.der(x) ** 2, x)
    for rate in (1.0, -1.0):
        _, jet = jet_of(m, {"x_dot": rate})
        assert jet.y[1, 0] == rate
        assert jet.y[2, 0] == pytest.approx(0.5)


def test_equations_without_solution_leave_a_residual():
    m = dd.Model("none")
    x = m.state("x", start=1.0)
    m.equation(m.der(x) ** 2 + x**2 + 1)
    _, jet = jet_of(m, order=1)
    assert not jet.consistent


def test_large_jets_take_the_sparse_way_to_the_same_values():
    n = 120
    m = dd.Model("ladder")
    x, z = m.state("x", n, start=np.linspace(0.5, 1.5, n)), m.algebraic("z", n, start=np.ones(n))
    m.equation(m.der(x), z - x)
    m.equation(z**2 + 0.1 * ca.sin(z), 1 + x**2)
    _, jet = jet_of(m, order=2)
    assert jet.y.size == 960
    assert jet.consistent
    x, z = jet.y[0, :n], jet.y[0, n:]
    assert z**2 + 0.1 * np.sin(z) == pytest.approx(1 + x**2, rel=1e-9)
    assert jet.y[1, :n] == pytest.approx(z - x, abs=1e-8)
