"""Boxes that fall onto each other, beside MuJoCo and Drake: the fastest run of each within an overlap."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import launch
from benchmarks.figure import Figure, Row
from benchmarks.session import PATIENCE, Session

COUNTS = (50, 200)
# How deep the boxes, 200 mm wide, may go into each other, m.
OVERLAPS = (30e-3, 10e-3)
PEERS = {"mujoco": "MuJoCo", "drake": "Drake"}


def evaluate(session: Session) -> Iterator[Row]:
    for count in COUNTS:
        ours = session.probe("contact", {"count": count, "tool": "daedalus"})
        for tool, name in PEERS.items():
            failure, records = session.peers.lacks([tool]), []
            if failure is None:
                options = {"count": count, "tool": tool}
                theirs = launch.measure(session.peers.python, "contact", options, limit=PATIENCE)
                failure, records = theirs.failure, theirs.records
            for overlap in OVERLAPS:
                mine, told = fastest(ours.records, overlap, ours.failure)
                peer, theirs_told = fastest(records, overlap, failure)
                note = f"ours {told}; {name} {theirs_told}"
                yield Row(f"{count} boxes, one second, {1e3 * overlap:g} mm", name, mine, peer, 1.0, note=note)


def fastest(records: Sequence[dict[str, Any]], overlap: float, failure: str | None) -> tuple[float | None, str]:
    """Seconds of the fastest of several runs that goes in no deeper, and a note on it; or why there is none."""
    within = [record for record in records if record["depth"] <= overlap]
    if not within:
        least = min((record["depth"] for record in records), default=None)
        told = "did not run" if least is None else f"goes in by {1e3 * least:.1f} mm at least"
        return None, told if failure is None else f"{told}: {failure}"
    best = min(within, key=lambda record: float(record["seconds"]))
    steps = "the usual steps" if best["step"] is None else f"steps of {1e3 * best['step']:g} ms"
    stiff = " and its stiffest contacts" if best.get("stiff") else ""
    return best["seconds"], f"goes in by {1e3 * best['depth']:.1f} mm with {steps}{stiff}"


FIGURE = Figure("contact", "boxes that fall onto each other", evaluate)
