"""The linear form of a system without what needs no solve: rows with one unknown, such as q' = v, and what follows.

A (x'; z) = b   becomes   B y = c  for the other unknowns y, with the known ones as expressions
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.deadline import poll
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.reduction.forms.linear_form import linear_form
from daedalus.reduction.index.constraint_rows import constraint_rows


@dataclass(frozen=True)
class CondensedForm:
    """B y = c; `rows` and `solved` say which equations and which of (x'; z) are left.

    known: those of (x'; z) that need no solve, and values: their expressions of (t, x, u, p).
    """

    matrix: ca.SX
    right: ca.SX
    rows: np.ndarray
    solved: np.ndarray
    known: np.ndarray
    values: ca.SX


@remembered
def condensed_form(system: System) -> CondensedForm:
    """The linear form with every row gone that gives an unknown by itself, again and again; kept with the system.

    Rows that are differentiated constraints stay: their impulses hold the constraints.
    """
    form, rows = linear_form(system), constraint_rows(system)
    kept = {row for row, _ in (*rows.positions, *rows.velocities)}
    return condensed(form.matrix, form.right, kept)


def condensed(matrix: ca.SX, right: ca.SX, kept: Collection[int] = ()) -> CondensedForm:
    """B y = c from A w = b, with the rows `kept` among those of B.

    Example
    -------
    >>> import casadi as ca
    >>> a, b = ca.SX.sym("a"), ca.SX.sym("b", 3)
    >>> matrix = ca.sparsify(ca.SX([[2, 0, 0], [1, 0, 1], [0, 1, 0]]))
    >>> matrix[1, 1] = matrix[2, 2] = a
    >>> form = condensed(matrix, b)
    >>> form.known.tolist(), form.values, form.solved.tolist()
    ([0], SX((b_0/2)), [1, 2])
    >>> form.right
    SX([(b_1-(b_0/2)), b_2])
    """
    size = right.numel()
    rows, solved = np.arange(size), np.arange(size)
    known: list[np.ndarray] = []
    values = ca.SX(0, 1)
    while True:
        poll("reducing the index")
        single, column, coefficients = _alone(matrix, np.isin(rows, list(kept)))
        if len(single) == 0:
            break
        found = right[single.tolist()] / coefficients
        known.append(solved[column])
        values = ca.vertcat(values, found)
        left, unknown = np.setdiff1d(np.arange(len(rows)), single), np.setdiff1d(np.arange(len(rows)), column)
        coupling = matrix[left.tolist(), column.tolist()]
        right = right[left.tolist()]
        if coupling.nnz():
            right = ca.densify(right - ca.mtimes(coupling, found))
        matrix = matrix[left.tolist(), unknown.tolist()]
        rows, solved = rows[left], solved[unknown]
    places = np.concatenate(known) if known else np.zeros(0, dtype=int)
    return CondensedForm(matrix, right, rows, solved, places, values)


def _alone(matrix: ca.SX, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray, ca.SX]:
    """Rows with one entry, which is a number and not zero: the row, its column, the number; each column once."""
    rows, columns = (np.array(part, dtype=int) for part in matrix.sparsity().get_triplet())
    entries = np.flatnonzero((np.bincount(rows, minlength=matrix.size1())[rows] == 1) & ~kept[rows])
    constant = [k for k in entries.tolist() if matrix.nz[k].is_constant() and float(matrix.nz[k]) != 0.0]
    _, first = np.unique(columns[constant], return_index=True)
    chosen = np.array(constant, dtype=int)[np.sort(first)]
    return rows[chosen], columns[chosen], ca.SX(matrix.nz[chosen.tolist()])
