"""The block-triangular order of a system, and the parts of a structure with too many or too few equations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.analysis.structure.signature import Signature, from_entries
from daedalus.model.system.structure_parts import StructureParts, structure_parts


@dataclass(frozen=True, eq=False)
class Block:
    """Equations that must be solved together for as many unknowns, once the earlier blocks are known."""

    equations: np.ndarray
    unknowns: np.ndarray


def blocks_in_order(s: Signature, tight: bool = False) -> list[Block]:
    """The irreducible blocks of a system (Duff and Reid 1978); the first stands alone, later ones need earlier ones.

    `tight` takes only the entries that count in the system Jacobian, which gives smaller blocks.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.analysis.structure.signature import signature
    >>> y = ca.SX.sym("y", 2)
    >>> [b.unknowns.tolist() for b in blocks_in_order(signature(ca.vertcat(y[0] - y[1], y[1] - 1), [y]))]
    [[1], [0]]
    """
    if not len(s.rows):
        return []
    chosen = s.tight if tight else np.ones(len(s.rows), dtype=bool)
    pattern = ca.Sparsity.triplet(s.count, s.size, s.rows[chosen].tolist(), s.columns[chosen].tolist())
    found = triangular_blocks(pattern)
    return [Block(np.array(rows, dtype=int), np.array(columns, dtype=int)) for rows, columns in found]


def triangular_blocks(pattern: ca.Sparsity) -> list[tuple[list[int], list[int]]]:
    """Rows and columns of the irreducible blocks of a pattern, in the order in which they can be solved."""
    count, rows, columns, row_start, column_start, *_ = pattern.btf()
    return [
        (list(rows[row_start[b] : row_start[b + 1]]), list(columns[column_start[b] : column_start[b + 1]]))
        for b in range(count)
    ]


def block_indices(s: Signature, blocks: list[Block]) -> list[int | None]:
    """The structural index of every irreducible block by itself, the unknowns of earlier ones being known.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.analysis.structure.signature import signature
    >>> y, ydot = ca.SX.sym("y", 2), ca.SX.sym("ydot", 2)
    >>> s = signature(ca.vertcat(ydot[0] - y[1], y[0] - 1), [y, ydot])      # x' = z, x = 1
    >>> block_indices(s, blocks_in_order(s))
    [1, 1]
    """
    of_row, of_column = np.full(s.count, -1), np.full(s.size, -1)
    row, column = np.zeros(s.count, dtype=int), np.zeros(s.size, dtype=int)
    for k, block in enumerate(blocks):
        of_row[block.equations], of_column[block.unknowns] = k, k
        row[block.equations], column[block.unknowns] = np.arange(len(block.equations)), np.arange(len(block.unknowns))
    inside = np.flatnonzero((of_row[s.rows] == of_column[s.columns]) & (of_row[s.rows] >= 0))
    inside = inside[np.argsort(of_row[s.rows[inside]], kind="stable")]
    ends = np.searchsorted(of_row[s.rows[inside]], np.arange(len(blocks) + 1))
    found: list[int | None] = []
    known: dict[tuple[bytes, ...], int | None] = {}
    for k, block in enumerate(blocks):
        own = inside[ends[k] : ends[k + 1]]
        if len(block.equations) == 1:
            # One equation in one unknown: x' is given, or x is.
            found.append(int(not s.orders[own].any()))
        else:
            entries = row[s.rows[own]], column[s.columns[own]], s.orders[own]
            # Large systems repeat themselves.
            key = tuple(part.tobytes() for part in entries)
            if key not in known:
                known[key] = from_entries(len(block.equations), len(block.unknowns), *entries).index
            found.append(known[key])
    return found


def coarse_parts(s: Signature) -> StructureParts:
    """The parts of a signature; all empty where every equation has an unknown of its own.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.analysis.structure.signature import signature
    >>> y = ca.SX.sym("y", 2)
    >>> parts = coarse_parts(signature(ca.vertcat(y[0] - 1, ca.sin(y[0])), [y]))
    >>> parts.too_many_equations.tolist(), parts.undetermined_unknowns.tolist()
    ([0, 1], [1])
    """
    return structure_parts(s.count, s.size, s.rows, s.columns, s.partner)
