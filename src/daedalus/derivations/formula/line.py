"""One line of a derivation: two sides with a sign between them, in the names of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca

from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.notation import Juxtaposed, Matrix, Side

# Longer lines are cut in print.
LONGEST_LINE = 600


@dataclass(frozen=True, eq=False)
class FormulaLine:
    """left = right. Sides are CasADi expressions, matrices of them, or notation such as ∂L/∂q̇.

    labels: the names of symbols, by `symbol_key`; owner keeps the symbols alive.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); x = m.coordinate("x"); k = m.parameter("k", 4.0)
    >>> m.kinetic_energy(0.5 * m.rate(x) ** 2); m.potential_energy(0.5 * k * x**2)
    >>> line = dd.derive(m, "lagrange").equations[0]
    >>> print(line)
    x_ddot + k*x = 0
    >>> line.to_latex()
    '\\\\ddot{x} + k \\\\, x = 0'
    """

    left: Side
    right: Side
    labels: Mapping[int, str] = field(repr=False)
    owner: object = field(default=None, repr=False)
    sign: str = "="

    @property
    def residual(self) -> ca.SX:
        """left − right, of lines whose sides are expressions."""
        if not isinstance(self.left, ca.SX) or not isinstance(self.right, ca.SX):
            raise TypeError("one side of this line is notation: read .right or .left")
        return self.left - self.right

    @property
    def operations(self) -> int:
        """How long the line is: operations on both sides."""
        return sum(operations(part) for side in (self.left, self.right) for part in _expressions(side))

    def __str__(self) -> str:
        from daedalus.display.formulas.sides import line_text

        return line_text(self, LONGEST_LINE)

    def to_text(self) -> str:
        """The whole line as plain text, however long."""
        from daedalus.display.formulas.sides import line_text

        return line_text(self, None)

    def to_latex(self) -> str:
        """The line in LaTeX, to be put between dollar signs."""
        from daedalus.display.formulas.sides import line_latex

        return line_latex(self)

    def to_mathml(self) -> str:
        """The line as MathML, broken between its terms."""
        from daedalus.display.formulas.sides import line_mathml

        return line_mathml(self)


def _expressions(side: Side) -> list[ca.SX]:
    if isinstance(side, ca.SX):
        return [side]
    if isinstance(side, Matrix):
        return [side.entries]
    return [part for piece in side.pieces for part in _expressions(piece)] if isinstance(side, Juxtaposed) else []
