"""Modes that grow: steps resolve those that a motion meets, and unstable rests are told with their rate."""

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from tests.support.rings import examples

import daedalus as dd
from daedalus.simulation.result.records_of_methods import GrowingModeMet

IMPLICIT = ["radau3", "radau5", "radau9", "bdf", "rodas4", "rodas5p", "sdirk4", "trbdf2"]
NETLISTS = Path(__file__).parents[2] / "components" / "netlists"


def told(tr):
    return [record for record in tr.records if isinstance(record, GrowingModeMet)]


def repelled(rate, distance):
    """x' = λ (x − sin t) + cos t from a distance δ: x = sin t + δ e^(λ t)."""
    m = dd.Model("repelled")
    x = m.state("x", start=distance)
    m.equation(m.der(x), rate * (x - ca.sin(m.time)) + ca.cos(m.time))
    return m


def van_der_pol(x0):
    m = dd.Model("van der Pol")
    x, v = m.state("x", start=x0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), (1 - x**2) * v - x)
    return m


@pytest.mark.parametrize("method", IMPLICIT)
def test_an_amplifier_with_positive_feedback_latches_at_loose_tolerances(method):
    """A pole at 3.3e11 1/s at the operating point, steps of 2 ns: it was stepped over, and 5 V of a sine came out."""
    m = dd.components.from_spice((NETLISTS / "inverting_lm358.cir").read_text())
    tr = dd.simulate(m, 2e-3, start="operating_point", method=method, rtol=1e-4)
    assert tr.success
    # At rtol = 1e-10 by radau5 and at 1e-8 by rodas5p.
    assert tr.at([0.5e-3, 1e-3, 2e-3])["rl.voltage"] == pytest.approx([10.976, 10.976, 10.976], abs=2e-3)


@pytest.mark.parametrize("method", IMPLICIT)
@given(st.floats(1.0, 5.0), st.floats(-12.0, -3.0), st.sampled_from([-1.0, 1.0]))
@settings(max_examples=examples(40, 4))
def test_a_motion_beside_a_repelling_one_leaves_it(method, decades, distance, sign):
    rate, start = 10.0**decades, sign * 10.0**distance
    # Until it is a million away.
    span = (6 - distance) * np.log(10) / rate
    tr = dd.simulate(repelled(rate, start), span, method=method)
    assert tr.success
    exact = np.sin(span) + start * np.exp(rate * span)
    # Errors of one tolerance of the start grow as the distance does.
    allowed = 1e-3 * abs(exact) + 100 * 1e-9 * np.exp(rate * span)
    assert tr["x"][-1] == pytest.approx(exact, abs=allowed)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
