"""The row that a run begins with: start values read, completed where they were left open, refused where they clash."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.errors import InconsistentStartError, InputError
from daedalus.initialisation.start import Start as ConsistentStart
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.model.values import given_start
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.start.consistent_start import allowed_share, check_on_invariants, consistent_start, is_off
from daedalus.simulation.start.implicit_start import first_row
from daedalus.simulation.start.restart import with_restart
from daedalus.simulation.start.vanishing_divisor import check_divisors

Start = Mapping[str, object] | Samples
Given = tuple[Start | None, Mapping[str, object] | None, Mapping[str, object] | None]


def start_row(
    model: Model | System, settings: Settings, drive: Drive, t0: float, p: np.ndarray, left: Mapping[str, object],
    given: Given,
) -> tuple[np.ndarray, Settings, Drive]:  # fmt: skip
    """The first row, and the settings and the drive with what the start adds to them.

    `given` is start, inputs and parameters as they came; `left` the inputs that the system still takes.
    """
    plant, start = settings.plant, given[0]
    system, rtol = plant.system, settings.rtol
    if plant.is_implicit:
        assert isinstance(plant, ImplicitPlant)
        row = first_row(model, plant, drive, start, left, t0, p, allowed=allowed_share(rtol))
        if system.has_invariants:
            row = _on_invariants(model, plant, drive, t0, row, p, rtol, given)
        if system.events and plant.index.largest > 1 and any(event.resets for event in system.events):
            settings = with_restart(settings, model)
        return row, settings, drive
    row = system.default_start if start is None else read_start(plant, drive, start, t0, p, settings)
    if system.has_invariants:
        row, done = consistent_start(model, plant, drive, t0, row, p, rtol, given)
        drive = drive._replace(notes=(*drive.notes, *done)) if done else drive
    check_divisors(model, plant, drive, t0, row, p)
    return row, settings, drive


def _on_invariants(
    model: Model | System, plant: ImplicitPlant, drive: Drive, t0: float, row: np.ndarray, p: np.ndarray, rtol: float,
    given: Given,
) -> np.ndarray:  # fmt: skip
    """The row on what the model keeps: values that were left open follow from it, given ones are never moved."""
    open_states = isinstance(model, Model) and np.isnan(given_start(plant.system, _plain(given[0]))["x"]).any()
    if open_states and is_off(plant, drive, t0, row, p, rtol):
        whole = first_row(model, plant, drive, given[0], given[1] or {}, t0, p, at_once=False)
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
