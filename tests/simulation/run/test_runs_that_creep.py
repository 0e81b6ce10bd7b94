"""A run in which nothing moves, and whose rest would take a billion steps, ends in words and in few rows."""

import casadi as ca
import pytest

import daedalus as dd


@pytest.mark.parametrize("method", ["dop853", "tsit5", "dopri5"])
@pytest.mark.parametrize("rate", [1e11, 3e13])
def test_steps_that_lead_nowhere_end_the_run(method, rate):
    """x' = -k (x - cos t): stability holds explicit methods to steps of a few 1/k, each of many spacings of numbers."""
    m = dd.Model("held back")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -rate * (x - ca.cos(m.time)))
    tr = dd.simulate(m, 10.0, method=method, time_limit=100)
    assert tr.status == "step_too_small"
    assert len(tr.time) < 30000
    assert tr.stop.what.endswith("nothing moves in thousands of them")
    assert tr.stop.facts == ("the rest of the way would take more than a billion",)


def test_what_rings_for_a_moment_in_a_long_run_goes_on():
    """Thousands of steps in a millionth of the way, in which the state moves."""
    m = dd.Model("ringing")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -1e14 * x - ca.if_else(m.time < 1e-4, 0, 1e8) * v)
    tr = dd.simulate(m, 1e3, method="radau5", rtol=1e-9, atol=1e-12, save_at=[1e3])
    assert tr.success
    assert tr.work.steps > 10_000
