"""The end of a run judged: branches that it left, starts that it could not begin with, early ends that are errors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from daedalus.errors import SolverError
from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import check_finite_inputs
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.recorded_run import Outcome
from daedalus.simulation.result.records_of_methods import BelowTolerance
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import Piece
from daedalus.simulation.run.request import Request
from daedalus.simulation.singular.branches import told_of_branches
from daedalus.simulation.start.singular_mass import check_start_mass

# Below this share of the largest state a motion may be rounding.
ROUNDING = 1e-12


def judged(whole: Trajectory, request: Request, first: Piece) -> Trajectory:
    """The run with records of the singular configurations it passed, up to where it left its branch.

    A start that made it stop at once is refused.
    """
    if type(whole) is not Trajectory or first.settings.has_branches:
        whole = told_of_branches(whole, request.rtol, request.save_at is None)
    if not whole.status.success:
        _check_start(whole, request, first)
    elif request.step is None and type(whole) is Trajectory:
        whole._outcome = partial(
            _told_of_small_states,
            whole.system,
            whole._x[:, whole._plant.row_parts["x"]],
            whole._outcome,
            np.asarray(first.settings.call["atol"]),
        )
    return whole


def _told_of_small_states(system: System, x: np.ndarray, outcome: Any, tolerances: np.ndarray) -> Outcome:
    """How a run went, with a record of states that tolerances never saw."""
    found: Outcome = outcome() if callable(outcome) else outcome
    largest, atol = np.abs(x).max(axis=0, initial=0.0), tolerances[: x.shape[1]]
    # Motions that rounding alone makes, beside larger ones, are at rest.
    small = (largest < atol) & (largest > ROUNDING * largest.max(initial=0.0))
    if not small.any() or np.all(x == x[0]):
        return found
    names = tuple(system.labels["x"][k] for k in np.flatnonzero(small))
    return replace(found, records=(*found.records, BelowTolerance(names, float(atol[small].max()))))


def _check_start(whole: Trajectory, request: Request, first: Piece) -> None:
    """Refuse what made a run stop at its start."""
    system, t0 = first.settings.plant.system, first.begin
    if whole.status is Ending.NOT_FINITE and not whole.work.steps:
        check_finite_inputs(system, first.drive, t0)
    if whole.status.may_be_massless:
        check_start_mass(request.model, system, t0, first.row, first.parameters)


def raise_stopped(trajectory: Trajectory) -> NoReturn:
    """Raise a SolverError that says how a run ended and carries it."""
    error = SolverError(
        f"The run of {trajectory.system.name!r} stopped early.",
        [trajectory.stop.sentence, f"{trajectory.work.steps} steps, {trajectory.work.rejected} rejected"],
        remedy=trajectory.stop.advice,
    )
    error.trajectory = trajectory  # type: ignore[attr-defined]
    raise error
