"""Runs of a model with a choice of states: the choice is made at the start and again wherever another one is better.

A piece of the run ends at the event of the choice, where a dependent state begins to move much faster than the selected
ones; the next piece begins with the same values and another choice (`daedalus.reduction.selection.dominant_columns`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daedalus.errors import SingularModelError
from daedalus.integrators.methods import METHODS
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.selected_plant import SelectedPlant
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import Piece, Stuck
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.stop_reason import without_advice

# Names in one note.
MOST_NAMES = 6
# Ends of a run that a singular configuration leads to, and how near one is where it is named as the reason.
LOST = ("newton_failed", "rounding", "singular", "step_too_small", "not_finite", "inconsistent")
NEAR = 1e-2
# How the note of a choice begins.
TOLD = "states selected "


def with_choice(piece: Piece, event: str = "") -> Piece:
    """A piece with the choice of states that fits its beginning; raises a SingularModelError where none does.

    `event` is that of the choice that ended the piece before.
    """
    settings, plant = piece.settings, piece.settings.plant
    if not isinstance(plant, SelectedPlant):
        return piece
    u = piece.drive.at_time(piece.begin)
    p = plant.selection.chosen(piece.begin, piece.row[plant.row_parts["x"]], u, piece.parameters, event)
    assert isinstance(settings.core_plant, ImplicitPlant)
    needs_drift = settings.method in METHODS and METHODS[settings.method].family == "rosenbrock"
    settings = replace(
        settings,
        rhs=plant.model_of(p, settings.core_plant, needs_drift),
        choice=plant.selection.places(p),
        notes=(*(note for note in settings.notes if not note.startswith(TOLD)), _told(plant, piece, p, event)),
    )
    return piece._replace(settings=settings, parameters=p, row=plant.completed(piece.begin, piece.row, u, p))


def _told(plant: SelectedPlant, piece: Piece, p: np.ndarray, event: str) -> str:
    selected, dependent = plant.selection.labels(p)
    when = f"anew at t = {piece.begin:.6g}" if event else "at the start"
    return f"{TOLD}{when}: {_listed(selected)}; dependent: {_listed(dependent)}"


def with_another_choice(road: Road, first: Piece, done: Trajectory) -> Piece | Stuck | None:
    """What follows a piece that stopped; None where it ended at an event of the model, or for no reason of the choice.

    `first` is the piece that the run began with: all of them run the same equations.
    """
    system = done.system
    if done.status != "event":
        return _singular(first, done) if done.status in LOST else None
    event = system.events[done.outcome.events[-1][0]].name
    if event not in {choice.event for choice in system.choices}:
        return None
    moment = done.end
    following = first._replace(begin=float(moment.time), row=moment._x[0], parameters=done._parameters)
    try:
        return with_choice(following, event)
    except SingularModelError as error:
        return Stuck("; ".join([error.what.rstrip("."), *error.facts, f"try {error.remedy}"]))


def _singular(first: Piece, done: Trajectory) -> Stuck | None:
    """The reason where a run failed near a point at which no choice is regular."""
    plant, end = first.settings.plant, done.end
    assert isinstance(plant, SelectedPlant)
    begin, now = (
        plant.selection.matrices(t, row[plant.row_parts["x"]], first.drive.at_time(t), done._parameters)
        for t, row in ((first.begin, first.row), (float(end.time), end._x[0]))
    )
    near, group = plant.selection.weakest(begin, now)
    if near > NEAR:
        return None
    names = tuple(row.label for row in group.choice.constraints[0])
    hardly = "hardly determines any of its" if len(names) == 1 else "hardly determine any of their"
    return Stuck(
        f"the run comes near a singular configuration at t = {float(end.time):.6g}: {_listed(names)} {hardly} states "
        f"there; {without_advice(done.stop_reason)}"
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
