"""The first row (x, z, x') of an implicit run: given states kept, the rest solved for, conflicts named.

Where x' and z follow from x at once (index 1) the core solves for them; otherwise, and where that does not arrive,
`dd.initialise` does, hidden constraints included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from daedalus.errors import InconsistentStartError, InputError
from daedalus.initialisation.initialise import initialise
from daedalus.initialisation.start import Start
from daedalus.model.model import Model, as_system
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.model.values import given_start
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.start.consistent_start import in_terms_of_start
from daedalus.simulation.start.continued_row import continued_row

ROW = ("x", "z", "xdot")
# The tolerance of z and x', tighter than any run asks for.
RTOL, ATOL = 1e-10, 1e-12
# A given state that is determined by the others may be off by this share of its size.
UNMOVED = 1e-8


class RowRequest(NamedTuple):
    """What a first row follows from."""

    model: Model | System
    plant: ImplicitPlant
    start: Any
    inputs: Mapping[str, object]
    t0: float
    drive: Drive
    p: np.ndarray

    @property
    def source(self) -> Model | System:
        """What is initialised: the model where it is run as it is written, else the system of the run."""
        return self.model if as_system(self.model) is self.plant.system else self.plant.system

    @property
    def values(self) -> dict[str, Any]:
        """The other arguments of `dd.initialise`."""
        system = self.plant.system
        plain = {name: value for name, value in self.inputs.items() if name in system.places}
        return {"inputs": plain, "parameters": dict(zip(system.labels["p"], self.p.tolist())), "time": self.t0}


def first_row(
    model: Model | System, plant: ImplicitPlant, drive: Drive, start: Any, inputs: Mapping[str, object], t0: float,
    p: np.ndarray, at_once: bool = True, allowed: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """A consistent row for given start values; InconsistentStartError names what contradicts what.

    `at_once`: whether open states may keep their guesses where x' and z follow from x. `allowed`: by which share of
    their size given states may be off the constraints; they begin on them.
    """
    system = plant.system
    if isinstance(start, Start) and start.system is system and start.time == t0 and _same(start.vectors["p"], p):
        return start.row
    asked = RowRequest(model, plant, start, inputs, t0, drive, p)
    if isinstance(start, Samples):
        row = continued_row(system, start, drive, t0, p)
        if row is not None:
            return row
    try:
        key = _key(asked) if at_once and not isinstance(start, Samples) else None
        return _exact_row(system, By(asked), at_once) if key is None else once(system, _exact_row, By(asked, key), True)
    except InconsistentStartError as error:
        # As near as this run asks for: another one may ask for more, so it is not kept.
        near = _nearest(asked, allowed)
        if near is None:
            raise in_terms_of_start(error, []) from None
        return near


def _exact_row(system: System, by: By[RowRequest], at_once: bool) -> np.ndarray:
    asked, row = by.value, None
    if at_once and not isinstance(asked.start, Samples) and asked.plant.index.largest == 1 and not system.choices:
        row = _solved(asked)
    return _row_of(initialise(asked.source, asked.start, **asked.values)) if row is None else row


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or a.tobytes() == b.tobytes()


def _solved(asked: RowRequest) -> np.ndarray | None:
    """z and x' from x by the core; None where values were given for them, or where a given state would have to move."""
    plant, system, given = asked.plant, asked.plant.system, given_start(asked.plant.system, asked.start)
    if len(given) > 1:
        return None
    x = np.where(np.isnan(given["x"]), 0.0, given["x"])
    guess = np.concatenate([x, np.nan_to_num(system.start["z"], nan=0.0), np.zeros(system.sizes["x"])])
    scale = np.concatenate([system.nominal["x"], system.nominal["z"], np.ones(system.sizes["x"])])
    u = asked.drive.at_time(asked.t0)
    row: np.ndarray | None = plant.model.consistent(asked.t0, guess, u, asked.p, RTOL, ATOL * scale)
    if row is None:
        return None
    moved = plant.without_derivative
    held = moved[~np.isnan(given["x"][moved])]
    if np.any(np.abs(row[held] - x[held]) > UNMOVED * np.maximum(system.nominal["x"][held], np.abs(x[held]))):
        return None
    row[held] = x[held]
    return row


def _row_of(found: Start) -> np.ndarray:
    return np.concatenate([found.vectors[letter] for letter in ROW])


def _nearest(asked: RowRequest, allowed: float) -> np.ndarray | None:
    """The consistent row nearest to states that are off the constraints by no more than is allowed."""
    if allowed <= 0:
        return None
    system, start = asked.plant.system, asked.start
    states = [name for name, place in system.places.items() if place.letter == "x"]
    try:
        found = initialise(asked.source, start, free=states, **asked.values)
    except (InconsistentStartError, InputError):
        return None
    if isinstance(start, Samples):
        wanted = np.array([start[label] for label in system.labels["x"]], dtype=float)
    else:
        wanted = given_start(system, start)["x"]
    held = ~np.isnan(wanted)
    size = np.maximum(system.nominal["x"], np.abs(wanted))
    near = np.abs(found.vectors["x"] - wanted)[held] <= allowed * size[held]
    return _row_of(found) if near.all() else None


def _key(asked: RowRequest) -> tuple[object, ...] | None:
    """What a start depends on; None where that cannot be compared."""
    drive, given = asked.drive, given_start(asked.plant.system, asked.start)
    if drive.tables or drive.callbacks:
        return None
    numbers = (asked.t0, asked.p.tobytes(), drive.constants.tobytes())
    return (*numbers, *((letter, v.tobytes()) for letter, v in given.items()))
