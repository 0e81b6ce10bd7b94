"""What is kept of every case: names, their shapes and units, and their values as one row of numbers a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import did_you_mean, read_names
from daedalus.model.system.system import System
from daedalus.model.values import unit_of
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.result.labelled_samples import recorded_names
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.road import Road


class Column(NamedTuple):
    """One name of the result."""

    name: str
    shape: tuple[int, ...]
    unit: str
    of: str = ""  # whose dimensions it has, where they are not its own

    @property
    def width(self) -> int:
        """How many numbers it is at one time."""
        return math.prod(self.shape)

    @property
    def dims(self) -> list[str]:
        """The names of its own dimensions."""
        return [f"{self.of or self.name}_{word}" for word in ("index", "column", "layer")[: len(self.shape)]]


def derivative_name(name: str, by: str) -> str:
    """How the derivative of a name is called in a result."""
    return f"{name} by {by}"


def columns_of(road: Road, outputs: Sequence[str] | None, taken: Sequence[str]) -> list[Column]:
    """The names that a sweep keeps: those asked for, or all that a run records but for the dimensions `taken`."""
    plant = road.settings.plant
    none = Samples(plant, road.drive, np.zeros(0), np.zeros(0), np.zeros((0, 0)))
    wanted = [] if outputs is None else read_names(outputs, "outputs")
    known = [name for name in recorded_names(none) if _lasts(road, name)]
    known = [name for name in (*known, *_given_values(road.system, taken)) if name not in taken]
    found = []
    for name in wanted or known:
        try:
            found.append(Column(name, _shape(none, name), unit_of(road.system, name)))
        except InputError:
            remedy = did_you_mean(name, known, listed=False)
            raise InputError(f"The model has no variable {name!r} to keep.", remedy=remedy) from None
    return found


def _given_values(system: System, taken: Sequence[str]) -> list[str]:
    """Parameters that give variables of parts their values, as a source does; those variables where it is `taken`."""
    given = {name: own for name, own in system.aliases.items() if system.place(own).letter == "p"}
    return list(dict.fromkeys(name if own in taken else own for name, own in given.items()))


def _lasts(road: Road, name: str) -> bool:
    """Whether all pieces of a run have a name: multipliers of a choice of redundant constraints go with it."""
    if road.solved.part(Redundancy) is None:
        return True
    written = road.request.system
    return name in written.places or name in written.outputs


def _shape(samples: Samples, name: str) -> tuple[int, ...]:
    """The shape of a name, which may be one element of another, as `"x[0]"` is; InputError where there is none."""
    plant = samples.run_data.plant
    if name in plant.output_slices:
        return tuple(plant.output_place(name)[1])
    return tuple(plant.system.place(name).shape)