@given(st.integers(0, 10**6))
@settings(max_examples=examples(60, 5))
def test_one_growing_mode_among_decaying_ones(method, seed):
    """Random linear systems: all modes mixed, rates over six decades, a constant push; by the matrix exponential."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 7))
    rates = -(10.0 ** random.uniform(-1, 5, n))
    rates[0] = 10.0 ** random.uniform(1, 4)
    mixing = np.linalg.qr(random.standard_normal((n, n)))[0] @ np.diag(random.uniform(0.5, 2, n))
    a = mixing @ np.diag(rates) @ np.linalg.inv(mixing)
    push = random.standard_normal(n)
    m = dd.Model("mixed")
    x = m.state("x", n, start=np.zeros(n))
    m.equation(m.der(x), ca.mtimes(ca.DM(a), x) + ca.DM(push))
    span = 25.0 / rates[0]
    tr = dd.simulate(m, span, method=method)
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = a, push
    exact = expm(whole * span)[:n, n]
    assert tr.success
    assert np.linalg.norm(tr["x"][-1] - exact) < 1e-3 * np.linalg.norm(exact)


@pytest.mark.parametrize("method", [*IMPLICIT, "auto", "dopri5", "dop853"])
def test_a_start_on_an_unstable_rest_stays_and_is_told(method):
    tr = dd.simulate(van_der_pol(0.0), 50.0, method=method)
    assert tr.success
    assert np.all(tr["x"] == 0.0)
    (record,) = told(tr)
    assert record.kind == "rest"
    assert (record.rate, record.frequency) == (pytest.approx(0.5), pytest.approx(np.sqrt(0.75)))
    assert "start slightly off the equilibrium" in str(record)
    assert "unstable equilibrium" in " ".join(tr.notes)


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_distance_below_every_tolerance_grows_too(method):
    """From 1e-12 with atol = 1e-9: first seen by the tolerances at t = 14, on the cycle of size 2 by t = 60."""
    tr = dd.simulate(van_der_pol(1e-12), 70.0, method=method)
    late = tr.at(np.linspace(62.0, 70.0, 200))["x"]
    assert np.abs(late).max() == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_mode_at_exact_rest_beside_a_motion_is_passed(method):
    m = dd.Model("two apart")
    x, y = m.state("x", start=0.0), m.state("y", start=1.0)
    m.equation(m.der(x), 1e4 * x)
    m.equation(m.der(y), -y)
    tr = dd.simulate(m, 1.0, method=method)
    assert tr.success
    assert tr["x"][-1] == 0.0
    assert tr["y"][-1] == pytest.approx(np.exp(-1.0), abs=1e-4)
    (record,) = told(tr)
    assert (record.kind, record.variable, record.rate) == ("passed", "x", pytest.approx(1e4))
    assert tr.work.steps < 400


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_a_latch_between_its_states_is_told(method):
    m = dd.Model("latch")
    a, b = m.state("a", start=0.0), m.state("b", start=0.0)
    m.equation(1e-9 * m.der(a), -a - ca.tanh(5 * b))
    m.equation(1e-9 * m.der(b), -b - ca.tanh(5 * a))
    tr = dd.simulate(m, 1e-6, method=method)
    (record,) = told(tr)
    assert record.kind == "rest"
    assert record.rate == pytest.approx(4e9)


@pytest.mark.parametrize("method", ["auto", "radau5", "radau3", "bdf"])
def test_an_inverted_pendulum_on_a_stiff_rod_falls(method):
    """A mode of 1e4 rad/s beside one that grows with 3.1 1/s."""
    m = dd.Model("inverted")
    q = m.coordinate("q", 2, start=[1e-7, 1.0], rate=[0.0, 0.0])
    length = ca.norm_2(q)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1] + 0.5 * 1e8 * (length - 1) ** 2)
    m.dissipation(0.5 * 1e3 * (m.der(length)) ** 2)
    tr = dd.simulate(m, 5.0, method=method)
    # δ cosh(√g t) with g = 9.81; a tolerance of 1e-9 at the start is a hundredth of it.
    assert tr.at(3.0)["q"][0] == pytest.approx(1e-7 * np.cosh(np.sqrt(9.81) * 3.0), rel=5e-2)


@pytest.mark.parametrize("method", ["radau5", "bdf", "rodas5p"])
def test_nothing_is_told_of_what_decays_or_turns(method):
    known = dd.catalogue.load("robertson")
    assert not told(dd.simulate(known.model, known.span, method=method))
    m = dd.Model("turns")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -1e6 * x)
    assert not told(dd.simulate(m, 0.05, method=method))


@pytest.mark.parametrize("method", ["implicit_euler", "trapezoidal", "gauss2", "radau5"])
@pytest.mark.parametrize("decades", [2.0, 3.5, 5.0])
def test_fixed_steps_that_do_not_resolve_a_mode_tell_of_it(method, decades):
    """Four steps to where the distance is 1e8 times as large, with which most of these methods stay beside sin t."""
    rate = 10.0**decades
    span = 8 * np.log(10) / rate
    (record,) = told(dd.simulate(repelled(rate, 1e-6), span, method=method, step=span / 4))
    assert (record.kind, record.variable, record.rate) == ("unresolved", "x", pytest.approx(rate))
    assert f"try step={0.1 / rate:.1g}" in str(record)
    resolved = dd.simulate(repelled(rate, 1e-6), span, method=method, step=0.1 / rate)
    assert not told(resolved)
    # Nothing of what decays or turns.
    assert not told(dd.simulate(repelled(-rate, 1e-6), span, method=method, step=span / 4))
    assert not told(dd.simulate(van_der_pol(1.0), 10.0, method=method, step=0.1))


def test_joined_pieces_tell_once():
    m = van_der_pol(0.0)
    m.event("tick", m.time - 10.0, direction=1, reset={"x": 0.0})
    assert len(told(dd.simulate(m, 50.0, method="radau5"))) == 1


def bistable(cells, start):
    """u' = D u'' + 20 (u - u³): 0 repels, 1 attracts; the start has no size beside the tolerance."""
    m = dd.Model("bistable medium")
    u = m.state("u", cells, start=start)
    m.equation(m.der(u), 1e-3 * dd.laplacian(u, 1 / cells, boundary="neumann") + 20 * (u - u**3))
    return m


@pytest.mark.parametrize("linear", ["krylov", "matrix_free"])
def test_fields_that_iterate_find_modes_as_those_that_factor_do(linear):
    moving = dd.simulate(bistable(600, 1e-11), 20.0, method="bdf", linear=linear, save_at=[20.0])
    np.testing.assert_allclose(moving["u"][-1], 1.0, atol=1e-6)
    found = []
    for way in ("sparse", linear):
        tr = dd.simulate(bistable(600, 0.0), 20.0, method="bdf", linear=way, save_at=[20.0])
        assert np.all(tr["u"] == 0.0)
        assert (way == "sparse") == ("GMRES" not in tr.work.linear)
        (record,) = told(tr)
        found.append(record)
    # One of many close modes, the fastest with 20 1/s.
    assert found[0].kind == found[1].kind == "rest"
    assert 1 < found[0].rate <= 20
    assert found[1].rate == pytest.approx(found[0].rate, rel=1e-6)
