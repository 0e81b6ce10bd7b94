"""Whether a program is convex, so that the optimum a search found is the only one there is.

Affine rows have the same Jacobian everywhere; a convex cost has a Hessian without negative eigenvalues everywhere. Both
are judged at the solution and at random points: where a Jacobian or a Hessian shows that the program is not convex, it
is not, and a quadratic cost, whose Hessian is constant, is judged for good.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from daedalus.algebra.agreement import SAME
from daedalus.optimisation.program.program import Program

# How many random points beside the solution; differences below the share SAME of the largest entry are none.
POINTS = 2
# Variables that the cost couples: eigenvalues of larger groups are not computed.
MOST_COUPLED = 200


def is_convex(program: Program, w: np.ndarray) -> bool:
    """Whether rows are affine and the cost is convex at the solution and at random points; False where unknown."""
    draw = np.random.default_rng(0)
    points = [w, *(_anywhere(program, w, draw) for _ in range(POINTS))]
    slopes = [program.first(point)[1] * program.scale[program.jacobian_column] for point in points]
    size = SAME * max(float(np.abs(own).max(initial=0.0)) for own in slopes)
    if not all(np.all(np.abs(own - slopes[0]) <= size) for own in slopes):
        return False
    return all(_bends_upwards(program, point) for point in points)


def _anywhere(program: Program, w: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """A point between the bounds, or around the solution where there are none."""
    around = w + program.scale * draw.normal(size=len(w))
    bounded = np.isfinite(program.lower) & np.isfinite(program.upper)
    between = draw.uniform(np.where(bounded, program.lower, 0.0), np.where(bounded, program.upper, 1.0))
    return np.asarray(np.clip(np.where(bounded, between, around), program.lower, program.upper))


def _bends_upwards(program: Program, w: np.ndarray) -> bool:
    """Whether the Hessian of the cost has no negative eigenvalue, group by group of variables that it couples."""
    n, rows = program.shape
    row, column = program.hessian_row, program.hessian_column
    values = program.second(w, np.zeros(rows)) * program.scale[row] * program.scale[column]
    if not np.isfinite(values).all():
        return False
    used = values != 0
    half = coo_matrix((values[used], (row[used], column[used])), shape=(n, n)).tocsr()
    count, group = connected_components(half, directed=False)
    size = SAME * float(np.abs(values).max(initial=0.0))
    order = np.argsort(group, kind="stable")
    for own in np.split(order, np.cumsum(np.bincount(group, minlength=count))[:-1]):
        if len(own) > MOST_COUPLED:
            return False
        block = half[np.ix_(own, own)].toarray() if len(own) > 1 else np.array([[half[own[0], own[0]]]])
        whole = np.tril(block) + np.tril(block, -1).T
        if np.linalg.eigvalsh(whole)[0] < -size:
            return False
    return True
