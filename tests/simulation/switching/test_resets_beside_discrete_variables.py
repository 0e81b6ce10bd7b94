"""Resets of states that depend on each other, beside discrete variables in their constraints."""

import numpy as np
import pytest

import daedalus as dd


def belt(reads_old=False):
    """y = (1 + on) (1 - x): behind the event on = 1, and y is written on the new constraint."""
    m = dd.Model("belt")
    x, y, f, on = m.state("x", start=1.0), m.state("y"), m.algebraic("f"), m.discrete("on", start=0.0)
    m.equation(m.der(x), -x)
    m.equation(m.der(y), f)
    m.equation(y, (1 + on) * (1 - x), name="belt")
    m.when(x < 0.6, {"on": 1.0, "y": (2 - on if reads_old else 2) * (1 - x)})
    return m


@pytest.mark.parametrize("method", ["auto", "radau5", "radau9"])
@pytest.mark.parametrize("reads_old", [False, True])
def test_what_a_reset_writes_stays_and_reads_what_was_before(method, reads_old):
    run = dd.simulate(belt(reads_old), 2.0, method=method, rtol=1e-8, atol=1e-10)
    assert run.success
    event = run.events[0]
    assert float(event.after["x"]) == pytest.approx(0.6, abs=1e-6)
    assert float(event.after["y"]) == pytest.approx(0.8, abs=1e-6)
    late = run.at(np.array([0.3, 1.0, 2.0]))
    assert np.allclose(late["x"], np.exp(-np.array([0.3, 1.0, 2.0])), atol=1e-6)
    assert np.allclose(late["y"], [1 - np.exp(-0.3), *(2 * (1 - np.exp(-np.array([1.0, 2.0]))))], atol=1e-6)


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_clock_changes_the_constraint_and_the_state_on_it(method):
    """Ticks at 0, 0.5 and 1: y = 2, 3, 4 times 1 - x behind them."""
    m = dd.Model("raised by a clock")
    x, y, f, on = m.state("x", start=1.0), m.state("y"), m.algebraic("f"), m.discrete("on", start=0.0)
    m.equation(m.der(x), -x)
    m.equation(m.der(y), f)
    m.equation(y, (1 + on) * (1 - x))
    m.every(0.5, {"on": on + 1, "y": (2 + on) * (1 - x)}, name="raise")
    run = dd.simulate(m, 1.25, method=method, rtol=1e-8, atol=1e-10)
    assert run.success
    times = np.array([0.25, 0.75, 1.25])
    seen = run.at(times)
    assert np.allclose(seen["x"], np.exp(-times), atol=1e-6)
    assert np.allclose(seen["y"], np.array([2, 3, 4]) * (1 - np.exp(-times)), atol=1e-6)
