"""The iterations of a search on one line of the terminal, or told to a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class IterationLine:
    """Writes over one line on standard error; `close` ends it."""

    def __init__(self, name: str) -> None:
        self.name, self._written = name, False

    def __call__(self, iteration: int, objective: float, violation: float, stationarity: float) -> bool:
        """Write the news of an iteration."""
        text = f"{self.name}: iteration {iteration}, cost {objective:.6g}, off by {violation:.1e}, {stationarity:.1e}"
        sys.stderr.write(f"\r{text:<78}")
        sys.stderr.flush()
        self._written = True
        return True

    def close(self) -> None:
        """End the line."""
        if self._written:
            sys.stderr.write("\n")


def listener_of(progress: Any, name: str) -> Callable[[int, float, float, float], bool] | None:
    """What is told of iterations: a line where `progress` is True (or None on a terminal), a function, or nothing.

    A function gets (iteration, objective, violation); where it returns False the search ends.
    """
    if progress is None:
        progress = sys.stderr.isatty()
    if progress is False:
        return None
    if progress is True:
        return IterationLine(name)

    def told(iteration: int, objective: float, violation: float, stationarity: float) -> bool:
        return progress(iteration, objective, violation) is not False

    return told
