"""Modes of many contacts at rest, too many for their combinations, with levels that do not depend on their forces.

The forces λ minimise ½ λᵀRλ + cᵀλ within their limits, with the response R and the accelerations c without them: Gauss'
principle of least constraint. Where several hold one motion, R has a null space, along which they are shared out: as
far from the limits as can be, and then so that no more of them stick than hold something of their own.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, REDUNDANT, SINGULAR
from daedalus.deadline import poll
from daedalus.simulation.contacts.at_rest import FORCE, ContactsAtRest, FoundModes
from daedalus.simulation.sliding.solved_slopes import Undetermined


def modes_of_many(rest: ContactsAtRest, guess: np.ndarray) -> FoundModes:
    """Modes that fit; guess: the modes of all other contacts. A RefusedContacts where none are found."""
    free, laws = np.array(rest.free), rest.laws
    matrix = rest.response[np.ix_(free, free)]
    symmetric = np.allclose(matrix, matrix.T, rtol=0, atol=REDUNDANT * np.abs(matrix).max())
    if laws.limits_depend_on_forces or not symmetric:
        raise rest.none_fits()
    modes = guess.copy()
    modes[free] = np.where(laws.is_friction[free], np.where(guess[free] < 0, -1.0, 1.0), 0.0)
    try:
        motion = rest.way(modes).motion
        least = motion.change[free] - matrix @ motion.force[free]
        is_friction, level = laws.is_friction[free], motion.level[free]
        low, high = np.where(is_friction, -level, 0.0), np.where(is_friction, level, np.inf)
        forces = _within_limits(matrix, least, low, high)
        held, forces = _shared_out(matrix, least + matrix @ forces, forces, low, high)
        slides = np.where(is_friction, -np.sign(forces), 0.0)
        modes[free] = np.where(held, np.where(is_friction, 0.0, 1.0), slides)
        found = rest.way(modes)
    except Undetermined:
        raise rest.none_fits() from None
    if not rest.fits(found):
        raise rest.none_fits()
    return found


def _within_limits(matrix: np.ndarray, least: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The forces of least constraint."""
    from scipy.optimize import lsq_linear

    sizes, ways = np.linalg.eigh(0.5 * (matrix + matrix.T))
    kept = sizes > SINGULAR * sizes.max(initial=0.0)
    roots = np.sqrt(sizes[kept])
    wide = high > low  # a friction without a level has no force
    forces = np.where(wide, 0.0, low)
    factor, right = roots[:, None] * ways[:, kept].T, -(ways[:, kept].T @ least) / roots
    if wide.any():
        forces[wide] = lsq_linear(factor[:, wide], right, (low[wide], high[wide]), method="bvls", tol=FORCE**2).x
    return forces


def _shared_out(
    matrix: np.ndarray, change: np.ndarray, forces: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which contacts hold, and all forces, with the same motion."""
    size = float(np.max(np.abs(matrix).max(axis=1) * np.maximum(np.abs(forces), np.where(np.isinf(high), 0.0, high))))
    still = np.flatnonzero((np.abs(change) <= np.sqrt(FORCE) * size) & (high > low))
    forces = forces.copy()
    unit = np.where(np.isfinite(high), high, np.maximum(np.abs(forces).max(), NOT_ZERO))
    ways = _null_space(matrix[np.ix_(still, still)])
    if ways.shape[1]:
        forces[still] += ways @ _roomiest(ways, forces[still], low[still], high[still], unit[still])
    holds = np.zeros(len(forces), dtype=bool)
    edge = FORCE * unit
    holds[still] = (forces[still] > low[still] + edge[still]) & (forces[still] < high[still] - edge[still])
    while True:
        poll("modes of conditions and contacts")
        own = np.flatnonzero(holds)
        ways = _null_space(matrix[np.ix_(own, own)])
        if not ways.shape[1]:
            return holds, forces
        moved = [_to_a_limit(forces[own], sign * ways[:, 0], low[own], high[own], unit[own]) for sign in (1.0, -1.0)]
        forces[own], pinned, _ = max(moved, key=lambda way: way[2])
        holds[own[pinned]] = False


def _null_space(matrix: np.ndarray) -> np.ndarray:
    if not len(matrix):
        return np.zeros((0, 0))
    sizes, ways = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray(ways[:, sizes <= REDUNDANT * sizes.max(initial=0.0)])


def _roomiest(ways: np.ndarray, forces: np.ndarray, low: np.ndarray, high: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """How far to go along some ways so that the smallest distance from a limit, in units, is largest."""
    from scipy.optimize import linprog

    count = ways.shape[1]
    upper, bounded = np.isfinite(high), -np.ones((len(forces), 1))
    above = np.hstack([ways / unit[:, None], -bounded])[upper]
    below = np.hstack([-ways / unit[:, None], -bounded])
    right = np.concatenate([((high - forces) / unit)[upper], (forces - low) / unit])
    cost = np.concatenate([np.zeros(count), [-1.0]])
    limits = [(None, None)] * count + [(None, 1.0)]
    found = linprog(cost, A_ub=np.vstack([above, below]), b_ub=right, bounds=limits, method="highs")
    return np.asarray(found.x[:count]) if found.success else np.zeros(count)


def _to_a_limit(
    forces: np.ndarray, way: np.ndarray, low: np.ndarray, high: np.ndarray, unit: np.ndarray
) -> tuple[np.ndarray, int, float]:
    """Forces along a way up to the first limit, who is there, and the room that is left to the others, in units."""
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(way > 0, (high - forces) / way, np.where(way < 0, (low - forces) / way, np.inf))
    first = int(np.argmin(far))
    if not np.isfinite(far[first]):
        return forces, first, -np.inf
    moved = forces + far[first] * way
    moved[first] = high[first] if way[first] > 0 else low[first]
    room = np.minimum(moved - low, high - moved) / unit
    return moved, first, float(np.min(np.delete(room, first), initial=1.0))
