"""Gauss and Newton's view of a running cost on an interval: its curvature at a point, to be carried through the flow.

Of a cost whose second derivative is constant and not negative that derivative is taken, of others what comes of their
squares: for l = Σ w r² it is 2 Σ w ∇r ∇rᵀ. Both are never indefinite.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.model.expressions import concatenate
from daedalus.optimisation.program.gauss_newton import gauss_newton_curvature
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
    """The curvature of T Δσ l at a point of an interval, as a function of (x, u, p, τ); None where there is none."""
    written = stage.description.integrated
    if written.is_zero():
        return None
    time, width, p, (running,) = over_interval(stage, [_without_unknowns(stage, stage.expression(written))])
    x, u = stage.states.symbols, stage.inputs.symbols
    numbers = stage.parameters, np.asarray(stage.description.parameters, dtype=float)
    matrix = ca.sparsify(stage.length * width * curvature_of_cost(running, ca.vertcat(x, u), numbers))
    if not matrix.nnz():
        return None
    rows, columns = (np.array(part, dtype=np.int32) for part in matrix.sparsity().get_triplet())
    function = compile_function(ca.Function("running_curvature", [x, u, p, time], [matrix]))
    return RunningCost(function.core, rows, columns, x.numel(), u.numel())


def curvature_of_cost(cost: ca.SX, v: ca.SX, numbers: tuple[ca.SX, np.ndarray]) -> ca.SX:
    """The second derivative of a cost by v where it is constant and not negative, else that of its squares.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> x = ca.SX.sym("x", 2)
    >>> matrix = curvature_of_cost(x[0]**2 + x[0] * x[1] + x[1]**2, x, (ca.SX(0, 1), np.zeros(0)))
    >>> ca.evalf(matrix).full().tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    exact = ca.hessian(cost, v)[0]
    if not ca.depends_on(exact, v):
        value = ca.Function("curvature", [numbers[0]], [ca.densify(exact)], {"allow_free": True})
        if not value.get_free():
            sizes = np.linalg.eigvalsh(value(numbers[1]).full())
            if sizes[0] >= -1e-12 * max(abs(sizes[-1]), 1e-300):
                return exact
    multipliers, matrix = gauss_newton_curvature(cost, v, [True])
    return ca.substitute([matrix], [multipliers], [ca.SX(1)])[0]


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
