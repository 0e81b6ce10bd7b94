"""Which of the surfaces that a run has met together it slides along, and to which sides it leaves the others.

With a share s of each surface between its lower and its upper side, one of three holds: 0 <= s <= 1 and ġ = 0, it
slides; s = 1 and ġ >= 0, it leaves to the upper side; s = 0 and ġ <= 0, to the lower one: a complementarity problem
between shares and rates, as between the forces and accelerations of dry frictions. The first surface that contradicts
itself is turned first (K. G. Murty, Opsearch 11, 1974); where that does not end, or where the response of the rates to
the shares is no P-matrix, all combinations are looked at, and one motion has to be left.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import damped_newton, sizes_of_equations
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.deadline import poll
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.sliding.sliding_system import sliding_along
from daedalus.simulation.sliding.solved_slopes import SolvedSlopes, Undetermined, slopes_of, solved
from daedalus.simulation.sliding.surface import vanishes

# Surfaces that are looked at together; with more than two of them the shares have to enter one by one, as a sum.
MOST_TOGETHER, FEWEST_ADDED = 6, 3
# A share may be out of 0 … 1 by this, a rate on the wrong side of zero by this part of what a share makes of it.
BEYOND, ON_THE_WAY = 1e-7, 1e-7
# Corrections of x', z and shares.
CORRECTIONS = 40
SLIDES = 0.5


class PlaceOnSurfaces(NamedTuple):
    """A state on surfaces, and a guess of x' and z."""

    t: float
    x: np.ndarray
    u: np.ndarray
    p: np.ndarray
    near: np.ndarray


class Met(NamedTuple):
    """Of each surface 0 or 1 for the side it is left to, SLIDES else; x' and z; how rates respond to shares."""

    modes: tuple[float, ...]
    y: np.ndarray
    rates: np.ndarray
    response: np.ndarray


class NotDecided(Exception):
    """No motion, or more than one, leads on from the surfaces."""


def met_together(base: System, surfaces: tuple[int, ...], place: PlaceOnSurfaces, guess: Sequence[float]) -> Met:
    """What the surfaces of some conditions of a system do together; NotDecided where that is not determined."""
    if len(surfaces) > MOST_TOGETHER:
        raise NotDecided
    problem = once(base, _Complementarity, surfaces)
    if len(surfaces) >= FEWEST_ADDED and not problem.is_sum:
        raise NotDecided
    found = _turned_one_by_one(problem, place, tuple(guess))
    if found is not None and _is_positive(-found.response):
        return found
    every = [met for met in _all_combinations(problem, place) if _attracts(met)]
    if found is not None and _attracts(found):
        every.insert(0, found)
    if not every or any(not _agree(every[0], met, problem.states) for met in every[1:]):
        raise NotDecided
    return every[0]


class _Complementarity:
    """Equations of x', z and shares, in which a row ġ = 0 may be taken by s = 0 or s = 1."""

    def __init__(self, base: System, surfaces: tuple[int, ...]) -> None:
        onto = sliding_along(base, surfaces)
        self.count, self.states = len(surfaces), base.sizes["x"]
        self.slopes: SolvedSlopes = slopes_of(onto)  # shares are its last unknowns
        shares = onto.symbol("z")[base.sizes["z"] :]
        self.is_sum = vanishes(onto, ca.densify(ca.jacobian(ca.jacobian(onto.residual, shares), shares)))

    def solve(self, place: PlaceOnSurfaces, modes: Sequence[float], near: np.ndarray) -> Met | None:
        """x', z and shares with modes held; None where nothing determines them."""
        fixed = np.array([mode != SLIDES for mode in modes])
        held = np.where(fixed, modes, SLIDES)
        nominal, first = self.slopes.nominal, len(near)

        def equations(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            residual, matrix = self.slopes.equations(place.t, y, place.x, place.u, place.p)
            residual, matrix = residual.copy(), matrix.copy()
            for k in np.flatnonzero(fixed).tolist():
                matrix[first + k], residual[first + k] = 0.0, y[first + k] - modes[k]
                matrix[first + k, first + k] = 1.0
            return residual, matrix, sizes_of_equations(matrix, y, nominal)

        root = damped_newton(equations, np.concatenate([near, held]), nominal, limit=CORRECTIONS)
        return self._met(place, root.values, modes) if root.solved and not root.null.shape[1] else None

    def _met(self, place: PlaceOnSurfaces, y: np.ndarray, modes: Sequence[float]) -> Met | None:
        residual, matrix = self.slopes.equations(place.t, y, place.x, place.u, place.p)
        first = len(y) - self.count
        try:
            moved = solved(matrix[:first, :first], -matrix[:first, first:])
        except Undetermined:
            return None
        return Met(tuple(modes), y, residual[first:], matrix[first:, :first] @ moved + matrix[first:, first:])


def _turned(met: Met, k: int) -> float | None:
    """The mode that a surface turns to where its present one contradicts itself; None where it does not."""
    share, rate = met.y[len(met.y) - len(met.modes) + k], met.rates[k]
    allowed = ON_THE_WAY * float(np.max(np.abs(met.response[k]), initial=0.0))
    if met.modes[k] == SLIDES:
        if -BEYOND <= share <= 1 + BEYOND:
            return None
        return 1.0 if share > 1 else 0.0
    away = rate if met.modes[k] == 1.0 else -rate
    return None if away >= -allowed else SLIDES


def _turned_one_by_one(problem: _Complementarity, place: PlaceOnSurfaces, modes: tuple[float, ...]) -> Met | None:
    seen: set[tuple[float, ...]] = set()
    near = place.near
    while modes not in seen:
        poll("modes of conditions and contacts")
        seen.add(modes)
        met = problem.solve(place, modes, near)
        if met is None:
            return None
        near = met.y[: len(near)]
        turns = [(k, new) for k in range(len(modes)) if (new := _turned(met, k)) is not None]
        if not turns:
            return met
        k, new = turns[0]
        modes = (*modes[:k], new, *modes[k + 1 :])
    return None


def _all_combinations(problem: _Complementarity, place: PlaceOnSurfaces) -> list[Met]:
    tried = (problem.solve(place, modes, place.near) for modes in product((SLIDES, 1.0, 0.0), repeat=problem.count))
    return [met for met in tried if met is not None and all(_turned(met, k) is None for k in range(problem.count))]


def _attracts(met: Met) -> bool:
    """Whether the surfaces that it slides along are led to from all sides."""
    slides = [k for k, mode in enumerate(met.modes) if mode == SLIDES]
    return _is_positive(-met.response[np.ix_(slides, slides)])


def _is_positive(matrix: np.ndarray) -> bool:
    """Whether all principal minors of a matrix, in units of its diagonal, are positive."""
    diagonal = np.diag(matrix)
    if not np.all(diagonal > 0):
        return False
    scale = np.sqrt(diagonal)
    scaled, count = matrix / np.outer(scale, scale), len(matrix)
    chosen = (list(part) for size in range(2, count + 1) for part in combinations(range(count), size))
    return all(float(np.linalg.det(scaled[np.ix_(part, part)])) > KNOWN_BY_DIFFERENCES for part in chosen)


def _agree(one: Met, other: Met, states: int) -> bool:
    slopes = one.y[:states], other.y[:states]
    size = float(np.max(np.abs(slopes), initial=0.0))
    return bool(np.max(np.abs(slopes[0] - slopes[1]), initial=0.0) <= KNOWN_BY_DIFFERENCES * size)
