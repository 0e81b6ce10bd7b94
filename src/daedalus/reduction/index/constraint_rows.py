"""Which equations of a reduced system are differentiated constraints, and which of its invariants they come from.

`dd.reduce` writes an equation differentiated twice, and keeps it and its first derivative as invariants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from daedalus.model.system.equation_row import Role
from daedalus.model.system.system import System


@dataclass(frozen=True)
class ConstraintRows:
    """Pairs (row of the residual, place among the invariants), and the invariants that no row belongs to.

    positions: two derivatives below their rows; velocities: one derivative below.
    """

    positions: tuple[tuple[int, int], ...]
    velocities: tuple[tuple[int, int], ...]
    others: tuple[int, ...]


def constraint_rows(system: System) -> ConstraintRows:
    """The rows of a system that are constraints differentiated once or twice; none where it was not reduced."""
    place = {row.level: k for k, row in enumerate(system.invariant_rows)}
    found: dict[int, list[tuple[int, int]]] = {1: [], 2: []}
    for number, row in enumerate(system.rows):
        if row.role is not Role.WRITTEN or row.times not in found:
            continue
        lower = [replace(row, times=times).level for times in range(row.times)]
        if all(level in place for level in lower):
            for times, level in enumerate(lower):
                found[row.times - times].append((number, place[level]))
    claimed = {k for pairs in found.values() for _, k in pairs}
    others = tuple(k for k in range(len(system.invariant_rows)) if k not in claimed)
    return ConstraintRows(tuple(found[2]), tuple(found[1]), others)
