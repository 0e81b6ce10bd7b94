"""Derivatives through sticking, sliding and impacts, against differences of runs."""

from __future__ import annotations

import casadi as ca
import pytest

import daedalus as dd

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


def test_an_impact_of_several_contacts_is_refused() -> None:
    m = dd.Model("cradle")
    a = m.coordinate("a", 3, start=[-0.3, 0.0, 0.0], rate=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(a)))
    m.potential_energy(-9.81 * ca.sum1(ca.cos(a)))
    for k in range(2):
        m.unilateral(f"contact{k}", a[k + 1] - a[k], restitution=1.0)
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(m, 1.0)
    assert str(refused.value) == (
        "The derivatives of 'cradle' do not go through an impact of several contacts.\n"
        "  at t = 0.504352 contact0, contact1 are hit together\n"
        "  Because beside this run they are hit one after the other, in an order that depends on the direction.\n"
        "  Try: a start from which they are hit one by one, or a span that ends before"
    )
