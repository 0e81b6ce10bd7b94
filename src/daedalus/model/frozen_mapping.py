"""A mapping that nobody can change and that can be pickled: what results hand out by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class FrozenMapping(Mapping[str, Value]):
    """Values by name, as they were when it was made.

    Example
    -------
    >>> import pickle
    >>> orders = FrozenMapping({"x": 4.0})
    >>> orders["x"], pickle.loads(pickle.dumps(orders))
    (4.0, {'x': 4.0})
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)
