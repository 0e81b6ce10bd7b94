"""Index 3 as written where masses differ by many decades, in any unit of time: errors stay near the tolerance."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.carts_and_poles import NAMES, CartAndPole
from tests.support.rings import examples

import daedalus as dd

LIGHT = CartAndPole(cart=1e-4, pole=1.0, length=1.0, gravity=9.81, span=2.0, angle=np.pi / 2)


def by_solve_dae(one: CartAndPole, method: str, rtol: float) -> np.ndarray:
    found = dd.solve_dae(one.equations(), (0, one.span), one.start, method=method, rtol=rtol, atol=rtol * one.sizes)
    assert found.success, found.message
    return np.asarray(found.y[:, -1])


def by_model(one: CartAndPole, method: str, rtol: float) -> np.ndarray:
    atol = dict(zip(NAMES, (rtol * one.sizes).tolist()))
    tr = dd.simulate(one.model(), one.span, method=method, rtol=rtol, atol=atol)
    assert tr.success, tr.stop_reason
    return np.array([tr[name][-1] for name in NAMES[:6]])


@pytest.mark.parametrize("method", ["radau5", "radau9"])
@pytest.mark.parametrize("solved", [by_solve_dae, by_model])
def test_a_cart_that_is_light_beside_its_pole(solved, method) -> None:  # type: ignore[no-untyped-def]
    """Weights in seconds left an error of 6 % here (radau9 by dd.solve_dae)."""
    assert LIGHT.error(solved(LIGHT, method, 1e-6), LIGHT.end()) < 2e-4


@settings(deadline=None, max_examples=examples(5, 2))
@given(seed=st.integers(0, 2**32 - 1), method=st.sampled_from(["radau5", "radau9", "auto"]))
def test_random_carts_and_poles(seed: int, method: str) -> None:
    one = CartAndPole.random(np.random.default_rng(seed), decades=2.0)
    assert one.error(by_solve_dae(one, method, 1e-6), one.end()) < 1e-4


@pytest.mark.wide
@pytest.mark.parametrize("method", ["radau5", "radau9"])
@pytest.mark.parametrize("seed", [25, 26, 31, 56, 60, 72, 82, 97, 106, 126])
def test_masses_over_six_decades(seed: int, method: str) -> None:
    """Errors are tolerances, times what the motion itself makes of a change of its start."""
    one = CartAndPole.random(np.random.default_rng(seed), decades=6.0)
    end, aside = one.end(), 1e-7
    growth = one.error(replace(one, angle=one.angle + aside).end(), end) / aside
    assert one.error(by_solve_dae(one, method, 1e-6), end) < 3e-5 * (1 + growth)


@pytest.mark.parametrize("method", ["radau5", "radau9"])
@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 3600.0])
def test_units_of_time_change_nothing(method: str, seconds: float) -> None:
    """Each step is the same one: only rounding differs, where a unit is not a power of two."""
    one = CartAndPole(cart=0.3, pole=1.0, length=1.0, gravity=9.81, span=2.0, angle=1.0)
    other = one.in_unit(seconds)
    runs = [
        dd.solve_dae(c.equations(), (0, c.span), c.start, method=method, rtol=1e-6, atol=1e-6 * c.sizes)
        for c in (one, other)
    ]
    assert all(run.success for run in runs)
    assert abs(runs[0].t.size - runs[1].t.size) <= 0.02 * runs[0].t.size + 2
    assert np.max(np.abs(runs[0].y[:3, -1] - runs[1].y[:3, -1])) < 1e-6


@pytest.mark.parametrize("seconds", [1e4, 1e5, 1e6])
def test_a_start_moves_as_little_in_any_unit_of_time(seconds: float) -> None:
    """Third derivatives of 1e15 were taken for rounding: a start that was 1e-4 off moved by a third of the length."""
    one = CartAndPole(cart=0.3, pole=1.0, length=1.0, gravity=9.81, span=2.0, angle=1.0)
    on = dd.solve_dae(one.equations(), (0, 1.3), one.start, method="radau9", rtol=1e-8, atol=1e-8 * one.sizes).y[:, -1]
    moves = []
    for unit in (1000.0, seconds):
        c = one.in_unit(unit)
        off = on * c.sizes / one.sizes + 1e-4 * np.eye(7)[0]
        found = dd.solve_dae(
            c.equations(), (0, 1e-3 * c.span), off, method="radau5", rtol=1e-6, atol=1e-6 * c.sizes, repair=True
        )
        assert found.success, found.message
        moves.append((found.y[:, 0] - off) / c.sizes)
    np.testing.assert_allclose(moves[1], moves[0], atol=1e-7)


@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_finer_steps_begin_near_those_that_they_check(method: str) -> None:
    """Right runs were refused: the finer ones began with the pole at rest below the cart."""
    one = CartAndPole(cart=0.767, pole=4.98, length=1.094, gravity=4.436e8, span=1.013e-4, angle=1.233)
    assert one.error(by_solve_dae(one, method, 1e-6), one.end()) < 1e-5
