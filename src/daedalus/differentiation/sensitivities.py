"""How a result changes: x(t₁) with its derivatives by start, inputs and parameters, first and second order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.differentiation.case import Case, read_case
from daedalus.differentiation.directions import Directions, read_directions
from daedalus.differentiation.events.grazing import check_event_inputs, event_notes
from daedalus.differentiation.events.jumping_conditions import unlocated_jumps
from daedalus.differentiation.events.smoothness import refuse_corners
from daedalus.differentiation.parts import NextPart, check_progress, end_of_part, in_first_mode, next_part
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.differentiation.steps.discrete import run_discrete
from daedalus.differentiation.steps.stepwise import stepwise
from daedalus.differentiation.variational.augmented import augmented_of
from daedalus.differentiation.variational.error_controlled import run_error_controlled
from daedalus.differentiation.variational.implicit_variational import run_implicit
from daedalus.differentiation.variational.recorded import Part
from daedalus.differentiation.variational.tangent_start import tangent_start
from daedalus.errors import InputError
from daedalus.integrators.methods import is_implicit
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.simulation.run.method_choice import implicit_choice

WAYS = {"variational": run_error_controlled, "discrete": run_discrete}


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
    case = read_case(model, span, simulate_options, grid)
    return differentiate(case, order, read_directions(case.system, wrt, case.intervals), by)


def differentiate(case: Case, order: int, directions: Directions, by: str) -> Sensitivities:
    """The sensitivities of a case, part by part where its equations change on the way."""
    if by == "discrete":
        case = stepwise(case, 'by="discrete"')
    if order == 2:
        refuse_corners(case.system)
    first = case = in_first_mode(case)
    if case.system.events:
        check_event_inputs(case)
    begin = start = tangent_start(case, directions, order)
    run = run_implicit if is_implicit(case.method) and by == "variational" else WAYS[by]
    parts: list[Part] = []
    notes = unlocated_jumps(case.system)
    while True:
        augmented = augmented_of(case.plant, directions, order)
        recorded = run(case, augmented, augmented.begin(case, start))
        if recorded is None:
            name, why = implicit_choice(case.system, "the system is stiff", case.settings.rtol)
            return differentiate(first.with_method(name, why), order, directions, by)
        notes += event_notes(case, augmented, recorded) if case.system.events else ()
        parts.append(Part(case, augmented, recorded))
        end = end_of_part(case, recorded.status, [event.guard for event in recorded.events])
        if end is None:
            return Sensitivities(parts, begin, by, notes)
        following = next_part(case, end, float(recorded.t[-1]), recorded.y[-1, : augmented.layout.width])
        S, W = _carried(parts[-1], following)
        start = replace(start, S=S, W=W)
        case, notes = following.case, [*notes, following.note]
        check_progress(case, [float(part.recorded.t[-1]) for part in parts], case.t1 - first.t0)


def _carried(part: Part, following: NextPart) -> tuple[np.ndarray, np.ndarray]:
    """S and W at the beginning of the next part."""
    layout, t = part.augmented.layout, float(part.recorded.t[-1])
    S = layout.sensitivities(part.recorded.y[-1:])[0][: layout.n]
    given = part.case.given_slopes(part.augmented.variational.directions, t)
    W = layout.curvatures(part.recorded.y[-1:])[0][: layout.n]
    return following.slopes @ np.concatenate([S, given]), W[:, layout.pairs[0], layout.pairs[1]]
