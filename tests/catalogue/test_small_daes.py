"""References of the small DAEs: closed forms in the equations, and published values by another program."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue.chemistry import cstr
from daedalus.catalogue.textbook.small_dae import EXAMPLES


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


@pytest.mark.wide
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


def node_voltages(t, v):
    """The eight voltages of the amplifier from those of its capacitors, v = (y2-y1, y3, y5-y4, y6, y8-y7)."""
    supply, thermal, alpha, beta, r = 6.0, 0.026, 0.99, 1e-6, 9000.0

    def base(constant, slope, emitter):
        """Newton's method for 0 = constant + slope y + (1 - α) g(y - emitter), which rises with y."""
        y = emitter + 0.1
        for _ in range(60):
            g = beta * np.exp((y - emitter) / thermal)
            step = (constant + slope * y + (1 - alpha) * (g - beta)) / (slope + (1 - alpha) * g / thermal)
            # The exponential is flat on one side: no step beyond a few thermal voltages.
            y -= np.clip(step, -5 * thermal, 5 * thermal)
            if abs(step) < 1e-14:
                break
        return y, beta * (np.exp((y - emitter) / thermal) - 1)

    y2, g1 = base(-(v[0] + 0.1 * np.sin(200 * np.pi * t)) / 1000.0 - supply / r, 1 / 1000.0 + 2 / r, v[1])
    y5, g2 = base(-(v[2] + supply) / r + alpha * g1 - supply / r, 3 / r, v[3])
    y7 = (supply - v[4] - r * alpha * g2) / 2
    return np.array([y2 - v[0], y2, v[1], y5 - v[2], y5, v[3], y7, y7 + v[4]]), g1, g2


@pytest.mark.wide
def test_scipy_reaches_the_published_voltages_of_the_amplifier():
    """An ODE for the five capacitor voltages, whose currents are what the resistors and transistors leave."""
    known = catalogue.load("transistor_amplifier")

    def rates(t, v):
        y, g1, g2 = node_voltages(t, v)
        return [
            (y[0] - 0.1 * np.sin(200 * np.pi * t)) / 1000.0 / 1e-6,
            (g1 - y[2] / 9000.0) / 2e-6,
            ((y[3] - 6.0) / 9000.0 + 0.99 * g1) / 3e-6,
            (g2 - y[5] / 9000.0) / 4e-6,
            -y[7] / 9000.0 / 5e-6,
        ]

    run = solve_ivp(rates, known.span, [3.0, 3.0, -3.0, 3.0, -6.0], method="DOP853", rtol=1e-9, atol=1e-11)
    y = node_voltages(0.2, run.y[:, -1])[0]
    assert known.reference.error("y", y) < 1e-8
    # The start is that of the capacitors at rest.
    assert node_voltages(0.0, [3.0, 3.0, -3.0, 3.0, -6.0])[0] == pytest.approx(known.start["y"], abs=1e-12)


def test_equal_reactions_whether_the_mass_is_balanced_or_the_third_rate_is_written():
    """The sum of the rates of Robertson's problem is zero: the balance is what the three rates imply."""
    m = dd.Model("rates")
    y = m.state("y", 3, start=[1.0, 0.0, 0.0])
    slow, back, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    m.equation(m.der(y), [back - slow, slow - back - fast, fast])
    tr = dd.simulate(m, 1e-2, rtol=1e-9, atol=1e-12)
    _, F = residual("robertson")
    assert np.abs(F(0.0, tr["y_dot"][-1], tr["y"][-1], [])).max() < 1e-7


def test_every_solvable_example_runs_over_its_span():
    for name in EXAMPLES:
        known = catalogue.load("small_dae", example=name)
        if known.index is None:
            continue
        run = dd.simulate(known.model, known.span, start=known.start, inputs=known.inputs)
        assert run.success, (name, run.stop_reason)


def test_an_index_that_does_not_exist_is_none():
    assert catalogue.load("small_dae", example="savin_22").index is None
    assert dd.analyse(catalogue.load("small_dae", example="savin_22").model).index is None
