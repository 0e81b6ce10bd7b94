"""How a result changes: x(t₁) with its derivatives by start, inputs and parameters, first and second order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.differentiation.case import read_case
from daedalus.differentiation.directions import read_directions
from daedalus.differentiation.forward_run import WAYS, differentiate
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.differentiation.touching.contact_sensitivities import contact_sensitivities
from daedalus.errors import InputError
from daedalus.model.mechanics.mechanics_part import touching_book
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.model.time_limit import time_limited
from daedalus.simulation.noise.without_noise import refuse_noise


def sensitivities(
    model: Model | System,
    span: float | tuple[float, float],
    order: int = 1,
    wrt: str | Sequence[str] = ("start", "inputs", "parameters"),
    grid: int | Sequence[float] | np.ndarray | None = None,
    by: str = "variational",
    **simulate_options: Any,
) -> Sensitivities:
    """Simulate a model and compute how the solution changes with its start, inputs and parameters.

    It solves the variational equations M' = f_x M, N' = f_x N + f_u, … of x' = f(t, x, u, p), z = g(t, x, u, p); models
    of higher index are reduced first. If x' and z have no formulas (nonlinear algebraic equations, large mechanisms),
    it solves those of 0 = F(t, x', x, z, u, p) with an implicit method.

    Parameters
    ----------
    model, span: as for `dd.simulate`.
    order: 1, or 2 to include the second derivatives O, P, Q.
    wrt: what to differentiate by: "start", "inputs", "parameters", or names such as "L", "x[0]". Fewer cost less.
    grid: inputs piecewise constant: k for k equal intervals, or the k + 1 ends of the intervals; N is then (n, k, nu).
    by: "variational" integrates the variational equations together with the states, with error control and any method.
        "discrete" differentiates the steps of the nominal run exactly, with fixed step sizes, for any method except
        BDF, whose steps depend on each other.
    simulate_options: start, inputs, parameters, method, rtol, atol, step, max_step, first_step, max_steps, time_limit.

    Start values of a constrained model move along the constraints: M = Dφ P with the projector P in `sens.projector`.
    If a parameter changes the constraints, the start changes by the smallest amount in the norm of the mass matrix.

    For a model with hard contacts between bodies, the steps are differentiated, and the derivatives pass the times at
    which contacts close or come to rest; the result is a `ContactSensitivities` with `M`, `by_parameters`, `d`, `at`.

    Noise without values in `inputs` is refused. Raises a SolverError if the run stops early, if a guard only touches
    zero, for second order through events with resets, and for second order of equations with corners.

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
        raise InputError(f"order={order!r} is not supported.", remedy="order=1 or order=2")
    if by not in WAYS:
        raise InputError(f"by={by!r} is not a way to differentiate.", remedy='by="variational" or by="discrete"')
    refuse_noise(as_system(model), "dd.sensitivities", simulate_options.get("inputs"))
    with time_limited(simulate_options.get("time_limit")):
        if touching_book(as_system(model)) is not None:
            return contact_sensitivities(model, span, order, wrt, grid, simulate_options)  # type: ignore[return-value]
        case = read_case(model, span, simulate_options, grid, corners=by == "discrete")
        directions = read_directions(case.system, wrt, case.intervals)
        return Sensitivities(*differentiate(case.without_idle_grid(directions), order, directions, by))
