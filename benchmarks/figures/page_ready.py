"""How long a page with the motion of a run takes until it can be used, in a real browser."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# Seconds from opening the file.
ALLOWED = 1.0
KINDS = {"controls": "slider and curves answer", "motion": "motion is drawn"}


def evaluate(session: Session) -> Iterator[Row]:
    found = session.probe("page_ready", {"openings": session.settings.repeats})
    for kind, words in KINDS.items():
        seconds, note = None, found.failure or ""
        for record in found.records:
            seconds, note = record[kind], f"10 s of a delta robot, {record['bytes'] / 1e6:.2f} MB, no graphics card"
        yield Row(words, f"{ALLOWED:g} s", seconds, ALLOWED, 1.0, "at most", note)


FIGURE = Figure("page_ready", "page of a motion until it can be used", evaluate)
