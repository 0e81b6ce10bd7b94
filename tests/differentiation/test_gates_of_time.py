"""Derivatives through gates that formulas of time open and close: ramps of floor, ceil and fmod beside a duty."""

import casadi as ca
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.components import converters
from tests.support.rings import examples

import daedalus as dd

GATES = {
    "fmod": lambda t, x, duty, period: ca.fmod(t, period) < duty * period,
    "floor": lambda t, x, duty, period: t / period - ca.floor(t / period) < duty,
    "ceil": lambda t, x, duty, period: ca.ceil(t / period) - t / period < duty,
    "triangle": lambda t, x, duty, period: ca.fabs(ca.fmod(t, period) / period - 0.5) < duty / 2,
    "with a state": lambda t, x, duty, period: t / period - ca.floor(t / period) < duty * ca.exp(-x),
}


def gated(gate):
    """A state that rises while its gate is open."""
    m = dd.Model("gated")
    x = m.state("x", start=0.3)
    duty, period, phase = m.parameter("duty", 0.4), m.parameter("period", 0.1), m.parameter("phase", 0.013)
    m.equation(m.der(x), ca.if_else(GATES[gate](m.time + phase, x, duty, period), 1 - x, -0.5 * x))
    return m


MODELS = {gate: gated(gate) for gate in GATES}


@given(
    st.sampled_from(sorted(GATES)), st.floats(0.25, 0.75), st.floats(0.08, 0.12), st.sampled_from(["auto", "radau5"])
)
@settings(max_examples=examples(8, 4), deadline=None)
def test_each_edge_moves_as_its_own_condition_says(gate, duty, period, method):
    """Where a ramp falls the gate changes at whole periods, whatever the duty is; between, where it meets the duty."""
    m, span, step = MODELS[gate], 0.47, 1e-6
    values = {"duty": duty, "period": period, "phase": 0.013}
    found = dd.sensitivities(m, span, wrt=("parameters",), parameters=values, method=method, rtol=1e-9, atol=1e-11)
    for name, value in values.items():
        ends = [
            dd.simulate(m, span, parameters={**values, name: value + side * step}, rtol=1e-11, atol=1e-13)["x"][-1]
            for side in (1, -1)
        ]
        assert found.d("x", name) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-6)


def test_the_duty_of_a_converter():
    """A buck converter: five edges of the switch move with its duty, and five do not."""
    parts = dd.components.electrical
    m = dd.Model("buck")
    duty, period = m.parameter("duty", 0.4), 1e-5
    source, ground = m.add(parts.VoltageSource("source", voltage=12.0)), m.add(parts.Ground("ground"))
    coil, store = m.add(parts.Inductor("coil", inductance=47e-6)), m.add(parts.Capacitor("store", capacitance=47e-6))
    load, switch = m.add(parts.Resistor("load", resistance=2.0)), m.add(parts.Switch("switch"))
    diode = m.add(parts.Diode("diode", on_resistance=0.01, off_conductance=1e-6))
    m.connect(ca.fmod(m.time, period) < duty * period, switch.closed)
    m.connect(source.plus, switch.plus)
    m.connect(switch.minus, coil.plus, diode.minus)
    m.connect(coil.minus, store.plus, load.plus)
    m.connect(source.minus, ground.pin, diode.plus, store.minus, load.minus)
    start = {"store.voltage": 0.0, "coil.current": 0.0}
    found = dd.sensitivities(m, 5e-5, start=start, wrt=("parameters",))
    ends = [
        dd.simulate(m, 5e-5, start=start, parameters={"duty": 0.4 + side * 1e-5}, rtol=1e-10, atol=1e-12)
        for side in (1, -1)
    ]
    difference = (ends[0]["store.voltage"][-1] - ends[1]["store.voltage"][-1]) / 2e-5
    assert found.d("store.voltage", "duty") == pytest.approx(difference, rel=1e-5)


@pytest.mark.parametrize("name", ["boost", *(pytest.param(n, marks=pytest.mark.wide) for n in ("buck_boost", "sepic"))])
def test_diodes_that_turn_with_the_gate(name):
    """Steps end at their corners where the derivatives find no way across."""
    m, span = getattr(converters, name)(kind="parameter"), 7.3e-5
    start = dict.fromkeys(m.freeze().labels["x"], 0.0)
    duty = {"boost": 0.5, "buck_boost": 0.4, "sepic": 0.5}[name]
    found = dd.sensitivities(m, span, start=start, wrt=("parameters",))
    ends = [
        dd.simulate(m, span, start=start, parameters={"duty": duty + side * 1e-6}, rtol=1e-10, atol=1e-12)
        for side in (1, -1)
    ]
    difference = (ends[0]["c1.voltage"][-1] - ends[1]["c1.voltage"][-1]) / 2e-6
    assert found.d("c1.voltage", "duty") == pytest.approx(difference, rel=1e-5)
