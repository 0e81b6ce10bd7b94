"""Points of rest over values of parameters or inputs, each found from the one before: `.dc` of SPICE."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.deadline import poll
from daedalus.errors import InputError
from daedalus.model.names import listed
from daedalus.model.plain_numbers import plain_array
from daedalus.model.system.system import System

# Points of a grid at most: each is a search of its own, and more are a mistake in the grid.
MOST_POINTS = 1_000_000


class EquilibriumSweep(Mapping[str, np.ndarray]):
    """Points of rest over a grid: what `dd.equilibrium(m, over={...})` returns; `sweep["v_out"]` is an array.

    Attributes
    ----------
    over: the values of each name that was swept.
    points: the points, the last name moving fastest.
    found_by: what found each of them.
    """

    def __init__(self, over: Mapping[str, np.ndarray], points: Sequence[Any]) -> None:
        self.over, self.points = dict(over), tuple(points)
        self.found_by = tuple(point.found_by for point in self.points)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each swept name has."""
        return tuple(len(values) for values in self.over.values())

    def __repr__(self) -> str:
        over = ", ".join(f"{len(values)} {name}" for name, values in self.over.items())
        return f"EquilibriumSweep({over}: {len(self.points)} points)"

    def __getitem__(self, name: str) -> np.ndarray:
        values = np.array([point[name] for point in self.points])
        return values.reshape(*self.shape, *values.shape[1:])

    def __iter__(self) -> Iterator[str]:
        return iter(self.points[0])

    def __len__(self) -> int:
        return len(self.points[0])


def swept(
    system: System, over: Mapping[str, object], at: Callable[[Mapping[str, float], Mapping[str, float], Any], Any]
) -> EquilibriumSweep:
    """A point for every combination of values; at(inputs, parameters, guess) finds one."""
    values = {name: _values(name, given, system.place(name).unit) for name, given in over.items()}
    for name in values:
        letters = set(system.place(name).letters)
        if not letters <= {"u", "p"}:
            raise InputError(
                f"{name} is neither a parameter nor an input.",
                because="over= varies inputs and parameters; states and algebraic variables are solved for.",
                remedy=f"fixed={{{name!r}: ...}} for one value",
            )
    if not values or np.prod([len(v) for v in values.values()]) > MOST_POINTS:
        raise InputError("over= has no values, or too many.", remedy='over={"v1.voltage": np.linspace(0, 5, 51)}')
    kinds = {name: system.place(name).letter for name in values}
    points: list[Any] = []
    guess: Any = None
    for row in itertools.product(*values.values()):
        poll("an operating point")
        own = dict(zip(values, row))
        inputs = {name: float(value) for name, value in own.items() if kinds[name] == "u"}
        point = at(inputs, {name: float(value) for name, value in own.items() if kinds[name] == "p"}, guess)
        points.append(point)
        guess = {name: point[name] for name in point}
    return EquilibriumSweep(values, points)


def _values(name: str, given: object, unit: str) -> np.ndarray:
    values = plain_array(given, f"The values of {name}", unit)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        raise InputError(
            f"The values of {name} are not a list of numbers.",
            f"shape {listed([str(n) for n in values.shape]) or 'of one number'}",
            because="over= uses them one after the other.",
            remedy=f"over={{{name!r}: [0.0, 1.0, 2.0]}}",
        )
    return values
