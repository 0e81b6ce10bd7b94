"""A x = b as expressions with a sparse A, solved through tearing variables where that makes the formulas shorter.

Only constants are divided by on the way from the torn unknowns to the others, so that no value of a state or of a
parameter makes it fail; the torn ones follow from a smaller system by orthogonal factors.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.reduction.orthogonal_solve import power_of_two_scales, solve_orthogonal
from daedalus.reduction.tearing import Tearing, tear


def torn(matrix: ca.SX, sample: np.ndarray | None) -> Tearing | None:
    """A tearing of a linear system; None where `sample`, the matrix at a typical state, says nothing of its growth."""
    rows, columns = (np.array(k, dtype=int) for k in matrix.sparsity().get_triplet())
    if sample is None or not np.all(np.isfinite(sample)):
        return None
    by_row, by_column = power_of_two_scales(sample)
    values = sample[rows, columns] * by_row[rows] * by_column[columns]
    entries = _entries(matrix)
    safe = [
        entries[r][c].is_constant() and not entries[r][c].is_zero() for r, c in zip(rows.tolist(), columns.tolist())
    ]
    return tear(rows.tolist(), columns.tolist(), safe, matrix.shape, values)


def solve_linear(matrix: ca.SX, right: ca.SX, sample: np.ndarray | None = None, cut: Tearing | None = None) -> ca.SX:
    """The solution of a square system as expressions; `sample` is the matrix at a typical state.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> g = ca.SX.sym("g")
    >>> matrix = ca.SX(np.array([[1.0, 0, -1], [0, 1, 1], [1, -1, 0]])); matrix[2, 2] = g
    >>> x = solve_linear(matrix, ca.SX([0, 0, 1]), np.array([[1.0, 0, -1], [0, 1, 1], [1, -1, 3]]))
    >>> ca.Function("x", [g], [x])(3)
    DM([0.2, -0.2, 0.2])
    """
    cut = torn(matrix, sample) if cut is None else cut
    size = matrix.shape[0]
    if cut is None or len(cut.torn) == size:
        return solve_orthogonal(matrix, right, sample)
    rows = _entries(matrix)
    of_right = [right[r] for r in range(size)]
    count = len(cut.torn)
    # Each unknown as base + Σ share_k τ_k, along the order.
    base: list[ca.SX] = [ca.SX(0)] * size
    share: list[list[ca.SX]] = [[ca.SX(0)] * count for _ in range(size)]
    for k, c in enumerate(cut.torn):
        share[c][k] = ca.SX(1)
    for r, c in cut.order:
        others = [(j, a) for j, a in rows[r].items() if j != c]
        base[c] = (of_right[r] - _sum([(a, base[j]) for j, a in others])) / rows[r][c]
        share[c] = [-_sum([(a, share[j][k]) for j, a in others]) / rows[r][c] for k in range(count)]
    small = ca.SX(count, count)
    rest = ca.SX(count, 1)
    for i, r in enumerate(cut.left):
        own = list(rows[r].items())
        rest[i] = of_right[r] - _sum([(a, base[j]) for j, a in own])
        for k in range(count):
            small[i, k] = _sum([(a, share[j][k]) for j, a in own])
    found: list[ca.SX] = [ca.SX(0)] * size
    if count:
        solution = _small_solution(ca.densify(small), ca.densify(rest), sample, cut)
        for k, c in enumerate(cut.torn):
            found[c] = solution[k]
    for r, c in cut.order:
        known = _sum([(a, found[j]) for j, a in rows[r].items() if j != c])
        found[c] = (of_right[r] - known) / rows[r][c]
    return ca.densify(ca.vertcat(*found))


def _small_solution(matrix: ca.SX, right: ca.SX, sample: np.ndarray | None, cut: Tearing) -> ca.SX:
    if matrix.shape[0] == 1:
        return right / matrix
    return solve_orthogonal(matrix, right, None if sample is None else reduced_sample(sample, cut))


def reduced_sample(sample: np.ndarray, cut: Tearing) -> np.ndarray:
    """The numbers of the small system: the Schur complement of what follows in order."""
    if not cut.order:
        return sample[np.ix_(cut.left, cut.torn)]
    rows, columns = (list(side) for side in zip(*cut.order))
    follow = np.linalg.solve(sample[np.ix_(rows, columns)], sample[np.ix_(rows, cut.torn)])
    return sample[np.ix_(cut.left, cut.torn)] - sample[np.ix_(cut.left, columns)] @ follow


def _entries(matrix: ca.SX) -> list[dict[int, ca.SX]]:
    found: list[dict[int, ca.SX]] = [{} for _ in range(matrix.shape[0])]
    for r, c in zip(*matrix.sparsity().get_triplet()):
        found[r][c] = matrix[r, c]
    return found


def _sum(terms: list[tuple[ca.SX, ca.SX]]) -> ca.SX:
    total = ca.SX(0)
    for a, b in terms:
        if not (a.is_zero() or b.is_zero()):
            total += a * b
    return total
