"""Large systems: the first call, its memory, and a repeated run."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# Options of a measurement; for each of its numbers what it is called, and how much it may be.
PARTS = (
    (
        {"part": "brusselator", "side": 64, "repeated": True},
        {"first": ("Brusselator, 8192 unknowns, first call", 4.0), "repeated": ("the same, repeated", 2.7)},
    ),
    (
        {"part": "brusselator", "side": 128, "steps": 1},
        {"first": ("Brusselator, 32 768 unknowns, to the first step", 10.0)},
    ),
    (
        {"part": "brusselator", "side": 256, "steps": 1},
        {
            "first": ("Brusselator, 131 072 unknowns, to the first step", 20.0),
            "gigabytes": ("the same, memory in GB", 1.0),
        },
    ),
    (
        {"part": "heat", "cells": 100_000},
        {"first": ("rod of 100 000 cells, first call", 5.0), "gigabytes": ("the same, memory in GB", 0.5)},
    ),
    (
        {"part": "explicit", "cells": 1_000_000},
        {"first": ("a million cells, 1000 evaluations with set-up", 60.0)},
    ),
)


def evaluate(session: Session) -> Iterator[Row]:
    for options, numbers in PARTS:
        found = session.probe("large", options)
        record = (found.records or [{}])[0]
        for key, (words, allowed) in numbers.items():
            unit = "" if key == "gigabytes" else "s"
            yield Row(
                words,
                f"{allowed:g} {unit}".strip(),
                record.get(key),
                allowed,
                1.0,
                "at most",
                found.failure or "",
                unit,
            )


FIGURE = Figure("large", "large systems: first calls, memory, repeated runs", evaluate)
