"""Second-order mechanical systems M q'' + D q' + K q = F u as state spaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.algebra.rank_decision import ROUNDING, is_singular, rank_of
from daedalus.analysis.linear.axis_names import Names, check_names
from daedalus.analysis.linear.real_matrix import matrix
from daedalus.errors import InputError
from daedalus.model.names import split_index


def first_order(
    M: object, D: object, K: object, F: object, coordinates: str | Sequence[str]
) -> tuple[np.ndarray, np.ndarray, Names]:
    """A and B of the states (q, q'), and their names: `q[0]`, ..., then `q_dot[0]`, ...

    Example
    -------
    >>> A, B, states = first_order([[2.0]], [[1.0]], [[8.0]], [[1.0]], ["angle"])
    >>> A.tolist(), B.tolist(), states
    ([[0.0, 1.0], [-4.0, -0.5]], [[0.0], [0.5]], ('angle', 'angle_dot'))
    """
    mass = matrix(M, "M")
    n = len(mass)
    mass, damping, stiffness = matrix(mass, "M", n, n), matrix(D, "D", n, n), matrix(K, "K", n, n)
    forces = matrix(np.zeros((n, 0)) if F is None else F, "F", n)
    if is_singular(mass, ROUNDING):
        raise InputError(
            "The mass matrix is singular.",
            f"rank {rank_of(mass, 'M', ROUNDING).rank} of {n}",
            because="q'' cannot be solved for.",
            remedy="a descriptor system, or dd.linearise of a model with constraints",
        )
    solved = np.linalg.solve(mass, np.hstack([-stiffness, -damping, forces]))
    A = np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), solved[:, : 2 * n]])
    B = np.vstack([np.zeros_like(forces), solved[:, 2 * n :]])
    names = check_names(coordinates, n, "state")
    return A, B, (*names, *(_rate(name) for name in names))


def _rate(name: str) -> str:
    stem, index = split_index(name)
    return f"{stem}_dot" if index is None else f"{stem}_dot[{','.join(map(str, index))}]"
