"""How wide a formula in LaTeX is set, near enough to decide where a line ends: no TeX engine is asked."""

from __future__ import annotations

import functools
import re

_TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|[^\s]")
# Widths in points of Computer Modern at 10 pt: letters and digits, operators with the room around them, brackets.
LETTER, CAPITAL, DIGIT, OPERATOR, BRACKET, GAP = 5.7, 7.2, 5.0, 12.2, 5.5, 1.7
# Brackets around a fraction are larger by so much.
GROWN = 3.5
# What is raised or lowered, and what stands in a fraction inside a fraction, is smaller.
SMALL = 0.75
COLUMN_GAP, SMALL_GAP = 10.0, 3.0
_SPACES = {"\\,": GAP, "\\;": 2.8, "\\quad": 10.0, "\\qquad": 20.0, "\\left": 0.0, "\\right": 0.0, "\\!": -GAP}
_SILENT = ("\\displaystyle", "\\bigl", "\\bigr", "\\text", "\\mathrm", "\\mathbf", "\\operatorname", "&")
_ACCENTS = ("\\dot", "\\ddot", "\\dddot", "\\ddddot")
_OPERATORS = ("+", "-", "=", "<", ">", "\\leq", "\\geq", "\\neq", "\\land", "\\lor", "\\cdot", "\\circ", "\\times")
_WORDS = ("\\sin", "\\cos", "\\tan", "\\exp", "\\ln", "\\sinh", "\\cosh", "\\tanh", "\\arcsin", "\\arccos", "\\arctan",
          "\\min", "\\max")  # fmt: skip


@functools.lru_cache(maxsize=4096)
def latex_width(text: str) -> float:
    """The width of a formula in points, set at 10 pt.

    Example
    -------
    >>> latex_width("x + y") < latex_width(r"x + \\frac{y}{2} + z")
    True
    >>> latex_width(r"\\frac{a + b}{c}") == latex_width(r"\\frac{a + b}{d}")
    True
    """
    return _Measured(_TOKEN.findall(text)).row(None)


class _Measured:
    """Reads tokens from left to right and adds up their widths."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.place, self.fractions = tokens, 0, 0

    def _next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def _peek(self) -> str | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def row(self, closing: str | None) -> float:
        """All tokens up to a closing one, which is taken too."""
        total = 0.0
        while self.place < len(self.tokens):
            if self._peek() == closing:
                self._next()
                break
            total += self.token()
        return total

    def token(self) -> float:
        """One token with its arguments."""
        token = self._next()
        if token == "{":
            return self.row("}")
        if token in ("^", "_"):
            return self._script(token)
        if token == "\\frac":
            self.fractions += 1
            width = max(self.argument(), self.argument()) + 2.4
            self.fractions -= 1
            return width * (SMALL if self.fractions else 1.0)
        if token == "\\sqrt":
            return self.argument() + 8.5
        if token == "\\begin":
            return self._environment()
        if token in _ACCENTS:
            return self.argument()
        if token == "\\left":
            return 2 * GROWN if self._fraction_inside() else 0.0
        if token in _SPACES or token in _SILENT:
            return _SPACES.get(token, 0.0)
        if token in _WORDS:
            return 4.6 * (len(token) - 1) + GAP
        if token in _OPERATORS:
            return OPERATOR
        if token in "()[]|.,":
            return BRACKET
        return DIGIT if token.isdigit() else CAPITAL if token.isupper() else LETTER

    def _fraction_inside(self) -> bool:
        """Whether a fraction stands before the bracket that closes the one just opened."""
        depth = 1
        for token in self.tokens[self.place :]:
            depth += (token == "\\left") - (token == "\\right")
            if not depth:
                return False
            if token == "\\frac":
                return True
        return False

    def argument(self) -> float:
        """A group in braces, or one token."""
        return self.token() if self._peek() is not None else 0.0

    def _script(self, first: str) -> float:
        """An index and an exponent stand above each other."""
        width = SMALL * self.argument()
        other = self._peek()
        if other in ("^", "_") and other != first:
            self._next()
            width = max(width, SMALL * self.argument())
        return width

    def _environment(self) -> float:
        """The widest entry of every column, with gaps between columns."""
        name = self._name()
        if name == "array":
            self.row_of_letters()
        columns: list[float] = []
        column, width = 0, 0.0
        while self._peek() is not None:
            token = self._peek()
            if token not in ("&", "\\\\", "\\end"):
                width += self.token()
                continue
            columns += [0.0] * (column + 1 - len(columns))
            columns[column] = max(columns[column], width)
            column, width = (column + 1 if token == "&" else 0), 0.0
            self._next()
            if token == "\\\\" and self._peek() == "[":
                while self._next() != "]":
                    pass
            if token == "\\end":
                self._name()
                break
        small = name == "smallmatrix"
        gap, size = (SMALL_GAP, SMALL) if small else (COLUMN_GAP, 1.0)
        return size * sum(columns) + gap * max(len(columns) - 1, 0) + 2 * BRACKET

    def _name(self) -> str:
        return "".join(iter(self._next, "}")).lstrip("{")

    def row_of_letters(self) -> None:
        """The description of an array's columns, which takes no room."""
        self._name()
