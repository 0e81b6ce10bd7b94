"""The values a solution must reach, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Reference(Mapping[str, "float | np.ndarray"]):
    """End values by name: `reference["x"]`; a scalar is a float, anything else an array of the variable's shape.

    Parameters
    ----------
    time: when the values hold.
    ends: the values by name of variable, derivative or output.
    digits: how many significant digits of the largest entry of each name are trusted.
    origin: where the values come from: a publication, a formula, a computation.

    Example
    -------
    >>> from daedalus import catalogue
    >>> reference = catalogue.load("pleiades").reference
    >>> reference.time, reference.digits, float(reference["x"][0])
    (3.0, 14, 0.3706139143970502)
    >>> bool(reference.error("x", reference["x"] + 1e-9) < 1e-9)
    True
    """

    time: float
    ends: Mapping[str, object]
    digits: int
    origin: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", {name: _read_only(value) for name, value in self.ends.items()})

    def __getitem__(self, name: str) -> float | np.ndarray:
        return self.ends[name]  # type: ignore[return-value]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ends)

    def __len__(self) -> int:
        return len(self.ends)

    def error(self, name: str, value: object) -> float:
        """The largest deviation of `value` from the reference, relative to the largest entry of that name."""
        wanted = np.asarray(self[name])
        return float(np.max(np.abs(np.asarray(value, dtype=float) - wanted)) / np.max(np.abs(wanted)))


def _read_only(value: object) -> float | np.ndarray:
    array = np.array(value, dtype=float)
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array
