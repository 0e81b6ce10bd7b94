"""More frictions at rest together than combinations of their modes are looked at, against one and by time stepping."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import lsq_linear

import daedalus as dd


def braked(count):
    """A mass with brakes of 1.7 N in all."""
    m = dd.Model("brakes")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    levels = np.linspace(1, 2, count)
    held = sum(m.friction(f"brake{k}", v, kinetic=float(1.7 * f / levels.sum())) for k, f in enumerate(levels))
    m.equation(m.der(x), v)
    m.equation(m.der(v), 3 * ca.sin(2 * m.time) + held)
    return m


@pytest.mark.parametrize("count", [8, 12])
def test_many_brakes_hold_as_one(count):
    one, many = (dd.simulate(braked(n), 5.0) for n in (1, count))
    assert many.success, many.stop_reason
    assert float(many.end["x"]) == pytest.approx(float(one.end["x"]), abs=1e-5)
    # A rounded share makes no events without end.
    assert len(many.events) < 20 * count


class Stack:
    """Blocks of 1 kg in a row: each rubs on the ground and on the next, and is pushed."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.count = count = int(rng.integers(4, 7))
        self.levels = rng.uniform(0.1, 1, 2 * count - 1)  # on the ground, then between
        self.pushes = rng.uniform((0, 1, 0), (3, 5, 6), (count, 3))
        between = np.eye(count)[:-1] - np.eye(count)[1:]
        self.speeds = np.vstack([np.eye(count), between])  # of frictions, from those of the blocks

    def model(self):
        m = dd.Model("stack")
        v = [m.state(f"v{k}", start=0.0) for k in range(self.count)]
        forces = [size * ca.sin(f * m.time + phase) for size, f, phase in self.pushes]
        for k, (row, level) in enumerate(zip(self.speeds, self.levels)):
            own = m.friction(f"f{k}", ca.dot(ca.DM(row), ca.vertcat(*v)), kinetic=float(level))
            for i in np.flatnonzero(row):
                forces[i] += row[i] * own
        for speed, force in zip(v, forces):
            m.equation(m.der(speed), force)
        return m

    def stepped(self, span, h):
        """Speeds at the end by steps in which impulses within their limits keep the least motion."""
        speeds = np.zeros(self.count)
        held, signs = np.ones(len(self.levels), dtype=bool), np.zeros(len(self.levels))
        for k in range(round(span / h)):
            size, frequency, phase = self.pushes.T
            free = speeds + h * size * np.sin(frequency * (k + 1) * h + phase)
            speeds, ok = self._as_before(free, held, signs, h)
            if not ok:
                limits = h * self.levels
                own = lsq_linear(self.speeds.T, -free, (-limits, limits), method="bvls", tol=1e-15).x
                speeds = free + self.speeds.T @ own
                moving = self.speeds @ speeds
                held = np.abs(moving) < 1e-9
                signs = np.where(held, 0.0, np.sign(moving))
        return speeds

    def _as_before(self, free, held, signs, h):
        pushed = free - h * self.speeds.T @ (signs * self.levels)
        rows = self.speeds[held]
        own = -np.linalg.lstsq(rows.T, pushed, rcond=None)[0] if len(rows) else np.zeros(0)
        speeds = pushed + rows.T @ own
        moving = self.speeds @ speeds
        fits = np.all(np.abs(own) <= h * self.levels[held]) and np.all(signs[~held] * moving[~held] > 0)
        return speeds, bool(fits)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.wide) for k in range(1, 30))])
def test_stacked_blocks_against_time_stepping(seed):
    stack = Stack(seed)
    tr = dd.simulate(stack.model(), 3.0, method=("auto", "radau5")[seed % 4 == 3], time_limit=60)
    assert tr.success, tr.stop_reason
    speeds = [float(tr.end[f"v{k}"]) for k in range(stack.count)]
    rough, fine = stack.stepped(3.0, 2e-3), stack.stepped(3.0, 1e-3)
    assert np.max(np.abs(speeds - fine)) < 3 * np.max(np.abs(rough - fine)) + 2e-3
