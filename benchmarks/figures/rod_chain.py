"""A chain of rods, index 3 as written: growth of the cost of a step, and the time against sparse IDA at index 1."""

from collections.abc import Iterator

import numpy as np

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

SIZES = (10, 50, 200, 1000)
GROWTH, FASTER, COMPARED = 1.2, 20.0, 200
# Short spans, since the motion of the links becomes faster as they become shorter.
ENDS = {10: 0.5, 50: 0.2, 200: 0.05, 1000: 0.005}
# Each at a tolerance at which it is about as exact as the other.
RTOL = 1e-6


def evaluate(session: Session) -> Iterator[Row]:
    options = {"rtol": RTOL, "seconds": session.settings.seconds}
    costs: dict[int, float] = {}
    ours: dict[int, dict[str, object]] = {}
    for rods in SIZES:
        found = session.probe("rod_chain", {**options, "tool": "daedalus", "rods": rods, "end": ENDS[rods]})
        if not found.records:
            yield Row(f"chain of {rods} rods", "a chain of 10", None, None, GROWTH, "at most", found.failure or "")
            continue
        ours[rods] = found.records[0]
        costs[rods] = found.records[0]["seconds"] / found.records[0]["steps"]
        if rods > SIZES[0] and SIZES[0] in costs:
            # A target of 1 at the cost that a growth by the power 1.2 would give.
            allowed = costs[SIZES[0]] * (rods / SIZES[0]) ** GROWTH
            yield Row(f"a step of {rods} rods", f"N^{GROWTH} from 10", costs[rods], allowed, 1.0, "at most")
    peer = session.probe(
        "rod_chain", {**options, "tool": "sundae", "rods": COMPARED, "end": ENDS[COMPARED]}, tool="sundae"
    )
    mine, other = ours.get(COMPARED), peer.records[0] if peer.records else None
    note = peer.failure or ""
    if mine and other:
        note = f"positions differ by {np.abs(np.subtract(mine['positions'], other['positions'])).max():.1e}"
    seconds = [float(record["seconds"]) if record else None for record in (mine, other)]
    yield Row(f"chain of {COMPARED} rods", "scikit-sundae IDA sparse", *seconds, FASTER, "at least", note)


FIGURE = Figure("rod_chain", "chain of rods", evaluate)
