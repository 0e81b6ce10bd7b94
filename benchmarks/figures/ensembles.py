"""Sweeps on lanes of one core: quadrotors by two methods, pendulums, a reaction, thermostats, and a small sweep."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# Cases, and how many times faster than prepared runs in a loop; lanes of 2 gain less than those of 8.
PARTS = {
    "rk4": ("quadrotors, RK4, a step", 10_000, 2.0),
    "tsit5": ("quadrotors, tsit5 at rtol 1e-6, 1 s", 10_000, 2.0),
    "pendulum": ("3D pendulums, index 3, 10 s", 2000, 2.0),
    "reaction": ("Akzo Nobel, index 1, rodas5p at rtol 1e-6", 2000, 2.0),
    "thermostat": ("thermostats, 36 events in 24 h", 10_000, 2.0),
}
SMALL = 3e-3


def evaluate(session: Session) -> Iterator[Row]:
    for part, (words, count, faster) in PARTS.items():
        options = {"part": part, "seconds": session.settings.seconds, "count": count}
        found = session.probe("ensembles", options)
        for record in found.records or [{}]:
            row = (record.get("ours"), record.get("prepared"), faster)
            yield Row(words, "dd.prepare in a loop", *row, note=found.failure or "")
    found = session.probe("ensembles", {"part": "few", "seconds": session.settings.seconds, "count": 100})
    for record in found.records or [{}]:
        yield Row("100 oscillators", f"{SMALL:g} s", record.get("ours"), SMALL, 1.0, "at most", found.failure or "")


FIGURE = Figure("ensembles", "sweeps on lanes of one core", evaluate)
