"""Lines with matrices in plain text: rows below each other, columns aligned."""

from __future__ import annotations

import casadi as ca

from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Juxtaposed, Matrix, Side
from daedalus.display.formulas.sides import LARGEST_MATRIX, SideWriter
from daedalus.display.formulas.styles import Text


def matrix_rows(line: FormulaLine, widest: int) -> list[str] | None:
    """The rows of a line that has a matrix of several rows; None of other lines, and of wider ones.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.derivations.formula.notation import name
    >>> x = ca.SX.sym("x")
    >>> line = FormulaLine(name("A"), Matrix(ca.vertcat(ca.horzcat(0, 1), ca.horzcat(-x, 0))), {})
    >>> print("\\n".join(matrix_rows(line, 80)))
        [  0  1 ]
    A = [ -x  0 ]
    """
    writer = SideWriter(line.labels, Text())
    blocks = [*_blocks(writer, line.left), [Text().sign(line.sign).strip()], *_blocks(writer, line.right)]
    height = max(map(len, blocks))
    if height == 1:
        return None
    rows = [" ".join(row) for row in zip(*(_filled(block, height) for block in blocks))]
    return rows if max(map(len, rows)) <= widest else None


def _blocks(writer: SideWriter, side: Side) -> list[list[str]]:
    """The pieces of a side, each as rows of one width."""
    if isinstance(side, Juxtaposed):
        return [block for piece in side.pieces for block in _blocks(writer, piece)]
    entries = side.entries if isinstance(side, Matrix) else side if isinstance(side, ca.SX) else ca.SX(0)
    if entries.is_scalar() or max(entries.shape) > LARGEST_MATRIX:
        return [[writer.side(side).strip()]]
    dense = ca.densify(entries)
    texts = [
        [writer.side(dense[i, j]) for j in range(dense.shape[1])] for i in range(dense.shape[0])
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*texts)]
    return [[f"[ {'  '.join(text.rjust(width) for text, width in zip(row, widths))} ]" for row in texts]]


def _filled(block: list[str], height: int) -> list[str]:
    """A block with empty rows above and below."""
    width = max(map(len, block))
    above = (height - len(block)) // 2 if len(block) > 1 else height // 2
    rows = [*[""] * above, *block]
    return [row.ljust(width) for row in (*rows, *[""] * (height - len(rows)))]
