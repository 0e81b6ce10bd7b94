"""Lines of derivations in the three styles: expressions, matrices and notation such as ∂L/∂q̇."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Juxtaposed, Matrix, Notation, Side
from daedalus.display.formulas.fitted_rows import PAGE, FittedEquation, FittedSide, fitted_rows
from daedalus.display.formulas.model_equations import broken
from daedalus.display.formulas.normal_form import Ordered
from daedalus.display.formulas.styles import Latex, MathML, Text
from daedalus.display.formulas.writing import FormulaWriter
from daedalus.model.names import counted

# Letters of a piece that is not broken on a page: a phone has room for it.
NARROW = 30
# Larger matrices are written by their size.
LARGEST_MATRIX = 16


class SideWriter:
    """Writes sides of lines in one style."""

    def __init__(self, labels: Mapping[int, str], style: Text) -> None:
        self.table, self.style = Ordered(labels), style
        self.writer = FormulaWriter(self.table, style)

    def side(self, side: Side) -> str:
        """One side of a line."""
        if isinstance(side, ca.SX):
            return self.writer.write(self.table.value(side)) if side.is_scalar() else self._matrix(side)
        if isinstance(side, Matrix):
            return self._matrix(side.entries)
        if isinstance(side, Juxtaposed):
            return self.style.juxtaposed([self.side(piece) for piece in side.pieces])
        return self._notation(side)

    def terms(self, side: Side) -> list[str]:
        """A side as the texts of its terms, between which a long line may be broken."""
        if isinstance(side, ca.SX) and side.is_scalar():
            return self.writer.terms(self.table.value(side))
        return [self.side(side)]

    def pieces(self, side: Side, widest: float) -> list[str]:
        """A side in pieces that are no wider than that, where it can be broken."""
        if isinstance(side, Juxtaposed):
            return [self.side(piece) for piece in side.pieces]
        if isinstance(side, ca.SX) and side.is_scalar():
            return self.writer.pieces(self.table.value(side), widest)
        return [self.side(side)]

    def fitted(self, side: Side) -> FittedSide:
        """A side that can be broken."""
        return FittedSide(self.side(side), lambda room: self.pieces(side, room / 2))

    def _matrix(self, entries: ca.SX) -> str:
        rows, columns = entries.shape
        if max(rows, columns) > LARGEST_MATRIX:
            return self.style.large_matrix(rows, columns, ca.sparsify(entries).nnz())
        dense = ca.densify(entries)
        return self.style.matrix(
            [[self.writer.write(self.table.value(dense[i, j])) for j in range(columns)] for i in range(rows)]
        )

    def _notation(self, notation: Notation) -> str:
        style, parts = self.style, notation.parts
        texts = [part if isinstance(part, str) else self._notation(part) for part in parts]
        if notation.kind == "name":
            return style.name(texts[0])
        if notation.kind == "slope":
            return style.partial(style.name(texts[0]), style.name(texts[1]))
        if notation.kind == "rate":
            return style.time_derivative(texts[0])
        return style.sign(texts[0])


def line_text(line: FormulaLine, longest: int | None) -> str:
    """Plain text; sides that are longer than anyone reads are cut, with the number of their terms,
    or of the operations of one long term."""
    writer = SideWriter(line.labels, Text())
    sides = []
    for side in (line.left, line.right):
        text = writer.side(side)
        if longest is not None and len(text) > longest:
            if isinstance(side, Matrix):
                rows, columns = side.entries.shape
                sides.append(f"{text[:longest]} … ({rows} x {columns} entries)")
                continue
            terms = writer.terms(side)
            kept: list[str] = []
            length = 0
            for term in terms:
                length += len(term)
                if kept and length > longest:
                    break
                kept.append(term)
            count = f"{len(terms)} terms" if len(terms) > 1 else counted(_operations(side), "operation")
            text = f"{style_row(kept)[:longest]} … ({count})"
        sides.append(text)
    return f"{sides[0]} {line.sign} {sides[1]}"


def _operations(side: Side) -> int:
    return operations(side) if isinstance(side, ca.SX) else 0


def style_row(terms: list[str]) -> str:
    """Terms in a row."""
    return Text().together(terms)


def line_latex(line: FormulaLine, aligned: bool = False) -> str:
    """LaTeX, with a mark for alignment before the sign on request."""
    writer = SideWriter(line.labels, Latex())
    mark = " &" if aligned else " "
    return f"{writer.side(line.left)}{mark}{Latex().sign(line.sign).strip()} {writer.side(line.right)}"


def lines_latex(lines: Sequence[FormulaLine], widest: float = PAGE) -> list[str]:
    """Lines below each other as rows of an aligned block, long ones broken."""
    equations = []
    for line in lines:
        writer = SideWriter(line.labels, Latex())
        sides = writer.fitted(line.left), writer.fitted(line.right)
        equations.append(FittedEquation(*sides, Latex().sign(line.sign).strip()))
    return fitted_rows(equations, widest)


def line_mathml(line: FormulaLine) -> str:
    """MathML in a paragraph, broken between terms, and inside long ones."""
    writer = SideWriter(line.labels, MathML())
    sides = (writer.pieces(side, NARROW) for side in (line.left, line.right))
    pieces = [*next(sides), MathML().sign(line.sign), *next(sides)]
    return broken(pieces, "")
