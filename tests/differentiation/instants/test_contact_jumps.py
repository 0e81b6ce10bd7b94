"""Derivatives through sticking, sliding and impacts, against differences of runs."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.differentiation.instants.contact_jumps import CaseContacts

TIGHT = {"rtol": 1e-11, "atol": 1e-13}


def oscillator() -> dd.Model:
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    k, level = m.parameter("k", 1.0), m.parameter("level", 0.1)
    f = m.friction("floor", v, kinetic=level)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -k * x + f)
    return m


def belt() -> dd.Model:
    m = dd.Model("belt")
    x, v = m.state("x", start=0.0), m.state("v", start=0.5)
    k, level = m.parameter("k", 1.0), m.parameter("level", 1.0)
    f = m.friction("belt", v - 0.5, kinetic=level, static=2.0 * level)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -k * x + f)
    return m


def ball() -> dd.Model:
    m = dd.Model("ball")
    h = m.coordinate("x", start=1.0, rate=0.0)
    k, level = m.parameter("k", 9.81), m.parameter("level", 0.6)
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(k * h)
    m.unilateral("table", h, restitution=level)
    return m


@pytest.mark.parametrize(
    ("make", "span"), [(oscillator, 5.0), (oscillator, 20.0), (belt, 11.0), (ball, 0.8), (ball, 1.5)]
)
def test_forward_and_backward_agree_with_differences(make, span: float) -> None:
    m = make()
    sens = dd.sensitivities(m, span, rtol=1e-9)
    g = dd.gradient(m, span, final="x", wrt=["k", "level"], rtol=1e-9)
    for name in ("k", "level"):
        value = m.parameters[name].start[0]
        ends = [dd.simulate(m, span, parameters={name: value + h}, **TIGHT)["x"][-1] for h in (1e-5, -1e-5)]
        wanted = (ends[0] - ends[1]) / 2e-5
        assert float(sens.d("x", name)) == pytest.approx(wanted, rel=1e-5, abs=1e-7)
        assert g[name] == pytest.approx(wanted, rel=1e-5, abs=1e-7)


def test_start_values_count_until_it_sticks() -> None:
    m = oscillator()
    sens = dd.sensitivities(m, 20.0, rtol=1e-9)
    assert float(sens.d("x", "x")) == pytest.approx(-1.0, abs=1e-6)  # five half turns, then at rest
    assert abs(float(sens.d("v", "x"))) < 1e-9


def test_an_impact_that_passes_on_to_what_only_touches_is_refused() -> None:
    m = dd.Model("cradle")
    a = m.coordinate("a", 3, start=[-0.3, 0.0, 0.0], rate=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(a)))
    m.potential_energy(-9.81 * ca.sum1(ca.cos(a)))
    for k in range(2):
        m.unilateral(f"contact{k}", a[k + 1] - a[k], restitution=1.0)
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(m, 1.0)
    assert str(refused.value) == (
        "The derivatives of 'cradle' cannot be computed through an impact of several contacts.\n"
        "  at t = 0.504352 the impact of contact0 passes on to what only touches: contact1\n"
        "  Because a change that opens a gap there delays what passes on, and one that closes it is not possible.\n"
        "  Try: a start from which they are hit one by one, or a span that ends before"
    )


def test_an_impact_passes_through_what_is_pressed_together() -> None:
    """A ball falls on a plate that lies on a stop, and both bounce."""
    m = dd.Model("plate")
    h = m.coordinate("h", 2, start=[0.0, 0.5], rate=0.0)
    k, level = m.parameter("k", 9.81), m.parameter("level", 0.5)
    m.kinetic_energy(1.5 * m.rate(h)[0] ** 2 + 0.5 * m.rate(h)[1] ** 2)
    m.potential_energy(k * (3 * h[0] + h[1]))
    m.unilateral("stop", h[0], restitution=0.3)
    m.unilateral("plate", h[1] - h[0], restitution=level)
    sens = dd.sensitivities(m, 0.4, wrt="parameters", rtol=1e-9)
    for name in ("k", "level"):
        value = m.parameters[name].start[0]
        ends = [dd.simulate(m, 0.4, parameters={name: value + d}, **TIGHT)["h[1]"][-1] for d in (1e-5, -1e-5)]
        assert float(sens.d("h[1]", name)) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_contacts_that_an_impact_reaches_equally_fast_are_refused() -> None:
    """A ball hits the middle of a beam on two supports: which of them answers first decides how it leaves."""
    m = dd.Model("beam")
    h = m.coordinate("h", 3, start=[0.0, 0.0, 0.5], rate=0.0)  # the beam's middle and angle, the ball
    v = m.rate(h)
    m.kinetic_energy(0.5 * v[0] ** 2 + 0.2 * v[1] ** 2 + 0.5 * v[2] ** 2)
    m.potential_energy(m.parameter("k", 9.81) * (h[0] + h[2]))
    m.unilateral("left", h[0] - h[1], restitution=0.8)
    m.unilateral("right", h[0] + h[1], restitution=0.8)
    m.unilateral("ball", h[2] - h[0], restitution=0.5)
    with pytest.raises(dd.SolverError, match="contacts that approach equally fast are treated in another order"):
        dd.sensitivities(m, 0.5)


def test_bounces_that_accumulate_have_the_derivative_of_their_sum() -> None:
    """∫h dt = (v³ / g²) (1/3 + 2/3 Σ e³ⁿ) with v = √(2 g h₀), and the contact force is g from then on."""
    m = ball()
    w = m.state("w", start=0.0)
    m.equation(m.der(w), m["x"])
    sens = dd.sensitivities(m, 3.0, rtol=1e-10)
    g, e, v = 9.81, 0.6, np.sqrt(2 * 9.81)
    total = 1 / 3 + 2 / 3 * e**3 / (1 - e**3)
    assert float(sens.states.end["w"]) == pytest.approx(v**3 / g**2 * total, rel=1e-8)
    assert float(sens.d("w", "level")) == pytest.approx(v**3 / g**2 * 2 * e**2 / (1 - e**3) ** 2, rel=1e-6)
    assert float(sens.d("w", "k")) == pytest.approx(-0.5 * v**3 / g**3 * total, rel=1e-6)
    assert float(sens.d("w", "x")) == pytest.approx(3 * v / g * total, rel=1e-6)
    assert float(sens.d("x", "x")) == pytest.approx(0.0, abs=1e-8)
    assert dd.gradient(m, 3.0, final="w", rtol=1e-10)["level"] == pytest.approx(float(sens.d("w", "level")), rel=1e-8)


def test_derivatives_read_impacts_from_the_run(monkeypatch):
    """One ball after the other: nothing is settled again, and each bounce is the one that the run recorded."""
    m = dd.Model("dropped")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    force = m.unilateral("floor", gap=h, restitution=0.5)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81 + force)
    (piece,) = dd.simulate(m, 1.2).pieces
    fall = np.sqrt(2 / 9.81)
    impacts = [moment for moment in piece.outcome.settled if moment.impacts]
    assert [moment.time for moment in impacts] == pytest.approx([fall, 2 * fall, 2.5 * fall], abs=1e-7)
    assert [len(moment.fired) for moment in impacts] == [1, 1, 1]

    def settled_again(*_):
        raise AssertionError("the run has settled this moment")

    monkeypatch.setattr(CaseContacts, "settled", settled_again)
    sens = dd.sensitivities(m, 1.2)
    # Behind impacts at τ = √(2 h / g), 2 τ and 2.5 τ it is v = g τ / 8 - g (t - 2.5 τ).
    assert sens.M[1, 0] == pytest.approx(2.625 * 9.81 * 0.5 * fall, rel=1e-6)
