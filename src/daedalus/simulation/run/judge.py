"""The end of a run judged: branches that it left, starts that it could not begin with, early ends that are errors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from daedalus.errors import SolverError
from daedalus.simulation.inputs.read_inputs import check_finite_inputs
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.recorded_run import Outcome
from daedalus.simulation.result.records_of_methods import BelowTolerance
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import Piece
from daedalus.simulation.run.request import Request
from daedalus.simulation.run.settings import Settings
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
    elif type(whole) is Trajectory and request.limits[0] is None:
        rows = vars(whole).get("_x")  # not made yet where nobody asked for them
        whole._outcome = partial(_told_of_small_states, first.settings, whole._outcome, whole._source, rows)
    return whole


def _told_of_small_states(settings: Settings, outcome: Any, run: Any, rows: np.ndarray | None) -> Outcome:
    """How a run went, with a record of states that tolerances never saw; its rows are those of the core run if None."""
    found: Outcome = outcome() if callable(outcome) else outcome
    plant = settings.plant
    x = (run.x if rows is None else rows)[:, plant.row_parts["x"]]
    largest, atol = np.abs(x).max(axis=0, initial=0.0), np.asarray(settings.call["atol"])[: x.shape[1]]
    # Motions that rounding alone makes, beside larger ones, are at rest.
    small = (largest < atol) & (largest > ROUNDING * largest.max(initial=0.0))
    if not small.any() or np.all(x == x[0]):
        return found
    names = tuple(plant.system.labels["x"][k] for k in np.flatnonzero(small))
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
