"""Large systems: the first call, its memory, and a repeated run, alone and beside CVODE; gradients in runs."""

from collections.abc import Iterator
from typing import Any

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
    (
        {"part": "rhs", "cells": 1_000_000},
        {"nanoseconds": ("right-hand side of a million cells, ns an unknown", 2.0)},
    ),
)

# Gradients by a coefficient in every cell, in runs by the same method.
GRADIENTS = tuple(
    ({"part": "gradient", "field": field, "side": side, "method": method}, f"{words}, {method}")
    for field, side, words, methods in (
        ("diffusion", 100, "gradient of a plate by 10 000 coefficients", ("radau5", "rodas5p", "dop853")),
        ("reaction", 71, "gradient of reactions by 5041 coefficients", ("radau5", "rodas5p")),
    )
    for method in methods
)
MOST_RUNS = 5.0

# A repeated run of ours, the same by CVODE, what the comparison is called, and how many times faster ours is to be.
DIRECT, KRYLOV = "CVODE, SuperLU_MT", "CVODE, GMRES with pyamg"
BESIDE: tuple[tuple[dict[str, Any], dict[str, Any], str, str, float], ...] = (
    (
        {"part": "brusselator", "side": 64, "linear": "sparse"},
        {"way": "direct"},
        "Brusselator, 8192 unknowns",
        DIRECT,
        2.8,
    ),
    (
        {"part": "brusselator", "side": 128, "linear": "sparse"},
        {"way": "direct"},
        "Brusselator, 32 768 unknowns",
        DIRECT,
        5.0,
    ),
    (
        {"part": "brusselator", "side": 128, "linear": "krylov"},
        {"way": "multigrid"},
        "Brusselator, 32 768 unknowns, GMRES",
        KRYLOV,
        3.0,
    ),
    ({"part": "heat", "cells": 100_000}, {}, "rod of 100 000 cells", "CVODE, banded", 2.5),
    ({"part": "ladder", "cells": 2000}, {"way": "Adams"}, "RLC ladder of 2000 cells", "CVODE, Adams, banded", 3.0),
    ({"part": "ladder", "cells": 2000}, {"way": "BDF"}, "RLC ladder of 2000 cells", "CVODE, BDF, banded", 3.0),
)


def evaluate(session: Session) -> Iterator[Row]:
    for options, numbers in PARTS:
        found = session.probe("large", options)
        record = (found.records or [{}])[0]
        for key, (words, allowed) in numbers.items():
            unit = "s" if key in ("first", "repeated") else ""
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
    for options, words in GRADIENTS:
        found = session.probe("large", options)
        runs = (found.records or [{}])[0].get("runs")
        yield Row(words, f"{MOST_RUNS:g} runs", runs, MOST_RUNS, 1.0, "at most", found.failure or "", "")
    for options, way, words, peer, target in BESIDE:
        mine = session.probe("large", {**options, "repeated": True})
        theirs = session.probe("large_by_cvode", {**options, **way}, tool="sundae")
        ours, seconds = (mine.records or [{}])[0].get("repeated"), (theirs.records or [{}])[0].get("seconds")
        yield Row(words, peer, ours, seconds, target, "at least", mine.failure or theirs.failure or "")


FIGURE = Figure("large", "large systems: first calls, memory, repeated runs", evaluate)
