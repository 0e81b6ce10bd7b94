"""Derivatives of runs that come to rest where slopes are infinite: closed forms, and the same by differences."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import SlidesAlong

X0, K, END = 1.3, 0.9, 4.0
METHODS = ["auto", "radau5", "rodas5p"]


def root(h: ca.SX) -> ca.SX:
    return ca.sign(h) * ca.sqrt(ca.fabs(h))


def two_tanks(law: Callable[[ca.SX], ca.SX] = root) -> dd.Model:
    """The first runs empty at 2 √x0 / k into a second one, from which it drains in proportion."""
    m = dd.Model("two tanks")
    x, y, k = m.state("x", start=X0), m.state("y", start=0.0), m.parameter("k", K)
    m.equation(m.der(x), -k * law(x))
    m.equation(m.der(y), k * law(x) - y)
    return m


def second_tank(x0: float, k: float) -> tuple[float, float, float]:
    """y(END) = k ∫ exp(s - END) (√x0 - k s / 2) ds up to τ = 2 √x0 / k, and its derivatives by x0 and k."""
    a, tau, fade = np.sqrt(x0), 2 * np.sqrt(x0) / k, np.exp(-END)
    whole, first = np.exp(tau) - 1, (tau - 1) * np.exp(tau) + 1  # ∫ exp(s), ∫ s exp(s)
    y = k * fade * (a * whole - k / 2 * first)
    return y, k * fade * whole / (2 * a), fade * (a * whole - k * first)


LAWS = {
    "sign times root": root,
    "nothing below": lambda h: ca.sqrt(ca.fmax(h, 0.0)),
    "a branch": lambda h: ca.if_else(h > 0, ca.sqrt(h), 0.0),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", ["variational", "discrete"])
def test_a_tank_that_runs_empty(method: str, by: str) -> None:
    sens = dd.sensitivities(two_tanks(), END, by=by, method=method, rtol=1e-8, atol=1e-10)
    value, by_start, by_k = second_tank(X0, K)
    assert sens.value == pytest.approx([0.0, value], rel=1e-7, abs=1e-20)
    assert [float(sens.d("x", name)) for name in ("x", "k")] == pytest.approx([0.0, 0.0], abs=1e-20)
    found = [float(sens.d("y", name)) for name in ("x", "k")]
    assert found == pytest.approx([by_start, by_k], rel=1e-7)
    (rest,) = [record for record in sens.records if isinstance(record, SlidesAlong)]
    assert (rest.condition, rest.rests) == ("x > 0", True)
    assert rest.time == pytest.approx(2 * np.sqrt(X0) / K, abs=1e-3)


@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_the_gradient_agrees(method: str, law: str) -> None:
    found = dd.gradient(two_tanks(LAWS[law]), END, final="y", wrt=("start", "k"), method=method, rtol=1e-8, atol=1e-10)
    value, by_start, by_k = second_tank(X0, K)
    assert [found.value, found["x"], found["k"]] == pytest.approx([value, by_start, by_k], rel=1e-7)


def test_before_it_is_empty_derivatives_are_those_of_the_parabola() -> None:
    """x = (√x0 - k t / 2)²."""
    sens = dd.sensitivities(two_tanks(), END, rtol=1e-9, atol=1e-11)
    tau = 2 * np.sqrt(X0) / K
    for t in (0.5 * tau, 0.99 * tau, 1.01 * tau):
        left = max(np.sqrt(X0) - K * t / 2, 0.0)
        assert float(sens.at(t).d("x", "x")) == pytest.approx(left / np.sqrt(X0), abs=1e-7)
        assert float(sens.at(t).d("x", "k")) == pytest.approx(-t * left, abs=1e-7)


def test_a_start_at_rest_stays_there() -> None:
    """From x0 beside 0 the first tank is empty at once, and what was in it is in the second one."""
    sens = dd.sensitivities(two_tanks(), 1.0, start={"x": 0.0, "y": 0.5}, rtol=1e-9)
    assert float(sens.d("x", "x")) == pytest.approx(0.0, abs=1e-15)
    assert float(sens.d("y", "x")) == pytest.approx(np.exp(-1.0), rel=1e-6)
    assert float(sens.d("y", "y")) == pytest.approx(np.exp(-1.0), rel=1e-8)


def test_levels_that_parameters_move_carry_the_rest_along() -> None:
    m = dd.Model("weir")
    x, edge = m.state("x", start=1.0), m.parameter("edge", 0.25)
    m.equation(m.der(x), -root(x - edge))
    for found in (dd.sensitivities(m, 3.0, rtol=1e-8).d("x", "edge"), dd.gradient(m, 3.0, final=x, rtol=1e-8)["edge"]):
        assert float(found) == pytest.approx(1.0, rel=1e-7)


def test_one_that_passes_goes_on() -> None:
    """x' = -1 - root(x) passes x = 0 with speed 1: differences tell."""

    def passing(x0: float) -> dd.Model:
        m = dd.Model("passing")
        m.equation(m.der(x := m.state("x", start=x0)), -1.0 - 0.5 * root(x))
        return m

    step = 1e-4
    plus, minus = (dd.simulate(passing(0.5 + away), 1.5, rtol=1e-11, atol=1e-13).end["x"] for away in (step, -step))
    wanted = (float(plus) - float(minus)) / (2 * step)
    assert float(dd.sensitivities(passing(0.5), 1.5, rtol=1e-8).M[0, 0]) == pytest.approx(wanted, rel=1e-5)


