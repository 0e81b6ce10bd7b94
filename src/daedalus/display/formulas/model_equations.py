"""The equations of a model as they are read: what is differentiated on the left, in the user's names, whole."""

from __future__ import annotations

import html
from dataclasses import dataclass

import casadi as ca

from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.repeated_parts import PAGES, with_named_parts
from daedalus.derivations.formula.simplify import simplified
from daedalus.derivations.reading import Reading
from daedalus.display.formulas.fitted_rows import FittedEquation, FittedSide, fitted_rows
from daedalus.display.formulas.normal_form import Ordered, Value
from daedalus.display.formulas.styles import Latex, MathML, Text
from daedalus.display.formulas.writing import CUT, FormulaWriter, letters_of
from daedalus.model.assembly.joined_model import connection_rows
from daedalus.model.expressions import elements
from daedalus.model.model import Model
from daedalus.model.names import derivative_name, element_label

# Letters of a piece that is not broken, and of a formula that fills a screen.
WIDEST, SCREEN = 48, 1200
_SIGNS, _EQUALS = ("<mo>+</mo>", "<mo>−</mo>"), "<mo>=</mo>"

# Longer equations are written as they were derived.
MOST_OPERATIONS = 500
# Characters of an equation in a file, which is not cut.
NEVER_CUT = 4_000_000
# Characters of a page for equations that are longer than a formula may usually be.
LONG_ONES = 1_500_000


@dataclass(frozen=True)
class EquationLine:
    """One equation: its label and its two sides."""

    label: str
    left: Value
    right: Value


