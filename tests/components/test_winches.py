"""Winches: self-locking gears in a row beside brakes, clutches and springs, against time stepping with all their modes.

A step of length h solves the motion, the laws of the frictions and those of the gears together, by linear equations for
each choice of who sticks, slides and locks; the choice that contradicts nothing is taken. First order in h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

R = dd.components.rotational
Torque = tuple[float, float, float, float]  # T_0 + T sin(f t + φ)
# A gear locks, or turns in a direction driven by shaft_a (1) or by shaft_b (-1).
GEAR = ((0, 0), (1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(frozen=True)
class Winch:
    """Shafts in a row; a link is a gear (ratio, efficiency) or a spring (stiffness, damping)."""

    inertias: tuple[float, ...]
    links: tuple[tuple[str, float, float], ...]
    frictions: tuple[tuple[int, int, float], ...]  # between two shafts, or a shaft and the ground (-1): level
    torques: tuple[Torque | None, ...]
    damping: float
    speed: float

    @property
    def speeds(self) -> list[float]:
        """Of all shafts at the start."""
        found = [self.speed]
        for kind, ratio, _ in self.links:
            found.append(found[-1] * ratio if kind == "gear" else 0.0)
        return found


def winch(seed: int) -> Winch:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 6))
    gears = int(rng.integers(2, min(3, count - 1) + 1))
    kinds = rng.permutation(["gear"] * gears + ["spring"] * (count - 1 - gears)).tolist()
    links = []
    for kind in kinds:
        gear = float(rng.choice([1 / 20, 1 / 3, 0.5, 2.0, -0.4])), float(rng.uniform(0.35, 0.9))
        spring = float(rng.uniform(0.5, 20)), float(rng.uniform(0.01, 0.2))
        links.append((kind, *(gear if kind == "gear" else spring)))
    springs, frictions = [k for k, kind in enumerate(kinds) if kind == "spring"], []
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, count))
        ends = (at, -1)
        if springs and rng.random() < 0.25:
            at = int(rng.choice(springs))
            ends = (at, at + 1)
        frictions.append((*ends, float(rng.uniform(0.05, 0.5))))
    torques = [
        tuple(rng.uniform((-0.5, 0.3, 1, 0), (0.5, 2, 6, 6)).tolist()) if i == 0 or rng.random() < 0.4 else None
        for i in range(count)
    ]
    speed = float(rng.uniform(-3, 3)) if seed % 3 == 0 else 0.0
    inertias = tuple(rng.uniform(0.02, 0.3, count).tolist())
    return Winch(inertias, tuple(links), tuple(frictions), tuple(torques), float(rng.uniform(0.02, 0.1)), speed)


def of_parts(w: Winch) -> tuple[dd.Model, dict[str, float]]:
    """The model and its start."""
    m = dd.Model("winch")
    ground = m.add(R.Ground("ground"))
    shafts = [m.add(R.Inertia(f"j{i}", inertia=j)) for i, j in enumerate(w.inertias)]
    start = {}
    for i, (shaft, torque) in enumerate(zip(shafts, w.torques)):
        bearing = m.add(R.Damper(f"bearing{i}", damping=w.damping))
        m.connect(shaft.shaft, bearing.shaft_a)
        m.connect(bearing.shaft_b, ground.shaft)
        if torque is not None:
            constant, size, frequency, phase = torque
            source = R.TorqueSource(f"torque{i}", torque=constant + size * ca.sin(frequency * m.time + phase))
            m.connect(m.add(source).shaft, shaft.shaft)
        if i == 0 or w.links[i - 1][0] == "spring":
            start |= {f"j{i}.angle": 0.0, f"j{i}.speed": w.speeds[i]}
    for k, (kind, first, second) in enumerate(w.links):
        own = [R.Gear(f"gear{k}", speed_ratio=first, efficiency=second)]
        if kind == "spring":
            own = [R.Spring(f"spring{k}", stiffness=first), R.Damper(f"damper{k}", damping=second)]
        for part in map(m.add, own):
            m.connect(shafts[k].shaft, part.shaft_a)
            m.connect(part.shaft_b, shafts[k + 1].shaft)
    for k, (a, b, level) in enumerate(w.frictions):
        part = m.add(R.Friction(f"friction{k}", kinetic=level))
        m.connect(shafts[a].shaft, part.shaft_a)
        m.connect(part.shaft_b, ground.shaft if b < 0 else shafts[b].shaft)
    return m, start


class Steps:
    """Equal steps of a winch; unknowns are speeds, frictions, and the torque into each gear with what it loses."""

    def __init__(self, w: Winch, h: float) -> None:
        self.w, self.h, n = w, h, len(w.inertias)
        self.gears = [k for k, (kind, *_) in enumerate(w.links) if kind == "gear"]
        self.count, self.first = n, n + len(w.frictions)
        self.inertia, self.stiffness, self.damping = np.diag(w.inertias), np.zeros((n, n)), np.eye(n) * w.damping
        for k, (kind, stiffness, damping) in enumerate(w.links):
            if kind == "spring":
                both = np.array([[1.0, -1.0], [-1.0, 1.0]])
                self.stiffness[k : k + 2, k : k + 2] += stiffness * both
                self.damping[k : k + 2, k : k + 2] += damping * both
        self.every = list(product(*[(-1, 0, 1)] * len(w.frictions), *[GEAR] * len(self.gears)))
        self.inverses: dict[tuple, np.ndarray | None] = {}

    def angles(self, span: float) -> np.ndarray:
        w, h, n = self.w, self.h, self.count
        angles, speeds, order = np.zeros(n), np.array(w.speeds), list(self.every)
        for k in range(round(span / h)):
            t = (k + 1) * h
            torque = np.array([0.0 if p is None else p[0] + p[1] * np.sin(p[2] * t + p[3]) for p in w.torques])
            pushed = torque + self.inertia @ speeds / h - self.stiffness @ angles
            modes, y = next((own, y) for own in order if (y := self.solved(own, pushed)) is not None)
            order.remove(modes)
            order.insert(0, modes)  # what held lately is tried first
            speeds = y[:n]
            angles = angles + h * speeds
        return angles

    def solved(self, modes: tuple, pushed: np.ndarray) -> np.ndarray | None:
        """All unknowns; None where the modes contradict them."""
        w, n, allowed = self.w, self.count, 1e-9
        if modes not in self.inverses:
            matrix = self.matrix(modes)
            self.inverses[modes] = None if np.linalg.cond(matrix) > 1e12 else np.linalg.inv(matrix)
        inverse = self.inverses[modes]
        if inverse is None:
            return None
        right = np.zeros(len(inverse))
        right[:n] = pushed
        right[n : self.first] = [mode * level for mode, (*_, level) in zip(modes, w.frictions)]
        y = inverse @ right
        for k, (mode, (a, b, level)) in enumerate(zip(modes, w.frictions)):
            speed = y[a] - (y[b] if b >= 0 else 0.0)
            if abs(y[n + k]) > level + allowed if mode == 0 else mode * speed < -allowed:
                return None
        for own, (way, drives), k in zip(range(self.first, len(y), 2), modes[len(w.frictions) :], self.gears):
            (torque, lost), efficiency = y[own : own + 2], w.links[k][2]
            passed = torque - lost
            if way == 0 and (passed - efficiency * torque) * (passed - torque / efficiency) > allowed:
                return None
            if way and (way * y[k] < -allowed or way * drives * torque < -allowed):
                return None
        return y

    def matrix(self, modes: tuple) -> np.ndarray:
        w, n, first = self.w, self.count, self.first
        matrix = np.zeros((first + 2 * len(self.gears),) * 2)
        matrix[:n, :n] = self.inertia / self.h + self.damping + self.h * self.stiffness
        for k, (mode, (a, b, _)) in enumerate(zip(modes, w.frictions)):
            ends = ((a, 1.0), (b, -1.0))[: 2 if b >= 0 else 1]
            for shaft, sign in ends:
                matrix[shaft, n + k] = sign
            for shaft, sign in ends if mode == 0 else ((n + k, 1.0),):
                matrix[n + k, shaft] = sign
        for own, (way, drives), k in zip(range(first, len(matrix), 2), modes[len(w.frictions) :], self.gears):
            _, ratio, efficiency = w.links[k]
            matrix[k, own], matrix[k + 1, own : own + 2] = 1.0, (-1 / ratio, 1 / ratio)
            matrix[own, k : k + 2] = ratio, -1.0
            if way == 0:
                matrix[own + 1, k] = 1.0
            else:
                matrix[own + 1, own : own + 2] = -(1 - (efficiency if drives > 0 else 1 / efficiency)), 1.0
        return matrix


def check(w: Winch, method: str = "auto") -> None:
    m, start = of_parts(w)
    tr = dd.simulate(m, 3.0, start=start, method=method, time_limit=60)
    assert tr.success, tr.stop_reason
    assert len(tr.time) < 1000
    angles = np.array([float(tr[f"j{i}.angle"][-1]) for i in range(len(w.inertias))])
    rough, fine = (Steps(w, h).angles(3.0) for h in (4e-3, 2e-3))
    assert np.max(np.abs(angles - fine)) < 4 * np.max(np.abs(rough - fine)) + 1e-3 * np.max(np.abs(fine))


# Wide ones: a wrong angle in silence before (10), stops at a shared load (15) and where all are at a limit (5).
@pytest.mark.parametrize("seed", [23, *(pytest.param(k, marks=pytest.mark.wide) for k in range(20))])
def test_self_locking_gears_run_beside_frictions(seed: int) -> None:
    check(winch(seed), ("auto", "radau5")[seed % 5 == 0])


@pytest.mark.parametrize("seed", [23, *(pytest.param(k, marks=pytest.mark.wide) for k in range(20))])
def test_several_self_locking_gears_run_without_frictions(seed: int) -> None:
    check(replace(winch(seed), frictions=()))


def test_losses_are_conditions_alone_and_frictions_beside_frictions() -> None:
    w = winch(23)
    beside, alone = (of_parts(own)[0].freeze() for own in (w, replace(w, frictions=())))
    modes = {f"gear{k}.friction.mode" for k, (kind, *_) in enumerate(w.links) if kind == "gear"}
    assert modes <= {*beside.labels["p"]}
    assert not any("mode" in name for name in alone.labels["p"])


def test_derivatives_of_a_gear_beside_a_brake() -> None:
    """They ended with "no modes fit" when the brake lets go."""
    m, start = dd.Model("hoist"), {"motor.angle": 0.0, "motor.speed": 0.0}
    motor, drum = m.add(R.Inertia("motor", inertia=0.1)), m.add(R.Inertia("drum", inertia=1.0))
    gear, brake = m.add(R.Gear("gear", reduction=5.0, efficiency=0.7)), m.add(R.Brake("brake", capacity=0.1))
    drive = m.add(R.TorqueSource("drive", torque=ca.sin(3 * m.time)))
    m.connect(drive.shaft, motor.shaft, gear.shaft_a)
    m.connect(gear.shaft_b, drum.shaft, brake.shaft)
    s = dd.sensitivities(m, 0.5, start=start, rtol=1e-8)
    at = s.labels.index("motor.angle"), s.system.labels["p"].index("motor.inertia")
    ends = [
        float(dd.simulate(m, 0.5, start=start, parameters={"motor.inertia": j}, rtol=1e-10).end["motor.angle"])
        for j in (0.0999, 0.1001)
    ]
    assert float(s.by_parameters[at]) == pytest.approx((ends[1] - ends[0]) / 2e-4, rel=1e-5)
