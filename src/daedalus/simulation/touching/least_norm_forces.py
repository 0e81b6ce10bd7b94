"""Forces of contacts that share a load in many ways: those of least norm.

Four corners carry a box, and its motion says nothing about the share of each. Of all impulses that give the same motion
and obey the same laws (holding points within their cones, sliding ones on them), those of least norm are unique: the
set is convex. They are found by projecting onto the impulses of that motion and onto the cones in turn (R. Dykstra,
J. Amer. Statist. Assoc. 78, 1983).
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import KNOWN, KNOWN_BY_DIFFERENCES
from daedalus.simulation.touching.body_rows import cross

# Projections at most; what has not converged then stays as it was found.
PROJECTIONS = 500


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
    seen = right[:rank]
    fixed = seen.T @ (seen @ given)

    starts = ends - [way.shape[1] for way in ways]
    holding = np.array([k for k, way in enumerate(ways) if way.shape[1] == 3], dtype=int)
    places = starts[holding, None] + np.arange(3)
    alone = np.array([starts[k] for k, way in enumerate(ways) if way.shape[1] == 1], dtype=int)

    def cones(p: np.ndarray) -> np.ndarray:
        out = p.copy()
        out[alone] = np.maximum(p[alone], 0.0)
        out[places] = _onto_cones(p[places], points[holding, 11])
        return out

    tolerance = KNOWN * float(np.linalg.norm(given))
    p, offset = fixed.copy(), np.zeros(len(fixed))
    for _ in range(PROJECTIONS):
        inside = cones(p + offset)
        offset += p - inside
        p = fixed + inside - seen.T @ (seen @ inside)
        if np.linalg.norm(p - inside) <= tolerance:
            return np.array([way @ p[int(e) - way.shape[1] : int(e)] for way, e in zip(ways, ends)])
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


def _onto_cones(p: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """The nearest impulses (n, 3) in Coulomb's cones; the normal part comes first."""
    normal, across = p[:, 0], np.hypot(p[:, 1], p[:, 2])
    pressed = (normal + friction * across) / (1 + friction**2)
    shrunk = friction * pressed / np.where(across > 0, across, 1.0)
    outside = np.column_stack([pressed, shrunk * p[:, 1], shrunk * p[:, 2]])
    inside, lost = across <= friction * normal, friction * across <= -normal
    return np.where(inside[:, None], p, np.where(lost[:, None], 0.0, outside))
