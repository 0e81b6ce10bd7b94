"""The discrete adjoint of a run whose equations change on the way: pulled back part by part, over the joints too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.differentiation.across_changes import landed, refuse_steps_past
from daedalus.differentiation.case import Case
from daedalus.differentiation.parts import instant_behind, next_part
from daedalus.differentiation.steps.adjoint import backward, forward
from daedalus.differentiation.steps.segments import Room, Segment
from daedalus.integrators.methods import is_implicit
from daedalus.simulation.result.ending import Ending


class ForwardPart(NamedTuple):
    """A part of the nominal run: its case, its segments, and ∂x⁺/∂(x, u, p) of the joint behind it."""

    case: Case
    segments: list[Segment]
    joint: np.ndarray | None = None


def forward_in_parts(case: Case) -> tuple[list[ForwardPart], np.ndarray] | None:
    """The nominal run and its last row; None where "auto" finds that explicit steps are held back."""
    parts, room = list[ForwardPart](), Room()
    landing = landed(case)
    if landing is not None:
        parts.append(ForwardPart(case, _at_rest(case)[0], landing.slopes))
        case = landing.case
    while True:
        found = forward(case, room) if case.t0 != case.t1 or case.foreseen is None else _at_rest(case)
        if found is None:
            return None
        segments, last, status = found
        t = float(segments[-1].times[-1])
        instant = instant_behind(case, status, t)
        if instant is None:
            return [*parts, ForwardPart(case, segments)], last
        following = next_part(case, instant, t, last)
        refuse_steps_past(following, t)
        parts.append(ForwardPart(case, segments, following.slopes))
        case = following.case


def _at_rest(case: Case) -> tuple[list[Segment], np.ndarray, Ending]:
    """A run over no time, between the start and an instant there."""
    row = case.row0 if is_implicit(case.method) else case.x0
    return [Segment(np.array([case.t0]), row)], row, Ending.FINISHED


def backward_in_parts(parts: list[ForwardPart], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pull weights of the last state back: to those of the first state (n,), of inputs (blocks, nu) and of p (np,)."""
    first = parts[0].case
    n, nu = len(first.x0), first.system.sizes["u"]
    by_inputs, by_parameters = np.zeros((max(first.intervals, 1), nu)), np.zeros(len(first.p))
    for case, segments, joint in reversed(parts):
        if joint is not None:
            pulled = weights @ joint
            weights = np.ascontiguousarray(pulled[:n])
            by_inputs[case.interval_at(float(segments[-1].times[-1]))] += pulled[n : n + nu]
            by_parameters += pulled[n + nu :]
        weights, of_inputs, of_p = backward(case, segments, weights)
        by_inputs += of_inputs
        by_parameters += of_p
    return weights, by_inputs, by_parameters
