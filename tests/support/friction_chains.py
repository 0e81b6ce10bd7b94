"""Random masses with dry frictions, and their motion from mode to mode by an integrator of SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import daedalus as dd

# What is told from zero: rates at which a friction rests, how far ahead modes are looked at, and guards.
RESTS, AHEAD, MARGIN = 1e-8, 1e-6, 1e-11
MOST_MODES = 200


@dataclass(frozen=True)
class FrictionChain:
    """m v' = push sin(ω t) - k x - d v + Gᵀ f, with f = -F sign(G v) where it slides."""

    masses: np.ndarray
    directions: np.ndarray  # G, one row a friction
    levels: np.ndarray  # F
    stiffness: np.ndarray
    damping: np.ndarray
    push: np.ndarray
    frequency: np.ndarray
    x0: np.ndarray
    v0: np.ndarray
    span: float

    def acceleration(self, t: float, x: np.ndarray, v: np.ndarray, force: np.ndarray) -> np.ndarray:
        """v' under given forces of the frictions."""
        outer = self.push * np.sin(self.frequency * t) - self.stiffness * x - self.damping * v
        return np.asarray((outer + self.directions.T @ force) / self.masses)

    def forces(self, t: float, x: np.ndarray, v: np.ndarray, modes: np.ndarray) -> np.ndarray:
        """The frictions in given modes: ±1 slides, 0 sticks."""
        sticks, force = modes == 0, -modes * self.levels
        if sticks.any():
            held = self.directions[sticks]
            moved = held @ self.acceleration(t, x, v, force)
            force[sticks] = np.linalg.solve(held / self.masses @ held.T, -moved)
        return force


def friction_chain(seed: int) -> FrictionChain:
    """A random member with one to four frictions, on the ground and between neighbours."""
    rng = np.random.default_rng(seed)
    wanted = int(rng.integers(1, 5))
    n = int(rng.integers((wanted + 1) // 2, wanted + 1))
    ground = list(np.eye(n))
    between = [np.eye(n)[i + 1] - np.eye(n)[i] for i in range(n - 1)]
    rows: list[np.ndarray] = []
    for k in rng.permutation(2 * n - 1)[:wanted]:
        row = [*ground, *between][k]
        if np.linalg.matrix_rank(np.array([*rows, row])) > len(rows):
            rows.append(row)
    some = rng.random((4, n)) < [[0.6], [0.5], [0.5], [0.5]]
    return FrictionChain(
        masses=rng.uniform(0.5, 2.0, n), directions=np.array(rows), levels=rng.uniform(0.3, 1.5, len(rows)),
        stiffness=rng.uniform(0.0, 4.0, n) * some[0], damping=rng.uniform(0.0, 0.5, n) * some[1],
        push=rng.uniform(1.0, 3.0, n) * rng.choice([-1.0, 1.0], n), frequency=rng.uniform(0.5, 5.0, n),
        x0=rng.uniform(-1.0, 1.0, n) * some[2], v0=rng.uniform(-1.0, 1.0, n) * some[3],
        span=float(rng.uniform(2.0, 5.0)),
    )  # fmt: skip


def chain_model(chain: FrictionChain, plain: bool = False, stiff: bool = False) -> dd.Model:
    """The chain with `m.friction`, or plain signs; stiff: with a fast state beside it."""
    m, n = dd.Model("frictions"), len(chain.masses)
    x = [m.state(f"x{i}", start=float(chain.x0[i])) for i in range(n)]
    v = [m.state(f"v{i}", start=float(chain.v0[i])) for i in range(n)]
    forces = []
    for k, (row, level) in enumerate(zip(chain.directions, chain.levels)):
        speed = sum(float(row[i]) * v[i] for i in np.flatnonzero(row))
        forces.append(-float(level) * ca.sign(speed) if plain else m.friction(f"f{k}", speed, kinetic=float(level)))
    for i in range(n):
        outer = float(chain.push[i]) * ca.sin(float(chain.frequency[i]) * m.time)
        outer += -float(chain.stiffness[i]) * x[i] - float(chain.damping[i]) * v[i]
        own = sum(float(chain.directions[k, i]) * f for k, f in enumerate(forces) if chain.directions[k, i])
        m.equation(m.der(x[i]), v[i])
        m.equation(float(chain.masses[i]) * m.der(v[i]), outer + own)
    if stiff:
        y = m.state("y", start=1.0)
        m.equation(m.der(y), -1e4 * (y - ca.cos(m.time)))
    return m


def moved_by_modes(chain: FrictionChain) -> np.ndarray:
    """Where the masses are at the end: modes by trying all combinations, motion by DOP853, changes by its events."""
    t, x, v = 0.0, chain.x0.copy(), chain.v0.copy()
    n = len(x)
    for _ in range(MOST_MODES):
        modes = _modes(chain, t, x, v)
        held = chain.directions[modes == 0]
        if len(held):
            v = v - (held / chain.masses).T @ np.linalg.solve(held / chain.masses @ held.T, held @ v)
        events = [_guard(chain, modes, k) for k in range(len(modes))]

        def slope(t: float, y: np.ndarray, modes: np.ndarray = modes) -> np.ndarray:
            force = chain.forces(t, y[:n], y[n:], modes)
            return np.concatenate([y[n:], chain.acceleration(t, y[:n], y[n:], force)])

        found = solve_ivp(
            slope, (t, chain.span), np.concatenate([x, v]), method="DOP853", rtol=1e-9, atol=1e-11, events=events,
            max_step=0.05,
        )  # fmt: skip
        t, x, v = float(found.t[-1]), found.y[:n, -1], found.y[n:, -1]
        if found.status == 0:
            return np.asarray(x)
    raise AssertionError("modes change too often")


def _modes(chain: FrictionChain, t: float, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The only combination in which a little later no force is too large and nothing slides the wrong way."""
    rates = chain.directions @ v
    rests = np.flatnonzero(np.abs(rates) < RESTS)
    for chosen in product((0.0, 1.0, -1.0), repeat=len(rests)):
        modes = np.sign(rates)
        modes[rests] = chosen
        later = (t + AHEAD, x + AHEAD * v, v)
        force = chain.forces(*later, modes)
        change = chain.directions @ chain.acceleration(*later, force)
        if all(modes[k] * change[k] > 0 if modes[k] else abs(force[k]) <= chain.levels[k] for k in rests):
            return np.asarray(modes)
    raise AssertionError("no modes fit")


def _guard(chain: FrictionChain, modes: np.ndarray, k: int):  # type: ignore[no-untyped-def]
    n = len(chain.masses)

    def guard(t: float, y: np.ndarray) -> float:
        if modes[k]:
            return float(modes[k] * (chain.directions[k] @ y[n:]) + MARGIN)
        return float(chain.levels[k] + MARGIN - abs(chain.forces(t, y[:n], y[n:], modes)[k]))

    guard.terminal, guard.direction = True, -1  # type: ignore[attr-defined]
    return guard
