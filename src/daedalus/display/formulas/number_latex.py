"""Exact numbers in LaTeX: fractions, roots and their sums as a book sets them."""

from __future__ import annotations

import re
from typing import Any

from daedalus.display.formulas.styles import number_text

_TERM = re.compile(r"^(-?)(?:(\d+)\*)?(?:(\d+)|([A-Za-z]+)\((\d+)\))(?:/(\d+))?$")


def number_latex(value: Any) -> str:
    """A coefficient: 1/6 as a fraction, 1/4 - sqrt(3)/6 with a root sign, other numbers as decimals.

    Example
    -------
    >>> from fractions import Fraction
    >>> number_latex(Fraction(-1, 6)), number_latex("11/45 - 7*sqrt(6)/360"), number_latex(0.25)
    ('-\\\\frac{1}{6}', '\\\\frac{11}{45} - \\\\frac{7 \\\\sqrt{6}}{360}', '0.25')
    """
    if isinstance(value, float):
        digits, _, exponent = number_text(value, 6).partition("e")
        return f"{digits} \\cdot 10^{{{int(exponent)}}}" if exponent else digits
    text = str(value)
    pieces = re.split(r" ([+-]) ", text)
    terms = [_term(piece) for piece in pieces[::2]]
    if any(term is None for term in terms):
        return f"{float(value):.10g}" if not isinstance(value, str) else f"\\text{{{text}}}"
    written = str(terms[0])
    for sign, term in zip(pieces[1::2], terms[1:]):
        written += f" {sign} {term}"
    return written


def _term(text: str) -> str | None:
    found = _TERM.match(text)
    if found is None:
        return None
    sign, factor, whole, function, radicand, below = found.groups()
    root = {"sqrt": f"\\sqrt{{{radicand}}}", "cbrt": f"\\sqrt[3]{{{radicand}}}"}.get(function or "", "")
    if function and not root:
        return None
    above = " ".join(part for part in (factor, whole or root) if part)
    return f"{sign}\\frac{{{above}}}{{{below}}}" if below else f"{sign}{above}"


def polynomial_latex(coefficients: list[Any], letter: str = "z") -> str:
    """A polynomial from its coefficients in ascending powers."""
    return " ".join(polynomial_terms(coefficients, letter)) or "0"


def polynomial_terms(coefficients: list[Any], letter: str = "z") -> list[str]:
    """The terms of a polynomial, each with its sign in front; the first without a plus.

    Example
    -------
    >>> polynomial_terms([1, -1, 0, 2.5])
    ['1', '- z', '+ 2.5 z^{3}']
    """
    terms = []
    for power, value in enumerate(coefficients):
        if value == 0:
            continue
        text = number_latex(value)
        negative = text.startswith("-") and " + " not in text and " - " not in text
        text = text.removeprefix("-") if negative else text
        name = "" if power == 0 else letter if power == 1 else f"{letter}^{{{power}}}"
        if power and (" + " in text or " - " in text):
            text = f"\\left({text}\\right)"
        text = name if name and text == "1" else f"{text} {name}".strip()
        terms.append(("-" if negative else "+", text))
    if not terms:
        return []
    first = f"-{terms[0][1]}" if terms[0][0] == "-" else terms[0][1]
    return [first, *(f"{sign} {text}" for sign, text in terms[1:])]
