"""Random masses with one to four frictions move as they do from mode to mode, by every kind of method."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from support.friction_chains import chain_model, friction_chain, moved_by_modes

import daedalus as dd

METHODS = ("auto", "radau5", "radau9", "sdirk4", "bdf", "rodas5p", "tsit5")


def assert_moves_as_from_mode_to_mode(seed: int, methods: tuple[str, ...], plain: bool, stiff: bool) -> None:
    chain = friction_chain(seed)
    expected = moved_by_modes(chain)
    for method in methods:
        tr = dd.simulate(chain_model(chain, plain, stiff), chain.span, method=method, time_limit=60)
        assert tr.status.success, (seed, method, tr.stop_reason)
        found = [float(tr[f"x{i}"][-1]) for i in range(len(expected))]
        np.testing.assert_allclose(found, expected, atol=2e-4, err_msg=f"seed {seed}, {method}")


@pytest.mark.parametrize("seed", range(3))
def test_frictions_by_every_kind_of_method(seed: int) -> None:
    assert_moves_as_from_mode_to_mode(seed, METHODS, plain=False, stiff=False)


@pytest.mark.parametrize("seed", range(5, 7))
def test_frictions_beside_a_stiff_state(seed: int) -> None:
    assert_moves_as_from_mode_to_mode(seed, METHODS[:-1], plain=False, stiff=True)


@pytest.mark.parametrize("seed", [4, 7])
def test_plain_signs_of_several_frictions(seed: int) -> None:
    """Three and four of them stick together: which do is decided as it is for m.friction."""
    assert_moves_as_from_mode_to_mode(seed, ("auto", "radau5"), plain=True, stiff=False)


def test_plain_signs_beside_a_stiff_state() -> None:
    assert_moves_as_from_mode_to_mode(8, ("auto", "rodas5p"), plain=True, stiff=True)


@pytest.mark.long
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("stiff", [False, True])
@pytest.mark.parametrize("first", range(100, 300, 20))
def test_many_frictions(first: int, stiff: bool, plain: bool) -> None:
    for seed in range(first, first + 20):
        assert_moves_as_from_mode_to_mode(seed, METHODS[:-1] if stiff else METHODS, plain=plain, stiff=stiff)


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_mass_below_others_is_not_moved_by_less_than_its_friction(method: str) -> None:
    """Frictions of 0.77 and 0.86 N between three masses and 1.14 N below the last: 0.86 N cannot move that one."""
    m = dd.Model("stack")
    x = [m.state(f"x{k}", start=0.14 * (k == 2)) for k in range(3)]
    v = [m.state(f"v{k}", start=0.0) for k in range(3)]
    upper, middle = 0.77 * ca.sign(v[0] - v[1]), 0.86 * ca.sign(v[1] - v[2])
    ground = 1.14 * ca.sign(v[2])
    pushes = (3 * ca.sin(2 * m.time) - upper, upper - middle, middle - ground)
    for k in range(3):
        m.equation(m.der(x[k]), v[k])
        m.equation(m.der(v[k]), pushes[k])
    tr = dd.simulate(m, 6.0, method=method, time_limit=60)
    assert tr.success, tr.stop_reason
    assert float(tr["x2"][-1]) == pytest.approx(0.14, abs=1e-9)
    assert abs(float(tr["x0"][-1])) > 0.1


@pytest.mark.parametrize("method", ["radau5", "radau9", "radau3", "sdirk4", "trbdf2", "bdf", "rodas4", "rodas5p"])
def test_a_force_that_sticks_is_followed_inside_long_steps(method: str) -> None:
    """Nothing moves while it sticks, so that steps could be as long as the push has periods."""
    m = dd.Model("brake")
    v = m.state("v", start=0.0)
    f = m.friction("f", v, kinetic=1.0)
    m.equation(m.der(v), (0.5 + 0.075 * m.time) * ca.sin(5 * m.time) + f)
    tr = dd.simulate(m, 12.0, method=method)
    # The push first exceeds 1 where (0.5 + 0.075 t) |sin 5 t| does.
    t = np.linspace(0, 12, 1_200_001)
    slips = t[np.argmax((0.5 + 0.075 * t) * np.abs(np.sin(5 * t)) > 1)]
    assert tr.events[0].time == pytest.approx(slips, abs=2e-4)
