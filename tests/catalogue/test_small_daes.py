"""References of the small DAEs: closed forms in the equations, and published values by another program."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue import cstr


def residual(name):
    known = catalogue.load(name)
    system = known.model.freeze()
    letters = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    function = ca.Function("F", letters, [system.residual])
    u = np.concatenate([np.ravel(known.inputs[v.name]) for v in system.of_kind("input")] or [np.zeros(0)])
    return known, lambda t, xdot, x, z: function(t, xdot, x, z, u, system.start["p"]).full().ravel()


@pytest.mark.parametrize("t", [0.0, 1.3, 4.0])
def test_the_closed_form_of_the_stirred_tank_obeys_its_equations(t):
    known, F = residual("cstr")
    step = 1e-5
    x = np.array(list(cstr.closed_form(t).values()))
    before, after = (np.array(list(cstr.closed_form(t + h).values())) for h in (-step, step))
    rate = (after - before) / (2 * step)
    r2 = 0.4 * x[2]
    r1 = 0.25 * (3.0 - x[1]) - rate[1]
    assert F(t, rate, x, [r1, r2]) == pytest.approx(np.zeros(6), abs=1e-8)
    if t == 0:
        assert x == pytest.approx([float(known.start[key]) for key in ("V", "CA", "CB", "CC")])


def test_the_force_on_the_line_makes_it_grow_by_eleven_thirds():
    known, F = residual("small_dae")
    x = np.array([known.reference["x1"], known.reference["x2"]])
    assert F(1.0, 11 / 3 * x, x, 22 / 3 * x[0]) == pytest.approx(np.zeros(3), abs=1e-12)
    assert x[0] == pytest.approx(np.exp(11 / 3), rel=1e-14)


@pytest.mark.parametrize(
    ("name", "free", "complete"),
    [
        ("robertson", 2, lambda y: [y[0], y[1], 1 - y[0] - y[1]]),
        ("chemical_akzo", 5, lambda y: [*y, 115.83 * y[0] * y[3]]),
    ],
)
def test_scipy_reaches_the_published_values(name, free, complete):
    known, F = residual(name)
    n = len(known.start["y"])
    run = solve_ivp(
        lambda t, y: -F(t, np.zeros(n), complete(y), [])[:free],
        known.span,
        known.start["y"][:free],
        method="Radau",
        rtol=1e-8,
        atol=1e-17 if name == "robertson" else 1e-11,
    )
    assert np.array(complete(run.y[:, -1])) == pytest.approx(known.reference["y"], rel=1e-6)


def test_equal_reactions_whether_the_mass_is_balanced_or_the_third_rate_is_written():
    """The sum of the rates of Robertson's problem is zero: the balance is what the three rates imply."""
    m = dd.Model("rates")
    y = m.state("y", 3, start=[1.0, 0.0, 0.0])
    slow, back, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    m.equation(m.der(y), [back - slow, slow - back - fast, fast])
    tr = dd.simulate(m, 1e-2, rtol=1e-9, atol=1e-12)
    _, F = residual("robertson")
    assert np.abs(F(0.0, tr["y_dot"][-1], tr["y"][-1], [])).max() < 1e-7
