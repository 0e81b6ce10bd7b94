"""What a start left free: the directions in which guesses could be chosen, and what nothing determines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import FULL_NULL_SPACE, SAFELY_REGULAR, STILL, null_space, sparse_factors
from daedalus.analysis.structure.jets.jet_search import Search


@dataclass(frozen=True, eq=False)
class Freedom:
    """Directions by name, and names that stay open when all states are given.

    movable: states that could move, and other unknowns that could move with all states held; None where the jet is too
    large for a null space.
    """

    directions: tuple[dict[str, float], ...]
    movable: np.ndarray | None
    undetermined: tuple[str, ...]


def freedom(search: Search, values: np.ndarray, given: np.ndarray) -> Freedom:
    """The null space of all equations in the unknowns that were not given, seen in states, derivatives and z."""
    eq = search.equations
    n = eq.system.sizes["x"]
    if np.count_nonzero(~given) > FULL_NULL_SPACE:
        return Freedom((), None, ())
    matrix = search.jacobian(values)
    states = np.array([order == 0 and j < n for j, order in eq.unknowns], dtype=bool)
    visible = np.array([order == 0 or (order == 1 and j < n) for j, order in eq.unknowns], dtype=bool)
    basis = null_over(matrix, ~given)
    beside = np.linalg.norm(null_over(matrix, ~given & ~states), axis=1) > STILL
    movable = np.where(states, np.linalg.norm(basis, axis=1) > STILL, beside)
    # States come first, so that directions are told by the states that may be chosen.
    order = [*np.flatnonzero(visible & states & ~given), *np.flatnonzero(visible & ~states & ~given)]
    sizes = np.maximum(search.sizes, np.abs(values))
    directions = [
        {eq.label(order[k]): float(row[k]) for k in np.flatnonzero(np.abs(row) > STILL)}
        for row in row_reduced(basis[order].T) * sizes[order]
    ]
    scaled = [_led_by_one(direction) for direction in directions]
    undetermined = tuple(dict.fromkeys(eq.label(int(k)) for k in np.flatnonzero(beside & visible)))
    return Freedom(tuple(scaled), movable, undetermined)


def null_over(matrix: Any, columns: np.ndarray) -> np.ndarray:
    """The null space over some columns, with zero rows for the others."""
    chosen = np.flatnonzero(columns)
    part = matrix.tocsc()[:, chosen].tocsr()
    part = part[np.diff(part.indptr) > 0]
    if _regular(part):
        return np.zeros((len(columns), 0))
    basis, _ = null_space(part.toarray(), "start equations")
    full = np.zeros((len(columns), basis.shape[1]))
    full[chosen] = basis
    return full


def _regular(matrix: Any) -> bool:
    """Whether a sparse matrix is square and safely invertible."""
    if matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        return not matrix.shape[1]
    return sparse_factors(matrix.tocsc())[1] < SAFELY_REGULAR


def _led_by_one(direction: dict[str, float]) -> dict[str, float]:
    lead = next(iter(direction.values()))
    return {name: value / lead for name, value in direction.items()}


def row_reduced(rows: np.ndarray) -> np.ndarray:
    """The row-reduced form with pivoting among rows; rows that vanish are left out."""
    rows, rank = rows.copy(), 0
    for column in range(rows.shape[1]):
        if rank == len(rows):
            break
        pivot = rank + int(np.argmax(np.abs(rows[rank:, column])))
        if abs(rows[pivot, column]) < STILL:
            rows[rank:, column] = 0.0
            continue
        rows[[rank, pivot]] = rows[[pivot, rank]]
        rows[rank] /= rows[rank, column]
        others = np.arange(len(rows)) != rank
        rows[others] -= np.outer(rows[others, column], rows[rank])
        rank += 1
    return rows[:rank]
