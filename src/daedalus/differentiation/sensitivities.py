"""How a result changes: x(t₁) with its derivatives by start, inputs and parameters, first and second order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.differentiation.case import read_case
from daedalus.differentiation.directions import read_directions
from daedalus.differentiation.forward_run import WAYS, differentiate
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.errors import InputError
from daedalus.model.deadline import time_limited
from daedalus.model.model import Model
from daedalus.model.system.system import System


def sensitivities(
    model: Model | System,
    span: float | tuple[float, float],
    order: int = 1,
    wrt: str | Sequence[str] = ("start", "inputs", "parameters"),
    grid: int | Sequence[float] | np.ndarray | None = None,
    by: str = "variational",
    **simulate_options: Any,
) -> Sensitivities:
    """Solve the model and say how the solution changes with its start, inputs and parameters.

    M' = f_x M, N' = f_x N + f_u, and so on: the variational equations of x' = f(t, x, u, p), z = g(t, x, u, p), higher
    indices after reduction. Where x' and z have no formulas (nonlinear algebraic equations, large mechanisms) those of
    0 = F(t, x', x, z, u, p) itself are solved, by an implicit method.

    Parameters
    ----------
    model, span: as for `dd.simulate`.
    order: 1, or 2 for second derivatives O, P, Q as well.
    wrt: what is varied: "start", "inputs", "parameters", or names such as "L", "x[0]". Fewer cost less.
    grid: inputs piecewise constant: k for k equal intervals, or the k + 1 ends of the intervals; N is then (n, k, nu).
    by: "variational" integrates the variational equations with error control, states and sensitivities in one test, by
        any method; "discrete" differentiates the steps of the nominal run exactly, with their sizes held, by any method
        but BDF, whose steps depend on each other.
    simulate_options: start, inputs, parameters, method, rtol, atol, step, max_step, first_step, max_steps, time_limit.

    Start values of a constrained model move along the constraints: M = Dφ P, with `sens.projector` P on record, and
    parameters carry a consistent start along by the smallest change in the norm of the mass matrix.

    Raises a SolverError where the run stops early, where an event grazes, for second order through events that reset
    something, and for second order of equations with corners.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("growth")
    >>> x = m.state("x", start=1.0); u = m.input("u"); r = m.parameter("r", 0.5)
    >>> m.equation(m.der(x), r * x + u)
    >>> sens = dd.sensitivities(m, 2.0, order=2, inputs={"u": 0.0}, rtol=1e-10)
    >>> sens.value.round(6).tolist(), sens.M.round(6).tolist(), sens.N.round(6).tolist()
    ([2.718282], [[2.718282]], [[3.436564]])
    >>> round(float(sens.d("x", "r")), 6), round(float(sens.d("x", "r", "r")), 6), sens.how
    (5.436564, 10.873127, 'variational')
    """
    if order not in (1, 2) or isinstance(order, bool):
        raise InputError(f"order={order!r} is not offered.", remedy="order=1 or order=2")
    if by not in WAYS:
        raise InputError(f"by={by!r} is no way to differentiate.", remedy='by="variational" or by="discrete"')
    with time_limited(simulate_options.get("time_limit")):
        case = read_case(model, span, simulate_options, grid)
        directions = read_directions(case.system, wrt, case.intervals)
        return Sensitivities(*differentiate(case.without_idle_grid(directions), order, directions, by))
