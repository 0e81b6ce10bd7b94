"""Conditions on time that change as a run begins, such as t > 0 at 0: algebraic variables begin behind them."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import daedalus as dd

# True from just behind 0 on, and not at 0; the last two at 0 alone.
ON = {
    "t > 0": lambda t, d: t > 0,
    "parameter": lambda t, d: d * t > 0,
    "sine": lambda t, d: ca.sin(t + d) > ca.sin(d),
    "wave": lambda t, d: ca.cos(2 * t - d) > ca.cos(d),
    "negated": lambda t, d: dd.negate(t <= 0),
    "triangle": lambda t, d: ca.fabs(t - d / 2) < d / 2,
}


def switched_on(condition: Callable[[ca.SX, ca.SX], ca.SX], at: float = 0.0) -> dd.Model:
    m = dd.Model("switched on")
    d, x, z = m.parameter("d", 0.57), m.state("x", start=0.0), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(z + z**3, ca.if_else(condition(m.time - at, d), 1.0, 0.0) - x)
    return m


def expected(end: float) -> float:
    """By SciPy, with the condition true."""

    def rate(t: float, x: np.ndarray) -> float:
        return float(brentq(lambda z: z + z**3 - 1 + x[0], -3, 3, xtol=1e-15))

    return float(solve_ivp(rate, (0, end), [0.0], rtol=1e-11, atol=1e-13).y[0, -1])


@pytest.mark.parametrize("method", ["auto", "bdf", "rodas5p", "radau9"])
@pytest.mark.parametrize("condition", ON)
def test_what_is_switched_on_at_the_start_runs(condition: str, method: str) -> None:
    tr = dd.simulate(switched_on(ON[condition]), 0.3, method=method)
    assert tr.success, tr.stop_reason
    assert tr["x"][-1] == pytest.approx(expected(0.3), abs=3e-6)
    assert tr["z"][0] == pytest.approx(0.6823278038, abs=1e-8)  # behind the switch


def test_starts_of_other_forms_and_times() -> None:
    m = switched_on(ON["t > 0"])
    starts = [dd.initialise(m), {"x": 0.0}, dd.simulate(m, 0.0).end]
    ends = [float(dd.simulate(m, 0.3, start=start)["x"][-1]) for start in starts]
    np.testing.assert_allclose(ends, expected(0.3), atol=3e-6)
    late = switched_on(ON["t > 0"], at=0.1)
    before = dd.simulate(late, 0.1, method="radau5")
    for start in (before.end, {"x": 0.0}):
        tr = dd.simulate(late, (0.1, 0.4), start=start, method="radau5")
        assert tr["x"][-1] == pytest.approx(expected(0.3), abs=3e-6)


def test_a_run_backwards_begins_before_its_first_time() -> None:
    begun = float(dd.simulate(switched_on(lambda t, d: t > -1), 0.3, rtol=1e-10)["x"][-1])
    m = switched_on(lambda t, d: t < 0, at=0.3)
    tr = dd.simulate(m, (0.3, 0.0), start={"x": begun}, method="radau5", rtol=1e-9)
    assert tr.success, tr.stop_reason
    assert tr["x"][-1] == pytest.approx(0.0, abs=1e-6)
