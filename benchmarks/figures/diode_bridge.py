"""A rectifier of piecewise linear diodes over 100 periods: every switching time against its closed form."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

RTOL, ALLOWED = 1e-8, 1e-9


def evaluate(session: Session) -> Iterator[Row]:
    outcome = session.probe("diode_bridge", {"rtol": RTOL})
    record = outcome.records[0] if outcome.records else {}
    note = outcome.failure or f"{record['found']} of {record['wanted']} turns in {record['seconds']:.2g} s"
    yield Row("switching times of a bridge", f"{ALLOWED:g} s", record.get("error"), ALLOWED, 1.0, "at most", note)


FIGURE = Figure("diode_bridge", "switching times", evaluate)
