"""Which equations of a reduced system are differentiated constraints, and which of its invariants they come from.

`dd.reduce` names the equation `rod, differentiated twice` and keeps `rod` and `rod, differentiated once` as invariants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from daedalus.model.names import element_label
from daedalus.model.system.system import System
from daedalus.reduction.rewriting import TIMES, level_name

_DIFFERENTIATED = re.compile(r"^(?P<stem>.*), differentiated (?P<times>\w+)(?: times)?(?P<element>(?:\[[\d, ]+\])?)$")


@dataclass(frozen=True)
class ConstraintRows:
    """Pairs (row of the residual, place among the invariants), and the invariants that no row belongs to.

    positions: two derivatives below their rows; velocities: one derivative below.
    """

    positions: tuple[tuple[int, int], ...]
    velocities: tuple[tuple[int, int], ...]
    others: tuple[int, ...]


def invariant_labels(system: System) -> list[str]:
    """The name of every invariant, element by element."""
    return [
        element_label(name, () if value.is_scalar() else (value.numel(),), k)
        for name, value in system.invariants.items()
        for k in range(value.numel())
    ]


def constraint_rows(system: System) -> ConstraintRows:
    """The rows of a system that are constraints differentiated once or twice; none where it was not reduced."""
    labels = invariant_labels(system)
    place = {label: k for k, label in enumerate(labels)}
    counts = {text: times for times, text in TIMES.items() if text}
    found: dict[int, list[tuple[int, int]]] = {1: [], 2: []}
    for row, label in enumerate(system.equation_labels):
        match = _DIFFERENTIATED.match(label)
        times = counts.get(match["times"], 0) if match else 0
        if not match or times not in found:
            continue
        lower = [level_name(match["stem"], k) + match["element"] for k in range(times)]
        if all(name in place for name in lower):
            for k, name in enumerate(lower):
                found[times - k].append((row, place[name]))
    claimed = {k for pairs in found.values() for _, k in pairs}
    others = tuple(k for k in range(len(labels)) if k not in claimed)
    return ConstraintRows(tuple(found[2]), tuple(found[1]), others)
