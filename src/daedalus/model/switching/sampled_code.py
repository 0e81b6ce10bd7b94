"""Objects that can stand on a clock as they are: they know what they read and what they write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class SampledCode(Protocol):
    """Something with a method that a clock can call, as a controller: `m.every(0.05, call=controller)`."""

    reads: Sequence[str]
    writes: Sequence[str]

    def sample(self, t: float, values: tuple[Any, ...], memory: Any) -> tuple[tuple[Any, ...], Any]:
        """(values of writes, memory) from (values of reads, memory); the memory is None at the first tick of a run."""
        ...
