"""The notebook and the record of a reduced model, written after a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES, NOT_ZERO
from daedalus.model.expressions import concatenate
from daedalus.model.model import Model
from daedalus.model.system.equation_row import EquationRow, Role
from daedalus.model.system.system import System
from daedalus.model.written import Equation
from daedalus.reduction.findings import ChangedKind, Finding, StartOffConstraint
from daedalus.reduction.index.regularity import written_values
from daedalus.reduction.reduction_plan import ReductionPlan
from daedalus.reduction.reduction_record import Reduction
from daedalus.reduction.rewriting import ReducedModel, as_algebraic, rewritten, write_rows


def reduced_notebook(plan: ReductionPlan) -> ReducedModel:
    """The notebook without equations: unknowns without derivative are algebraic, all others states."""
    highest: dict[str, int] = {}
    for j, (name, _) in enumerate(plan.unknowns):
        highest[name] = max(highest.get(name, 0), plan.order(j))
    declared = {v.name: v for v in plan.system.variables}
    variables = {}
    for name, order in highest.items():
        variable = declared[name]
        if order == 0:
            variables[name] = as_algebraic(variable) if variable.kind == "state" else variable
        elif variable.kind == "state":
            variables[name] = variable
    return rewritten(plan.book, variables)


def with_equations(
    n: ReducedModel, plan: ReductionPlan, new: Mapping[int, ca.SX], role: Role = Role.WRITTEN
) -> ReducedModel:
    """Write the equations: those of `new`, which have a role, in the place of the constraints."""
    c = plan.signature.c
    rows = [replace(plan.level(i, int(c[i])), role=role) if i in new else row for i, row in enumerate(plan.rows)]
    write_rows(n, rows, [new.get(i, plan.levels[i, 0]) for i in range(len(rows))])
    return n


def record(
    plan: ReductionPlan,
    n: ReducedModel,
    original: System,
    stabilise: str | None,
    alpha: float | None = None,
    levels: Sequence[EquationRow] | None = None,
) -> Reduction:
    """What was done, for `n.reduction`; `levels`: what was differentiated, where that is less than the plan asks."""
    system = n.freeze()
    s = plan.signature
    findings = [*plan.findings, *_contradictions(n, n._kept)]
    old = {v.name: v.kind for v in plan.system.variables}
    changed = [(v.name, v.kind) for v in n.written.variables.values() if old.get(v.name, v.kind) != v.kind]
    findings += [ChangedKind(name, kind == "state") for name, kind in changed]
    return Reduction(
        original=original,
        structural_index=plan.index,
        stabilise=stabilise,
        index=plan.lowered_index,
        alpha=alpha,
        levels=tuple(plan.differentiated if levels is None else levels),
        inputs=plan.inputs,
        states=system.labels["x"],
        algebraic=system.labels["z"],
        constraints=tuple(name for name in n._kept if name not in plan.book._kept),
        degrees_of_freedom=int(s.d.sum() - s.c.sum()),
        findings=tuple(findings),
    )


def _contradictions(book: Model, levels: Mapping[str, Equation]) -> list[Finding]:
    """Say so where the written start is off a constraint."""
    own = {name: kept.residual for name, kept in levels.items()}
    known = [name for name, e in own.items() if written_values(book, ca.symvar(e)) is not None]
    expression = concatenate(own[name] for name in known)
    symbols = ca.symvar(expression)
    values = written_values(book, symbols)
    if values is None or not known:
        return []
    slopes = ca.jacobian(expression, concatenate(symbols))
    function = ca.Function("levels", [concatenate(symbols)], [expression, slopes])
    left, matrix = function(values)
    rows, columns = (np.array(k, dtype=int) for k in matrix.sparsity().get_triplet())
    shares = np.abs(matrix.nonzeros()) * np.maximum(np.abs(values), 1e-3)[columns]
    size = np.bincount(rows, shares, matrix.size1()) + NOT_ZERO
    found: list[Finding] = []
    ends = np.cumsum([0, *(own[name].numel() for name in known)])
    for name, a, b in zip(known, ends, ends[1:]):
        rest = np.abs(left.full().ravel()[a:b])
        if np.any(rest > KNOWN_BY_DIFFERENCES * size[a:b]):
            found.append(StartOffConstraint(name, float(rest.max())))
    return found
