"""Boxes that fall onto each other, beside MuJoCo and Drake."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

COUNTS = (50, 200)


def evaluate(session: Session) -> Iterator[Row]:
    for count in COUNTS:
        found = session.probe("contact", {"count": count})
        for record in found.records or [{}]:
            for tool, name in (("mujoco", "MuJoCo"), ("drake", "Drake")):
                note = found.failure or ""
                if not note and tool in record:
                    note = (
                        f"goes in by {record['depth']:.1e} m; {name} by {record[f'{tool}_depth']:.1e} m with steps of "
                        f"{record[f'{tool}_step']:g} s"
                    )
                yield Row(f"{count} boxes, one second", name, record.get("ours"), record.get(tool), 1.0, note=note)


FIGURE = Figure("contact", "boxes that fall onto each other", evaluate)
