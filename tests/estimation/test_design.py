"""Designs of experiments against known optima."""

import numpy as np
import pytest

import daedalus as dd


def test_a_decay_is_measured_after_its_time_constant():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 2.0)
    m.equation(m.der(x), -k * x)
    for criterion in ("D", "A"):
        found = dd.design(m, 2.0, ["k"], samples=1, candidates=201, criterion=criterion, noise=0.1)
        assert found.times == pytest.approx([0.5])
        # ∂x/∂k = −t exp(−k t) at its largest.
        assert found.std["k"] == pytest.approx(0.1 / (0.5 * np.exp(-1.0)), rel=1e-5)


def test_slope_and_curvature_of_a_line_are_told_by_its_middle_and_end():
    m = dd.Model("parabola")
    x, a, b = m.state("x", start=0.0), m.parameter("a", 1.0), m.parameter("b", 1.0)
    m.equation(m.der(x), a + b * m.time)
    # det of (t, t²/2) at two times, t₁ t₂ (t₂ − t₁) / 2, is largest for t₂ = 1 and t₁ = 1/2.
    assert dd.design(m, 1.0, ["a", "b"], samples=2).times == pytest.approx([0.5, 1.0])


def test_the_input_that_tells_more_is_chosen():
    m = dd.Model("gain")
    x, g, u = m.state("x", start=0.0), m.parameter("g", 1.0), m.input("u")
    m.equation(m.der(x), g * u - x)
    found = dd.design(m, 1.0, ["g"], inputs=[{"u": 0.1}, {"u": 2.0}, {"u": 1.0}], samples=3)
    assert (found.choice, found.inputs) == (1, {"u": 2.0})
    with pytest.raises(dd.InputError, match="criterion='E' means nothing"):
        dd.design(m, 1.0, ["g"], inputs={"u": 1.0}, criterion="E")


def test_the_input_itself_is_chosen():
    """The gain of an integrator is told by an input that never changes its sign, that of a lag by one that does."""
    m = dd.Model("integrator")
    x, g, u = m.state("x", start=0.0), m.parameter("g", 1.0), m.input("u")
    m.equation(m.der(x), g * u)
    best = dd.design(m, 1.0, ["g"], inputs={"u": dd.unknown(0.0, -1.0, 2.0)}, samples=1, intervals=4)
    assert best.inputs["u"].values.ravel().tolist() == [2.0] * 4
    assert best.std["g"] == pytest.approx(0.5)
    assert dd.simulate(m, 1.0, inputs=best.inputs).at(1.0)["x"] == pytest.approx(2.0)


def test_a_chosen_input_is_better_than_a_step_and_keeps_to_its_bounds():
    m = dd.Model("oscillator")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    stiffness, damping = m.parameter("stiffness", 4.0), m.parameter("damping", 0.4)
    m.equation([m.der(x), m.der(v)], [v, u - stiffness * x - damping * v])
    step = dd.design(m, 6.0, ["stiffness", "damping"], inputs={"u": 1.0}, outputs="x", samples=6)
    found = dd.design(
        m, 6.0, ["stiffness", "damping"], inputs={"u": dd.unknown(0.0, -1.0, 1.0)}, outputs="x", samples=6, intervals=6
    )
    assert found.score > step.score + 1.0
    assert set(found.inputs["u"].values.ravel().tolist()) <= {-1.0, 0.0, 1.0}


def test_an_input_without_bounds_is_refused():
    m = dd.Model("gain")
    x, g, u = m.state("x", start=0.0), m.parameter("g", 1.0), m.input("u")
    m.equation(m.der(x), g * u - x)
    with pytest.raises(dd.InputError, match="The input u needs bounds to be chosen"):
        dd.design(m, 1.0, ["g"], inputs={"u": dd.unknown(0.0)})
