"""Fits of a pendulum and of Andrews' mechanism, and a filter step of a quadrotor, after the first call."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# Seconds that each may take, and how many times faster than SciPy the fit of the pendulum is.
ALLOWED = {"pendulum": 20e-3, "andrews": 1.0, "filter": 50e-6}
WORDS = {
    "pendulum": "pendulum, 2 parameters from 1000 samples",
    "andrews": "Andrews' mechanism, 8 parameters from 200 samples",
    "filter": "quadrotor, a step of the Kalman filter",
}
FASTER = 10.0


def evaluate(session: Session) -> Iterator[Row]:
    for part, allowed in ALLOWED.items():
        found = session.probe("fitting", {"part": part, "seconds": session.settings.seconds})
        for record in found.records or [{}]:
            note, ours = found.failure or "", record.get("ours")
            if part == "pendulum":
                yield Row(WORDS[part], "least_squares over solve_ivp", ours, record.get("scipy"), FASTER, note=note)
            yield Row(WORDS[part], f"{allowed:g} s", ours, allowed, 1.0, "at most", note)


FIGURE = Figure("fitting", "fits and filter steps", evaluate)
