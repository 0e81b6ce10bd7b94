"""log |det A| of a sparse matrix of expressions as a short formula, by Gaussian elimination.

Constants are taken as pivots first, then entries with little fill (H. M. Markowitz, Management Science 3, 1957). A
pivot that vanishes somewhere does no harm to the product of all but at that very point, where it is not a number.
Formulas of given symbols may stand for constants: a mass is a pivot before a coordinate, which may pass zero.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, nonzeros

# So many pivots are multiplied before their logarithm is taken: products of more could overflow.
TOGETHER = 8

# Ranks of entries that depend on what moves, and of those that are no pivots.
MOVING, ZERO = 2, 3
# Entries with their rank as pivots, by row and column.
Rows = dict[int, dict[int, tuple[int, ca.SX]]]


def log_determinant(matrix: ca.SX, given: ca.SX | None = None) -> ca.SX:
    """log |det A| up to a constant, for a square matrix; minus infinity where it is singular whatever the numbers.

    given: symbols whose formulas are constants too, as pivots the next after numbers.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> found = log_determinant(ca.blockcat([[2.0, x], [x, 0.0]]))
    >>> round(float(ca.Function("f", [x], [found])(3.0)), 6), round(float(ca.log(4.5)), 6)     # but for log 2
    (1.504077, 1.504077)
    """
    pattern = matrix.sparsity()
    known = set() if given is None else {int(symbol.element_hash()) for symbol in ca.symvar(given)}
    moving = concatenate(s for s in ca.symvar(matrix) if int(s.element_hash()) not in known)
    rows: Rows = {i: {} for i in range(matrix.size1())}
    for i, j, entry in zip(pattern.row(), pattern.get_col(), entries_of(matrix), strict=True):
        rows[i][j] = _ranked(entry, moving)
    pivots = []
    while rows:
        found = _pivot(rows)
        if found is None:
            return ca.SX(-np.inf)
        i, j = found
        pivot_row = rows.pop(i)
        rank, pivot = pivot_row.pop(j)
        if rank == MOVING:
            pivots.append(pivot)
        for row in rows.values():
            if j in row:
                factor = row.pop(j)[1] / pivot
                for k, (_, entry) in pivot_row.items():
                    row[k] = _ranked(row[k][1] - factor * entry if k in row else -factor * entry, moving)
    products = (ca.fabs(_product(pivots[k : k + TOGETHER])) for k in range(0, len(pivots), TOGETHER))
    return sum((ca.log(product) for product in products), ca.SX(0))


def entries_of(matrix: ca.SX) -> list[ca.SX]:
    """The entries that are not zero by the pattern, column by column."""
    return list(ca.vertsplit(nonzeros(matrix))) if matrix.nnz() else []


def _pivot(rows: Rows) -> tuple[int, int] | None:
    """The next pivot: a constant that is not zero if there is one, and the one with the least fill.

    Numbers are taken before formulas without `moving` symbols, and these before all others.
    """
    lengths: dict[int, int] = {}
    for row in rows.values():
        for j in row:
            lengths[j] = lengths.get(j, 0) + 1
    candidates = (
        (rank, (len(row) - 1) * (lengths[j] - 1), i, j)
        for i, row in rows.items()
        for j, (rank, _) in row.items()
        if rank != ZERO
    )
    best = min(candidates, default=None)
    return None if best is None else best[2:]


def _ranked(entry: ca.SX, moving: ca.SX) -> tuple[int, ca.SX]:
    """An entry with its rank: 0 of a number, 1 of a formula without moving symbols, 2 of all others, and zero apart."""
    if entry.is_zero():
        return ZERO, entry
    return (0 if entry.is_constant() else MOVING if ca.depends_on(entry, moving) else 1), entry


def _product(factors: list[ca.SX]) -> ca.SX:
    product = ca.SX(1)
    for factor in factors:
        product = product * factor
    return product
