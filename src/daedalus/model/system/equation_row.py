"""Where a row of a system comes from: which written equation, which of its elements, and how often differentiated."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from daedalus.model.names import times_text
from daedalus.model.system.plain_record import checked_integer, checked_list, checked_text, misfit


def level_name(name: str, times: int) -> str:
    """The name of a differentiated equation: `rod, differentiated twice`."""
    return f"{name}, differentiated {times_text(times)}" if times else name


def free_name(wanted: str, taken: Container[str]) -> str:
    """A name that nothing has yet: `rod`, or `rod (reduced)` where an equation is called so already."""
    while wanted in taken:
        wanted += " (reduced)"
    return wanted


class Role(Enum):
    """What a row is for."""

    WRITTEN = "written"
    """an equation as it was written, or its derivative"""
    DERIVATIVE = "derivative"
    """says that one state is the derivative of another: q_dot of q"""
    DEFINITION = "definition"
    """says what an unknown stands for that was added"""
    DAMPED = "damped"
    """a constraint with multiples of its lower derivatives (Baumgarte)"""
    PUSHED = "pushed"
    """q' = v with the push of the multiplier that keeps velocities (Gear, Gupta, Leimkuhler)"""
    SELECTED = "selected"
    """gives the derivative of a state while that is selected, else a constraint in its place"""
    HELD = "held"
    """holds an unknown at a value while the rest is looked at"""
    INVARIANT = "invariant"
    """kept by solutions beside the equations: the length of a quaternion"""
    DECLARED = "declared"
    """the same as somebody wrote it: whether solutions keep it is looked at"""
    SMALLEST = "smallest"
    """takes the smallest values of unknowns that the equations leave open"""


class Source(NamedTuple):
    """One component of a written equation; `element` is None where the equation has one component only."""

    equation: str
    element: int | None = None

    @property
    def name(self) -> str:
        """As it is printed: `rod`, `rod[1]`."""
        return self.equation if self.element is None else f"{self.equation}[{self.element}]"

    def prefixed(self, prefix: str) -> Source:
        """The same inside another model, where names have a prefix."""
        return Source(prefix + self.equation, self.element)


@dataclass(frozen=True, slots=True)
class EquationRow:
    """One row of the residual, or one element of what solutions keep at zero.

    label: as it is printed. source: the component it comes from. times: how often that was differentiated. combined:
    further components that it was combined with. Whoever decides something reads these, never the label.

    Example
    -------
    >>> row = EquationRow("rod", Source("rod"))
    >>> row.differentiated(2)
    EquationRow(label='rod, differentiated twice', source=Source(equation='rod', element=None), times=2, ...)
    >>> row.differentiated(2).equation
    'rod'
    """

    label: str
    source: Source
    times: int = 0
    role: Role = Role.WRITTEN
    combined: tuple[Source, ...] = ()

    @property
    def equation(self) -> str:
        """The equation as it was before it was differentiated: `rod[1]`, `a combined with b`."""
        return _with_others(self.source.name, self.combined)

    @property
    def level(self) -> tuple[object, ...]:
        """What tells this row from every other level of every other equation and invariant."""
        return self.source, self.times, self.combined, self.role in (Role.INVARIANT, Role.DECLARED)

    def differentiated(self, times: int) -> EquationRow:
        """The row differentiated so often more."""
        if not times:
            return self
        return replace(self, label=level_name(self.equation, self.times + times), times=self.times + times)

    def combined_with(self, others: Sequence[EquationRow]) -> EquationRow:
        """The row with others added to it."""
        own = replace(self, combined=tuple(row.source for row in others))
        return replace(own, label=level_name(own.equation, own.times))

    def prefixed(self, prefix: str) -> EquationRow:
        """The same inside another model, where names have a prefix."""
        return replace(
            self,
            label=prefix + self.label,
            source=self.source.prefixed(prefix),
            combined=tuple(source.prefixed(prefix) for source in self.combined),
        )

    def to_record(self) -> list[Any]:
        """Plain data, for files."""
        return [self.label, *self.source, self.times, self.role.value, [list(source) for source in self.combined]]

    @staticmethod
    def from_record(record: object, place: str) -> EquationRow:
        """The inverse of `to_record`; InputError where an entry, found at `place`, cannot be what was written."""
        label, equation, element, times, role, combined = checked_list(record, place, 6)
        own = _source([equation, element], place)
        others = tuple(_source(entry, place) for entry in checked_list(combined, place))
        if role not in ROLES:
            raise misfit(place, "a role of an equation", role)
        often = checked_integer(times, place, 0, 2**31)
        return EquationRow(checked_text(label, place), own, often, ROLES[role], others)


ROLES = {role.value: role for role in Role}


def _source(entry: object, place: str) -> Source:
    """A component from plain data."""
    name, element = checked_list(entry, place, 2)
    return Source(checked_text(name, place), None if element is None else checked_integer(element, place, 0, 2**31))


def rows_of(name: str, labels: Sequence[str], role: Role = Role.WRITTEN) -> tuple[EquationRow, ...]:
    """The rows of something that was written under a name, one a label."""
    alone = len(labels) == 1
    return tuple(EquationRow(label, Source(name, None if alone else k), role=role) for k, label in enumerate(labels))


def derivative_row(rate: str, of: str) -> EquationRow:
    """The row that says that one state is the derivative of another."""
    label = f"{rate} is the derivative of {of}"
    return EquationRow(label, Source(label), role=Role.DERIVATIVE)


def definition_row(name: str) -> EquationRow:
    """The row that says what an unknown stands for that was added."""
    label = f"definition of {name}"
    return EquationRow(label, Source(label), role=Role.DEFINITION)


def together(rows: Sequence[EquationRow], first: int) -> int:
    """How many rows from `first` on are the components 0, 1, 2, ... of one equation at one level."""
    own, count = rows[first], 0
    while (
        first + count < len(rows)
        and rows[first + count].source == (own.source.equation, count)
        and (rows[first + count].times, rows[first + count].combined) == (own.times, own.combined)
    ):
        count += 1
    return max(count, 1)


def common_name(rows: Sequence[EquationRow]) -> str:
    """The name of rows that belong together; one component of a longer equation keeps its own name."""
    own = rows[0]
    if len(rows) == 1:
        return level_name(own.equation, own.times)
    return level_name(_with_others(own.source.equation, own.combined), own.times)


def collected(rows: Sequence[EquationRow]) -> list[str]:
    """The equations of rows by name, without their level; components in a row count as one.

    Example
    -------
    >>> collected([EquationRow(f"hinge[{k}]", Source("hinge", k), times=2) for k in range(2)])
    ['hinge']
    """
    found, k = [], 0
    while k < len(rows):
        count = together(rows, k)
        found.append(common_name([replace(row, times=0) for row in rows[k : k + count]]))
        k += count
    return found


def _with_others(name: str, others: Sequence[Source]) -> str:
    return f"{name} combined with {', '.join(source.name for source in others)}" if others else name
