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
