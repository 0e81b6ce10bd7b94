"""What a kernel knows of a model: its formulas as instruction lists, and where each number of a case lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from daedalus.compilation.lanes.lane_formulas import written_formulas
from daedalus.compilation.lanes.words import LaneText, Word
from daedalus.model.system.instruction_list import Instructions


@dataclass(frozen=True, eq=False)
class LaneModel:
    """x' = f(t, x, u, p) with nothing but formulas, and the way back onto what it keeps, if it keeps anything."""

    states: int
    inputs: int
    parameters: int
    slopes: Instructions  # (t, x, u, p) -> x'
    kept: Instructions | None = None  # (t, x, u, p) -> x on what the model keeps
    tabled: tuple[int, ...] = ()  # the inputs that follow a table
    independence: Instructions | None = None  # (t, x, u, p) -> log |det| of the constraints
    judged: int | None = None  # how many states count in the error of a step; all where it is not given
    written_out: int | None = None  # how many states are saved; all where it is not given

    @property
    def saved(self) -> int:
        """How many states are saved."""
        return self.states if self.written_out is None else self.written_out

    @property
    def own(self) -> int:
        """How many numbers a case brings along: its start, inputs and parameters."""
        return self.states + self.inputs + self.parameters

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What distinguishes the text of a kernel by its model."""
        lists = (self.slopes, self.kept, self.independence)
        digests = tuple(None if rows is None else rows.digest() for rows in lists)
        return self.states, self.inputs, self.parameters, self.tabled, self.judged, *digests

    def slope(self, w: LaneText, t: Word, x: list[Word], u: list[Word], p: list[Word], rare: bool) -> list[Word]:
        """x' at one point."""
        return self.written(w, "model.slope", self.slopes, [[t], x, u, p], rare)[0]

    def moved(self, w: LaneText, t: Word, x: list[Word], u: list[Word], p: list[Word], rare: bool) -> list[Word]:
        """x moved onto what the model keeps."""
        assert self.kept is not None
        return self.written(w, "model.kept", self.kept, [[t], x, u, p], rare)[0]

    def determinant(self, w: LaneText, t: Word, x: list[Word], u: list[Word], p: list[Word]) -> Word:
        """log |det| of the constraints."""
        assert self.independence is not None
        return self.written(w, "model.independence", self.independence, [[t], x, u, p], False)[0][0]

    def written(
        self, w: LaneText, name: str, rows: Instructions, arguments: Sequence[Sequence[Word]], rare: bool
    ) -> list[list[Word]]:
        """The outputs of formulas for words of their arguments, as a function of the module."""
        edges = [0, *accumulate(len(part) for part in arguments)]

        def write(body: LaneText, a: list[Word]) -> list[Word]:
            found = written_formulas(body, rows, [a[i:j] for i, j in pairwise(edges)])
            return [word for words in found for word in words]

        whole = w.call(name, [word for part in arguments for word in part], sum(rows.size_out), write, rare)
        ends = [0, *accumulate(rows.size_out)]
        return [whole[i:j] for i, j in pairwise(ends)]
