"""The row that a run begins with: start values read, completed where they were left open, refused where they clash."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.errors import InconsistentStartError, InputError
from daedalus.initialisation.start import Start as ConsistentStart
from daedalus.model.mechanics.joint_sides import check_joint_sides, joint_sides
from daedalus.model.system.conservation import check_kept, has_declared
from daedalus.model.system.system import System
from daedalus.model.values import given_start
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.held_levels import system_with_levels
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.request import Start
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.start.allowed_share import allowed_share
from daedalus.simulation.start.consistent_start import check_on_invariants, consistent_start, is_off
from daedalus.simulation.start.implicit_start import first_row

# At how many times of the span inputs are read to see whether what was declared is kept.
INPUTS_LOOKED_AT = 4


def start_row(road: Road, t0: float, p: np.ndarray, start: Start | None) -> tuple[np.ndarray, Drive]:
    """The first row, and the drive with what is to be told of the start; joints sit as they are meant to."""
    row, drive = _row(road, t0, p, start)
    written = road.request.system
    if joint_sides(written) is not None:
        states = dict(zip(road.settings.plant.system.labels["x"], row.tolist()))
        check_joint_sides(written, t0, states, drive.at_time(t0), p)
    _check_declared(road, t0, row, drive, p)
    return row, drive


def _check_declared(road: Road, t0: float, row: np.ndarray, drive: Drive, p: np.ndarray) -> None:
    """Refuse invariants that somebody declared and that the equations do not keep under these inputs."""
    plant = road.settings.plant
    if not has_declared(plant.system):
        return
    looked_at = plant.system
    if isinstance(plant, ImplicitPlant):
        looked_at = system_with_levels(plant.system, plant.index) or plant.system
    times = np.linspace(t0, road.request.t1, INPUTS_LOOKED_AT).tolist()
    check_kept(looked_at, times, row[plant.row_parts["x"]], [drive.at_time(t) for t in times], p)


def _row(road: Road, t0: float, p: np.ndarray, start: Start | None) -> tuple[np.ndarray, Drive]:
    """The row on the equations, and the drive with what was done for that."""
    request, settings, drive = road.request, road.settings, road.drive
    plant, system = settings.plant, settings.plant.system
    if plant.is_implicit:
        return _implicit_row(road, t0, p, start), drive
    row = system.default_start if start is None else read_start(plant, drive, start, t0, p, settings)
    if system.constrains_start:
        row, done = consistent_start(request, road.inputs, plant, drive, t0, row, p, start)
        drive = drive._replace(notes=(*drive.notes, *done)) if done else drive
    return row, drive


def _implicit_row(road: Road, t0: float, p: np.ndarray, start: Start | None) -> np.ndarray:
    """(x, z, x') on the equations and on what the model keeps: open values follow from it, given ones never move."""
    plant, drive, rtol = road.settings.plant, road.drive, road.request.rtol
    assert isinstance(plant, ImplicitPlant)
    row = first_row(road.request.model, plant, drive, start, road.inputs, t0, p, allowed=allowed_share(rtol))
    if not plant.system.constrains_start or not is_off(plant, drive, t0, row, p, rtol):
        return row
    if np.isnan(given_start(plant.system, _plain(start))["x"]).any():
        whole = first_row(road.request.model, plant, drive, start, road.request.inputs or {}, t0, p, at_once=False)
        if not is_off(plant, drive, t0, whole, p, rtol):
            return whole
    check_on_invariants(plant, drive, t0, row, p, rtol)
    return row


def _plain(start: Start | None) -> Mapping[str, Any] | None:
    return None if isinstance(start, Samples) else start


def read_start(plant: Plant, drive: Drive, start: Start, t0: float, p: np.ndarray, settings: Settings) -> np.ndarray:
    """x at the start; given derivatives and algebraic values must agree with the equations."""
    if isinstance(start, ConsistentStart) and start.system.labels["x"] == plant.system.labels["x"]:
        return start.vectors["x"]
    given = given_start(plant.system, _start_mapping(plant.system, start))
    x0 = given["x"]
    if not math.isfinite(x0.dot(x0)):
        x0 = np.where(np.isnan(x0), 0.0, x0)
    if len(given) > 1:
        _check_given(plant, drive, given, t0, x0, p, settings)
    return x0


def _start_mapping(system: System, start: Start) -> Mapping[str, Any]:
    """Start values by name; a snapshot of another run gives those of its states that this model has."""
    if not isinstance(start, Samples):
        return start
    if start._times.size != 1:
        raise InputError(
            "A start is one moment of a run.", f"got {start._times.size} times", remedy="start=tr.at(t) with one t"
        )
    names = [name for name, place in system.places.items() if place.letter == "x"]
    single = {name: start._values(name)[0] for name in names if name in start}
    if not single:
        raise InputError("The start has no state of this model.", f"the model has {', '.join(names[:8])}")
    return single


def _check_given(
    plant: Plant, drive: Drive, given: Mapping[str, np.ndarray], t0: float, x0: np.ndarray, p: np.ndarray,
    settings: Settings,
) -> None:  # fmt: skip
    """Refuse given derivatives or algebraic values that the equations contradict."""
    for letter in ("xdot", "z"):
        asked = np.flatnonzero(~np.isnan(given[letter])) if letter in given else ()
        if not len(asked):
            continue
        sample = Samples(plant, drive, p, np.array([t0]), x0[None, :])
        actual = sample._vector(letter)[0]
        for k in asked:
            wanted, name = given[letter][k], plant.system.labels[letter][k]
            gap = abs(actual[k] - wanted)
            floor = settings.call["atol"][k] if letter == "xdot" else 1e-9
            if gap > 10 * (settings.rtol * abs(wanted) + floor):
                raise InconsistentStartError(
                    f"The given {name} contradicts the equations.",
                    f"given {wanted:g}, the equations give {actual[k]:g}: a distance of {gap:.3g}",
                    because=f"{name} follows from the states at the start.",
                    remedy=f"leave {name} out of start=, or change the states",
                )
