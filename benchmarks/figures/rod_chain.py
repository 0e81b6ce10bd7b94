"""A chain of rods, index 3 as written: growth of the cost of a step, and the time against sparse IDA at index 1."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.figure import Figure, Row
from benchmarks.precision import Curve, Point
from benchmarks.session import Session

SIZES = (10, 50, 200, 1000)
GROWTH, FASTER, COMPARED = 1.2, 20.0, 200
# Short spans, since the motion of the links becomes faster as they become shorter.
ENDS = {10: 0.5, 50: 0.2, 200: 0.05, 1000: 0.005}
# The cost of a step is taken at the first; the last is the reference of the errors.
RTOL, FINEST = 1e-6, 1e-12
OURS = (RTOL, 1e-3, 1e-4, 1e-5, 1e-7, 1e-8, FINEST)
PEERS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
ERRORS = (1e-7, 1e-8)


def evaluate(session: Session) -> Iterator[Row]:
    options = {"seconds": session.settings.seconds}
    cost: float | None = None
    mine: list[dict[str, Any]] = []
    for rods in SIZES:
        tolerances = OURS if rods == COMPARED else (RTOL,)
        chain = {"tool": "daedalus", "rods": rods, "end": ENDS[rods], "tolerances": tolerances}
        found = session.probe("rod_chain", {**options, **chain})
        if len(found.records) < 2:
            yield Row(f"a step of {rods} rods", "a chain of 10", None, None, 1.0, "at most", found.failure or "")
            continue
        before, first = found.records[:2]
        if rods == COMPARED:
            mine = found.records[1:]
        seconds = first["seconds"] / first["steps"]
        cost = seconds if rods == SIZES[0] else cost
        # A target of 1 at the cost that a growth by the power 1.2 would give.
        allowed = None if cost is None else cost * (rods / SIZES[0]) ** GROWTH
        target = None if rods == SIZES[0] else 1.0
        note = f"model in {before['ready']:.1f} s, its code compiled in {before['code']:.1f} s"
        yield Row(f"a step of {rods} rods", f"N^{GROWTH} from {SIZES[0]}", seconds, allowed, target, "at most", note)
    chain = {"tool": "sundae", "rods": COMPARED, "end": ENDS[COMPARED], "tolerances": PEERS}
    peer = session.probe("rod_chain", {**options, **chain}, tool="sundae")
    yield from compared(mine, peer.records[1:], peer.failure)


def compared(mine: list[dict[str, Any]], theirs: list[dict[str, Any]], failure: str | None) -> Iterator[Row]:
    """The times at equal achieved error, against our finest run; IDA's own convergence to it is in the note."""
    curves = [curve(tool, records, mine, failure) for tool, records in (("daedalus", mine), ("sundae", theirs))]
    closest = min((point.error for point in curves[1].points if point.error is not None), default=None)
    agreement = "" if closest is None else f"; its finest run comes within {closest:.0e} of the reference"
    for error in ERRORS:
        readings = [each.time_at(error) for each in curves]
        note = "; ".join(reading.note for reading in readings if reading.note) or f"error {error:.0e}{agreement}"
        times = (reading.seconds for reading in readings)
        yield Row(f"chain of {COMPARED} rods", "scikit-sundae IDA sparse", *times, FASTER, "at least", note)


def curve(tool: str, records: list[dict[str, Any]], mine: list[dict[str, Any]], failure: str | None) -> Curve:
    """Error of the positions over time, without the run that is the reference."""
    if not mine or mine[-1]["rtol"] != FINEST:
        return Curve("rod_chain", tool, "auto", failure=failure or "there is no reference")
    reference = np.array(mine[-1]["positions"])
    points = tuple(
        Point(record["rtol"], float(np.abs(record["positions"] - reference).max()), record["seconds"])
        for record in records
        if record["rtol"] != FINEST
    )
    return Curve("rod_chain", tool, "auto", points, failure=failure)


FIGURE = Figure("rod_chain", "chain of rods", evaluate)
