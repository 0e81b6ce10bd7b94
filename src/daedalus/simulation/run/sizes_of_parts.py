"""Absolute tolerances of networks whose signals turn out small: they follow from the sizes that a first run has shown.

Parts bring voltages, currents and speeds without knowing how large these get: a nominal value of one volt says nothing
of a network of microvolts. Bodies and joints have lengths and angles, whose sizes are known: a joint that hardly moves
beside others stays as it is. A state of a part that stays within a thousand absolute tolerances over a run is not
resolved by it, so the run is made once more with tolerances in units of its largest value, first as far as the rounding
errors of the largest state allow, then as far as the run does not get much longer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.deadline import OutOfTime, current_deadline
from daedalus.initialisation.written_states import first_written
from daedalus.model.mechanics.mechanics_part import Mechanics
from daedalus.model.names import split_derivative, split_index
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.records_of_methods import SizesOfParts
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.request import LIMITS, Request
from daedalus.simulation.run.settings import SMALLEST
from daedalus.simulation.run.small_states import RESOLVED, moving

# Rounding errors of the largest state, in its last digits, that smaller ones may feel.
NOISE = 64 * EPSILON
# A run with tolerances below these errors may take so many times the steps of the one before, and a few more; one with
# tolerances above them more, but no end is waited for: what a network at rest shows may be rounding errors alone.
AT_MOST_TIMES, FEW_STEPS = 4, 1000
MANY_TIMES, MANY_STEPS = 100, 20_000
# A run is made again so often at most.
MOST_RUNS = 4


def by_sizes_of_parts(request: Request, whole: Trajectory, again: Callable[[Request], Trajectory]) -> Trajectory:
    """The run, or the one that `again` makes with tolerances that follow from it, where that ends well too.

    Tolerances by name, fixed steps and models with discrete variables, whose clocks may call Python code, stay as they
    are. A run that resolved nothing may show sizes that are far too large: those of the next one count then.
    """
    number = isinstance(request.atol, (int, float, np.integer, np.floating))
    if not number or request.step is not None or not whole.success or whole.system.discrete_count:
        return whole
    if not any(once(piece.system, _of_parts) for piece in whole.pieces):
        return whole
    atol = float(request.atol)  # type: ignore[arg-type]
    told: dict[str, None] = {}
    tolerances: dict[str, float] = {}
    *asked, time_limit = request.limits
    limits = list(asked)
    steps = LIMITS.index("max_steps")
    for _ in range(MOST_RUNS):
        tolerances, small = _tolerances(whole, atol, tolerances, NOISE)
        is_noisy = not small
        if is_noisy:
            # What the largest states do not feed is free of their rounding errors: a run that is not much longer shows.
            tolerances, small = _tolerances(whole, atol, tolerances, 0.0)
        if not small:
            break
        times, more = (AT_MOST_TIMES, FEW_STEPS) if is_noisy else (MANY_TIMES, MANY_STEPS)
        most = times * whole.work.steps + more
        limits[steps] = most if asked[steps] is None else min(most, asked[steps])
        # A limit that no double holds is none.
        if time_limit is not None and time_limit < sys.float_info.max:
            time_limit -= whole.work.seconds
        if time_limit is not None and time_limit <= whole.work.seconds:
            break
        try:
            second = again(request.with_options(atol=tolerances, limits=(*limits, time_limit)))
        except OutOfTime as reason:
            if reason.deadline is not current_deadline():
                raise
            reason.deadline.dismiss()
            break
        if not second.success:
            break
        whole = second
        told.update(dict.fromkeys(small))
    return _told(whole, tuple(told)) if told else whole


def _tolerances(
    whole: Trajectory, atol: float, before: dict[str, float], noise: float
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The tolerance of every state by name, and the states of parts for which it is smaller than it was before.

    noise: the share of the largest state that none is smaller than.
    """
    if not before and not any(_has_small_states(piece, atol) for piece in whole.pieces):
        return {}, ()
    largest: dict[str, float] = {}
    tolerances: dict[str, float] = {}
    moved: set[str] = set()
    of_parts = frozenset[str]().union(*(once(piece.system, _of_parts) for piece in whole.pieces))
    for piece in whole.pieces:
        plant: Any = piece._plant
        labels, x = plant.system.labels["x"], piece._x[:, plant.row_parts["x"]]
        if len(x) == 0:
            continue
        sizes = np.abs(x).max(axis=0, initial=0.0)
        moves = (x != x[:1]).any(axis=0)
        if noise:
            moves &= moving(x, float(sizes.max(initial=0.0)))
        for k, label in enumerate(labels):
            largest[label] = max(largest.get(label, 0.0), float(sizes[k]))
            tolerances[label] = before.get(label, max(atol * float(plant.system.nominal["x"][k]), SMALLEST))
        moved.update(label for k, label in enumerate(labels) if moves[k])
    top, small = max(largest.values(), default=0.0), []
    for label, size in largest.items():
        own = max(atol * size, noise * top, SMALLEST)
        if label in moved and label in of_parts and size < RESOLVED * tolerances[label] and own < tolerances[label]:
            tolerances[label] = own
            small.append(label)
    return tolerances, tuple(small)


def _has_small_states(piece: Trajectory, atol: float) -> bool:
    """Whether a state that moves stays below what its tolerance resolves."""
    plant: Any = piece._plant
    x = piece._x[:, plant.row_parts["x"]]
    if len(x) == 0:
        return False
    tolerances = np.maximum(atol * plant.system.nominal["x"], SMALLEST)
    small: np.ndarray = np.abs(x).max(axis=0, initial=0.0) < RESOLVED * tolerances
    return bool((x[:, small] != x[:1, small]).any())


def _of_parts(system: System) -> frozenset[str]:
    """The states of parts, whose names are paths; what moves bodies and joints is none of them."""
    part = first_written(system).part(Mechanics)
    written = None if part is None or part.book is None else part.book.written.mechanics
    moves = set[str]() if written is None else {*written.positions, *(v.velocity for v in written.velocities.values())}
    paths = [name for name in system.labels["x"] if "." in name]
    return frozenset(name for name in paths if split_derivative(split_index(name)[0])[0] not in moves)


def _told(whole: Trajectory, small: tuple[str, ...]) -> Trajectory:
    first, *rest = whole.pieces
    outcome = replace(first.outcome, records=(*first.outcome.records, SizesOfParts(small)))
    told = first.remade(first.status, outcome)
    return joined([told, *rest]) if rest else told
