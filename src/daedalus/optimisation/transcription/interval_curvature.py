"""Gauss and Newton's view of a running cost: its curvature at points of an interval, to be carried through the flow."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.model.expressions import concatenate
from daedalus.optimisation.program.gauss_newton import cost_curvature
from daedalus.optimisation.program.mapped_functions import RunningCost
from daedalus.optimisation.transcription.problem_stage import ProblemStage
from daedalus.optimisation.transcription.sides_of_jumps import seen_from_inside

# Unknowns in a cost are solved for by formulas where there are at most so many.
MOST_UNKNOWNS = 8


def over_interval(stage: ProblemStage, parts: Sequence[ca.SX]) -> tuple[ca.SX, ca.SX, ca.SX, list[ca.SX]]:
    """Time on an interval of unit length, Δσ, the parameters of the interval, and expressions in terms of these."""
    width, begin, time = ca.SX.sym("width"), ca.SX.sym("begin"), ca.SX.sym("t")
    share = seen_from_inside(begin, width, time, stage.description.rounding)
    found = [ca.substitute([part], [stage.share], [share])[0] for part in parts]
    return time, width, concatenate([stage.parameters, stage.given, stage.length, width, begin]), found


def interval_curvature(stage: ProblemStage) -> RunningCost | None:
    """The curvature of T Δσ l at a point of an interval, as a function of (x, u, p, τ); None where there is none.

    With it the derivative of the rates T Δσ f by (x, u), or zero where algebraic unknowns stand in them.
    """
    written = stage.description.integrated
    if written.is_zero():
        return None
    cost = _without_unknowns(stage, stage.expression(written))
    time, width, p, (running, rates) = over_interval(stage, [cost, stage.rates])
    x, u = stage.states.symbols, stage.inputs.symbols
    v = ca.vertcat(x, u)
    matrix = ca.sparsify(stage.length * width * cost_curvature(running, v))
    if not matrix.nnz():
        return None
    slopes = ca.densify(stage.length * width * ca.jacobian(rates, v))
    if ca.depends_on(stage.rates, stage.unknowns.symbols):
        slopes = ca.SX.zeros(slopes.shape)
    rows, columns = (np.array(part, dtype=np.int32) for part in matrix.sparsity().get_triplet())
    function = compile_function(ca.Function("running_curvature", [x, u, p, time], [matrix, slopes]))
    return RunningCost(function.core, rows, columns, x.numel(), u.numel())


def _without_unknowns(stage: ProblemStage, cost: ca.SX) -> ca.SX:
    """A cost with algebraic unknowns solved for, where the equations are linear in them; else without their share."""
    z = stage.unknowns.symbols
    if not stage.unknowns.size or not ca.depends_on(cost, z):
        return cost
    slope = ca.jacobian(stage.equations, z)
    if stage.unknowns.size > MOST_UNKNOWNS or ca.depends_on(slope, z):
        return ca.substitute([cost], [z], [ca.SX.zeros(z.numel(), 1)])[0]
    rest = ca.substitute([stage.equations], [z], [ca.SX.zeros(z.numel(), 1)])[0]
    return ca.substitute([cost], [z], [-ca.solve(ca.densify(slope), rest)])[0]
