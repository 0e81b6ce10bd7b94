"""The end of a run judged: branches that it left, starts that it could not begin with, early ends that are errors."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from daedalus.errors import SolverError
from daedalus.simulation.inputs.read_inputs import check_finite_inputs
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.dead_centres import along_branches
from daedalus.simulation.run.repeated_equations_hold import repeated_equations_hold
from daedalus.simulation.run.road import Piece
from daedalus.simulation.singular.lost_rows import without_lost_rows
from daedalus.simulation.start.singular_mass import check_start_mass


def judged(whole: Trajectory, first: Piece, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run led over singular configurations, or up to the first where it left its branch.

    A start that made it stop at once is refused.
    """
    request = first.road.request
    has_steps = request.save_at is None
    if type(whole) is not Trajectory or first.settings.has_branches:
        whole = along_branches(first, whole, progress, cancel)
    if not whole.status.success:
        _check_start(whole, first)
        # Events that pile up end a run whose steps were as good as any.
        if request.step is None and whole.status is not Ending.CHATTERING:
            tolerances = np.asarray(first.settings.call["atol"])
            whole = without_lost_rows(whole, tolerances, request.rtol, has_steps)
    return repeated_equations_hold(whole, has_steps)


def _check_start(whole: Trajectory, first: Piece) -> None:
    """Refuse what made a run stop at its start."""
    system, t0 = first.settings.plant.system, first.begin
    if whole.status is Ending.NOT_FINITE and not whole.work.steps:
        check_finite_inputs(system, first.drive, t0)
    if whole.status.may_be_massless:
        check_start_mass(first.road.request.model, system, t0, first.row, first.parameters)


def raise_stopped(trajectory: Trajectory) -> NoReturn:
    """Raise a SolverError that says how a run ended and carries it."""
    error = SolverError(
        f"The run of {trajectory.system.name!r} stopped early.",
        [trajectory.stop.sentence, f"{trajectory.work.steps} steps, {trajectory.work.rejected} rejected"],
        remedy=trajectory.stop.advice,
    )
    error.trajectory = trajectory  # type: ignore[attr-defined]
    raise error
