"""The first row (x, z, x') of an implicit run: given states kept, the rest solved for, conflicts named.

Where x' and z follow from x at once (index 1) the core solves for them; otherwise, and where that does not arrive,
`dd.initialise` does, hidden constraints included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.errors import InconsistentStartError, InputError
from daedalus.initialisation.initialise import initialise
from daedalus.initialisation.start import Start
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.model.values import given_start
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.start.consistent_start import in_terms_of_start
from daedalus.simulation.start.continued_row import continued_row

ROW = ("x", "z", "xdot")
# Starts are kept for a repeated call; beyond this many the memory begins anew.
MOST_KEPT = 64
# The tolerance of z and x', tighter than any run asks for.
RTOL, ATOL = 1e-10, 1e-12
# A given state that is determined by the others may be off by this share of its size.
UNMOVED = 1e-8


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
    if isinstance(start, Samples):
        row = continued_row(system, start, drive, t0, p)
        return _initialised(model, system, start, inputs, t0, p, allowed) if row is None else row
    kept = system.prepared.setdefault("starts", {})
    given = given_start(system, start)
    key = _key(given, drive, t0, p) if at_once else None
    row = None if key is None else kept.get(key)
    if row is None:
        if at_once and plant.index.largest == 1 and not system.choices:
            row = _solved(plant, given, t0, drive.at_time(t0), p)
        if row is None:
            row = _initialised(model, system, start, inputs, t0, p, allowed)
            x = given["x"]
            if not np.array_equal(row[: len(x)][~np.isnan(x)], x[~np.isnan(x)]):
                return row  # as near as this run asks for: another one may ask for more
        if len(kept) >= MOST_KEPT:
            kept.clear()
        if key is not None:
            kept[key] = row
    return row


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or a.tobytes() == b.tobytes()


def _solved(
    plant: ImplicitPlant, given: Mapping[str, np.ndarray], t0: float, u: np.ndarray, p: np.ndarray
) -> np.ndarray | None:
    """z and x' from x by the core; None where values were given for them, or where a given state would have to move."""
    if len(given) > 1:
        return None
    system = plant.system
    x = np.where(np.isnan(given["x"]), 0.0, given["x"])
    guess = np.concatenate([x, np.nan_to_num(system.start["z"], nan=0.0), np.zeros(system.sizes["x"])])
    scale = np.concatenate([system.nominal["x"], system.nominal["z"], np.ones(system.sizes["x"])])
    row: np.ndarray | None = plant.model.consistent(t0, guess, u, p, RTOL, ATOL * scale)
    if row is None:
        return None
    moved = plant.without_derivative
    held = moved[~np.isnan(given["x"][moved])]
    if np.any(np.abs(row[held] - x[held]) > UNMOVED * np.maximum(system.nominal["x"][held], np.abs(x[held]))):
        return None
    row[held] = x[held]
    return row


def _initialised(
    model: Model | System, system: System, start: Any, inputs: Mapping[str, object], t0: float, p: np.ndarray,
    allowed: float,
) -> np.ndarray:  # fmt: skip
    source = model if as_system(model) is system else system
    plain = {name: value for name, value in inputs.items() if name in system.places}
    values = dict(zip(system.labels["p"], p.tolist()))
    given: dict[str, Any] = {"inputs": plain, "parameters": values, "time": t0}
    try:
        found = initialise(source, start, **given)
    except InconsistentStartError as error:
        near = _nearest(source, system, start, given, allowed)
        if near is None:
            raise in_terms_of_start(error, []) from None
        found = near
    return np.concatenate([found.vectors[letter] for letter in ROW])


def _nearest(
    source: Model | System, system: System, start: Any, given: Mapping[str, Any], allowed: float
) -> Start | None:
    """The consistent start nearest to states that are off the constraints by no more than is allowed."""
    if allowed <= 0:
        return None
    states = [name for name, place in system.places.items() if place.letter == "x"]
    try:
        found = initialise(source, start, free=states, **given)
    except (InconsistentStartError, InputError):
        return None
    if isinstance(start, Samples):
        wanted = np.array([start[label] for label in system.labels["x"]], dtype=float)
    else:
        wanted = given_start(system, start)["x"]
    held = ~np.isnan(wanted)
    size = np.maximum(system.nominal["x"], np.abs(wanted))
    near = np.abs(found.vectors["x"] - wanted)[held] <= allowed * size[held]
    return found if near.all() else None


def _key(given: Mapping[str, np.ndarray], drive: Drive, t0: float, p: np.ndarray) -> tuple[object, ...] | None:
    """What a start depends on; None where that cannot be compared."""
    if drive.tables or drive.callbacks:
        return None
    return (t0, p.tobytes(), drive.constants.tobytes(), *((letter, v.tobytes()) for letter, v in given.items()))
