"""Structures that mislead and that no combination of equations repairs: examples of Tan, Nedialkov and Pryce (2017)."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd


def exact(t):
    """The solution that the equations below are written for."""
    return {"x1": ca.sin(t) + 2, "x2": ca.cos(t) + 3}


def entangled(outer=lambda e: ca.exp(-e)):
    """x1 + φ(x1' + x2 x2'') and x1 + x2 x2' + x2², each less its value at the exact solution.

    u with uᵀ J = 0 contains x1' and x2'', so that the combination of the equations has derivatives as high as theirs.
    """
    m = dd.Model("entangled")
    t, x1, x2 = m.time, m.state("x1", start=2.0), m.state("x2", start=4.0, rate=0.0)

    def equations(a, b, rate):
        return a + outer(rate(a) + b * rate(rate(b))), a + b * rate(b) + b**2

    known = equations(*exact(t).values(), lambda e: ca.jacobian(e, t))
    for name, own, value in zip(("first", "second"), equations(x1, x2, m.der), known):
        m.equation(own, value, name=name)
    return m


def along_the_solution(n, values, time):
    """What is left of the reduced equations and constraints where every unknown is a given function of time."""
    t = n.time
    system = n.freeze()
    rows = ca.vertcat(system.residual, *n.constraints.values())
    old, new = [], []
    for letter, rate in (("x", 0), ("xdot", 1), ("z", 0)):
        symbols = system.symbol(letter)
        labels = system.labels["x" if letter == "xdot" else letter]
        for k, label in enumerate(labels):
            value = values[label]
            for _ in range(rate):
                value = ca.jacobian(value, t)
            old.append(symbols[k])
            new.append(value)
    left = ca.substitute(rows, ca.vertcat(*old), ca.vertcat(*new))
    return np.abs(ca.Function("left", [t], [left])(time).full()).max()


@pytest.mark.parametrize("outer", [lambda e: ca.exp(-e), lambda e: e + e**3])
def test_a_combination_of_unknowns_gets_a_name(outer):
    m = entangled(outer)
    n = dd.reduce(m)
    assert n.reduction.findings[0].combinations == (("x1_with_x2", "x1", "x2_dot"),)
    assert n.reduction.degrees_of_freedom == dd.analyse(m, at={"x1": 2.0, "x2": 4.0}).degrees_of_freedom == 1
    values = exact(n.time)
    values["x1_with_x2"] = values["x1"] + values["x2"] * ca.jacobian(values["x2"], n.time)
    values["x2_dot"] = ca.jacobian(values["x2"], n.time)
    for time in (0.0, 0.7, 2.0):
        assert along_the_solution(n, values, time) < 1e-12


def test_solutions_are_kept():
    """The reduced equations, solved by Newton's method and SciPy, follow the exact solution of the original ones."""
    n = dd.reduce(entangled(lambda e: e + e**3))
    system = n.freeze()
    x, unknowns = system.symbol("x"), ca.vertcat(system.symbol("xdot"), system.symbol("z"))
    function = ca.Function("F", [unknowns, system.symbol("t"), x], [system.residual])
    slopes = ca.Function("J", [unknowns, system.symbol("t"), x], [ca.jacobian(system.residual, unknowns)])
    labels = system.labels["x"]
    guess = np.array([*(0.1 for _ in labels), *(2.0 for _ in system.labels["z"])])

    def rates(t, state):
        w = guess.copy()
        for _ in range(50):
            step = np.linalg.solve(slopes(w, t, state).full(), function(w, t, state).full().ravel())
            w = w - step
            if np.abs(step).max() < 1e-13:
                break
        guess[:] = w
        return w[: len(labels)]

    at = {"x1": lambda t: np.sin(t) + 2, "x2": lambda t: np.cos(t) + 3, "x2_dot": lambda t: -np.sin(t)}
    at["x1_with_x2"] = lambda t: at["x1"](t) + at["x2"](t) * at["x2_dot"](t)
    run = solve_ivp(rates, (0, 0.5), [at[label](0.0) for label in labels], rtol=1e-9, atol=1e-11)
    assert run.y[:, -1] == pytest.approx([at[label](0.5) for label in labels], abs=1e-7)


def test_the_linear_example_is_repaired_by_combination_and_runs():
    """Scholz and Steinbrecher (2013): -x1' + x3, -x2' + x4, x2 + x3 + x4, -x1 + x3 + x4 = r(t)."""
    m = dd.Model("linear")
    t = m.time
    known = [ca.sin(t), ca.cos(2 * t), t**2, ca.exp(-t)]
    x = m.state("x", 4, start=[float(ca.evalf(ca.substitute(e, t, 0))) for e in known])

    def equations(a, rate):
        return [a[2] - rate(a[0]), a[3] - rate(a[1]), a[1] + a[2] + a[3], a[2] + a[3] - a[0]]

    right = equations(known, lambda e: ca.jacobian(e, t))
    m.equation(equations(ca.vertsplit(x), m.der), right, name="e")
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    assert tr["x"][-1] == pytest.approx([np.sin(1.0), np.cos(2.0), 1.0, np.exp(-1.0)], abs=1e-8)


def test_what_nothing_repairs_is_refused():
    m = dd.Model("hopeless")
    x, y = m.state("x", start=1.0), m.state("y", start=1.0)
    m.equation(ca.sin(m.der(x) + m.der(y)) - x - y, name="one")
    m.equation(ca.exp(m.der(x) + m.der(y)) - 2 * (x + y), name="two")
    with pytest.raises(dd.SingularModelError):
        dd.reduce(m)
