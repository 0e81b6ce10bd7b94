"""The formulation of index 2 that keeps constraints on positions and on velocities (Gear, Gupta, Leimkuhler 1985).

    q' = v + G(q, t)ᵀ μ,    M v' = f + Gᵀ λ,    0 = c(q, t),    0 = G v + ∂c/∂t

The multiplier μ of the constraint on velocities vanishes along solutions (J. Comput. Appl. Math. 12, 1985, p. 77).
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.expressions import column, concatenate, elements
from daedalus.model.names import suggest_name, times_text
from daedalus.model.notebook import declare
from daedalus.model.system.equation_row import Role
from daedalus.model.system.system import System
from daedalus.model.variables import make_variable
from daedalus.model.written import Equation, by_equation
from daedalus.reduction.reduced_form import record, reduced_notebook
from daedalus.reduction.reduction_plan import ReductionPlan
from daedalus.reduction.rewriting import ReducedModel, keep_rows, write_rows


def with_both_levels(plan: ReductionPlan, original: System) -> ReducedModel:
    """The planned model with constraint and differentiated constraint as equations, and a multiplier for each."""
    twice = _constraints_on_positions(plan)
    n = reduced_notebook(plan)
    rows = list(plan.rows)
    residuals = {i: plan.levels[i, 0] for i in range(len(rows))}
    if twice:
        solved = {i: j for j, i in plan.flow.row.items()}
        positions = sorted({j for j in solved.values() if _moves(plan, twice, j)})
        q = concatenate(plan.book.written.scalars[plan.unknowns[j][0], 0][plan.unknowns[j][1]] for j in positions)
        c = concatenate(plan.levels[i, 0] for i in twice)
        mu = concatenate(_declare_multipliers(n, by_equation([rows[i] for i in twice], elements(c))))
        push = elements(ca.densify(column(ca.jtimes(c, q, mu, True))))
        for j, entry in zip(positions, push):
            i = plan.flow.row[j]
            # The equation says q' = v up to a factor: it stays what it is, with q' less the push in the place of q'.
            rate = plan.book.written.derivative_scalar(*plan.unknowns[j], 1)
            residuals[i] = ca.substitute(residuals[i], rate, rate - entry)
            rows[i] = replace(rows[i], role=Role.PUSHED)
    velocities = [plan.level(i, 1) for i in twice]
    write_rows(n, [*rows, *velocities], [*residuals.values(), *(plan.levels[i, 1] for i in twice)])
    both = [(i, k) for k in (0, 1) for i in twice]
    keep_rows(n, [plan.level(*at) for at in both], [plan.levels[at] for at in both])
    n._know(record(plan, n, original, "ggl", levels=velocities))
    return n


def _constraints_on_positions(plan: ReductionPlan) -> list[int]:
    """The constraints that would be differentiated twice; refuses what this formulation is not made for."""
    c = plan.signature.c
    for i in plan.constraints:
        if c[i] > 2:
            raise ModelError(
                'stabilise="ggl" does not fit this model.',
                f"{plan.rows[i].label} has to be differentiated {times_text(int(c[i]))}",
                because="the formulation is made for constraints on positions, which are differentiated twice.",
                remedy='stabilise="projection" or stabilise="baumgarte"',
            )
    twice = [i for i in plan.constraints if c[i] == 2]
    s = plan.signature
    for i in twice:
        for j in s.columns[s.rows == i].tolist():
            if plan.flow.order.get(j) != 1:
                name, k = plan.unknowns[j]
                label = plan.book.written.variables[name].label(k)
                raise ModelError(
                    'stabilise="ggl" does not fit this model.',
                    f"{plan.rows[i].label} contains {label}, whose rate no equation gives",
                    because="the extra multiplier acts on the equations q' = v of the positions in a constraint.",
                    remedy='stabilise="projection" or stabilise="baumgarte"',
                )
    return twice


def _moves(plan: ReductionPlan, twice: list[int], j: int) -> bool:
    s = plan.signature
    return bool(set(s.rows[s.columns == j].tolist()) & set(twice))


def _declare_multipliers(n: ReducedModel, constraints: dict[str, Equation]) -> list[ca.SX]:
    """One algebraic variable for each constraint: `rod_mu`."""
    symbols = []
    for label, constraint in constraints.items():
        name = n.written.free_name(suggest_name(label.replace("[", "_").replace("]", "")) + "_mu")
        shape = () if constraint.residual.is_scalar() else (int(constraint.residual.numel()),)
        symbols.append(declare(n, make_variable(name, "algebraic", shape, start=0.0)))
    return symbols
