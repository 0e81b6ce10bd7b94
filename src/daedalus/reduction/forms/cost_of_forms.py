"""What x' and z cost by formulas and by a sparse solve, counted before either of them is written.

The unit is one operation of a compiled formula. Formulas of coupled equations grow with the cube of the unknowns that
they are solved through, a sparse solve grows with its factors.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.analysis.structure.block_form import triangular_blocks
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm, at_start, find_explicit_form
from daedalus.reduction.forms.linear_form import LinearForm, find_linear_form
from daedalus.reduction.forms.tearing import Tearing
from daedalus.reduction.forms.torn_solve import torn

# Measured on one core of a Xeon, where an operation of a compiled formula takes 0.4 ns: a call of the solver takes
# 0.35 µs, an operation of its factors 1 ns, a nonzero of them 1.4 ns in factors and solve together.
CALL, FACTOR_OPERATION, FACTOR_NONZERO = 900.0, 2.5, 3.5
# So few unknowns of coupled equations have formulas of fewer operations than a call.
ALWAYS_BY_FORMULAS = 6


class FormCosts(NamedTuple):
    """Operations of coupled equations at each evaluation: by formulas, and by a sparse solve."""

    formulas: float
    solve: float


@remembered
def solve_costs_less(system: System) -> bool:
    """Whether a sparse solve gives x' and z in fewer operations than formulas, where there are both.

    Example
    -------
    >>> import daedalus as dd
    >>> solve_costs_less(dd.reduce(dd.catalogue.load("rod_chain", rods=3).model).freeze())
    False
    >>> solve_costs_less(dd.reduce(dd.catalogue.load("rod_chain", rods=8).model).freeze())
    True
    """
    form = find_explicit_form(system)
    if isinstance(form, ExplicitForm) and form.as_written:
        return False
    found = costs_of_forms(system)
    return found is not None and found.solve < found.formulas and isinstance(find_linear_form(system), LinearForm)


def costs_of_forms(system: System) -> FormCosts | None:
    """The costs of both forms; None where only a few unknowns are coupled, or where the start is singular."""
    structure = structure_of(system)
    pattern = structure.pattern("xdot", "z")
    blocks = [block for block in triangular_blocks(pattern) if len(block[0]) > 1]
    if sum(len(rows) for rows, _ in blocks) <= ALWAYS_BY_FORMULAS:
        return None
    slopes, formulas, solve = structure.slopes("xdot", "z"), 0.0, CALL
    for rows, columns in blocks:
        matrix = slopes[rows, columns]
        sample, own = at_start(system, matrix), matrix.sparsity()
        if not np.all(np.isfinite(sample)):
            return None
        cut = torn(matrix, sample)
        formulas += operations_of(cut if cut is not None else Tearing(list(range(len(rows))), [], list(rows)), own)
        solver = _core.LinearSolver(len(rows), own.colind(), own.row())
        if not solver.factor(sample):
            return None
        solve += FACTOR_OPERATION * solver.operations + FACTOR_NONZERO * solver.fill
    return FormCosts(formulas, solve)


def operations_of(cut: Tearing, pattern: ca.Sparsity) -> int:
    """How many operations the formulas of coupled equations have that are solved through torn unknowns.

    Example
    -------
    >>> operations_of(Tearing([0, 1], [], [0, 1]), ca.Sparsity.dense(2, 2))
    40
    """
    rows: dict[int, list[int]] = {}
    for row, column in zip(*pattern.get_triplet()):
        rows.setdefault(row, []).append(column)
    shares = {column: {k} for k, column in enumerate(cut.torn)}
    count = 0
    for row, column in cut.order:
        others = [k for k in rows[row] if k != column]
        shares[column] = set().union(*(shares[k] for k in others))
        # The part that no torn unknown has, the shares of the torn ones, and the value in the end; each is divided.
        count += 2 * (2 * len(others) + 1) + sum(2 * len(shares[k]) for k in others) + len(shares[column])
    if cut.order:
        count += sum(2 + 2 * len(shares[k]) for row in cut.left for k in rows[row])
    size = len(cut.torn)
    # Orthogonal factors of a full matrix with one right side, and the solution from them.
    return count + 2 * size**3 + 6 * size**2
