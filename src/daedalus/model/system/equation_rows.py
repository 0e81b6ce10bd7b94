"""Where the rows of a system come from, made row by row when they are read: a field has a million of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import eq
from typing import overload

from daedalus.model.names import element_label
from daedalus.model.system.equation_row import EquationRow, Role, Source

# Rows of an equation with fewer components are made at once and kept.
MANY_ROWS = 1000


class ComponentRows(Sequence[EquationRow]):
    """The rows of an equation with many components, as it was written."""

    def __init__(self, name: str, count: int, role: Role) -> None:
        self.name, self.role, self._count = name, role, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, k: int) -> EquationRow: ...

    @overload
    def __getitem__(self, k: slice) -> tuple[EquationRow, ...]: ...

    def __getitem__(self, k: int | slice) -> EquationRow | tuple[EquationRow, ...]:
        if isinstance(k, slice):
            return tuple(self[place] for place in range(*k.indices(self._count)))
        place = range(self._count)[k]
        return EquationRow(element_label(self.name, (self._count,), place), Source(self.name, place), role=self.role)


class EquationRows(Sequence[EquationRow]):
    """The rows of several equations below each other.

    Example
    -------
    >>> from daedalus.model.system.equation_row import rows_of
    >>> rows = EquationRows([ComponentRows("heat", 100_000, Role.WRITTEN), rows_of("rod", ["rod"], Role.SMALLEST)])
    >>> len(rows), rows[3].label, rows[-1].label, rows.places(Role.SMALLEST), rows.is_differentiated
    (100001, 'heat[3]', 'rod', [100000], False)
    """

    def __init__(self, parts: Iterable[Sequence[EquationRow]]) -> None:
        whole = [own for part in parts for own in (part.parts if isinstance(part, EquationRows) else [part])]
        self.parts: list[Sequence[EquationRow]] = _joined(part for part in whole if len(part))
        self._ends = list(accumulate(map(len, self.parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[EquationRow]:
        return chain.from_iterable(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, k: int) -> EquationRow: ...

    @overload
    def __getitem__(self, k: slice) -> tuple[EquationRow, ...]: ...

    def __getitem__(self, k: int | slice) -> EquationRow | tuple[EquationRow, ...]:
        if isinstance(k, slice):
            return tuple(self[place] for place in range(*k.indices(len(self))))
        place = range(len(self))[k]
        which = bisect_right(self._ends, place)
        part = self.parts[which]
        return part[place - self._ends[which] + len(part)]

    def places(self, *roles: Role) -> list[int]:
        """The rows that are for something."""
        found: list[int] = []
        for part, end in zip(self.parts, self._ends):
            first = end - len(part)
            if not isinstance(part, ComponentRows):
                found += [first + k for k, row in enumerate(part) if row.role in roles]
            elif part.role in roles:
                found += range(first, end)
        return found

    @property
    def is_differentiated(self) -> bool:
        """Whether a row is the derivative of an equation as it was written."""
        return any(row.times > 0 for part in self.parts if not isinstance(part, ComponentRows) for row in part)


def _joined(parts: Iterable[Sequence[EquationRow]]) -> list[Sequence[EquationRow]]:
    """The same with rows that exist already in one piece where they follow each other."""
    found: list[Sequence[EquationRow]] = []
    waiting: list[EquationRow] = []
    for part in parts:
        if not isinstance(part, ComponentRows):
            waiting += part
            continue
        if waiting:
            found.append(tuple(waiting))
            waiting = []
        found.append(part)
    return [*found, tuple(waiting)] if waiting else found
