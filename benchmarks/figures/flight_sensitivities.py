"""Ten seconds of quadrotor flight with 13 × 17 sensitivities, ours in the error test, at equal tolerances."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# How many times faster than pydiffsol at each tolerance.
TARGETS = {1e-4: 2.6, 1e-8: 5.9}
REFERENCE_RTOL = 1e-12


def evaluate(session: Session) -> Iterator[Row]:
    options = {"seconds": session.settings.seconds}
    exact = session.probe("flight_sensitivities", {**options, "tool": "prepared", "rtol": REFERENCE_RTOL})
    for rtol, target in TARGETS.items():
        peer = session.probe("flight_sensitivities", {**options, "tool": "pydiffsol", "rtol": rtol}, tool="pydiffsol")
        for tool, title in (("prepared", "compiled equations alone"), ("daedalus", "dd.sensitivities")):
            ours = session.probe("flight_sensitivities", {**options, "tool": tool, "rtol": rtol})
            seconds = [outcome.records[0]["seconds"] if outcome.records else None for outcome in (ours, peer)]
            errors = [relative_error(outcome.records, exact.records) for outcome in (ours, peer)]
            note = ours.failure or peer.failure or f"errors of M, N: {errors[0]:.0e} and {errors[1]:.0e}"
            yield Row(f"flight with sensitivities, rtol {rtol:.0e}, {title}", "pydiffsol", *seconds, target, note=note)


def relative_error(found: list[dict[str, Any]], exact: list[dict[str, Any]]) -> float:
    """The largest error of the sensitivities, in units of their largest entry."""
    if not (found and exact):
        return float("nan")
    one, other = np.array(found[0]["slopes"]), np.array(exact[0]["slopes"])
    return float(np.abs(one - other).max() / np.abs(other).max())


FIGURE = Figure("flight_sensitivities", "quadrotor flight with sensitivities", evaluate)
