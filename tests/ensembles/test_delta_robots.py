"""Delta robots, models of index 3 with three closed chains, by the thousand: each from a pose of its own."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue.mechanics.delta_robot import DISTANCE, LONG, SHORT, nacelle
from daedalus.compilation.lanes.machine import lane_width

TIMES = [0.1, 0.25]


def drawn(count):
    """Poses at rest, torques and loads of so many robots."""
    source = np.random.default_rng(3)
    angles = source.uniform(0.3, 0.6, (count, 3))
    return {
        "position": np.array([nacelle(row) for row in angles]),
        "angle": angles,
        "torque": source.uniform(-1.4, -1.2, (count, 3)),
        "mass": source.uniform(0.4, 0.6, count),
    }


def gaps(position, angle, position_rate, angle_rate):
    """By how much every long arm is too long, squared, and how fast that grows; (..., 3) each."""
    turns = 2 * np.pi * np.arange(3) / 3
    out, down = DISTANCE + SHORT * np.cos(angle), -SHORT * np.sin(angle)
    arms = position[..., None, :] - np.stack([np.cos(turns) * out, np.sin(turns) * out, down], axis=-1)
    away, fall = -SHORT * np.sin(angle) * angle_rate, -SHORT * np.cos(angle) * angle_rate
    rates = position_rate[..., None, :] - np.stack([np.cos(turns) * away, np.sin(turns) * away, fall], axis=-1)
    return (arms**2).sum(axis=-1) - LONG**2, 2 * (arms * rates).sum(axis=-1)


@pytest.mark.parametrize("count", [40, pytest.param(10_000, marks=pytest.mark.long)])
def test_robots_keep_their_arms_and_move_as_one_by_one(count):
    m, over = catalogue.load("delta_robot").model, drawn(count)
    en = dd.sweep(m, TIMES[-1], over=over, combine="zip", save_at=TIMES, on="cpu")
    assert en.notes == (f"{count} cases on {lane_width()} lanes of this processor, by dop853",)
    assert en.success.values.all()
    rows = [en[name].values for name in ("position", "angle", "position_dot", "angle_dot")]
    off, speed = gaps(*rows)
    # Squares of lengths below 1 m, and their rates at speeds of some m/s: what is left is rounding.
    assert np.abs(off).max() < 8 * np.finfo(float).eps
    assert np.abs(speed).max() < 64 * np.finfo(float).eps
    for k in range(0, count, count // 5):
        start = {"position": over["position"][k], "angle": over["angle"][k]}
        given = {"start": start, "inputs": {"torque": over["torque"][k]}, "parameters": {"mass": over["mass"][k]}}
        tr = dd.simulate(m, TIMES[-1], save_at=TIMES, **given)
        for name in ("position", "angle", "position_dot", "angle_dot", "energy"):
            np.testing.assert_allclose(en[name].values[k], tr[name], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(en["arm"].values[k], tr["arm"], rtol=1e-4, atol=1e-4)
