"""What a system keeps of how it was made: one record of each type, read by the stages that come later.

A reduction leaves its record and its redundant constraints, a model its mechanics, a closed loop the system that it
closed. They are set when the system is made. Files and pickles hold the equations alone: parts stay in the process.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Kind = TypeVar("Kind")


class Parts:
    """Frozen records, at most one of each type.

    Example
    -------
    >>> Parts(["a name"]).of(str), Parts().of(str)
    ('a name', None)
    """

    __slots__ = ("_records",)

    def __init__(self, records: Iterable[object] = ()) -> None:
        self._records = tuple(records)
        if len({type(record) for record in self._records}) < len(self._records):
            raise ValueError("a system keeps one part of a type")

    def of(self, kind: type[Kind]) -> Kind | None:
        """The record of a type; None where there is none."""
        return next((record for record in self._records if type(record) is kind), None)  # type: ignore[misc]

    def only(self, *kinds: type) -> tuple[object, ...]:
        """The records of some types; all where none is named."""
        return tuple(record for record in self._records if not kinds or type(record) in kinds)