def test_steps_that_pass_infinite_slopes_are_not_differentiated() -> None:
    """p = 1 - k t, y' = root(p): y = 2/3 (1 - |1 - k t|^(3/2)) / k, by k at t = 2 and k = 1: -2."""
    m = dd.Model("orifice")
    p, y, k = m.state("p", start=1.0), m.state("y", start=0.0), m.parameter("k", 1.0)
    m.equation(m.der(p), -k)
    m.equation(m.der(y), root(p))
    for method in ("auto", "radau5"):
        with pytest.raises(dd.SolverError) as refused:
            dd.gradient(m, 2.0, final=y, method=method, rtol=1e-6)
        assert str(refused.value).startswith(
            "The steps of 'orifice' have no derivatives that can be trusted.\n  at t = 1 they pass where p "
        )
        with pytest.raises(dd.SolverError, match="infinite slopes"):
            dd.sensitivities(m, 2.0, by="discrete", method=method)
    # What is told to try.
    assert float(dd.sensitivities(m, 2.0, by="variational", rtol=1e-9).d("y", "k")) == pytest.approx(-2.0, rel=1e-5)
    assert float(dd.gradient(m, 0.9, final=y, rtol=1e-9)["k"]) == pytest.approx(_by_k(0.9), rel=1e-6)


def _by_k(t: float) -> float:
    left = 1 - t
    return -2 / 3 * (1 - left**1.5) + t * left**0.5


def test_a_rest_that_ends_is_named() -> None:
    m = dd.Model("tap")
    x = m.state("x", start=0.1)
    m.equation(m.der(x), ca.fmax(m.time - 2.0, 0.0) - root(x))
    assert dd.simulate(m, 3.0).success
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(m, 3.0)
    told = str(refused.value)
    assert told.startswith("The derivatives of 'tap' cannot be continued: it leaves its state of rest.\n")
    assert "  at t = 2 it begins to move" in told
    assert "Because slopes are infinite there" in told
    assert "Try: a span that ends before it" in told
    assert float(dd.sensitivities(m, 1.9).M[0, 0]) == 0


@pytest.mark.parametrize("by", ["variational", "discrete"])
def test_a_run_that_begins_on_a_relay_forgets_where_it_began(by):
    """sign(0) = 0 keeps the state there; beside it, the relay leads it back in no time."""
    m = dd.Model("relay")
    x, y = m.state("x", start=0.0), m.state("y", start=1.0)
    m.equation(m.der(x), -ca.sign(x))
    m.equation(m.der(y), x - y)
    sens = dd.sensitivities(m, 2, wrt="start", by=by)
    np.testing.assert_allclose(sens.M, [[0, 0], [0, np.exp(-2)]], atol=1e-7)


def test_a_block_at_rest_under_plain_friction_keeps_its_place_and_forgets_its_speed():
    m = dd.Model("block")
    x, v, F = m.state("x", start=0.0), m.state("v", start=0.0), m.parameter("F", 0.5)
    m.equation(m.der(x), v)
    m.equation(m.der(v), ca.sin(m.time) - F * ca.sign(v))
    sens = dd.sensitivities(m, 2.5)
    np.testing.assert_allclose(sens.M, [[1, 0], [0, 0]], atol=1e-6)
    # It breaks loose where sin t = F; from there on v' = sin t - F.
    loose = np.arcsin(0.5)
    found = [sens.d("x", "F"), sens.d("v", "F")]
    np.testing.assert_allclose(found, [-((2.5 - loose) ** 2) / 2, -(2.5 - loose)], rtol=1e-6)
