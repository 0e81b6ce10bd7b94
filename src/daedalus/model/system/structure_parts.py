"""Where equations are too many for their unknowns, and where too few: alternating paths of a maximum matching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class StructureParts:
    """The coarse parts of A. L. Dulmage and N. S. Mendelsohn (1958): where equations are too many, where too few."""

    too_many_equations: np.ndarray
    undetermined_unknowns: np.ndarray
    loose_unknowns: np.ndarray  # those that the matching leaves over


def structure_parts(
    count: int, size: int, rows: np.ndarray, columns: np.ndarray, partner: np.ndarray
) -> StructureParts:
    """The parts of `count` equations in `size` unknowns, by a matching: the unknown of each equation, -1 for none.

    Example
    -------
    >>> parts = structure_parts(2, 2, np.array([0, 1]), np.array([0, 0]), np.array([0, -1]))
    >>> parts.too_many_equations.tolist(), parts.undetermined_unknowns.tolist()
    ([0, 1], [1])
    """
    unknown_of = {r: c for r, c in enumerate(partner.tolist()) if c >= 0}
    equation_of = {c: r for r, c in unknown_of.items()}
    loose_rows = [r for r in range(count) if r not in unknown_of]
    loose_columns = [c for c in range(size) if c not in equation_of]
    of_row: list[list[int]] = [[] for _ in range(count)]
    of_column: list[list[int]] = [[] for _ in range(size)]
    for r, c in zip(rows.tolist(), columns.tolist()) if loose_rows or loose_columns else ():
        of_row[r].append(c)
        of_column[c].append(r)
    found = (_reached(loose_rows, of_row, equation_of), _reached(loose_columns, of_column, unknown_of), loose_columns)
    return StructureParts(*(np.array(sorted(part), dtype=int) for part in found))


def _reached(loose: list[int], neighbours: list[list[int]], mate: dict[int, int]) -> set[int]:
    """What alternating paths reach from the left-over nodes, on their own side."""
    found, waiting = set(loose), list(loose)
    while waiting:
        others = {mate[node] for node in neighbours[waiting.pop()] if node in mate} - found
        found |= others
        waiting += others
    return found
