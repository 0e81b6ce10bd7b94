"""Guards that move with time by themselves, faster than the steps: no crossing is stepped over."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

# The voltage of the rectifier after five periods, by SciPy's DOP853 with steps of 5e-6 s at 1e-13.
END = 9.78798885465
EVERY = ["auto", "tsit5", "dop853", "radau5", "radau9", "bdf", "rodas5p"]


def decay_under_a_mains_voltage():
    """A slow decay; the event is where a voltage of 50 Hz passes it."""
    m = dd.Model("decay")
    v = m.state("v", start=9.85)
    m.equation(m.der(v), -v)
    m.event("passes", 10 * ca.sin(100 * np.pi * m.time) - v)
    return m


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize("end", [0.1, 0.5])
def test_every_crossing_is_recorded(method, end):
    tr = dd.simulate(decay_under_a_mains_voltage(), end, method=method, rtol=1e-4, first_step=0.1)
    t = np.linspace(0, end, 200001)
    gap = 10 * np.sin(100 * np.pi * t) - 9.85 * np.exp(-t)
    wanted = t[:-1][np.diff(np.sign(gap)) != 0]
    assert len(tr.events) == len(wanted)
    assert [event.time for event in tr.events] == pytest.approx(wanted, abs=1e-4)


def rectifier():
    """An ideal diode behind 0.5 Ω loads a capacitor: it conducts for a millisecond of every period."""
    m = dd.Model("rectifier")
    v, i = m.state("v", start=0.0), m.algebraic("i")
    m.equation(1e-3 * m.der(v), i - v / 1000)
    m.equation(ca.fmin(i, v - 10 * ca.sin(100 * np.pi * m.time) + 0.5 * i), 0)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5", "radau9", "bdf", "rodas5p"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_a_rectifier_conducts_in_every_period(method, rtol):
    tr = dd.simulate(rectifier(), 0.1, method=method, rtol=rtol, atol=1e-3 * rtol)
    conducting = tr.at(np.linspace(0, 0.1, 100001))["i"] > 1e-3
    assert np.count_nonzero(np.diff(conducting.astype(int)) > 0) == 5
    assert tr["v"][-1] == pytest.approx(END, rel=100 * rtol)
