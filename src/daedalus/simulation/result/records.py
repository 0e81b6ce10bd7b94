"""Records of a run: what was decided or met on its way, as data that prints itself as a sentence.

A kind of record is a frozen dataclass of plain fields (numbers, strings, tuples of these, other records) with a
`__str__`. Files hold the name of the kind, its fields and the sentence, which stays where a kind is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class Record:
    """What was decided or met on the way of a run; `str` gives a sentence: `words` with the fields put in."""

    words = ""

    def __str__(self) -> str:
        return self.words.format(**vars(self))

    def whole(self) -> str:
        """The sentence with nothing in it cut, for whoever reads it by a program."""
        return str(self)


@dataclass(frozen=True)
class Told(Record):
    """A sentence whose kind is not known here, such as one of a file that a later version wrote."""

    text: str
    words = "{text}"


def sentences(records: Iterable[Record]) -> tuple[str, ...]:
    """Records in words."""
    return tuple(str(record) for record in records)
