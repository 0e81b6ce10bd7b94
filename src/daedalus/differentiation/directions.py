"""What is varied: the start, the inputs (constant, or one block an interval of a grid) and the parameters, by name.

Every direction is one column of the sensitivities S = ∂x/∂θ. The columns of the start come first, then the inputs, one
interval after the other, then the parameters; within each in the order of the model.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from daedalus.errors import InputError
from daedalus.model.input_rates import refuse_rates, system_rates
from daedalus.model.names import did_you_mean, read_names
from daedalus.model.plain_numbers import plain_times
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.system import System

GROUPS = {"start": "x", "inputs": "u", "parameters": "p"}
WORDS = {"x": "start", "u": "inputs", "p": "parameters"}


@dataclass(frozen=True)
class Directions:
    """Positions in x, u and p that are varied; `intervals` is 0 where inputs are varied as a whole."""

    x: tuple[int, ...]
    u: tuple[int, ...]
    p: tuple[int, ...]
    intervals: int = 0

    @property
    def count(self) -> int:
        """How many columns there are."""
        return len(self.x) + len(self.u) * max(self.intervals, 1) + len(self.p)

    def columns(self, letter: str) -> slice:
        """The columns of the start ("x"), the inputs ("u") or the parameters ("p")."""
        inputs = len(self.u) * max(self.intervals, 1)
        ends = {"x": len(self.x), "u": len(self.x) + inputs, "p": len(self.x) + inputs + len(self.p)}
        begins = {"x": 0, "u": ends["x"], "p": ends["u"]}
        return slice(begins[letter], ends[letter])

    def column_of(self, letter: str, position: int, interval: int = 0) -> int:
        """The column of one entry of x, u or p."""
        members: tuple[int, ...] = getattr(self, letter)
        offset = interval * len(self.u) if letter == "u" else 0
        return self.columns(letter).start + offset + members.index(position)

    def blocks(self, columns: int) -> list[Directions]:
        """Directions of so many columns at most, in the order of the columns; inputs on a grid stay in one.

        >>> Directions((0, 1), (), (4, 5, 6)).blocks(2)[1:]
        [Directions(x=(), u=(), p=(4, 5), intervals=0), Directions(x=(), u=(), p=(6,), intervals=0)]
        """
        if columns >= self.count or self.intervals:
            return [self]
        members = [(letter, k) for letter in "xup" for k in getattr(self, letter)]
        parts = [members[k : k + columns] for k in range(0, len(members), columns)]
        by_letter = [[tuple(k for own, k in part if own == letter) for letter in "xup"] for part in parts]
        return [Directions(x, u, p) for x, u, p in by_letter]

    def labels(self, system: System) -> list[str]:
        """The name of every column; with a grid the interval stands behind an @."""
        inputs = [system.labels["u"][k] for k in self.u]
        blocks = [f"{name} @ {i}" for i in range(self.intervals) for name in inputs] if self.intervals else inputs
        return [*(system.labels["x"][k] for k in self.x), *blocks, *(system.labels["p"][k] for k in self.p)]

    def sizes(self, system: System, p: np.ndarray) -> np.ndarray:
        """The usual size of every varied quantity: nominal values of x and u, values of p where they do not vanish."""
        inputs = np.tile(system.nominal["u"][list(self.u)], max(self.intervals, 1))
        own, usual = np.abs(p[list(self.p)]), system.nominal["p"][list(self.p)]
        return np.concatenate([system.nominal["x"][list(self.x)], inputs, np.where(own > 0, own, usual)])


def _rate_positions(system: System) -> set[int]:
    """Inputs that are derivatives of others: a constant that is added to an input leaves them as they are."""
    names = [rate for rates in system_rates(system).values() for rate in rates if rate in system.places]
    return {int(k) for name in names for k in system.places[name].positions}


def read_directions(system: System, wrt: str | Sequence[str], intervals: int) -> Directions:
    """The directions of `wrt`: "start", "inputs", "parameters", or names of states, inputs and parameters."""
    wanted = read_names(wrt, "wrt")
    held = system.part(HeldStates)
    modes = frozenset[int]() if held is None else held.compared
    found: dict[str, set[int]] = {"x": set(), "u": set(), "p": set()}
    for name in wanted:
        if name in GROUPS:
            letter = GROUPS[name]
            left_out: dict[str, Set[int]] = {"x": modes, "u": _rate_positions(system)}
            found[letter].update(set(range(system.sizes[letter])) - left_out.get(letter, set()))
            continue
        if not isinstance(name, str):
            raise InputError("wrt= takes names.", f"got {name!r}", remedy='wrt=("start", "parameters")')
        try:
            place = system.place(name)
        except InputError as error:
            near = did_you_mean(name, [*GROUPS, *system.places])
            raise InputError(error.what, error.facts, error.because, near or 'wrt=("start", "parameters")') from None
        if place.letter not in found:
            raise InputError(
                f"{name} cannot be varied.",
                "it follows from the states, the inputs and the parameters",
                because="only given values can be varied.",
                remedy=f"sens.d({name!r}, ...) is how {name} changes; wrt= names what changes it",
            )
        if place.letter == "x" and modes.intersection(place.positions.tolist()):
            raise InputError(
                f"{name} cannot be varied.",
                f"conditions decide by {name}",
                because="a mode is discrete, so there is nothing between two modes.",
                remedy="a parameter, or a discrete variable that no condition compares",
            )
        found[place.letter].update(int(k) for k in place.positions)
    chosen = {letter: tuple(sorted(members)) for letter, members in found.items()}
    if intervals and chosen["u"]:
        refuse_rates(system, "A grid of intervals")
    directions = Directions(chosen["x"], chosen["u"], chosen["p"], intervals if chosen["u"] else 0)
    if directions.count == 0:
        raise InputError(
            "Nothing is varied.",
            f"wrt={wrt!r} of {system.name!r} is empty",
            because="the model has no such inputs or parameters.",
            remedy='wrt=("start",)',
        )
    return directions


def read_grid(grid: int | Sequence[float] | np.ndarray | None, t0: float, t1: float) -> np.ndarray | None:
    """The ends of the intervals: k equal ones for a number k, else times from t0 to t1."""
    if grid is None:
        return None
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool) and grid > 0:
        return np.linspace(t0, t1, int(grid) + 1)
    times = plain_times(grid, "The times of the grid")
    ordered = times.ndim == 1 and len(times) > 1 and np.all(np.diff(times) * np.sign(t1 - t0) > 0)
    if not ordered or times[0] != t0 or times[-1] != t1:
        raise InputError(
            "The grid does not cover the span.",
            f"the run goes from {t0:g} to {t1:g}, the grid is {np.array2string(times, threshold=6)}",
            because="its times are the ends of the intervals, in order, from the first to the last.",
            remedy=f"grid=10, or grid=np.linspace({t0:g}, {t1:g}, 11)",
        )
    return times


def interval_of(grid: np.ndarray, t: float) -> int:
    """The interval of the grid that holds t; the later one at a common end."""
    passed = np.count_nonzero((t - grid) * np.sign(grid[-1] - grid[0]) >= 0) - 1
    return int(np.clip(passed, 0, len(grid) - 2))
