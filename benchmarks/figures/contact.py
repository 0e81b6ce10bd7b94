"""Boxes that fall onto each other, beside MuJoCo."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

COUNTS = (50, 200)


def evaluate(session: Session) -> Iterator[Row]:
    for count in COUNTS:
        found = session.probe("contact", {"count": count})
        for record in found.records or [{}]:
            note = found.failure or ""
            if not note and "mujoco" in record:
                note = (
                    f"goes in by {record['depth']:.1e} m; MuJoCo by {record['mujoco_depth']:.1e} m with steps of "
                    f"{record['mujoco_step']:g} s"
                )
            yield Row(f"{count} boxes, one second", "MuJoCo", record.get("ours"), record.get("mujoco"), 1.0, note=note)


FIGURE = Figure("contact", "boxes that fall onto each other", evaluate)
