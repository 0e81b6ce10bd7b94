"""Dry friction and stops beside a constraint, in every form that reduction gives the model, against one coordinate."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

FORMS = (None, "projection", "ggl", "dummy_derivatives", "baumgarte")


def geared(seed, coordinates, stop):
    """Two masses joined by a ratio, one of them braked or stopped: two coordinates and a constraint, or one."""
    rng = np.random.default_rng(seed)
    ratio, first, second = (float(value) for value in rng.uniform([0.2, 0.5, 0.5], [0.8, 2.0, 2.0]))
    level, push, rate = (float(value) for value in rng.uniform([0.2, 1.0, 1.0], [0.8, 2.0, 3.0]))
    m = dd.Model(f"geared {seed}")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    force = push * ca.sin(rate * m.time)
    if coordinates == 2:
        y, w, tie = m.state("y", start=0.0), m.state("w", start=0.0), m.algebraic("tie")
        m.equation(m.der(y), w)
        m.equation(y, ratio * x, name="ratio")
    else:
        y, w, tie = ratio * x, ratio * v, 0.0
    # The gap of the stop closes as y grows.
    braked = -level * w - m.unilateral("stop", 0.2 - y) if stop else m.friction("brake", w, kinetic=level)
    m.equation(m.der(x), v)
    if coordinates == 2:
        m.equation(first * m.der(v), force - ratio * tie)
        m.equation(second * m.der(w), tie + braked)
    else:
        m.equation((first + ratio**2 * second) * m.der(v), force + ratio * braked)
    return m


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.wide) for seed in (1, 2))])
def test_a_brake_behind_a_ratio(seed, form):
    expected = dd.simulate(geared(seed, 1, False), 5.0)
    written = geared(seed, 2, False)
    run = written if form is None else dd.reduce(written, index=2 if form == "ggl" else 1, stabilise=form)
    for method in ("auto", "radau5"):
        tr = dd.simulate(run, 5.0, method=method)
        assert tr.success, (form, method, tr.stop_reason)
        assert tr.at([1.3, 2.9, 5.0])["x"] == pytest.approx(expected.at([1.3, 2.9, 5.0])["x"], abs=1e-4), (form, method)
        assert [event.name for event in tr.events] == [event.name for event in expected.events]


@pytest.mark.parametrize("form", FORMS)
def test_a_stop_behind_a_ratio(form):
    expected = dd.simulate(geared(1, 1, True), 5.0)
    written = geared(1, 2, True)
    run = written if form is None else dd.reduce(written, index=2 if form == "ggl" else 1, stabilise=form)
    tr = dd.simulate(run, 5.0)
    assert tr.success, (form, tr.stop_reason)
    assert "stop.closes" in [event.name for event in tr.events]
    assert tr.at([1.3, 2.9, 5.0])["x"] == pytest.approx(expected.at([1.3, 2.9, 5.0])["x"], abs=1e-4)