class Equations:
    """All equations of a model and what else is written in it, ready to be written in a style.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0); k = m.parameter("k", 4.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), -k * x)
    >>> print(Equations(m).text())
    x_dot = v
    v_dot = -k*x
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.table = Ordered(model.written.labels())
        self._rates = [self._derivatives(highest=True), self._derivatives(highest=False)]
        self.lines = [line for name, e in model.all_equations().items() for line in self._lines(name, e.residual)]

    def _derivatives(self, highest: bool) -> set[str]:
        """The labels of all derivatives, or of the highest of every state."""
        model = self.model
        return {
            element_label(derivative_name(name, order), model.written.variables[name].shape, k)
            for name, chain in model.written.derivatives.items()
            for order in ([len(chain)] if highest else range(1, len(chain) + 1))
            for k in range(model.written.variables[name].size)
        }

    def _lines(self, name: str, residual: ca.SX) -> list[EquationLine]:
        written = name in self.model.written.equations
        rows = elements(residual) if written else [self._collected(row) for row in elements(residual)]
        shape = () if len(rows) == 1 else (len(rows),)
        return [EquationLine(element_label(name, shape, k), *self._sides(row, written)) for k, row in enumerate(rows)]

    def _collected(self, row: ca.SX) -> ca.SX:
        """A derived equation with its terms collected and cancelled; long ones as they are."""
        if operations(row) > MOST_OPERATIONS:
            return row
        model = self.model
        constants = [model.written.symbols[v.name] for v in model.written.variables.values() if v.kind == "parameter"]
        highest = [chain[-1] for chain in model.written.derivatives.values() if chain]
        return simplified(row, highest, constants, constants)

    def _sides(self, row: ca.SX, written: bool) -> tuple[Value, Value]:
        """As it was written where that can be seen, else what is differentiated = the rest."""
        table = self.table
        if written and not row.is_constant() and not row.is_symbolic() and row.op() == ca.OP_SUB:
            left, right = table.value(row.dep(0)), table.value(row.dep(1))
            return (right, left) if left[1] == table.one and right[1] != table.one else (left, right)
        value = table.value(row)
        for rates in self._rates:
            known: dict[int, bool] = {}
            moving = [term for term in table.terms(value) if table.depends_on(term[1], rates, known)]
            if moving:
                break
        else:
            return value, (0.0, table.one)
        rest = [term for term in table.terms(value) if term not in moving]
        if all(factor < 0 for factor, _ in moving):
            return table.sum([(-f, p) for f, p in moving]), table.sum(rest)
        return table.sum(moving), table.sum([(-f, p) for f, p in rest])

    def _joints(self, name: str, residual: ca.SX) -> list[EquationLine]:
        """What a connection says: a = b, or a sum that is zero."""
        found = []
        for row in elements(ca.densify(ca.vec(residual))):
            left, right = self.table.value(row), (0.0, self.table.one)
            if not row.is_constant() and not row.is_symbolic() and row.op() == ca.OP_SUB:
                left, right = self.table.value(row.dep(0)), self.table.value(row.dep(1))
            found.append(EquationLine(name, left, right))
        return found

    # -- in three styles ---------------------------------------------------------------------------------------

    def text(self) -> str:
        """Plain text, a line an equation."""
        writer = FormulaWriter(self.table, Text())
        return "\n".join(f"{writer.write(line.left)} = {writer.write(line.right)}" for line in self.lines)

    def latex(self) -> str:
        """An aligned block, to be put between dollar signs; long equations are broken, endless ones use names."""
        joined = [
            line
            for rows in connection_rows(self.model).values()
            for n, row in rows.items()
            for line in self._joints(n, row)
        ]
        if self._length > PAGES:
            return self._latex_by_names(joined)
        return _aligned(fitted_rows(self._fitted([*self.lines, *joined])))

    def _fitted(self, lines: list[EquationLine]) -> list[FittedEquation]:
        writer = FormulaWriter(self.table, Latex(), NEVER_CUT)

        def side(value: Value) -> FittedSide:
            return FittedSide(writer.write(value), lambda room: writer.pieces(value, room / 2))

        return [FittedEquation(side(line.left), side(line.right)) for line in lines]

    def _latex_by_names(self, joined: list[EquationLine]) -> str:
        """Equations that would fill pages: parts that they repeat have names, which are explained below."""
        from daedalus.display.formulas.sides import lines_latex

        read, lines = Reading(self.model), []
        for e in self.model.all_equations().values():
            for row in elements(e.residual):
                is_difference = not row.is_constant() and not row.is_symbolic() and row.op() == ca.OP_SUB
                sides = (row.dep(0), row.dep(1)) if is_difference else (row, ca.SX(0))
                lines.append(FormulaLine(*sides, read.labels, read))
        shown, where = with_named_parts(read, lines)
        rows = [*lines_latex(shown), *fitted_rows(self._fitted(joined))]
        return _aligned([*rows, "&\\text{where}", *lines_latex(where)] if where else rows)

    @property
    def _length(self) -> int:
        return sum(operations(e.residual) for e in self.model.all_equations().values())

    def mathml(self, most: int | None = None) -> str:
        """A paragraph an equation, each broken between its terms; `most` leaves the rest out and says so."""
        shown = self.lines if most is None else self.lines[:most]
        rows, room = [], LONG_ONES
        for line in shown:
            pieces = self._pieces(line, FormulaWriter(self.table, MathML()))
            # What would be cut is whole behind its name, as long as the page does not grow beyond use.
            if _is_cut(pieces) and room > 0:
                pieces = self._pieces(line, FormulaWriter(self.table, MathML(), room))
                room -= sum(map(len, pieces))
            rows.append(broken(pieces, line.label))
        if len(shown) < len(self.lines):
            rows.append(f"<p>… and {len(self.lines) - len(shown)} more</p>")
        return "".join(rows)

    @staticmethod
    def _pieces(line: EquationLine, writer: FormulaWriter) -> list[str]:
        return [*writer.pieces(line.left, WIDEST), _EQUALS, *writer.pieces(line.right, WIDEST)]

    def named(self, label: str, expression: ca.SX) -> str:
        """One expression under its name, in MathML."""
        writer = FormulaWriter(self.table, MathML())
        rows = elements(expression)
        shape = () if len(rows) == 1 else (len(rows),)
        names = [element_label(label, shape, k) for k in range(len(rows))]
        return "".join(
            broken([MathML().name(name), "<mo>=</mo>", *writer.pieces(self.table.value(row), WIDEST)], name)
            for name, row in zip(names, rows)
        )


def _aligned(rows: list[str]) -> str:
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _is_cut(pieces: list[str]) -> bool:
    """Whether something was too long to be written out."""
    return any(CUT in piece for piece in pieces)


def broken(pieces: list[str], label: str) -> str:
    """A formula as a paragraph of pieces, between which a browser may begin a new line.

    One that is longer than a screen is shown by its name; the whole of it opens below and scrolls.
    """
    letters = sum(letters_of(piece) for piece in pieces)
    # A sign between two pieces keeps its room on both sides.
    spaced = [piece.replace("<mo>", '<mo form="infix">', 1) if piece.startswith(_SIGNS) and k and
              pieces[k - 1] != _EQUALS else piece for k, piece in enumerate(pieces)]  # fmt: skip
    inside = " ".join(f'<math displaystyle="true"><mrow>{piece}</mrow></math>' for piece in spaced)
    name = html.escape(label, quote=True)
    whole = f'<p class="dd-formula" title="{name}">{inside}</p>'
    cut = _is_cut(pieces)
    if letters <= SCREEN and not cut:
        return whole
    told = f"{name or 'formula'} ({letters:,} characters{', cut: m.to_latex() has the rest' if cut else ''})"
    return f'<details class="dd-long"><summary>{told}</summary><div class="dd-whole">{whole}</div></details>'
