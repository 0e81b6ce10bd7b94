"""Trees of joints beside Pinocchio, alone and under SciPy's DOP853; first results of long chains."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# How many times faster than Pinocchio, in a batch of 1000.
DYNAMICS = {"arm of 7": 4.5, "tree of 31": 2.2, "chain of 100": 1.3, "chain of 200": 1.2}
DERIVATIVES = {"arm of 7": 1.1, "tree of 31": 1.1}
# Whole runs at an error of 1e-6: the span, and how many times faster than Pinocchio with SciPy.
RUNS = {"tree of 31": (2.0, 3.8), "chain of 100": (1.0, 2.0), "chain of 200": (1.0, 1.9)}
# Seconds allowed.
CALL, FIRST, BODIES_FIRST, BODIES_AGAIN = 3e-6, 3.0, 5.0, 0.6
MANY_BODIES = 5 * BODIES_FIRST  # of five times as many: nothing on the way costs more than their number


def evaluate(session: Session) -> Iterator[Row]:
    seconds = session.settings.seconds
    for part, targets, words in (
        ("dynamics", DYNAMICS, "forward dynamics"),
        ("derivatives", DERIVATIVES, "derivatives of forward dynamics"),
    ):
        for robot, target in targets.items():
            found = session.probe("robots", {"part": part, "robot": robot, "seconds": seconds})
            for record in found.records or [{}]:
                note = found.failure or (
                    f"relative difference {record['difference']:.0e}" if "difference" in record else ""
                )
                yield Row(
                    f"{words}, {robot}", "Pinocchio", record.get("ours"), record.get("pinocchio"), target, note=note
                )
    for robot, (span, target) in RUNS.items():
        found = session.probe("robots", {"part": "run", "robot": robot, "span": span, "seconds": seconds})
        for record in found.records or [{}]:
            errors = [f"{record[key]:.0e}" for key in ("error", "pinocchio_error") if key in record]
            note = found.failure or f"errors {' and '.join(errors)}"
            peer = record.get("pinocchio")
            yield Row(
                f"run of {span:g} s, {robot}", "Pinocchio and DOP853", record.get("ours"), peer, target, note=note
            )
    limits = (
        ("a single call, arm of 7", "ours", {"part": "call", "robot": "arm of 7"}, CALL),
        ("from text to the first result, chain of 200", "ours", {"part": "first", "robot": "chain of 200"}, FIRST),
        ("first result of 200 bodies in body coordinates", "ours", {"part": "bodies", "count": 200}, BODIES_FIRST),
        ("first result of 1000 bodies in body coordinates", "ours", {"part": "bodies", "count": 1000}, MANY_BODIES),
        ("200 bodies in body coordinates again", "again", {"part": "bodies", "count": 200}, BODIES_AGAIN),
    )
    for words, key, options, allowed in limits:
        found = session.probe("robots", {**options, "seconds": seconds})
        for record in found.records or [{}]:
            note = found.failure or ""
            yield Row(words, f"{allowed:g} s", record.get(key), allowed, 1.0, "at most", note)


FIGURE = Figure("robots", "trees of joints, and chains of bodies", evaluate)
