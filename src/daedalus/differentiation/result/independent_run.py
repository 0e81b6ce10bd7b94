"""A result with derivatives held against `dd.simulate`, which shares neither its system nor its events with it.

The end of a run must be the same. Where the run went through events or begins on constraints, so must be the
differences of runs with other parameters, which begin anew from what was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.result.differentiated_run import DifferentiatedRun
from daedalus.errors import DaedalusError
from daedalus.integrators.methods import is_implicit
from daedalus.model.names import split_index
from daedalus.simulation.run.request import LIMITS, Request
from daedalus.simulation.simulate import simulate

# Of the runs, with explicit and with implicit methods.
EXPLICIT_RTOL, IMPLICIT_RTOL = 1e-10, 1e-9
# The change of parameters, in their sizes, and by which share differences may be off.
INCREMENT, DIFFERENCES = 1e-4, 1e-3
# Errors of the result, in tolerances and at most.
TOLERANCES, AT_MOST = 1e3, 1e-2
# Tolerances above which the map of the steps is far from the flow.
FAR_FROM_FLOW = 1e-5


@dataclass(frozen=True)
class Comparison:
    """How far a result is from independent runs, in what is allowed; detail: what differs, or why nothing was run."""

    share: float = 0.0
    detail: str = ""


def compared_with_simulate(sens: DifferentiatedRun, S: np.ndarray, size: np.ndarray) -> Comparison:
    """The end of the result and its slopes S by all that is varied against runs of `dd.simulate`."""
    case = sens._parts[0].case
    request = case.request
    if request is None or float(sens.steps[-1]) != case.asked_time:
        return Comparison()
    names = [label for label in case.system.labels["x"] if split_index(label)[0] in request.system.places]
    places = [case.system.labels["x"].index(label) for label in names]
    nominal = case.system.nominal["x"][places]
    try:
        # Steps that were differentiated end where they end; the flow is compared with tight runs.
        loose = sens.how == "discrete" and request.rtol > FAR_FROM_FLOW
        end = _end(request, names, {}, loose)
        slopes = _parameter_slopes(sens, request, names, size) if _begins_anew(sens, case) and not loose else None
    except DaedalusError as error:
        return Comparison(detail=f"dd.simulate does not run it alone: {error.what}")
    scaled = S[places] * size / nominal[:, None]
    allowed = min(AT_MOST, TOLERANCES * request.rtol * (1 + float(np.abs(scaled).max(initial=0.0))))
    own = sens._augmented.layout.states(sens._y)[0][places]
    gap = float((np.abs(own - end) / np.maximum(nominal, np.abs(end))).max(initial=0.0))
    if gap > allowed:
        return Comparison(gap / allowed, f"dd.simulate ends elsewhere, by {gap:.1e} of the values")
    if slopes is None:
        return Comparison(gap / allowed)
    columns = sens._directions.columns("p")
    found = scaled[:, columns]
    scale = max(
        float(np.abs(slopes / nominal[:, None]).max(initial=0.0)), 1e-3 * (1 + float(np.abs(scaled).max(initial=0.0)))
    )
    off = float(np.abs(found - slopes / nominal[:, None]).max(initial=0.0)) / scale
    told = f"differences of dd.simulate by parameters are others, by {off:.1e}" if off > DIFFERENCES else ""
    return Comparison(max(gap / allowed, off / DIFFERENCES), told)


def _begins_anew(sens: DifferentiatedRun, case: Case) -> bool:
    """Whether parameters enter through events, or through what they make of the start."""
    return bool(sens._directions.p) and bool(case.system.constrains_start or case.foreseen)


def _parameter_slopes(sens: DifferentiatedRun, request: Request, names: list[str], size: np.ndarray) -> np.ndarray:
    """∂(end)/∂p in sizes of the parameters, by central differences of runs, (names, parameters)."""
    case = sens._parts[0].case
    labels, columns = case.system.labels["p"], sens._directions.columns("p")
    found = []
    for k, own in zip(sens._directions.p, size[columns]):
        step = INCREMENT * float(own)
        ends = [_end(request, names, {labels[k]: float(case.p[k]) + sign * step}) for sign in (1, -1)]
        found.append((ends[0] - ends[1]) / (2 * INCREMENT))
    return np.array(found).T


def _end(request: Request, names: list[str], changed: dict[str, float], loose: bool = False) -> np.ndarray:
    """Values at the end of a run of its own."""
    limits: dict[str, Any] = dict(zip(LIMITS, request.limits))
    tight = IMPLICIT_RTOL if is_implicit(request.method) else EXPLICIT_RTOL
    rtol: float = request.rtol
    atol: Any = request.atol
    if limits.get("step") is None and isinstance(atol, (int, float)) and tight < rtol and not loose:
        rtol, atol = tight, atol * tight / rtol
    run = simulate(
        request.model, request.span, request.start, request.inputs, {**(request.parameters or {}), **changed},
        request.method, rtol, atol, **limits, progress=False, on_stop="raise",
    )  # fmt: skip
    return np.array([float(np.asarray(run.end[name])) for name in names])
