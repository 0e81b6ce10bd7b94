"""Expressions of a system, whole: as text, as LaTeX, and typeset for pages; the one place that results use."""

from __future__ import annotations

import casadi as ca

from daedalus.display.formulas.model_equations import WIDEST, broken
from daedalus.display.formulas.normal_form import Ordered
from daedalus.display.formulas.styles import MathML, Text
from daedalus.display.formulas.writing import FormulaWriter
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.system.system import System

# Characters of a text that must not be cut; shared parts could make one endless.
NEVER_CUT = 4_000_000
# Rows of a vector that a page shows.
MOST_ROWS = 6


def labels_of(system: System) -> dict[int, str]:
    """The user's names of all symbols of a system, by the key of the symbol."""
    return {
        symbol_key(symbol): label
        for letter in ("xdot", "x", "z", "u", "p")
        for symbol, label in zip(elements(system.symbol(letter)), system.labels[letter])
    }


def whole_text(system: System, expression: ca.SX) -> list[str]:
    """Every element of an expression as text, in full.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0); m.equation(m.der(x), -2 * x)
    >>> s = m.freeze()
    >>> whole_text(s, 2 * s.symbol("x") + 1)
    ['2*x + 1']
    """
    ordered = Ordered(labels_of(system))
    writer = FormulaWriter(ordered, Text(), NEVER_CUT)
    return [writer.write(ordered.value(row)) for row in elements(expression)]


def formula_html(system: System, expression: ca.SX, label: str = "") -> str:
    """An expression = 0 typeset for a page, a paragraph a row, broken between its terms."""
    ordered = Ordered(labels_of(system))
    writer = FormulaWriter(ordered, MathML())
    rows = [
        [*writer.pieces(ordered.value(row), WIDEST), "<mo>=</mo>", "<mn>0</mn>"]
        for row in elements(expression)[:MOST_ROWS]
    ]
    return "".join(broken(row, label) for row in rows)
