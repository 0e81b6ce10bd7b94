"""A x = b as expressions with a sparse A, solved through tearing variables where that makes the formulas shorter.

Only constants are divided by on the way from the torn unknowns to the others, so that no value of a state or of a
parameter makes it fail; the torn ones follow from a smaller system by orthogonal factors.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, nonzeros
from daedalus.reduction.forms.orthogonal_solve import solve_orthogonal
from daedalus.reduction.forms.tearing import Tearing, balanced, tear


def torn(
    matrix: ca.SX, sample: np.ndarray | None, most: int | None = None, given: ca.SX | None = None
) -> Tearing | None:
    """A tearing of a linear system, None where it would take more than `most` unknowns.

    `sample` holds the nonzeros of the matrix, column by column, at a typical state; without it nothing is known of the
    growth of rounding errors, and there is no tearing. Symbols `given` are divided by like numbers.
    """
    if sample is None or not np.all(np.isfinite(sample)):
        return None
    rows, columns = matrix.sparsity().get_triplet()
    values = balanced(np.abs(sample), np.array(rows, dtype=int), np.array(columns, dtype=int), matrix.shape)
    return tear(rows, columns, constant_entries(matrix, given).tolist(), matrix.shape, values, most)


def constant_entries(matrix: ca.SX, given: ca.SX | None = None) -> np.ndarray:
    """Which nonzeros of a matrix are numbers, or formulas of nothing but `given` symbols."""
    names = set() if given is None else {symbol.element_hash() for symbol in ca.symvar(given)}
    entries, symbols = nonzeros(matrix), [s for s in ca.symvar(matrix) if s.element_hash() not in names]
    found = np.ones(matrix.nnz(), dtype=bool)
    if symbols:
        found[ca.jacobian_sparsity(entries, concatenate(symbols)).row()] = False
    return found


def solve_linear(matrix: ca.SX, right: ca.SX, sample: np.ndarray | None = None, given: ca.SX | None = None) -> ca.SX:
    """The solution of a square system as expressions; `sample` holds the nonzeros of the matrix at a typical state.

    Symbols `given` are divided by like numbers where that makes the formulas shorter.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> g = ca.SX.sym("g")
    >>> matrix = ca.sparsify(ca.SX(np.array([[1.0, 0, -1], [0, 1, 1], [1, -1, 0]]))); matrix[2, 2] = g
    >>> x = solve_linear(matrix, ca.SX([0, 0, 1]), np.array([1.0, 1, 1, -1, -1, 1, 3]))
    >>> ca.Function("x", [g], [x])(3)
    DM([0.2, -0.2, 0.2])
    """
    cut = torn(matrix, sample, given=given)
    size = matrix.shape[0]
    if cut is None or len(cut.torn) == size:
        numbers = None if sample is None else ca.DM(matrix.sparsity(), sample).full()
        return solve_orthogonal(matrix, right, numbers)
    rows = _entries(matrix)
    of_right = [right[r] for r in range(size)]
    base, share = _along(rows, of_right, cut)
    count = len(cut.torn)
    found: list[ca.SX] = [ca.SX(0)] * size
    if count:
        small, rest = ca.SX(count, count), ca.SX(count, 1)
        for i, r in enumerate(cut.left):
            rest[i] = of_right[r] - _sum([(a, base[j]) for j, a in rows[r].items()])
            for k in range(count):
                small[i, k] = _sum([(a, share[j][k]) for j, a in rows[r].items()])
        numbers = None if sample is None else reduced_sample(matrix.sparsity(), sample, cut)
        solution = solve_orthogonal(ca.densify(small), ca.densify(rest), numbers)
        for k, c in enumerate(cut.torn):
            found[c] = solution[k]
    for r, c in cut.order:
        known = _sum([(a, found[j]) for j, a in rows[r].items() if j != c])
        found[c] = (of_right[r] - known) / rows[r][c]
    return ca.densify(ca.vertcat(*found))


def reduced_sample(pattern: ca.Sparsity, sample: np.ndarray, cut: Tearing) -> np.ndarray:
    """The numbers of the small system: what is left for the torn unknowns when the others follow."""
    rows: list[dict[int, float]] = [{} for _ in range(pattern.size1())]
    for r, c, value in zip(*pattern.get_triplet(), sample.tolist()):
        rows[r][c] = value
    share = np.zeros((pattern.size2(), len(cut.torn)))
    share[cut.torn] = np.eye(len(cut.torn))
    for r, c in cut.order:
        share[c] = -sum((a * share[j] for j, a in rows[r].items() if j != c), np.zeros(len(cut.torn))) / rows[r][c]
    return np.array([sum(a * share[j] for j, a in rows[r].items()) for r in cut.left])


def _along(rows: list[dict[int, ca.SX]], right: list[ca.SX], cut: Tearing) -> tuple[list[ca.SX], list[list[ca.SX]]]:
    """Each unknown as base + Σ share_k τ_k with the torn unknowns τ, along the order."""
    count = len(cut.torn)
    base: list[ca.SX] = [ca.SX(0)] * len(rows)
    share: list[list[ca.SX]] = [[ca.SX(0)] * count for _ in rows]
    for k, c in enumerate(cut.torn):
        share[c][k] = ca.SX(1)
    for r, c in cut.order:
        others = [(j, a) for j, a in rows[r].items() if j != c]
        base[c] = (right[r] - _sum([(a, base[j]) for j, a in others])) / rows[r][c]
        share[c] = [-_sum([(a, share[j][k]) for j, a in others]) / rows[r][c] for k in range(count)]
    return base, share


def _entries(matrix: ca.SX) -> list[dict[int, ca.SX]]:
    found: list[dict[int, ca.SX]] = [{} for _ in range(matrix.shape[0])]
    for k, (r, c) in enumerate(zip(*matrix.sparsity().get_triplet())):
        found[r][c] = matrix.nz[k]
    return found


def _sum(terms: list[tuple[ca.SX, ca.SX]]) -> ca.SX:
    total = ca.SX(0)
    for a, b in terms:
        if not (a.is_zero() or b.is_zero()):
            total += a * b
    return total
