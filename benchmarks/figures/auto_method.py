"""What leaving the choice of the method to Daedalus costs: "auto" beside the fastest of our methods at equal error.

Alone: `python -m benchmarks --only auto_method`.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import sqrt
from typing import Any

from benchmarks import problems
from benchmarks.figure import Figure, Row
from benchmarks.session import Session

METHODS = ("tsit5", "dop853", "radau5", "radau9", "bdf", "rodas4", "rodas5p")
ERRORS = (1e-4, 1e-6, 1e-8)
SLOWER = 1.3


def evaluate(session: Session) -> Iterator[Row]:
    for problem in problems.names():
        options = {"problem": problem, "methods": ("auto", *METHODS), "seconds": session.settings.seconds}
        options |= {"tolerances": between(session.settings.tolerances), "errors": ERRORS}
        found = session.probe("methods_in_turn", options)
        for error in ERRORS:
            records = [record for record in found.records if record["error"] == error]
            yield row(f"{problem}, error {error:.0e}", records, found.failure)


def between(tolerances: tuple[float, ...]) -> list[float]:
    """Tolerances with their geometric means in between: one that a method happens to like counts less then."""
    means = [sqrt(a * b) for a, b in pairwise(tolerances)]
    return sorted((*tolerances, *means), reverse=True)


def row(title: str, records: Iterable[dict[str, Any]], failure: str | None) -> Row:
    """The time of "auto" for an error beside that of the fastest method."""
    times = {record["method"]: record["seconds"] for record in records if "seconds" in record}
    ours = times.pop("auto", None)
    best = min(times, key=times.__getitem__, default=None)
    note = failure or ("" if ours else "auto does not reach the error")
    return Row(title, best or "no method", ours, times.get(best or ""), SLOWER, "at most", note)


FIGURE = Figure("auto_method", '"auto" beside the fastest of our methods', evaluate)
