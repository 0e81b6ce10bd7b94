"""Masses in a row with dry frictions, and two ways to move them that share nothing with the package.

M v' = a(t) + b sin(ω t) - k x - d v + Gᵀ f, where f = -F sign(G v - w) while a friction slides and |f| <= F while it
sticks; a is constant between given times, w are the speeds of belts below.

From mode to mode everything is linear: with y = (x, v, 1, sin ω t, cos ω t) there is y' = A y, its solution is an
exponential, and every guard is a product with y. Time stepping (J. J. Moreau, 1988; M. Jean, Computer Methods in
Applied Mechanics and Engineering 177, 1999) knows no events at all: each step takes the impulses that lie within their
limits and bring the speed of what sticks to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import expm

# Speeds at which a friction rests, and what is told from zero in a derivative of a guard.
RESTS, ZERO = 1e-9, 1e-9
# How far apart guards are looked at, how many times at once, and how often modes may change.
APART, BLOCK, MOST_MODES = 2e-3, 64, 400
# Derivatives of a guard that decide which mode holds where the earlier ones are zero.
DERIVATIVES = 6
# Rounds of projected Gauss–Seidel iterations of a step, and when they have converged.
ROUNDS, CONVERGED = 200, 1e-12


@dataclass(frozen=True)
class FrictionSystem:
    """What moves, and how it is held."""

    masses: np.ndarray
    directions: np.ndarray  # G, one row a friction
    levels: np.ndarray  # F
    belts: np.ndarray  # w
    stiffness: np.ndarray
    damping: np.ndarray
    sines: np.ndarray  # b
    frequency: np.ndarray  # ω
    changes: np.ndarray  # times at which the constant pushes change; the first is 0
    constants: np.ndarray  # a, one row for each of them
    x0: np.ndarray
    v0: np.ndarray
    span: float
    static: np.ndarray  # what sticks holds up to this level, F or more


def friction_system(seed: int) -> FrictionSystem:
    """A random member with one to four frictions, on the ground or belts and between neighbours."""
    rng = np.random.default_rng(seed)
    wanted = int(rng.integers(1, 5))
    n = int(rng.integers((wanted + 1) // 2, wanted + 1))
    rows: list[np.ndarray] = []
    every = [*np.eye(n), *(np.eye(n)[i + 1] - np.eye(n)[i] for i in range(n - 1))]
    for k in rng.permutation(2 * n - 1)[:wanted]:
        if np.linalg.matrix_rank(np.array([*rows, every[k]])) > len(rows):
            rows.append(every[k])
    count = len(rows)
    directions, levels = np.array(rows), rng.uniform(0.3, 1.5, count)
    on_ground = np.abs(directions).sum(axis=1) == 1
    kind = rng.integers(3)  # sines, constants that change, or both
    span = float(rng.uniform(2.0, 5.0))
    changes = np.concatenate([[0.0], np.sort(rng.uniform(0.0, span, int(rng.integers(1, 5)) if kind else 0))])
    if len(changes) > 1 and np.diff(changes).min() < 0.05:
        changes = changes[:1]
    constants = rng.uniform(-2.5, 2.5, (len(changes), n)) * (rng.random((len(changes), n)) < 0.7)
    some = rng.random((4, n)) < [[0.5], [0.4], [0.5], [0.5]]
    return FrictionSystem(
        masses=rng.uniform(0.5, 2.0, n), directions=directions, levels=levels,
        belts=rng.uniform(-0.6, 0.6, count) * on_ground * (rng.random(count) < 0.3),
        stiffness=rng.uniform(0.0, 4.0, n) * some[0], damping=rng.uniform(0.0, 0.5, n) * some[1],
        sines=rng.uniform(1.0, 3.0, n) * rng.choice([-1.0, 1.0], n) * (kind != 1), frequency=rng.uniform(0.5, 5.0, n),
        changes=changes, constants=constants * (kind != 0),
        x0=rng.uniform(-1.0, 1.0, n) * some[2], v0=rng.uniform(-1.0, 1.0, n) * some[3], span=span,
        static=levels * (rng.uniform(1.0, 1.5) if count == 1 and rng.random() < 0.3 else 1.0),
    )  # fmt: skip


# -- from mode to mode ---------------------------------------------------------------------------------------------


def moved_from_mode_to_mode(system: FrictionSystem, times: np.ndarray, static: bool = True) -> np.ndarray:
    """(x, v) at some times that increase; `static`: whether what sticks holds up to its static level."""
    moves = _Moves(system, system.static if static else system.levels)
    n, t, row = len(system.masses), 0.0, 0
    y = np.concatenate([system.x0, system.v0, [1.0], np.zeros(n), np.ones(n)])
    found = np.zeros((len(times), 2 * n))
    ends = [*system.changes[1:], system.span]
    for _ in range(MOST_MODES):
        part = int(np.searchsorted(system.changes, t, side="right")) - 1
        modes = moves.modes(part, y)
        y = moves.held(modes, y)
        matrix, guards = moves.matrix(part, modes), moves.guards(part, modes)
        lasts, y_end = _until(matrix, guards, y, ends[part] - t)
        while row < len(times) and times[row] <= t + lasts:
            found[row] = (expm(matrix * (times[row] - t)) @ y)[: 2 * n]
            row += 1
        t, y = (t + lasts if lasts < ends[part] - t else ends[part]), y_end
        if t >= system.span:
            found[row:] = y[: 2 * n]
            return found
    raise AssertionError("modes change too often")


class _Moves:
    """The linear equations of a system in given modes: ±1 slides, 0 sticks."""

    def __init__(self, system: FrictionSystem, static: np.ndarray) -> None:
        self.system, self.static = system, static

    def _slopes(self, part: int) -> np.ndarray:
        """A without any friction."""
        s, n = self.system, len(self.system.masses)
        matrix = np.zeros((4 * n + 1, 4 * n + 1))
        matrix[:n, n : 2 * n] = np.eye(n)
        matrix[n : 2 * n, :n] = -np.diag(s.stiffness / s.masses)
        matrix[n : 2 * n, n : 2 * n] = -np.diag(s.damping / s.masses)
        matrix[n : 2 * n, 2 * n] = s.constants[part] / s.masses
        matrix[n : 2 * n, 2 * n + 1 : 3 * n + 1] = np.diag(s.sines / s.masses)
        matrix[2 * n + 1 : 3 * n + 1, 3 * n + 1 :] = np.diag(s.frequency)
        matrix[3 * n + 1 :, 2 * n + 1 : 3 * n + 1] = -np.diag(s.frequency)
        return matrix

    def forces(self, part: int, modes: np.ndarray) -> np.ndarray:
        """The frictions as products with y."""
        s, n = self.system, len(self.system.masses)
        force = np.zeros((len(modes), 4 * n + 1))
        force[:, 2 * n] = -modes * s.levels
        sticks = modes == 0
        if sticks.any():
            held = s.directions[sticks]
            free = self._slopes(part)[n : 2 * n] + (s.directions.T @ force) / s.masses[:, None]
            force[sticks] = np.linalg.solve(held / s.masses @ held.T, -held @ free)
        return force

    def matrix(self, part: int, modes: np.ndarray) -> np.ndarray:
        s, n = self.system, len(self.system.masses)
        matrix = self._slopes(part)
        matrix[n : 2 * n] += (s.directions.T @ self.forces(part, modes)) / s.masses[:, None]
        return matrix

    def rates(self) -> np.ndarray:
        s, n = self.system, len(self.system.masses)
        rates = np.zeros((len(s.levels), 4 * n + 1))
        rates[:, n : 2 * n], rates[:, 2 * n] = s.directions, -s.belts
        return rates

    def guards(self, part: int, modes: np.ndarray) -> np.ndarray:
        """What stays positive while the modes hold, as products with y."""
        force, one = self.forces(part, modes), 2 * len(self.system.masses)
        rows = []
        for k, mode in enumerate(modes):
            if mode:
                rows.append(mode * self.rates()[k])
                continue
            for side in (1.0, -1.0):
                row = side * force[k]
                row[one] += self.static[k]
                rows.append(row)
        return np.array(rows)

    def modes(self, part: int, y: np.ndarray) -> np.ndarray:
        """A combination in which every guard is positive, or zero and about to rise."""
        rates = self.rates() @ y
        rests = np.flatnonzero(np.abs(rates) < RESTS)
        for chosen in product((0.0, 1.0, -1.0), repeat=len(rests)):
            modes = np.sign(rates)
            modes[rests] = chosen
            at = self.held(modes, y)
            matrix, values = self.matrix(part, modes), []
            for _ in range(DERIVATIVES):
                values.append(self.guards(part, modes) @ at)
                at = matrix @ at
            if all(_rises(column) for column in np.array(values).T):
                return np.asarray(modes)
        raise AssertionError("no modes fit")

    def held(self, modes: np.ndarray, y: np.ndarray) -> np.ndarray:
        """y with what sticks, or begins to slide, at exactly the speed of the belt below."""
        s, n = self.system, len(self.system.masses)
        rests = np.abs(self.rates() @ y) < RESTS
        held, y = s.directions[rests], y.copy()
        if len(held):
            moved = np.linalg.solve(held / s.masses @ held.T, s.belts[rests] - held @ y[n : 2 * n])
            y[n : 2 * n] += (held.T @ moved) / s.masses
        return y


def _rises(derivatives: np.ndarray) -> bool:
    """Whether the first derivative that is not zero is positive."""
    first = next((value for value in derivatives if abs(value) > ZERO), 0.0)
    return bool(first >= 0)


def _until(matrix: np.ndarray, guards: np.ndarray, y: np.ndarray, longest: float) -> tuple[float, np.ndarray]:
    """When the first guard becomes negative, and y there; or the end."""
    step = expm(matrix * APART)
    t, count = 0.0, int(np.ceil(longest / APART))
    fresh = True
    while count > 0:
        rows = [y]
        for _ in range(min(BLOCK, count)):
            rows.append(step @ rows[-1])
        block = np.array(rows)
        values, slopes = block @ guards.T, block @ (guards @ matrix).T
        for j in range(len(rows) - 1):
            ends = min(APART, longest - t - j * APART)
            pair, begins = slice(j, j + 2), fresh and j == 0
            found = [
                _first_zero(matrix, guards[k], rows[j], ends, values[pair, k], slopes[pair, k], begins)
                for k in np.flatnonzero((values[j + 1] < 0) | ((slopes[j] < 0) & (slopes[j + 1] > 0)))
            ]
            zeros = [zero for zero in found if zero is not None]
            if zeros:
                return t + j * APART + min(zeros), _moved(matrix, rows[j], min(zeros))
        y, t, count, fresh = rows[-1], t + APART * (len(rows) - 1), count - len(rows) + 1, False
    return longest, expm(matrix * (longest - t)) @ y


def _moved(matrix: np.ndarray, y: np.ndarray, after: float) -> np.ndarray:
    """exp(A t) y for short times, by its series."""
    term, whole = y, y
    for k in range(1, 12):
        term = matrix @ term * (after / k)
        whole = whole + term
    return np.asarray(whole)


def _first_zero(
    matrix: np.ndarray, guard: np.ndarray, y: np.ndarray, ends: float, values: np.ndarray, slopes: np.ndarray,
    begins: bool,
) -> float | None:  # fmt: skip
    """When a guard falls through zero in a short time; None where it does not. It may begin at zero and rise."""
    low, high = 0.0, ends
    slope = guard @ matrix
    if slopes[0] < 0 < slopes[1] or (begins and abs(values[0]) <= ZERO):
        # The lowest place, or the highest where it begins at zero.
        turn = _bisected(lambda t: float(slope @ _moved(matrix, y, t)) * (1 if slopes[0] < 0 else -1), 0.0, ends)
        if slopes[0] < 0:
            high = turn
        else:
            low = turn
    if guard @ _moved(matrix, y, high) >= -1e-13:
        return None
    if begins and abs(values[0]) <= ZERO and low == 0.0 and slopes[0] <= 0:
        return None if abs(slopes[0]) <= ZERO else 0.0
    return _bisected(lambda t: -float(guard @ _moved(matrix, y, t)), low, high)


def _bisected(function, low: float, high: float) -> float:  # type: ignore[no-untyped-def]
    """Where a function that is negative at first becomes positive."""
    for _ in range(48):
        middle = 0.5 * (low + high)
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return high


# -- by time stepping ----------------------------------------------------------------------------------------------


def moved_by_time_stepping(systems: Sequence[FrictionSystem], shares: np.ndarray, steps: int) -> list[np.ndarray]:
    """(x, v) of each system at some shares of its span, all systems side by side in so many equal steps.

    Systems have up to four masses and frictions; what is missing is filled up with masses that nothing moves.
    """
    n = max(len(s.masses) for s in systems)
    m = max(len(s.levels) for s in systems)

    def filled(rows: Sequence[np.ndarray], shape: tuple[int, ...], value: float) -> np.ndarray:
        whole = np.full((len(rows), *shape), value)
        for out, row in zip(whole, rows):
            out[tuple(slice(k) for k in np.shape(row))] = row
        return whole

    mass = filled([s.masses for s in systems], (n,), 1.0)
    k, d, b, w = (filled([getattr(s, name) for s in systems], (n,), 0.0)
                  for name in ("stiffness", "damping", "sines", "frequency"))  # fmt: skip
    directions = filled([s.directions for s in systems], (m, n), 0.0)
    h = np.array([s.span for s in systems]) / steps
    limits = filled([s.levels for s in systems], (m,), 0.0) * h[:, None]
    belts = filled([s.belts for s in systems], (m,), 0.0)
    x, v = filled([s.x0 for s in systems], (n,), 0.0), filled([s.v0 for s in systems], (n,), 0.0)
    moved = directions / mass[:, None, :]
    response = moved @ directions.transpose(0, 2, 1)
    diagonal = np.where(np.einsum("ijj->ij", response) > 0, np.einsum("ijj->ij", response), 1.0)
    impulse = np.zeros_like(limits)
    wanted = np.rint(np.asarray(shares) * steps).astype(int)
    kept = np.zeros((len(wanted), len(systems), 2 * n))
    pushes = [_pushes_of_steps(s, steps) for s in systems]
    for step in range(steps + 1):
        kept[wanted == step] = np.concatenate([x, v], axis=1)
        if step == steps:
            break
        middle = (step + 0.5) * h[:, None]
        constant = filled([push[step] for push in pushes], (n,), 0.0)
        half = x + 0.5 * h[:, None] * v
        free = v + h[:, None] * (constant + b * np.sin(w * middle) - k * half - d * v) / mass
        gap = np.einsum("imn,in->im", directions, free) - belts
        for _ in range(ROUNDS):
            before = impulse.copy()
            for j in range(m):
                left = gap[:, j] + np.einsum("ij,ij->i", response[:, j], impulse)
                impulse[:, j] = np.clip(impulse[:, j] - left / diagonal[:, j], -limits[:, j], limits[:, j])
            if np.abs(impulse - before).max() <= CONVERGED:
                break
        later = free + np.einsum("imn,im->in", moved, impulse)
        x, v = x + 0.5 * h[:, None] * (v + later), later
    sizes = [len(s.masses) for s in systems]
    return [np.concatenate([kept[:, i, :size], kept[:, i, n : n + size]], axis=1) for i, size in enumerate(sizes)]


def _pushes_of_steps(system: FrictionSystem, steps: int) -> np.ndarray:
    """The mean of the constant pushes over each step."""
    edges = np.linspace(0.0, system.span, steps + 1)
    ends = np.append(system.changes[1:], system.span)
    share = [np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, None)
             for begin, end in zip(system.changes, ends)]  # fmt: skip
    return np.asarray(np.array(share).T @ system.constants * (steps / system.span))
