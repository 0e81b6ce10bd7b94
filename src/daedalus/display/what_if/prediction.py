"""A run with other parameters, predicted from its first and second derivatives: y + Σ δᵢ yᵢ + ½ Σ δᵢ δⱼ yᵢⱼ."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import listed
from daedalus.model.system.system import System
from daedalus.reduction.reduction_record import Reduction
from daedalus.simulation.result.trajectory import Trajectory


def system_before(tr: Trajectory) -> System:
    """The system that was handed to the run, before it was reduced."""
    system = tr.system
    while (reduction := system.part(Reduction)) is not None:
        system = reduction.original
    return system


def inputs_of(tr: Trajectory) -> dict[str, Any]:
    """The inputs that a run was driven with, by name."""
    drive, found = tr.run_data.drive, {}
    sources = {slots: source for source, slots in (*drive.tables, *drive.callbacks)}
    for variable in tr.system.of_kind("input"):
        place = tr.system.places[variable.name]
        slots = tuple(place.positions.tolist())
        found[variable.name] = sources.get(slots, np.reshape(drive.constants[list(slots)], variable.shape, order="F"))
    return found


def start_of(tr: Trajectory, time: float) -> dict[str, Any]:
    """The start of a run, for others that begin like it: clocks that tick then read their own parameters."""
    system, first = system_before(tr), tr.at(time)
    names = [name for name, place in system.places.items() if place.letter == "x"]
    # What clocks have assigned at the start is known behind them only: there the model's own values count.
    if not first.run_data.fired:
        names += [variable.name for variable in system.of_kind("discrete")]
    return {name: first[name] for name in names}


def parameter_values(tr: Trajectory, names: list[str]) -> np.ndarray:
    """The values of scalar parameters in a run; refuses what is none."""
    values = []
    for name in names:
        place = tr.system.place(name)
        if set(place.letters) != {"p"} or len(place.positions) != 1:
            known = [v.name for v in tr.system.of_kind("parameter") if v.shape == ()]
            remedy = repr(known[0]) if known else 'm.parameter("name", value)'
            if set(place.letters) == {"p"}:
                remedy = repr(f"{name}[0]")
            elif set(place.letters) == {"u"}:
                remedy = f"m.parameter({name!r}, value) in place of the input"
            raise InputError(
                f"{name} is not a scalar parameter.",
                f"scalar parameters: {listed(known) or 'none'}",
                because="a slider changes one number.",
                remedy=remedy,
            )
        values.append(float(tr.run_data.parameters[place.positions[0]]))
    return np.array(values)


class Prediction:
    """Values by name at some times for changes of parameters, from derivatives along the run."""

    def __init__(self, base: Any, derivatives: Any, names: list[str], order: int) -> None:
        self._base, self._derivatives, self.names, self.order = base, derivatives, names, order
        self._kept: dict[str, tuple[np.ndarray, list[np.ndarray], dict[tuple[int, int], np.ndarray]]] = {}

    def parts(self, name: str) -> tuple[np.ndarray, list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
        """A quantity, its first derivatives, and its second ones by pairs of parameters."""
        if name not in self._kept:
            value = np.asarray(self._base[name], dtype=float)
            first = [self._slope(name, value, own) for own in self.names]
            pairs = combinations_with_replacement(range(len(self.names)), 2)
            second = {(i, j): self._slope(name, value, self.names[i], self.names[j]) for i, j in pairs}
            self._kept[name] = value, first, second
        return self._kept[name]

    def _slope(self, name: str, value: np.ndarray, *by: str) -> np.ndarray:
        if name == by[0] and len(by) == 1:
            return np.ones_like(value)
        if len(by) > self.order:
            return np.zeros_like(value)
        try:
            slope = np.asarray(self._derivatives.d(name, *by), dtype=float)
        except InputError:
            # Inputs and other parameters do not change.
            return np.zeros_like(value)
        return slope.reshape(value.shape)

    def at(self, change: np.ndarray) -> _Changed:
        """What is predicted for a change of every parameter."""
        return _Changed(self, change)


class _Changed:
    """The predicted run for one change, to be read like samples."""

    def __init__(self, prediction: Prediction, change: np.ndarray) -> None:
        self._prediction, self._change = prediction, change

    def __getitem__(self, name: str) -> np.ndarray:
        value, first, second = self._prediction.parts(name)
        found = value + sum(d * slope for d, slope in zip(self._change, first))
        for (i, j), curve in second.items():
            found = found + (0.5 if i == j else 1.0) * self._change[i] * self._change[j] * curve
        return found
