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
                note, ours = found.failure or "", None
                if not note and tool in record:
                    ours, depth, step = record[f"{tool}_own"]
                    steps = "the usual steps" if step is None else f"steps of {step:g} s"
                    note = (
                        f"goes in by {depth:.1e} m with {steps}; "
                        f"{name} by {record[f'{tool}_depth']:.1e} m with steps of {record[f'{tool}_step']:g} s"
                    )
                yield Row(f"{count} boxes, one second", name, ours, record.get(tool), 1.0, note=note)


FIGURE = Figure("contact", "boxes that fall onto each other", evaluate)
