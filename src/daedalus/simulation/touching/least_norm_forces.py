"""Forces of contacts that share a load in many ways: those of least norm.

Four corners carry a box, and its motion says nothing about the share of each. Of all impulses p that give the same
motion, A p = c with orthonormal rows A, and obey the same laws (holding points within their cones K, sliding ones on
them), those of least norm are unique: the set is convex. They are p = Π(Aᵀ y), with the projection Π onto the cones and
the y for which c·y - |Π(Aᵀ y)|² / 2 is largest, where A p = c: Newton's method with a line search finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from daedalus.algebra.rank_decision import KNOWN, KNOWN_BY_DIFFERENCES
from daedalus.simulation.touching.body_rows import cross

# Newton steps, and looks along each, at most; what has not converged then stays as it was found. A step ends where the
# slope along it has fallen to this share.
NEWTON, LOOKS, FLAT = 60, 40, 0.1


def least_norm(
    impulses: np.ndarray, points: np.ndarray, shape: tuple[int, float], through: np.ndarray | None = None
) -> np.ndarray | None:
    """Impulses (n, 3) in the world of least norm; None where they are unique, or were not found.

    points: (n, 13), of each its two bodies, the arms from their centres, the normal from the first to the second, the
    friction, and 1 where it slides. shape: how many bodies there are, and their size. through: how wrenches on these
    push joints, where those move them.
    """
    bodies, size = shape
    ways = _ways(impulses, points)
    if sum(way.shape[1] for way in ways) <= 1:
        return None
    ends = np.cumsum([way.shape[1] for way in ways])
    effect = np.zeros((6 * bodies, int(ends[-1])))
    for k, way in enumerate(ways):
        own = slice(int(ends[k]) - way.shape[1], int(ends[k]))
        for body, arm, sign in ((int(points[k, 1]), points[k, 5:8], 1.0), (int(points[k, 0]), points[k, 2:5], -1.0)):
            if body >= 0:
                effect[6 * body : 6 * body + 3, own] += sign * way
                effect[6 * body + 3 : 6 * body + 6, own] += sign * cross(arm, way.T).T / size
    if through is not None:
        effect = through @ effect
    _, singular, right = np.linalg.svd(effect, full_matrices=False)
    rank = int(np.sum(singular > KNOWN_BY_DIFFERENCES * singular[0]))
    if rank in (0, effect.shape[1]):
        return None
    given = np.concatenate([way.T @ impulse / np.sum(way * way, axis=0) for way, impulse in zip(ways, impulses)])
    starts = ends - [way.shape[1] for way in ways]
    holding = np.array([k for k, way in enumerate(ways) if way.shape[1] == 3], dtype=int)
    places = starts[holding, None] + np.arange(3)
    alone = np.array([starts[k] for k, way in enumerate(ways) if way.shape[1] == 1], dtype=int)

    def onto(z: np.ndarray) -> np.ndarray:
        """The projection onto the cones."""
        p = np.zeros(len(z))
        p[alone], p[places] = np.maximum(z[alone], 0.0), _onto_cones(z[places], points[holding, 11])
        return p

    def bend(z: np.ndarray) -> np.ndarray:
        """Its derivative."""
        slope = np.zeros((len(z), len(z)))
        slope[alone, alone] = z[alone] > 0
        slope[places[:, :, None], places[:, None, :]] = _bends(z[places], points[holding, 11])
        return slope

    found = _nearest_to_zero(right[:rank], right[:rank] @ given, onto, bend, KNOWN * float(np.linalg.norm(given)))
    if found is None:
        return None
    return np.array([way @ found[int(e) - way.shape[1] : int(e)] for way, e in zip(ways, ends)])


def _nearest_to_zero(
    rows: np.ndarray, wanted: np.ndarray, onto: Callable[[np.ndarray], np.ndarray],
    bend: Callable[[np.ndarray], np.ndarray], close: float,
) -> np.ndarray | None:  # fmt: skip
    """The p of least norm in a cone with `rows` p = `wanted`, to within `close`; None where none was found."""
    y = wanted
    p = onto(rows.T @ y)
    for _ in range(NEWTON):
        off = wanted - rows @ p
        if float(np.linalg.norm(off)) <= close:
            return p
        step = np.linalg.solve(rows @ bend(rows.T @ y) @ rows.T + KNOWN * np.eye(len(y)), off)
        rise, share, low, high = float(off @ step), 1.0, 0.0, np.inf
        at_low, at_high, side = rise, 0.0, 0
        for _ in range(LOOKS):
            p = onto(rows.T @ (y + share * step))
            left = float((wanted - rows @ p) @ step)
            if abs(left) <= FLAT * rise or (left > 0 and np.isinf(high)):
                break
            # False position with halved weights (M. Dowell, P. Jarratt, BIT 11, 1971).
            if left > 0:
                low, at_low, at_high, side = share, left, at_high / 2 if side > 0 else at_high, 1
            else:
                high, at_high, at_low, side = share, left, at_low / 2 if side < 0 else at_low, -1
            share = (low * at_high - high * at_low) / (at_high - at_low)
        y = y + share * step
    return None


def _ways(impulses: np.ndarray, points: np.ndarray) -> list[np.ndarray]:
    """The directions of each impulse as columns: all of a holding point, that of a sliding one, none of an open one."""
    ways = []
    for impulse, point in zip(impulses, points):
        normal = point[8:11]
        if point[11] > 0 and not point[12]:
            first = cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
            first /= np.linalg.norm(first)
            ways.append(np.column_stack([normal, first, cross(normal, first)]))
        elif point[11] > 0:
            pressed = float(normal @ impulse)
            ways.append((impulse / pressed)[:, None] if pressed > 0 else np.zeros((3, 0)))
        else:
            ways.append(normal[:, None])
    return ways


class _Across(NamedTuple):
    """Impulses (n, 3) beside Coulomb's cones, the normal part first: what they press by, and where they are."""

    pressed: np.ndarray
    size: np.ndarray  # across
    way: np.ndarray
    inside: np.ndarray
    lost: np.ndarray


def _across(z: np.ndarray, friction: np.ndarray) -> _Across:
    normal, size = z[:, 0], np.hypot(z[:, 1], z[:, 2])
    pressed = (normal + friction * size) / (1.0 + friction**2)
    way = z[:, 1:] / np.where(size > 0, size, 1.0)[:, None]
    return _Across(pressed, size, way, size <= friction * normal, friction * size <= -normal)


def _onto_cones(z: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """The nearest impulses (n, 3) in the cones."""
    found = _across(z, friction)
    outside = found.pressed[:, None] * np.column_stack([np.ones(len(z)), friction[:, None] * found.way])
    return np.where(found.inside[:, None], z, np.where(found.lost[:, None], 0.0, outside))


def _bends(z: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """The derivative of each, (n, 3, 3)."""
    found, share = _across(z, friction), 1.0 / (1.0 + friction**2)
    slide = np.column_stack([np.ones(len(z)), friction[:, None] * found.way])  # along the cone
    turn = friction * found.pressed / np.where(found.size > 0, found.size, 1.0)
    bend = share[:, None, None] * slide[:, :, None] * slide[:, None, :]
    bend[:, 1:, 1:] += turn[:, None, None] * (np.eye(2) - found.way[:, :, None] * found.way[:, None, :])
    within = np.where(found.lost[:, None, None], 0.0, bend)
    return np.where(found.inside[:, None, None], np.eye(3), within)
