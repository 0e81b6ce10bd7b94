"""Plain data that comes from outside, read entry by entry: each is asked for by kind, and what does not fit is told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from daedalus.errors import InputError

# Longer texts of what was found are cut in messages.
_SHOWN = 60


def canonical_text(data: Mapping[str, Any]) -> str:
    """Plain data as the one text that stands for it: JSON with sorted names, numbers to the last bit.

    Example
    -------
    >>> canonical_text({"b": [1.5, None], "a": "x"})
    '{"a":"x","b":[1.5,null]}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def checksum(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def parsed(text: str | bytes) -> Any:
    """The data of a JSON text; InputError where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise misfit("the text", "JSON", type(error).__name__) from error


def misfit(place: str, expected: str, found: object) -> InputError:
    """The error for an entry that cannot be what was written there."""
    return InputError(
        "The saved data is inconsistent.",
        f"{place}: {expected} expected, found {_shortened(found)}",
        because="it is damaged, or was not written by Daedalus.",
        remedy="save it again from the original",
    )


def _shortened(found: object) -> str:
    if isinstance(found, (Mapping, list, tuple)):
        return f"{'a list' if isinstance(found, (list, tuple)) else 'named entries'} of {len(found)}"
    text = repr(found)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class PlainRecord:
    """Named entries from outside; every question checks the kind of the answer and raises an InputError with its place.

    Example
    -------
    >>> record = PlainRecord({"name": "x", "shape": [2, 3]}, "variable")
    >>> record.text("name"), record.integers("shape", lowest=1).tolist()
    ('x', [2, 3])
    >>> record.number("name")
    Traceback (most recent call last):
    daedalus.errors.InputError: The saved data is inconsistent.
      variable.name: a number expected, found 'x'
      Because it is damaged, or was not written by Daedalus.
      Try: save it again from the original
    """

    def __init__(self, data: object, place: str) -> None:
        if not isinstance(data, Mapping):
            raise misfit(place, "named entries", data)
        self._data, self.place = data, place

    def __contains__(self, name: str) -> bool:
        return name in self._data

    def only(self, names: Iterable[str]) -> PlainRecord:
        """This record, which may have these entries and no others: what this version cannot read is not dropped."""
        unknown = [name for name in self._data if name not in set(names)]
        if unknown:
            raise misfit(self.place, "entries that this version knows", unknown[0])
        return self

    def entry(self, name: str) -> Any:
        """The entry as it is."""
        if name not in self._data:
            raise misfit(f"{self.place}.{name}", "an entry", None)
        return self._data[name]

    def misfit(self, name: str, expected: str, found: object) -> InputError:
        """The error for an entry of this record."""
        return misfit(f"{self.place}.{name}", expected, found)

    def text(self, name: str) -> str:
        """A text."""
        return checked_text(self.entry(name), f"{self.place}.{name}")

    def word(self, name: str, known: Iterable[str]) -> str:
        """A text that is one of a few."""
        found, words = self.text(name), tuple(known)
        if found not in words:
            raise self.misfit(name, " or ".join(words), found)
        return found

    def flag(self, name: str) -> bool:
        """True or False."""
        found = self.entry(name)
        if not isinstance(found, bool):
            raise self.misfit(name, "true or false", found)
        return found

    def integer(self, name: str, lowest: int, below: int) -> int:
        """A whole number of [lowest, below)."""
        return checked_integer(self.entry(name), f"{self.place}.{name}", lowest, below)

    def number(self, name: str) -> float:
        """A number, infinities and NaN included."""
        found = self.entry(name)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise self.misfit(name, "a number", found)
        return _as_float(found, f"{self.place}.{name}")

    def items(self, name: str, count: int | None = None) -> list[Any]:
        """A list of anything."""
        return checked_list(self.entry(name), f"{self.place}.{name}", count)

    def texts(self, name: str, count: int | None = None, *, distinct: bool = False) -> list[str]:
        """A list of texts; `distinct` refuses one that comes twice."""
        found = [checked_text(text, f"{self.place}.{name}[{k}]") for k, text in enumerate(self.items(name, count))]
        if distinct:
            check_distinct(found, f"{self.place}.{name}")
        return found

    def integers(self, name: str, count: int | None = None, lowest: int = 0, below: int = 2**31) -> np.ndarray:
        """A list of whole numbers of [lowest, below)."""
        found = self.items(name, count)
        if not found:
            return np.zeros(0, dtype=np.int64)
        try:
            numbers = np.array(found)
        except (ValueError, OverflowError) as error:
            raise self.misfit(name, "whole numbers", found) from error
        if numbers.dtype.kind != "i" or numbers.ndim != 1:
            raise self.misfit(name, "whole numbers", found)
        outside = np.flatnonzero((numbers < lowest) | (numbers >= below))
        if len(outside):
            k = int(outside[0])
            raise self.misfit(f"{name}[{k}]", f"a whole number of {lowest} to {below - 1}", int(numbers[k]))
        return numbers.astype(np.int64, copy=False)

    def numbers(self, name: str, counts: Iterable[int], *, gaps: bool = False) -> tuple[float | None, ...]:
        """Numbers, as many as one of `counts`; `gaps` lets them be None."""
        found, allowed = self.items(name), tuple(counts)
        if len(found) not in allowed:
            raise self.misfit(name, " or ".join(str(count) for count in allowed) + " numbers", found)
        for k, number in enumerate(found):
            if not (gaps and number is None) and (isinstance(number, bool) or not isinstance(number, (int, float))):
                raise self.misfit(f"{name}[{k}]", "a number", number)
        return tuple(x if x is None else _as_float(x, f"{self.place}.{name}") for x in found)

    def part(self, name: str) -> PlainRecord:
        """A record inside this one."""
        return PlainRecord(self.entry(name), f"{self.place}.{name}")

    def parts(self, name: str, count: int | None = None) -> list[PlainRecord]:
        """A list of records."""
        return [PlainRecord(data, f"{self.place}.{name}[{k}]") for k, data in enumerate(self.items(name, count))]

    def names(self) -> list[str]:
        """The names of all entries."""
        return [checked_text(name, self.place) for name in self._data]


def checked_text(found: object, place: str) -> str:
    """A text that every library can take: no zero byte, no half of a pair."""
    if not isinstance(found, str) or "\0" in found:
        raise misfit(place, "a text", found)
    try:
        found.encode()
    except UnicodeEncodeError as error:
        raise misfit(place, "a text", found) from error
    return found


def checked_integer(found: object, place: str, lowest: int, below: int) -> int:
    """A whole number of [lowest, below)."""
    if isinstance(found, bool) or not isinstance(found, int) or not lowest <= found < below:
        raise misfit(place, f"a whole number of {lowest} to {below - 1}", found)
    return found


def check_distinct(names: list[str], place: str) -> None:
    """Refuse a name that comes twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise misfit(place, "distinct names", name)
        seen.add(name)


def checked_list(found: object, place: str, count: int | None = None) -> list[Any]:
    """A list, of `count` items where that is known."""
    if not isinstance(found, (list, tuple)):
        raise misfit(place, "a list", found)
    if count is not None and len(found) != count:
        raise misfit(place, f"a list of {count}", found)
    return list(found)


def _as_float(number: float, place: str) -> float:
    try:
        return float(number)
    except OverflowError as error:
        raise misfit(place, "a number", "one that is too large") from error
