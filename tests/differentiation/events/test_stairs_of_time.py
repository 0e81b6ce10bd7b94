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


def random_model(seed):
    """Two states with two of seven laws that jump, bend and count."""
    draw = np.random.default_rng(seed)
    m = dd.Model("random laws")
    x, y = m.state("x", start=float(draw.uniform(0.2, 0.8))), m.state("y", start=float(draw.uniform(-0.5, 0.5)))
    P, k = m.parameter("P", float(draw.uniform(0.4, 1.2))), m.parameter("k", float(draw.uniform(0.5, 2)))
    t = m.time
    laws = [
        ca.if_else(x + 0.3 * y < ca.fmod(t, P), 1.0, 0.0),
        ca.if_else(y > 0.2 * ca.sin(5 * t), -1.0, 0.5),
        ca.fmax(x, 0.6 + 0.1 * ca.floor(t / P)),
        ca.if_else(ca.fmod(t, P) < 0.3 * k * P, 1.0, -0.2),
        ca.if_else(x > 0.5, ca.fmod(t, 0.37), 0.0),
        ca.if_else(ca.fmod(t + 0.2 * x, P) < 0.5 * P, 1.0, 0.0),
        ca.fabs(x - ca.fmod(t, P)),
    ]
    one, other = draw.integers(0, len(laws), 2)
    m.equation([m.der(x), m.der(y)], [-k * x + y + laws[one], -2 * x - 0.3 * y + laws[other]])
    return m, float(draw.uniform(1, 3))


@pytest.mark.parametrize("seed", [0, 10, *(pytest.param(k, marks=pytest.mark.wide) for k in range(11, 40))])
def test_random_laws(seed):
    m, span = random_model(seed)
    sens = dd.sensitivities(m, span, wrt=("start", "parameters"), rtol=1e-10, atol=1e-12)
    system = m.freeze()
    given = {**dict(zip(("x", "y"), system.start["x"].tolist())), **dict(zip(("P", "k"), system.start["p"].tolist()))}

    def end(name, change):
        values = {**given, name: given[name] + change}
        start, parameters = ({key: values[key] for key in keys} for keys in (("x", "y"), ("P", "k")))
        run = dd.simulate(m, span, start=start, parameters=parameters, rtol=1e-12, atol=1e-14)
        return np.array([float(run.end["x"]), float(run.end["y"])])

    for name in given:
        wide, near = ((end(name, step) - end(name, -step)) / (2 * step) for step in (1e-5, 3e-6))
        if np.abs(wide - near).max() > 1e-3:
            continue  # the differences pass another change
        exact = np.array([float(np.ravel(sens.d(state, name))[0]) for state in ("x", "y")])
        assert np.allclose(exact, near, rtol=2e-4, atol=2e-4)
