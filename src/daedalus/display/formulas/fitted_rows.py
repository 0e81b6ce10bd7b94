"""Equations in LaTeX that fit a page: long ones are broken between terms, before a sign, and go on in the next row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from daedalus.display.formulas.latex_width import LETTER, OPERATOR, latex_width

# Points of a line: of an article as LaTeX sets it, and of a page with margins of two centimetres.
ARTICLE, PAGE = 345.0, 484.0
# A left side of more than this share of the line is broken too; signs then stand where they come.
WIDEST_LEFT = 0.4
INDENT = "\\quad "
_INDENT_WIDTH = 10.0


@dataclass(frozen=True)
class FittedSide:
    """One side of an equation: the whole of it, and how it is cut into pieces that are no wider than some room."""

    whole: str
    cut: Callable[[float], list[str]]

    def pieces(self, room: float) -> list[str]:
        """The side as it is where it fits, else in pieces."""
        return [self.whole] if latex_width(self.whole) <= room else self.cut(room)


@dataclass(frozen=True)
class FittedEquation:
    """left sign right."""

    left: FittedSide
    right: FittedSide
    sign: str = "="


def fitted_rows(equations: Sequence[FittedEquation], widest: float = PAGE) -> list[str]:
    """Rows with marks for an aligned block, none wider than `widest` points where it can be broken.

    Example
    -------
    >>> side = lambda *terms: FittedSide(" ".join(terms), lambda room: list(terms))
    >>> fitted_rows([FittedEquation(side("x"), side("a", "+ b", "+ c", "+ d"))], widest=72)
    ['x &= a + b + c', '&\\\\quad {}+ d']
    """
    if not equations:
        return []
    lefts, rights = (
        max(latex_width(side.whole) for side in sides) for sides in zip(*((e.left, e.right) for e in equations))
    )
    if lefts <= WIDEST_LEFT * widest or lefts + OPERATOR + rights <= widest:
        room = widest - lefts - OPERATOR
        return [row for e in equations for row in _filled(f"{e.left.whole} &{e.sign}", e.right.pieces(room), room)]
    rows: list[str] = []
    for equation in equations:
        pieces = [*equation.left.pieces(widest - 2 * OPERATOR), *_joined(equation, widest)]
        rows += _filled("&", pieces, widest)
    return rows


def filled_rows(pieces: Sequence[str], room: float) -> list[str]:
    """Pieces of one formula in rows of an aligned block, as many in each as there is room for.

    Example
    -------
    >>> filled_rows(["a", "+ b", "+ c"], 40)
    ['&a + b', '&\\\\quad {}+ c']
    """
    return _filled("&", list(pieces), room)


def _joined(equation: FittedEquation, widest: float) -> list[str]:
    """The sign with the first piece behind it, which stay together."""
    first, *rest = equation.right.pieces(widest - 3 * OPERATOR)
    return [f"{equation.sign} {first}", *rest]


def _filled(start: str, pieces: list[str], room: float) -> list[str]:
    """Pieces in rows, as many in each as there is room for."""
    rows, row, width = [], start, 0.0
    for piece in pieces:
        text = piece.strip()
        own = latex_width(text) + LETTER / 2
        if width and width + own > room:
            rows.append(row)
            row, width = f"&{INDENT}{_bound(text)}", _INDENT_WIDTH + own
        else:
            row, width = f"{row} {text}" if row != "&" else f"&{text}", width + own
    return [*rows, row]


def _bound(text: str) -> str:
    """A sign at the beginning of a row keeps its room, as between two terms."""
    return f"{{}}{text}" if text[:1] in "+-=" else text
