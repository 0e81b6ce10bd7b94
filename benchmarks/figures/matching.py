"""Equations of a chain of bodies in space paired with their unknowns, and how the time grows with its length."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

SIZES = (30, 1000)
# Seconds that the longest chain may take.
ALLOWED = 0.1
KINDS = {"most": "most pairs", "highest": "pairs with the highest derivatives"}


def evaluate(session: Session) -> Iterator[Row]:
    for links in SIZES:
        found = session.probe("matching", {"links": links, "seconds": session.settings.seconds})
        target = 1.0 if links == SIZES[-1] else None
        for kind, words in KINDS.items():
            seconds, note = None, found.failure or ""
            for record in found.records:
                seconds, note = record[kind], f"{record['equations']} equations with {record['entries']} entries"
            yield Row(f"{words}, {links} links", f"{ALLOWED} s", seconds, ALLOWED, target, "at most", note)


FIGURE = Figure("matching", "equations paired with unknowns", evaluate)
