"""Equal parts of a long function: the laws of its transistors, say, which are one formula of many numbers.

A circuit's equations hold the same law of some hundred operations once for each device. Written out they are scalar
code with a library call for every exponential; computed side by side they are vector code (`part_code.py`).

A part is a connected piece of the graph of operations. It begins where something other than a sum is done with what is
given or follows from it by sums (differences of voltages), and ends at the last operation that is not a sum (of
currents): sums are what joins parts. Parts are equal where their operations are, in a common order, whatever the
numbers that go in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation.instructions import operands
from daedalus.compilation.prologue import operation_cost
from daedalus.model.system.instruction_list import Instructions

_SUMS = frozenset({ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN})
_GIVEN = frozenset({ca.OP_INPUT, ca.OP_CONST})
# A law has so many operations at least, and stands in so many parts.
SHORTEST_LAW, FEWEST = 16, 4
# What parts take, in additions, and which share of everything that is: less is not worth other code.
_WORTH, _SHARE = 500, 0.4
# Parts that feed parts, in so many turns at most.
_MOST_LEVELS = 6


Law = tuple[tuple[int, int, int], ...]


class EqualParts(NamedTuple):
    """The rows of equal parts, for each part in the common order; computed once what has a lower level is known."""

    members: tuple[tuple[int, ...], ...]
    level: int


class PartedRows(NamedTuple):
    """Equal parts, and the level of every row: sums of level k come before parts of level k, with results of k + 1."""

    groups: tuple[EqualParts, ...]
    level: list[int]


def equal_parts(rows: Instructions, early: Set[int]) -> PartedRows | None:
    """The equal parts of a function; None where they are too little of it. early: rows that belong to no part.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.model.system.instruction_list import read_instructions
    >>> x = ca.SX.sym("x", 200)
    >>> y = ca.exp(x)
    >>> for k in range(10):
    ...     y = ca.sin(y) * x
    >>> rows = read_instructions(ca.Function("f", [x], [ca.sum1(y)]))
    >>> found = equal_parts(rows, set())
    >>> len(found.groups), len(found.groups[0].members), len(found.groups[0].members[0])
    (1, 200, 21)
    """
    if len(rows) == 0:
        return None
    by_law: dict[Law, list[tuple[int, ...]]] = defaultdict(list)
    graph = _RowGraph(rows, early)
    parts = graph.parts_of_repeated_lengths()
    least = max(_WORTH, _SHARE * float(graph.cost[graph.needed & ~graph.early].sum()))
    if sum(float(graph.cost[part].sum()) for part in parts) < least:
        return None
    for part in parts:
        order = _common_order(rows, part.tolist())
        by_law[_law(rows, order)].append(order)
    kept = [own for found in by_law.values() if len(found) >= FEWEST for own in found]
    level, levels = _levels(rows, kept)
    groups: dict[tuple[int, Law], list[tuple[int, ...]]] = defaultdict(list)
    for own, at in zip(kept, levels):
        if at <= _MOST_LEVELS:
            groups[at, _law(rows, own)].append(own)
    found = [EqualParts(tuple(sorted(own)), at) for (at, _), own in groups.items() if len(own) >= FEWEST]
    if sum(len(group.members) for group in found) < len(kept):
        level, _ = _levels(rows, [own for group in found for own in group.members])
    if sum(float(graph.cost[list(own)].sum()) for group in found for own in group.members) < least:
        return None
    return PartedRows(tuple(sorted(found, key=lambda group: group.level)), level)


class _RowGraph:
    """The rows of a function in columns: which are needed, what each costs, and which stand in parts."""

    def __init__(self, rows: Instructions, early: Set[int]) -> None:
        self.operation, self.first, self.second, _ = rows.columns()
        is_output = self.operation == ca.OP_OUTPUT
        self.reads = ~(_among(self.operation, _GIVEN) | is_output)
        self.early = np.zeros(len(rows), bool)
        self.early[list(early)] = True
        results = np.zeros(len(rows), bool)
        results[self.first[is_output]] = True
        self.needed = self._below(results) | is_output
        kinds, which = np.unique(self.operation, return_inverse=True)
        self.cost = np.array([operation_cost(kind) for kind in kinds.tolist()], float)[which]

    def parts_of_repeated_lengths(self) -> list[np.ndarray]:
        """The parts that may be equal to enough others: as long as laws are, and as many others."""
        piece = _core.connected_rows(self.first, self.second, self.reads.view(np.uint8), self._inside().view(np.uint8))
        inside = np.flatnonzero(piece >= 0)
        inside = inside[np.argsort(piece[inside], kind="stable")]
        _, begins, lengths = np.unique(piece[inside], return_index=True, return_counts=True)
        repeated = np.bincount(lengths, minlength=1)[lengths] >= FEWEST
        chosen = np.flatnonzero(repeated & (lengths >= SHORTEST_LAW))
        return [inside[begins[k] : begins[k] + lengths[k]] for k in chosen]

    def _inside(self) -> np.ndarray:
        """Rows of parts: what other operations than sums need, themselves among it, less what follows by sums alone."""
        is_sum = _among(self.operation, _SUMS)
        scales = np.flatnonzero(self.operation == ca.OP_MUL)
        constant = self.operation == ca.OP_CONST
        scales = scales[constant[self.first[scales]] | constant[self.second[scales]]]
        by_sums = is_sum & self.reads & ~self.early
        by_sums[scales] = ~self.early[scales]
        others = self.reads & ~self.early & ~by_sums
        behind = _core.dependent_rows(self.first, self.second, by_sums.view(np.uint8), others.view(np.uint8))
        found: np.ndarray = self._below(self.reads & self.needed & ~is_sum) & behind.view(bool) & self.reads
        return found

    def _below(self, rows: np.ndarray) -> np.ndarray:
        """The rows that some depend on, these among them."""
        return _core.needed_rows(self.first, self.second, self.reads.view(np.uint8), rows.view(np.uint8)).view(bool)


def _among(operation: np.ndarray, kinds: frozenset[int]) -> np.ndarray:
    return np.isin(operation, list(kinds))


def _common_order(rows: Instructions, own: list[int]) -> tuple[int, ...]:
    """The rows of a part in an order that follows from its operations, operands first."""
    inside = set(own)
    below: dict[int, int] = {}
    depth: dict[int, int] = {}
    for row in own:
        sources = _sources(rows, row, inside)
        below[row] = hash((rows.operation[row], *(0 if s is None else below[s] for s in sources)))
        depth[row] = 1 + max((depth[s] for s in sources if s is not None), default=0)
    above = dict.fromkeys(own, 0)
    for row in reversed(own):
        for side, source in enumerate(_sources(rows, row, inside)):
            if source is not None:
                above[source] += hash((side, below[row], above[row])) & 0xFFFFFFFFFFFF
    place: dict[int, int] = {}
    for row in sorted(own, key=lambda row: (depth[row], below[row], above[row], row)):
        place[row] = len(place)
    return tuple(place)


def _sources(rows: Instructions, row: int, inside: Set[int]) -> tuple[int | None, ...]:
    """The operands of a row; None for those that a part is given."""
    return tuple(source if source in inside else None for source in operands(rows, row))


def _law(rows: Instructions, order: tuple[int, ...]) -> Law:
    """Operations and places of operands."""
    place = {row: k for k, row in enumerate(order)}
    return tuple(
        (rows.operation[row], place.get(rows.first[row], -1), place.get(rows.second[row], -1 - (rows.second[row] < 0)))
        for row in order
    )


def _levels(rows: Instructions, parts: list[tuple[int, ...]]) -> tuple[list[int], list[int]]:
    """The levels of rows and of parts; parts that wait for themselves get one beyond all."""
    owner = {row: k for k, own in enumerate(parts) for row in own}
    level, levels = [0] * len(rows), [0] * len(parts)
    for _ in range(2 * _MOST_LEVELS):
        changed = False
        for row, op in enumerate(rows.operation):
            if op in _GIVEN:
                continue
            sources = operands(rows, row)
            k = owner.get(row)
            if k is None:
                level[row] = max(level[s] for s in sources)
                continue
            most = max((level[s] for s in sources if owner.get(s) != k), default=0)
            if most > levels[k]:
                levels[k], changed = most, True
            level[row] = levels[k] + 1
        if not changed:
            break
    return level, levels
