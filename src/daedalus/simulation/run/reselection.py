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
from daedalus.simulation.result.ending import Ending, Obstacle, Stop
from daedalus.simulation.result.records_on_the_way import StatesSelected
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.road import Piece
from daedalus.simulation.singular.stopped_places import no_choice_end


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
        notes=(*(r for r in settings.notes if not isinstance(r, StatesSelected)), _selected(plant, piece, p, event)),
    )
    row = plant.completed(piece.begin, piece.row, u, p)
    return piece.with_settings(settings)._replace(parameters=p, row=row)


def _selected(plant: SelectedPlant, piece: Piece, p: np.ndarray, event: str) -> StatesSelected:
    return StatesSelected(piece.begin if event else None, *plant.selection.labels(p))


def with_another_choice(first: Piece, done: Trajectory) -> Piece | Stop | None:
    """What follows a piece that stopped; None where it ended at an event of the model, or for no reason of the choice.

    `first` is the piece that the run began with: all of them run the same equations.
    """
    system = done.system
    if done.status is not Ending.EVENT:
        plant = first.settings.plant
        if not done.status.may_lack_states or not isinstance(plant, SelectedPlant):
            return None
        return no_choice_end(done, plant, first.drive, first.begin, first.row)
    event = system.events[done.outcome.events[-1][0]].name
    if event not in {choice.event for choice in system.choices}:
        return None
    moment = done.end
    following = first._replace(begin=float(moment.time), row=moment._x[0], parameters=done._parameters)
    try:
        return with_choice(following, event)
    except SingularModelError as error:
        return Stop(
            Ending.STUCK, following.begin, error.what.rstrip("."), tuple(error.facts), error.remedy,
            obstacle=Obstacle.SINGULAR_CONFIGURATION,
        )  # fmt: skip
