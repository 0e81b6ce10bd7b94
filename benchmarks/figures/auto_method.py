"""What leaving the choice of the method to Daedalus costs: "auto" beside the fastest of our methods at equal error."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import sqrt

from benchmarks import problems
from benchmarks.figure import Figure, Row
from benchmarks.precision import Curve, Point
from benchmarks.session import Session

METHODS = ("tsit5", "dop853", "radau5", "radau9", "bdf", "rodas4", "rodas5p")
ERRORS = (1e-4, 1e-6, 1e-8)
SLOWER = 1.3


def evaluate(session: Session) -> Iterator[Row]:
    for problem in problems.names():
        options = {"problem": problem, "methods": ("auto", *METHODS), "seconds": session.settings.seconds}
        options["tolerances"] = between(session.settings.tolerances)
        found = session.probe("methods_in_turn", options)
        points = defaultdict(list)
        for record in found.records:
            points[record.pop("method")].append(Point(**record))
        curves = {name: Curve(problem, "daedalus", name, tuple(points[name])) for name in points}
        for error in ERRORS:
            yield row(f"{problem}, error {error:.0e}", curves, error, found.failure)


def between(tolerances: tuple[float, ...]) -> list[float]:
    """Tolerances with their geometric means in between: one that a method happens to like counts less then."""
    means = [sqrt(a * b) for a, b in pairwise(tolerances)]
    return sorted((*tolerances, *means), reverse=True)


def row(title: str, curves: dict[str, Curve], error: float, failure: str | None) -> Row:
    """The time of "auto" within an error beside that of the fastest method."""
    times = {name: curve.time_within(error).seconds for name, curve in curves.items()}
    reached = {name: seconds for name, seconds in times.items() if seconds is not None and name != "auto"}
    best = min(reached, key=reached.__getitem__, default=None)
    note = failure or ("" if times.get("auto") else "auto does not reach the error")
    return Row(title, best or "no method", times.get("auto"), reached.get(best or ""), SLOWER, "at most", note)


FIGURE = Figure("auto_method", '"auto" beside the fastest of our methods', evaluate)
