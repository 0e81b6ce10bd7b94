"""Runs whose equations change on the way: other redundant constraints, conditions across which they jump, instants.

Each part is a case of its own, with the same states, inputs and parameters, and ends with what the run recorded.
"""

from __future__ import annotations

import numpy as np

from daedalus.differentiation.across_changes import behind_change, new_surfaces, onto_surface, part_of, stretch_of
from daedalus.differentiation.case import Case
from daedalus.differentiation.events.saltation import carried, in_turn
from daedalus.differentiation.instants.foreseen import Instant
from daedalus.differentiation.instants.instant_maps import instant_maps_of
from daedalus.differentiation.next_part import NextPart
from daedalus.errors import SolverError
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.sliding.sliding_system import Sliding

# A change of the equations is passed where a part ends without it this near to its time, in parts of the run.
NEAR_ITS_TIME = 1e-3


def instant_behind(case: Case, status: Ending, t: float) -> Instant | None:
    """The instant that a part ended with at t, which another part follows; None where it was the last one."""
    following = case.next_instant
    if following is None or not (t == case.t1 or status is Ending.EVENT):
        return None
    if abs(t - following.time) > NEAR_ITS_TIME * abs(case.last_time - case.first_time):
        raise _not_met(case, following, t)
    return following


def _not_met(case: Case, instant: Instant, t: float) -> SolverError:
    return SolverError(
        f"The run of {case.system.name!r} with derivatives differs from the run without them.",
        f"its equations change at t = {instant.time:.6g}, and with derivatives at t = {t:.6g}",
        because="the smallest change decides when that happens, so there is no derivative.",
        remedy="a smaller rtol, or a span that ends before it",
    )


def next_part(case: Case, instant: Instant, t: float, row: np.ndarray) -> NextPart:
    """What follows the instant that a part ended with, at the row (x, or (x, z, x')) that it ended with."""
    whole = case.row_at(t, row[: len(case.x0)]) if case.has_formulas else row
    if instant.change is not None:
        return behind_change(case, instant.change, t, whole)
    return _behind_instant(case, instant, t, whole)


def _behind_instant(case: Case, instant: Instant, t: float, row: np.ndarray) -> NextPart:
    """Behind an instant equations have the modes that hold there, and a run slides along what it is on."""
    n = len(case.x0)
    behind, reset, time = instant_maps_of(case).jump(case, instant, t, row)
    following = case.behind_instant(t, behind)
    assert case.foreseen is not None
    if not case.foreseen.stretches:
        return NextPart(following, carried(reset, row[-n:], following.row0[-n:], time))
    following = part_of(following, t, behind[:n], behind)
    if stretch_of(following).system.part(Sliding) is not None:
        reset = in_turn(onto_surface(following), reset)
    slopes = carried(reset, row[-n:], following.row0[-n:], time)
    return NextPart(following, slopes, new_surfaces(stretch_of(case), following))
