"""Pulses whose width is a discrete variable: the same motion as the exact one, however the comparison is written."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import daedalus as dd

# 1 in the first part `duty` of each period, else 0.
PULSES = {
    "fmod": lambda t, period, duty: ca.if_else(ca.fmod(t, period) < duty * period, 1, 0),
    "floor": lambda t, period, duty: ca.if_else(t / period - ca.floor(t / period) < duty, 1, 0),
    "quotient": lambda t, period, duty: ca.if_else(ca.fmod(t, period) / (duty * period) < 1, 1, 0),
    "the other branch": lambda t, period, duty: 1 - ca.if_else(ca.fmod(t, period) >= duty * period, 1, 0),
    "sign": lambda t, period, duty: 0.5 + 0.5 * ca.sign(duty * period - ca.fmod(t, period)),
    "number": lambda t, period, duty: 1.0 * (ca.fmod(t / period, 1) < duty),
}


def exact(period: float, count: int, times: np.ndarray, duties: np.ndarray, delays: np.ndarray) -> np.ndarray:
    """Two lags behind each other, from one switch to the next by exponentials."""
    ends = [k * period + part * period for k in range(count) for part in (0.0, 1.0, *duties)]
    cuts = sorted({*ends, *times.tolist()})
    rates = np.array([[-1 / delays[0], 0, 1 / delays[0]], [1 / delays[1], -1 / delays[1], 0], [0, 0, 0]])
    y = np.zeros(3)
    for begin, end in pairwise(cuts):
        middle = 0.5 * (begin + end)
        y[2] = middle % period < duties[np.searchsorted(times, middle)] * period
        y = expm(rates * (end - begin)) @ y
    return y[:2]


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "tsit5"])
@pytest.mark.parametrize("pulse", PULSES)
def test_pulses_of_a_discrete_width(pulse: str, method: str) -> None:
    rng = np.random.default_rng(list(PULSES).index(pulse))
    period, count = float(10 ** rng.uniform(-5, 0)), 5
    times, duties = np.sort(rng.uniform(0, count * period, 3)), rng.uniform(0.05, 0.95, 4)
    delays = period * rng.uniform(0.3, 3, 2)
    m = dd.Model("pulses")
    a, b, duty = m.state("a", start=0.0), m.state("b", start=0.0), m.discrete("duty", start=float(duties[0]))
    for t, new in zip(times, duties[1:]):
        m.when(m.time > float(t), {"duty": float(new)})
    m.equation(m.der(a), (PULSES[pulse](m.time, period, duty) - a) / float(delays[0]))
    m.equation(m.der(b), (a - b) / float(delays[1]))
    tr = dd.simulate(m, count * period, method=method, time_limit=30)
    assert tr.success, tr.stop_reason
    found = [float(tr[name][-1]) for name in ("a", "b")]
    np.testing.assert_allclose(found, exact(period, count, times, duties, delays), atol=2e-5)


@pytest.mark.parametrize("method", ["auto", "bdf"])
@pytest.mark.parametrize("topology", ["buck", "boost"])
def test_a_converter_runs_with_a_discrete_duty_as_with_a_parameter(topology: str, method: str) -> None:
    C, period, ends = dd.components.electrical, 2e-5, []
    for discrete in (True, False):
        m = dd.Model(topology)
        source, ground = m.add(C.VoltageSource("source", voltage=24.0)), m.add(C.Ground("ground"))
        switch = m.add(C.Switch("switch", on_resistance=0.05, off_conductance=1e-6))
        diode = m.add(C.Diode("diode", on_resistance=0.05, off_conductance=1e-6))
        choke, load = m.add(C.Inductor("choke", inductance=1e-4)), m.add(C.Resistor("load", resistance=10.0))
        store = m.add(C.Capacitor("store", capacitance=2e-5))
        duty = m.discrete("duty", start=0.37) if discrete else m.parameter("duty", 0.37)
        m.connect(ca.if_else(ca.fmod(m.time, period) < duty * period, 1, 0), switch.closed)
        if topology == "buck":
            m.connect(source.plus, switch.plus)
            m.connect(switch.minus, diode.minus, choke.plus)
            m.connect(choke.minus, store.plus, load.plus)
            m.connect(source.minus, diode.plus, store.minus, load.minus, ground.pin)
        else:
            m.connect(source.plus, choke.plus)
            m.connect(choke.minus, switch.plus, diode.plus)
            m.connect(diode.minus, store.plus, load.plus)
            m.connect(source.minus, switch.minus, store.minus, load.minus, ground.pin)
        start = {"choke.current": 0.0, "store.voltage": 0.0}
        tr = dd.simulate(m, 1e-4, start=start, method=method, rtol=1e-7, time_limit=30)
        assert tr.success, tr.stop_reason
        ends.append(float(tr["store.voltage"][-1]))
    assert ends[0] == pytest.approx(ends[1], rel=1e-4)
