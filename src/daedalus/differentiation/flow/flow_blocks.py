"""The unknowns of an implicit stage in blocks that are solved one after the other, and where their nonzeros go."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from daedalus.differentiation.flow.flow_stages import Stage, entries_of
from daedalus.errors import SingularModelError

Entry = tuple[int, int, int]


@dataclass(frozen=True)
class StageBlock:
    """Equations solved together for unknowns (k, then z); each entry is (place in the Jacobian, row, column).

    Own entries count rows and columns inside the block; the others have a row inside and, as column, an unknown or a
    state of an earlier block. Entries by x act through h Σ a_ij k_j.
    """

    equations: list[int]
    unknowns: list[int]
    own_direct: list[Entry]
    own_state: list[Entry]
    other_direct: list[Entry]
    other_state: list[Entry]


def stage_blocks(stage: Stage) -> list[StageBlock]:
    """The blocks of an implicit stage, by the block-triangular form of its equations; none for an explicit one.

    A state counts where its derivative k stands, since it is x + h Σ a_ij k_j.
    """
    if not stage.implicit:
        return []
    n, offset = stage.sizes["x"], stage.offsets["k"]
    unknowns, end = n + stage.sizes["z"], stage.offsets["p"]
    entries = [entry for entry in entries_of(stage.main(False).jacobian) if entry[2] < end]
    direct = [(row, variable - offset) for _, row, variable in entries if variable >= offset]
    by_unknown = _pattern(unknowns, direct)
    if ca.sprank(by_unknown) < unknowns:
        raise SingularModelError(
            "The equations as written do not determine all derivatives and algebraic variables.",
            f"{unknowns} unknowns, structural rank {ca.sprank(by_unknown)}",
            because="the model is a DAE of index 2 or higher, or two equations constrain the same unknowns.",
            remedy="dd.flow(dd.reduce(m), ...)",
        )
    by_state = [(row, variable) for _, row, variable in entries if variable < n]
    count, row_order, column_order, row_start, column_start, *_ = _pattern(unknowns, direct + by_state).btf()
    rows = [list(row_order[row_start[b] : row_start[b + 1]]) for b in range(count)]
    columns = [list(column_order[column_start[b] : column_start[b + 1]]) for b in range(count)]
    return _filled(entries, rows, columns, n, offset)


def _pattern(size: int, places: list[tuple[int, int]]) -> ca.Sparsity:
    places = sorted(set(places))
    return ca.Sparsity.triplet(size, size, [row for row, _ in places], [column for _, column in places])


def _filled(
    entries: list[Entry], rows: list[list[int]], columns: list[list[int]], n: int, offset: int
) -> list[StageBlock]:
    blocks = [StageBlock(r, c, [], [], [], []) for r, c in zip(rows, columns)]
    row_place = {e: (b, k) for b, block in enumerate(rows) for k, e in enumerate(block)}
    column_place = {v: (b, k) for b, block in enumerate(columns) for k, v in enumerate(block)}
    for place, equation, variable in entries:
        if n <= variable < offset:  # an input
            continue
        direct = variable >= offset
        unknown = variable - offset if direct else variable
        block, row = row_place[equation]
        owner, column = column_place[unknown]
        if owner == block:
            (blocks[block].own_direct if direct else blocks[block].own_state).append((place, row, column))
        else:
            (blocks[block].other_direct if direct else blocks[block].other_state).append((place, row, unknown))
    return blocks
