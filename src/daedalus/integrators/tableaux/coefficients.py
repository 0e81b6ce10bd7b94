"""Reading the coefficients of a tableau: whole numbers, fractions and texts such as "1/4 - sqrt(3)/6" stay exact.

A float counts as exact only when it is a small binary fraction (0.5, -0.125, 3.0); a tableau with any other float is
a floating one, and questions about it are answered with a tolerance.
"""

from __future__ import annotations

import ast
import math
import numbers
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.algebraic_number import Algebraic, square_root

# A coefficient is a Fraction, an Algebraic or a float; arithmetic among them is left to Python.
Coefficient: TypeAlias = Any

# Floats with at most this denominator are taken at their word: nobody writes 1/3 as n/1024.
EXACT_DENOMINATOR = 1024
# Longer exact coefficients are shown as decimals.
LONGEST_TEXT = 32


def _evaluate(node: ast.expr, text: str, exact: bool) -> Coefficient:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Fraction(ast.get_source_segment(text, node) or str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _evaluate(node.operand, text, exact)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, text, exact), _evaluate(node.right, text, exact)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / right
            case ast.Pow() if isinstance(right, Fraction) and right.denominator == 1 and abs(right) <= 64:
                return left ** int(right)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "sqrt"
        and len(node.args) == 1
    ):
        radicand = _evaluate(node.args[0], text, exact)
        return square_root(radicand) if exact else math.sqrt(radicand)
    raise ValueError(text)


def _read_text(text: str) -> Coefficient:
    """The exact value of "1/3", "0.2", "(2 - sqrt(2))/2"; a float where roots of several kinds meet."""
    stripped = text.strip()
    expression = ast.parse(stripped, mode="eval").body
    try:
        return _evaluate(expression, stripped, exact=True)
    except (ValueError, TypeError):
        return float(_evaluate(expression, stripped, exact=False))


def read_coefficient(value: Any, where: str) -> Coefficient:
    """One coefficient as Fraction, Algebraic or float; where names it in the error.

    Example
    -------
    >>> from daedalus.integrators.tableaux.coefficients import read_coefficient
    >>> print(read_coefficient("2/6", "b[0]"), read_coefficient(0.5, "b[1]"), read_coefficient("sqrt(8)/4", "b[2]"))
    1/3 1/2 sqrt(2)/2
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, Algebraic):
        rational = value.as_fraction()
        return value if rational is None else rational
    if isinstance(value, numbers.Rational) and not isinstance(value, (bool, np.bool_)):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        if isinstance(value, str):
            return read_coefficient(_read_text(value), where)
        if isinstance(value, (bool, np.bool_, complex, np.complexfloating)) or value is None:
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, SyntaxError, ZeroDivisionError, OverflowError, MemoryError) as cause:
        raise InputError(
            "A coefficient of the tableau is not a number.",
            f"{where} = {value!r}",
            because="coefficients are real numbers, or texts made of numbers, + - * / ** and sqrt().",
            remedy='0.25, fractions.Fraction(1, 3), "1/3" or "1/4 - sqrt(3)/6".',
        ) from cause
    if not math.isfinite(number):
        raise InputError(
            "A coefficient of the tableau is not finite.",
            f"{where} = {number}",
            because="a stage with this coefficient would be NaN or infinite on every system.",
            remedy="check the formula this coefficient comes from for a division by zero.",
        )
    exact = Fraction(number)
    return exact if exact.denominator <= EXACT_DENOMINATOR else number


def read_vector(values: Any, name: str) -> list[Coefficient]:
    """A list of coefficients called name[0], name[1], …"""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise _not_a_list(name, values)
    return [read_coefficient(value, f"{name}[{i}]") for i, value in enumerate(values)]


def read_matrix(values: Any, name: str) -> list[list[Coefficient]]:
    """Rows of coefficients called name[0, 0], name[0, 1], …"""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise _not_a_list(name, values)
    rows = []
    for i, row in enumerate(values):
        if isinstance(row, (str, bytes)) or not isinstance(row, (Sequence, np.ndarray)):
            raise _not_a_list(f"row {i} of {name}", row)
        rows.append([read_coefficient(value, f"{name}[{i}, {j}]") for j, value in enumerate(row)])
    return rows


def _not_a_list(name: str, values: Any) -> InputError:
    return InputError(
        "A part of the tableau has the wrong shape.",
        f"{name} = {values!r} ({type(values).__name__})",
        because="A is a square list of rows; b, c and b_hat are lists with one entry per stage.",
        remedy="dd.Tableau([[0, 0], [1, 0]], [0.5, 0.5], [0, 1]).",
    )


def settle(entries: list[Coefficient]) -> bool:
    """Whether these coefficients can be worked with exactly: no float among them, and one number field at most.

    Example
    -------
    >>> from daedalus.integrators.tableaux.coefficients import read_coefficient, settle
    >>> settle([read_coefficient("sqrt(2)", "b[0]"), read_coefficient("1/3", "b[1]")])
    True
    >>> settle([read_coefficient("sqrt(2)", "b[0]"), read_coefficient("sqrt(3)", "b[1]")])
    False
    """
    fields = {entry.field for entry in entries if isinstance(entry, Algebraic)}
    return len(fields) <= 1 and not any(isinstance(entry, float) for entry in entries)


def write_coefficient(value: Coefficient) -> str:
    """A coefficient as one reads it in a book: 1/3, 1/4 - sqrt(3)/6, 0.0964608."""
    text = str(value)
    return f"{float(value):.6g}" if isinstance(value, float) or len(text) > LONGEST_TEXT else text


def check_shapes(A: list[Any], b: list[Any], c: list[Any] | None, b_hat: list[Any] | None) -> None:
    """Refuse parts of a tableau that do not fit together."""
    stages = len(b)
    widths = {len(row) for row in A}
    shape = f"A has {len(A)} row{'s' * (len(A) != 1)} of {' and '.join(map(str, sorted(widths))) or 0} entries"
    others = [f"{name} has {len(part)}" for name, part in (("b", b), ("c", c), ("b_hat", b_hat)) if part is not None]
    fits = stages > 0 and len(A) == stages and widths == {stages}
    if fits and all(part is None or len(part) == stages for part in (c, b_hat)):
        return
    raise InputError(
        "The parts of the tableau do not fit together.",
        "; ".join([shape, *others]),
        because="a method of s stages has an s-by-s matrix A and s entries in b, c and b_hat.",
        remedy="dd.Tableau([[0, 0], [1, 0]], [0.5, 0.5], [0, 1]); write the zeros of an explicit A too.",
    )
