"""What a kernel knows of a model: its formulas as instruction lists, and where each number of a case lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import casadi as ca

from daedalus.compilation.lanes.lane_formulas import (
    NOTHING_FIXED,
    FixedPart,
    fixed_part,
    written_fixed,
    written_formulas,
)
from daedalus.compilation.lanes.words import LaneText, Word
from daedalus.ensembles.lanes.drawn_noise import DrawnNoise
from daedalus.ensembles.lanes.events.lane_events import LaneEvents
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.instruction_list import Instructions


class CarefulSlopes(NamedTuple):
    """x' by formulas that no value makes fail, for shorter ones that divide by parameters; nominal values of x."""

    rows: Instructions  # (t, x, u, p) -> x'
    nominal: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class LaneModel:
    """x' = f(t, x, u, p) with nothing but formulas, and the way back onto what it keeps, if it keeps anything."""

    states: int
    inputs: int
    parameters: int
    slopes: Instructions  # (t, x, u, p) -> x'
    kept: Instructions | None = None  # (t, x, u, p) -> x nearer to what the model keeps, and how far it went, squared
    tabled: tuple[int, ...] = ()  # the inputs that follow a table
    independence: Instructions | None = None  # (t, x, u, p) -> log |det| of the constraints
    judged: int | None = None  # how many states count in the error of a step; all where it is not given
    written_out: int | None = None  # how many states are saved; all where it is not given
    events: LaneEvents | None = None
    strict: bool = False  # every operation as it is written: no inverse, no fused product
    careful: CarefulSlopes | None = None  # what `slopes` are compared with where a case begins
    noises: DrawnNoise | None = None  # the tabled inputs that are noise, of the seed of each case

    @property
    def saved(self) -> int:
        """How many states are saved, and discrete variables behind them."""
        discretes = 0 if self.events is None else self.events.discretes
        return (self.states if self.written_out is None else self.written_out) + discretes

    @property
    def assigned(self) -> int:
        """How many of the parameters events assign, the last ones: discrete variables, then hidden modes."""
        return 0 if self.events is None else self.events.discretes + self.events.modes

    @property
    def own(self) -> int:
        """How many numbers a case brings along: its start, inputs and parameters."""
        return self.states + self.inputs + self.parameters

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What distinguishes the text of a kernel by its model."""
        lists = (self.slopes, self.kept, self.independence, None if self.careful is None else self.careful.rows)
        digests = tuple(None if rows is None else rows.digest() for rows in lists)
        events = None if self.events is None else self.events.key
        tables = self.tabled, self.noises
        return self.states, self.inputs, self.parameters, tables, self.judged, self.strict, events, *digests

    @property
    def lists(self) -> dict[str, tuple[Instructions, int]]:
        """The formulas by the names of their functions, each with the number of its argument p."""
        careful = None if self.careful is None else self.careful.rows
        found = {"model.slope": self.slopes, "model.kept": self.kept, "model.independence": self.independence}
        found["model.careful"] = careful
        if self.events is not None:
            found |= {"model.guards": self.events.guards, "model.resets": self.events.resets}
        return {name: (rows, 3) for name, rows in found.items() if rows is not None}

    @cached_property
    def fixed_parts(self) -> dict[str, FixedPart]:
        """What of the formulas follows from parameters and inputs that stay, and is computed once a case."""

        def stays(number: int) -> Callable[[int, int], bool]:
            # The inputs stand before the parameters.
            still = self.parameters - self.assigned
            return lambda k, place: (k == number and place < still) or (k == number - 1 and place not in self.tabled)

        return {
            # What is asked for once a case has nothing to keep.
            name: NOTHING_FIXED if name == "model.careful" else fixed_part(rows, stays(number), self.strict)
            for name, (rows, number) in self.lists.items()
        }

    @cached_property
    def moved_states(self) -> list[int]:
        """The states that change on the way to what the model keeps."""
        rows = self.kept
        if rows is None:
            return []
        # Those whose first output does not pass on the input x as it is.
        every = list(zip(rows.operation, rows.first, rows.second))
        first = [k for k, (operation, _, output) in enumerate(every) if operation == ca.OP_OUTPUT and output == 0]
        return sorted(rows.slot[k] for k in first if every[rows.first[k]] != (ca.OP_INPUT, 1, rows.slot[k]))

    @cached_property
    def fixed_edges(self) -> dict[str, tuple[int, int]]:
        """Where the numbers of each fixed part lie behind the parameters."""
        ends = list(accumulate(len(part.values) + len(part.inverses) for part in self.fixed_parts.values()))
        places = pairwise([self.parameters, *(self.parameters + end for end in ends)])
        return dict(zip(self.fixed_parts, places))

    @property
    def fixed(self) -> int:
        """How many numbers of a case follow from its parameters and inputs."""
        return max((end for _, end in self.fixed_edges.values()), default=self.parameters) - self.parameters

    def written_fixed(self, w: LaneText, u: list[Word], p: list[Word]) -> list[Word]:
        """What follows from parameters and inputs that stay."""
        found = []
        for name, (rows, number) in self.lists.items():
            found += written_fixed(w, rows, {number - 1: u, number: p}, self.fixed_parts[name])
        return found

    def written(self, w: LaneText, name: str, arguments: list[list[Word]], rare: bool) -> list[list[Word]]:
        """The outputs of formulas for words of their arguments, as a function of the module."""
        rows, number = self.lists[name]
        part, (begin, end) = self.fixed_parts[name], self.fixed_edges[name]
        p = arguments[number]
        given = [*arguments[:number], p[: self.parameters], *arguments[number + 1 :], p[begin:end]]
        edges = [0, *accumulate(len(words) for words in given)]

        def write(body: LaneText, a: list[Word]) -> list[Word]:
            *own, fixed = [a[i:j] for i, j in pairwise(edges)]
            return [word for words in written_formulas(body, rows, own, part, fixed) for word in words]

        whole = w.call(name, [word for words in given for word in words], sum(rows.size_out), write, rare)
        return [whole[i:j] for i, j in pairwise([0, *accumulate(rows.size_out)])]
