"""Names for the long entries of a matrix that is wider than a page: "where A[2,0] = ..."."""

from __future__ import annotations

import casadi as ca

from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Juxtaposed, Matrix, Notation, Side
from daedalus.derivations.formula.repeated_parts import Scribe
from daedalus.model.expressions import elements

# Operations that the columns of a matrix may have beside each other, each counted by its longest entry, and those of
# an entry that gets a name.
WIDEST, LONG_ENTRY = 24, 3
# Matrices of more rows or columns are written by their size.
LARGEST = 16


def with_named_entries(scribe: Scribe, lines: list[FormulaLine]) -> tuple[list[FormulaLine], list[FormulaLine]]:
    """Lines with names in the place of long entries of wide matrices, and the lines that say what these are.

    A matrix that stands behind its name, A = [...], names its entries; others do by their letter.
    """
    where: list[FormulaLine] = []

    def named(side: Side, letter: str) -> Side:
        if isinstance(side, Juxtaposed):
            return Juxtaposed(tuple(named(piece, "") for piece in side.pieces))
        if not isinstance(side, Matrix) or not (letter or side.letter) or not _is_wide(side.entries):
            return side
        own = letter or side.letter
        shown = ca.densify(side.entries)
        for i in range(shown.shape[0]):
            for j in range(shown.shape[1]):
                if operations(shown[i, j]) >= LONG_ENTRY:
                    label = f"{own}[{i},{j}]" if shown.shape[1] > 1 else f"{own}[{i}]"
                    symbol = ca.SX.sym(label)
                    scribe.name(symbol, label)
                    where.append(scribe.line(symbol, shown[i, j]))
                    shown[i, j] = symbol
        return Matrix(shown, side.letter)

    found = []
    for line in lines:
        is_name = isinstance(line.left, Notation) and line.left.kind == "name"
        letter = str(line.left.parts[0]) if is_name and isinstance(line.left, Notation) else ""
        found.append(scribe.line(named(line.left, ""), named(line.right, letter), line.sign))
    return (found, where) if where else (lines, [])


def _is_wide(entries: ca.SX) -> bool:
    if max(entries.shape) > LARGEST:
        return False
    dense = ca.densify(entries)
    lengths = [max((operations(entry) for entry in elements(dense[:, j])), default=0) for j in range(dense.shape[1])]
    return sum(lengths) > WIDEST
