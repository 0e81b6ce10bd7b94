"""The notebook and the record of a reduced model, written after a plan."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.reduction.index.regularity import written_values
from daedalus.reduction.plan import Plan
from daedalus.reduction.rewriting import ReducedModel, Reduction, as_algebraic, level_name, rewritten, write_rows

# Start values are off a constraint when it is left by more than this share of its terms.
OFF = 1e-6


def reduced_notebook(plan: Plan) -> ReducedModel:
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


def with_equations(n: ReducedModel, plan: Plan, rows: Mapping[int, ca.SX]) -> ReducedModel:
    """Write the equations: those of `rows` in the place of the constraints."""
    names = [level_name(label, int(plan.signature.c[i])) if i in rows else label for i, label in enumerate(plan.labels)]
    write_rows(n, names, [rows.get(i, plan.levels[i, 0]) for i in range(len(names))])
    return n


def record(
    plan: Plan,
    n: ReducedModel,
    original: System,
    stabilise: str | None,
    alpha: float | None = None,
    differentiated: dict[str, int] | None = None,
) -> Reduction:
    """What was done, for `n.reduction`; `differentiated` where that is less than the plan asks for."""
    system = n.freeze()
    s = plan.signature
    notes = [*plan.notes, *_contradictions(n, n._kept)]
    old = {v.name: v.kind for v in plan.system.variables}
    changed = [(v.name, v.kind) for v in n._variables.values() if old.get(v.name, v.kind) != v.kind]
    notes += [
        f"{name} has no derivative left and is algebraic"
        if kind == "algebraic"
        else f"{name} has a derivative and is a state"
        for name, kind in changed
    ]
    return Reduction(
        original=original,
        structural_index=plan.index,
        stabilise=stabilise,
        alpha=alpha,
        differentiated={plan.labels[i]: int(s.c[i]) for i in plan.constraints}
        if differentiated is None
        else differentiated,
        inputs=plan.inputs,
        states=system.labels["x"],
        algebraic=system.labels["z"],
        constraints=tuple(name for name in n._kept if name not in plan.book._kept),
        degrees_of_freedom=int(s.d.sum() - s.c.sum()),
        notes=tuple(notes),
    )


def _contradictions(book: Model, levels: Mapping[str, ca.SX]) -> list[str]:
    """Say so where the written start is off a constraint."""
    notes = []
    for name, expression in levels.items():
        symbols = ca.symvar(expression)
        values = written_values(book, symbols)
        if values is None:
            continue
        function = ca.Function(
            "level", [concatenate(symbols)], [expression, ca.jacobian(expression, concatenate(symbols))]
        )
        left, slopes = (part.full() for part in function(values))
        size = np.abs(slopes * np.maximum(np.abs(values), 1e-3)).sum(axis=1) + 1e-300
        if np.any(np.abs(left.ravel()) > OFF * size):
            notes.append(
                f"the start values are off {name} by {np.abs(left).max():.3g}: dd.initialise(m) finds values that fit"
            )
    return notes
