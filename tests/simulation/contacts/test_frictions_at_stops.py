"""A block that dry friction and a stop hold on one speed: its motion is known, however the two share its load."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def block(push: Callable[[ca.SX], ca.SX], speed: float, friction: float, stop: float) -> dd.Model:
    m = dd.Model("block")
    q = m.coordinate("q", start=0.0, rate=speed)
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    m.generalised_force(q, push(m.time) + m.friction("floor", m.rate(q), kinetic=friction))
    m.unilateral("stop", stop - q)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_block_at_a_stop_leaves_it_when_it_is_pulled_away(method: str) -> None:
    tr = dd.simulate(block(lambda t: 3 * ca.cos(t), 2.0, 1.0, 1.0), 3.0, method=method, rtol=1e-9, atol=1e-11)
    assert tr.success, tr.stop_reason
    leaves = np.arccos(-1 / 3)
    assert tr.events[-1].time == pytest.approx(leaves, abs=1e-7)
    t = np.linspace(leaves, 3.0, 9)
    since = t - leaves
    left = 1 - 3 * (np.cos(t) - np.cos(leaves)) - 3 * np.sin(leaves) * since + since**2 / 2
    np.testing.assert_allclose(tr.at(t)["q"], left, atol=1e-7)
    # While both hold it the friction takes what it can and the stop the rest: 3 cos t = 1 + stop.
    at = tr.at(1.0)
    assert (at["q"], at["stop"], at["floor"]) == pytest.approx((1.0, 3 * np.cos(1.0) - 1, -1.0), abs=1e-6)


def test_a_weak_push_is_held_by_friction_alone() -> None:
    tr = dd.simulate(block(lambda t: ca.SX(0.5), 2.0, 1.0, 1.0), 3.0)
    assert tr.success, tr.stop_reason
    assert (tr["q"][-1], tr["stop"][-1], tr["floor"][-1]) == pytest.approx((1.0, 0.0, -0.5), abs=1e-9)


def stepped(push: Callable[[float], float], speed: float, friction: float, stop: float, end: float) -> float:
    """The place at the end by time stepping (J. J. Moreau, 1988), which knows no modes."""
    place, step = 0.0, 1e-4
    for k in range(round(end / step)):
        speed += step * push((k + 0.5) * step)
        speed -= np.clip(speed, -friction * step, friction * step)
        if place + step * speed >= stop:
            speed = min(speed, 0.0)
        place += step * speed
    return place


@pytest.mark.parametrize("seed", [1, 3, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(4, 24))])
def test_random_blocks_against_time_stepping(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, rate, phase, friction, stop = rng.uniform([0.5, 0.5, 0, 0.3, 0.1], [4, 4, 6, 1.5, 1])
    speed = float(rng.uniform(0, 3))
    m = block(lambda t: size * ca.sin(rate * t + phase), speed, friction, stop)
    tr = dd.simulate(m, 4.0, rtol=1e-8)
    assert tr.success, tr.stop_reason
    expected = stepped(lambda t: size * np.sin(rate * t + phase), speed, friction, stop, 4.0)
    assert tr["q"][-1] == pytest.approx(expected, abs=2e-3)
