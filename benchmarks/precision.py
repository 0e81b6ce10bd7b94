"""Work–precision curves, and the time at equal achieved error read off them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import Any


@dataclass(frozen=True)
class Point:
    """One run at one tolerance: achieved error and CPU seconds, or the reason why there is none."""

    rtol: float
    error: float | None = None
    seconds: float | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Reading:
    """The time at an error, or why there is none."""

    seconds: float | None
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """All runs of one tool and method on one problem."""

    problem: str
    tool: str
    method: str
    points: tuple[Point, ...] = ()
    import_seconds: float | None = None
    first_seconds: float | None = None
    failure: str | None = None

    @property
    def name(self) -> str:
        return f"{self.problem}/{self.tool}:{self.method}"

    @property
    def compile_seconds(self) -> float | None:
        """What the first call costs beyond a later one: building, tracing, compiling."""
        best = next((p.seconds for p in self.points if p.seconds is not None), 0.0)
        return None if self.first_seconds is None else max(0.0, self.first_seconds - best)

    def reason(self) -> str | None:
        """Why there is nothing to read off: the failure of the process, or that of every single run."""
        if any(point.seconds is not None for point in self.points):
            return None
        return self.failure or next((point.failure for point in self.points if point.failure), "nothing was measured")

    def front(self) -> list[tuple[float, float]]:
        """(error, seconds) from coarse to fine, without runs that another one beats in both."""
        runs = [(p.error, p.seconds) for p in self.points if p.error is not None and p.seconds is not None]
        best: list[tuple[float, float]] = []
        for error, seconds in sorted(runs, key=lambda run: (run[1], run[0])):
            if not best or error < best[-1][0]:
                best.append((error, seconds))
        return best

    def time_within(self, error: float) -> Reading:
        """Seconds for at least that exactness; a tool that is finer at its loosest tolerance counts with that."""
        front = self.front()
        return Reading(front[0][1]) if front and error >= front[0][0] else self.time_at(error)

    def time_at(self, error: float) -> Reading:
        """Seconds at an achieved error, by linear interpolation of log time over log error; never beyond the runs."""
        reason = self.reason()
        if reason is not None:
            return Reading(None, reason)
        front = self.front()
        coarsest = max(point.error for point in self.points if point.error is not None)
        if error < front[-1][0]:
            return Reading(None, f"not reached: best error {front[-1][0]:.1e}")
        if error > coarsest:
            return Reading(None, f"not reached: already {coarsest:.1e} at the loosest tolerance")
        if error >= front[0][0]:
            # Runs as coarse as that were measured, but this finer one was the cheapest of all.
            return Reading(front[0][1])
        (coarse, cheap), (fine, dear) = next(pair for pair in pairwise(front) if pair[1][0] <= error)
        share = log(coarse / error) / log(coarse / max(fine, 1e-300))
        return Reading(exp(log(cheap) + share * log(dear / cheap)))


def curve_of(problem: str, tool: str, method: str, records: Iterable[dict[str, Any]], failure: str | None) -> Curve:
    """A curve out of the records of a measuring process."""
    records = list(records)
    single = {name: value for record in records if "rtol" not in record for name, value in record.items()}
    points = tuple(Point(**record) for record in records if "rtol" in record)
    return Curve(problem, tool, method, points, single.get("import_seconds"), single.get("first_seconds"), failure)
