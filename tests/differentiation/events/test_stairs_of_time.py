"""Ramps and stairs of time: a condition that changes since a ramp falls does so at the time of the ramp."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

LAWS = {
    "compared with a ramp": lambda x, t, P: ca.if_else(x < ca.fmod(t, P), 1.0, 0.0),
    "compared with a ramp of its own period": lambda x, t, P: ca.if_else(
        x < 0.9 * ca.fmod(t, 0.8) + 0.05 * P, 1.0, 0.0
    ),
    "ramp": lambda x, t, P: ca.fmod(t, P),
    "stairs": lambda x, t, P: ca.floor(t / P),
    "stairs from above": lambda x, t, P: ca.ceil(1.7 * t / P),
    "step": lambda x, t, P: ca.sign(t - P),
    "remainder": lambda x, t, P: ca.remainder(t, P),
    "pulses": lambda x, t, P: ca.if_else(ca.fmod(t, P) < 0.4 * P, 1.0, 0.0),
    "pulses of one length": lambda x, t, P: ca.if_else(ca.fmod(t, P) < 0.4, 1.0, 0.0),
    "ramp of a moving phase": lambda x, t, P: ca.fmod(0.3 * x + t, P),
    "two ramps": lambda x, t, P: ca.if_else(x < ca.fmod(t, P), 1.0, 0.0) * ca.fmod(t, 0.7 * P),
}


def model(law):
    m = dd.Model("driven by stairs")
    x, P, k = m.state("x", start=0.55), m.parameter("P", 1.0), m.parameter("k", 0.7)
    m.equation(m.der(x), -k * x + LAWS[law](x, m.time, P))
    return m


def by_differences(m, span, name, step=1e-6):
    def end(change):
        values = {"x": 0.55, "P": 1.0, "k": 0.7}
        values[name] += change
        start = {"x": values.pop("x")}
        return float(dd.simulate(m, span, start=start, parameters=values, rtol=1e-12, atol=1e-14).end["x"])

    return (end(step) - end(-step)) / (2 * step)


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_agree_with_differences(law):
    """Until the first step of the stairs, and behind two of them."""
    m = model(law)
    for span in (0.9, 2.55):
        sens = dd.sensitivities(m, span, wrt=("start", "parameters"), rtol=1e-10, atol=1e-12)
        for name in ("x", "P", "k"):
            assert float(np.ravel(sens.d("x", name))[0]) == pytest.approx(by_differences(m, span, name), abs=2e-7)


@pytest.mark.parametrize("law", ["compared with a ramp", "ramp", "pulses"])
def test_gradients_and_differentiated_steps_agree(law):
    m = model(law)
    sens = dd.sensitivities(m, 2.55, wrt=("start", "parameters"), rtol=1e-9, atol=1e-11)
    steps = dd.sensitivities(m, 2.55, wrt=("start", "parameters"), rtol=1e-9, atol=1e-11, by="discrete")
    gradient = dd.gradient(m, 2.55, final="x", wrt=("start", "parameters"), rtol=1e-9, atol=1e-11)
    for name in ("x", "P", "k"):
        exact = float(np.ravel(sens.d("x", name))[0])
        assert float(np.ravel(steps.d("x", name))[0]) == pytest.approx(exact, abs=1e-6)
        assert float(np.ravel(gradient[name])[0]) == pytest.approx(exact, abs=1e-6)


def test_two_periods_of_a_converter_are_one_after_the_other():
    """A law: the derivative over two periods is the product of those over each."""
    m = dd.Model("buck converter")
    v, i = m.state("v", start=12.0), m.state("i", start=0.6)
    ramp = 3.8 + 4.4 * ca.fmod(m.time, 400e-6) / 400e-6
    on = ca.if_else(8.4 * (v - 11.3) < ramp, 1.0, 0.0)
    m.equation([m.der(v), m.der(i)], [(i - v / 22) / 47e-6, (24.0 * on - v) / 20e-3])
    options = {"wrt": ("start",), "rtol": 1e-10, "atol": 1e-12}
    first = dd.sensitivities(m, 400e-6, **options)
    second = dd.sensitivities(m, (400e-6, 800e-6), start=dict(zip(("v", "i"), first.value)), **options)
    both = dd.sensitivities(m, 800e-6, **options)
    assert np.allclose(both.M, second.M @ first.M, rtol=1e-6)
