"""Where a name lives in the vectors of a system, and the order of the states in x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from daedalus.model.lazy_values import cached_property
from daedalus.model.names import Shape, element_label
from daedalus.model.variables import Variable


@dataclass(frozen=True, eq=False)
class Place:
    """Where the elements of a name live: a letter (xdot, x, z, u, p) and a position each."""

    name: str
    shape: Shape
    letters: tuple[str, ...]
    positions: np.ndarray
    unit: str = ""

    @cached_property
    def letter(self) -> str | None:
        """The letter shared by all elements, or None when a derivative is partly a state."""
        return self.letters[0] if len(set(self.letters)) == 1 else None

    @cached_property
    def span(self) -> slice | np.ndarray:
        """The positions as a slice where they follow each other, which is quicker to index with."""
        first, count = int(self.positions[0]), len(self.positions)
        together = count == 1 or np.array_equal(self.positions, np.arange(first, first + count))
        return slice(first, first + count) if together else self.positions

    def element(self, k: int) -> Place:
        """The place of one element."""
        return Place(
            element_label(self.name, self.shape, k), (), (self.letters[k],), self.positions[k : k + 1], self.unit
        )


def state_order(states: Sequence[Variable], orders: Mapping[str, Sequence[int]]) -> list[tuple[str, int, int]]:
    """The entries of x in order: (name, element, order of derivative); all states first, then their derivatives."""
    highest = max((max(orders[v.name]) for v in states), default=0)
    return [
        (v.name, k, order)
        for order in range(highest)
        for v in states
        for k in range(v.size)
        if order < orders[v.name][k]
    ]
