"""Expressions of a system typeset for pages, and the names of its symbols."""

from __future__ import annotations

import casadi as ca

from daedalus.display.formulas.model_equations import WIDEST, broken
from daedalus.display.formulas.normal_form import Ordered
from daedalus.display.formulas.styles import MathML
from daedalus.display.formulas.writing import FormulaWriter
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.system.system import System

# Rows of a vector that a page shows.
MOST_ROWS = 6


def labels_of(system: System) -> dict[int, str]:
    """The user's names of all symbols of a system, by the key of the symbol."""
    return {
        symbol_key(symbol): label
        for letter in ("xdot", "x", "z", "u", "p")
        for symbol, label in zip(elements(system.symbol(letter)), system.labels[letter])
    }


def formula_html(system: System, expression: ca.SX, label: str = "") -> str:
    """An expression = 0 typeset for a page, a paragraph a row, broken between its terms."""
    ordered = Ordered(labels_of(system))
    writer = FormulaWriter(ordered, MathML())
    rows = [
        [*writer.pieces(ordered.value(row), WIDEST), "<mo>=</mo>", "<mn>0</mn>"]
        for row in elements(expression)[:MOST_ROWS]
    ]
    return "".join(broken(row, label) for row in rows)
