"""The first row (x, z, x') of an implicit run: given states kept, the rest solved for, conflicts named.

Where x' and z follow from x at once (index 1) the core solves for them; otherwise, and where that does not arrive,
`dd.initialise` does, hidden constraints included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.algebra.agreement import HALF_OF_DIGITS
from daedalus.analysis.structure.system_structure import LONG_EQUATIONS
from daedalus.errors import InconsistentStartError, InputError
from daedalus.initialisation.initialise import initialise
from daedalus.initialisation.start import Start
from daedalus.initialisation.start_in_form import by_states, states_in
from daedalus.initialisation.written_states import with_given_elsewhere
from daedalus.model.model import Model, as_system
from daedalus.model.system.once import KeptByKey, once
from daedalus.model.system.system import System
from daedalus.model.values import given_start
from daedalus.reduction.switches import Switches
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant, by_shape
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.start.consistent_start import in_terms_of_start
from daedalus.simulation.start.continued_row import continued_row

ROW = ("x", "z", "xdot")
# The tolerance of z and x', tighter than any run asks for.
RTOL, ATOL = 1e-10, 1e-12
# A given state that is determined by the others may be off by this share of its size.
UNMOVED = HALF_OF_DIGITS


class RowRequest(NamedTuple):
    """What a first row follows from."""

    model: Model | System
    plant: ImplicitPlant
    start: Any
    inputs: Mapping[str, object]
    t0: float
    drive: Drive
    p: np.ndarray
    switched: tuple[Plant, Switches | None] | None = None

    @property
    def solver(self) -> tuple[ImplicitPlant, np.ndarray]:
        """The plant whose code solves for the row, and its inputs: that of the run, where time alone decides what its
        conditions are."""
        u = self.drive.at_time(self.t0)
        plant, switches = (self.plant, None) if self.switched is None else self.switched
        if switches is None or switches.count or switches.clock is None or not isinstance(plant, ImplicitPlant):
            return self.plant, u
        return plant, np.concatenate([u, np.ravel(switches.clock(self.t0, self.p).full())])

    @property
    def source(self) -> Model | System:
        """What is initialised: the model where it is run as it is written, else the system of the run."""
        return self.model if as_system(self.model) is self.plant.system else self.plant.system

    @property
    def values(self) -> dict[str, Any]:
        """The other arguments of `dd.initialise`."""
        system = self.plant.system
        plain = {name: value for name, value in self.inputs.items() if name in system.places}
        if self.drive.delayed is not None:
            u = self.drive.at_time(self.t0)
            plain |= {v.name: by_shape(u[None, system.place(v.name).span], v.shape)[0] for v in system.delayed}
        return {"inputs": plain, "parameters": dict(zip(system.labels["p"], self.p.tolist())), "time": self.t0}


def first_row(
    model: Model | System, plant: ImplicitPlant, drive: Drive, start: Any, inputs: Mapping[str, object], t0: float,
    p: np.ndarray, at_once: bool = True, allowed: float = 0.0, switched: tuple[Plant, Switches | None] | None = None,
    behind: float | None = None,
) -> np.ndarray:  # fmt: skip
    """A consistent row for given start values; InconsistentStartError names what contradicts what.

    `at_once`: whether open states may keep their guesses where x' and z follow from x. `allowed`: by which share of
    their size given states may be off the constraints; they begin on them. `switched`: the plant with modes that runs.
    `behind`: the time, t0 but for rounding, at which conditions on time are what the run begins with.
    """
    behind = t0 if behind is None else behind
    system, plain = plant.system, start is None or type(start) is dict
    # What was made consistent before conditions on time change keeps its states alone.
    whole = isinstance(start, Samples) or (isinstance(start, Start) and (behind == t0 or start.time != t0))
    if isinstance(start, Start) and whole and _begins(start, system, t0, drive, p):
        return start.row
    if whole:
        row = continued_row(system, start, drive, behind, p)
        if row is not None:
            return row
    if isinstance(start, Start):
        start = states_in(system, start)
    elif not isinstance(start, Samples):
        start = with_given_elsewhere(system, by_states(system, start)) or start
    key = _key(system, drive, start, behind, p) if at_once and (plain or not isinstance(start, Samples)) else None
    known = None if key is None else once(system, _rows).get(key)
    if known is not None:
        return known
    asked = RowRequest(model, plant, start, inputs, behind, drive, p, switched)
    try:
        row = _exact_row(asked, at_once)
        if len(row) >= LONG_EQUATIONS:
            _core.give_back_memory()
        if key is not None:
            once(system, _rows)[key] = row
        return row
    except InconsistentStartError as error:
        # As near as this run asks for: another one may ask for more, so it is not kept.
        near = _nearest(asked, allowed)
        if near is None:
            raise in_terms_of_start(error, []) from None
        return near


def _rows(system: System) -> KeptByKey[np.ndarray]:
    """The rows that runs began with, by what they follow from."""
    return KeptByKey()


def _exact_row(asked: RowRequest, at_once: bool) -> np.ndarray:
    system, row = asked.plant.system, None
    if at_once and not isinstance(asked.start, Samples) and asked.plant.index.largest == 1 and not system.choices:
        row = _solved(asked)
    return _row_of(initialise(asked.source, asked.start, **asked.values)) if row is None else row


def _begins(start: Start, system: System, t0: float, drive: Drive, p: np.ndarray) -> bool:
    """Whether a start was made for this system, time, inputs and parameters."""
    if start.system is not system or start.time != t0 or start.vectors["p"].tobytes() != p.tobytes():
        return False
    return np.array_equal(start.vectors["u"], drive.at_time(t0))


def _solved(asked: RowRequest) -> np.ndarray | None:
    """z and x' from x by the core; None where values were given for them, or where a given state would have to move."""
    system, given = asked.plant.system, given_start(asked.plant.system, asked.start)
    if len(given) > 1:
        return None
    x = np.where(np.isnan(given["x"]), 0.0, given["x"])
    guess = np.concatenate([x, np.nan_to_num(system.start["z"], nan=0.0), np.zeros(system.sizes["x"])])
    scale = np.concatenate([system.nominal["x"], system.nominal["z"], np.ones(system.sizes["x"])])
    solver, u = asked.solver
    row: np.ndarray | None = solver.model.consistent(asked.t0, guess, u, asked.p, RTOL, ATOL * scale)
    if row is None:
        return None
    moved = solver.without_derivative
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


def _key(system: System, drive: Drive, start: Any, t0: float, p: np.ndarray) -> tuple[object, ...] | None:
    """What a start depends on; None where that cannot be compared."""
    if drive.moves:
        return None
    numbers = (t0, p.tobytes(), drive.constants.tobytes())
    if start is None:
        return numbers
    return (*numbers, *((letter, v.tobytes()) for letter, v in given_start(system, start).items()))
