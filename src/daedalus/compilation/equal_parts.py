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

from daedalus.compilation.instructions import needed_rows, operands
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
    needed = needed_rows(rows)
    by_law: dict[Law, list[tuple[int, ...]]] = defaultdict(list)
    for part in _connected(rows, _inside(rows, needed, early)):
        if len(part) < SHORTEST_LAW:
            continue
        order = _common_order(rows, part)
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
    inside = sum(operation_cost(rows.operation[row]) for group in found for own in group.members for row in own)
    others = sum(operation_cost(op) for row, op in enumerate(rows.operation) if needed[row] and row not in early)
    if inside < max(_WORTH, _SHARE * others):
        return None
    return PartedRows(tuple(sorted(found, key=lambda group: group.level)), level)


def _inside(rows: Instructions, needed: bytearray, early: Set[int]) -> bytearray:
    """1 for the rows of parts."""
    operation, first, second = rows.operation, rows.first, rows.second
    before, inside, feeds = bytearray(len(rows)), bytearray(len(rows)), bytearray(len(rows))
    for row, op in enumerate(operation):
        if op in _GIVEN or row in early:
            before[row] = 1
        elif op in _SUMS:
            before[row] = all(before[source] for source in operands(rows, row))
        elif op == ca.OP_MUL and (operation[first[row]] == ca.OP_CONST or operation[second[row]] == ca.OP_CONST):
            before[row] = before[first[row]] and before[second[row]]
    for row in range(len(rows) - 1, -1, -1):
        op = operation[row]
        if op in _GIVEN or op == ca.OP_OUTPUT or not needed[row] or not (feeds[row] or op not in _SUMS):
            continue
        inside[row] = not before[row]
        for source in operands(rows, row):
            feeds[source] = 1
    return inside


def _connected(rows: Instructions, inside: bytearray) -> list[list[int]]:
    """Rows inside that hang together, each list in their order."""
    parent = list(range(len(rows)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    members = [row for row in range(len(rows)) if inside[row]]
    for row in members:
        for source in operands(rows, row):
            if inside[source]:
                a, b = root(row), root(source)
                parent[max(a, b)] = min(a, b)
    found: dict[int, list[int]] = defaultdict(list)
    for row in members:
        found[root(row)].append(row)
    return list(found.values())


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
