"""Derivatives where conditions stand in the guards of events, one in another, and beside those in equations."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def _model(*states):
    m = dd.Model("gated")
    a, T = m.parameter("a", 1.0), m.parameter("T", 0.4)
    return m, a, T, *(m.state(name, start=start) for name, start in states)


def a_product_of_conditions():
    m, a, T, x, y = _model(("x", 0.0), ("y", 0.0))
    m.equation(m.der(x), ca.if_else(x > 0.4, a, 2 * a))
    m.equation(m.der(y), x * T)
    m.when(ca.if_else(y > 0.1, 1, -1) * ca.if_else(x > 0.2, 1, -1) > 0, {"x": x - 0.5 * a})
    return m, 2.0


def one_inside_another():
    m, a, T, x, y = _model(("x", 0.0), ("y", 0.0))
    m.equation(m.der(x), a)
    m.equation(m.der(y), ca.if_else(x > 0.3, ca.if_else(y > 0.2, 3.0, 1.0), T) * a)
    m.when(ca.if_else(y > 0.5, x, -1) > 0.1, {"y": y - T * a})
    return m, 1.2


def beside_an_algebraic_variable():
    m, a, T, x, y = _model(("x", 1.0), ("y", 0.0))
    z = m.algebraic("z")
    m.equation(m.der(x), -2 * a * z)
    m.equation(z + z**3, x)
    m.equation(m.der(y), ca.if_else(z > 0.4, 1.0, a))
    m.when(dd.all_of(z < 0.3, y > T), {"x": x + 0.6 * a})
    return m, 2.0


def one_of_two():
    m, a, T, x, s = _model(("x", 0.0), ("s", 0.0))
    m.equation(m.der(x), a)
    m.equation(m.der(s), ca.if_else(x > 0.2, x, 0.1))
    m.when(dd.any_of(x > 0.5, s > 2 * T), {"s": s + x * a})
    return m, 1.4


def time_inside():
    m, a, T, x, s = _model(("x", 0.5), ("s", 0.0))
    m.equation(m.der(x), a)
    m.equation(m.der(s), ca.if_else(s > 0.3, x, 2 * x))
    m.when(ca.if_else(m.time > T, s - 0.4, -1) > 0, {"s": s - 0.3 * a * x})
    m.when(ca.cos(4 * T * m.time) < 0, {"s": s + a})
    return m, 1.1


def a_brake_that_time_frees():
    m, a, T, x, v = _model(("x", 0.0), ("v", 0.0))
    brake = m.friction("brake", v, kinetic=0.6 * a)
    m.equation(m.der(x), v)
    m.equation(m.der(v), brake + ca.if_else(m.time > T, 1.5, 0.0) - 0.1 * x)
    return m, 1.0


def a_brake_freed_at_a_given_time():
    m, a, T, x, v = _model(("x", 0.0), ("v", 0.0))
    brake = m.friction("brake", v, kinetic=0.6 * a)
    m.equation(m.der(x), v)
    m.equation(m.der(v), brake + ca.if_else(m.time > 0.5, 3.0, 0.0) * (a - T) - 0.1 * x)
    return m, 1.0


def a_force_that_a_condition_in_the_equations_makes_jump():
    m, a, T, x, s = _model(("x", 0.0), ("s", 0.0))
    z = m.algebraic("z")
    m.equation(m.der(x), a)
    m.equation(z + 0.1 * z**3, ca.if_else(x > T, 2.0, 0.5) * a)
    m.equation(m.der(s), x)
    m.when(z > 1.2, {"s": s + a * x})
    return m, 1.0


CASES = [
    a_product_of_conditions,
    one_inside_another,
    beside_an_algebraic_variable,
    one_of_two,
    time_inside,
    a_brake_that_time_frees,
    a_brake_freed_at_a_given_time,
    a_force_that_a_condition_in_the_equations_makes_jump,
]


@pytest.mark.parametrize("make", CASES)
def test_derivatives_are_those_of_runs_with_other_parameters(make):
    model, end = make()
    names, beside, tight = model.freeze().labels["x"], 1e-5, {"rtol": 1e-10, "atol": 1e-11}
    sens = dd.sensitivities(model, end, rtol=1e-8)
    for parameter, value in (("a", 1.0), ("T", 0.4)):
        runs = [dd.simulate(model, end, parameters={parameter: value + h}, **tight) for h in (beside, -beside)]
        for name in names:
            ends = [float(run.end[name]) for run in runs]
            found = float(np.ravel(sens.d(name, parameter))[-1])
            assert found == pytest.approx((ends[0] - ends[1]) / (2 * beside), rel=1e-5, abs=1e-5)
