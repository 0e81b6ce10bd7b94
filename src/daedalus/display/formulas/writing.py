"""Writing what is in normal form: one way through it, in the style of text, LaTeX or MathML."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from daedalus.display.formulas.normal_form import Ordered, Value
from daedalus.display.formulas.styles import Text, is_word_rate

# How tightly a text binds: sums least, then products, then what needs no brackets.
SUM, PRODUCT, ATOM = 1, 2, 3
# Beyond this many characters an expression is cut: nobody reads on, and shared parts multiply.
LONGEST = 60_000
# What stands where an expression is cut.
CUT = "…"
# One part in so many is written as a fraction; tenths and fifths stay decimal. So are thirds: their digits do not end.
DIVISORS, THIRDS = (2, 3, 4, 6, 8, 12), (3, 6, 9, 12)
LARGEST_NUMERATOR = 100
# Halves, quarters and eighths of few parts, as energies bring them: 3/2, 3/4, 5/8.
QUARTERS, LARGEST_QUARTERS = (2, 4, 8), 10
# Functions whose powers are written sin²(x).
RAISED = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
# Brackets inside brackets that are still broken.
DEEPEST = 8


def letters_of(text: str) -> int:
    """How many letters of a formula are seen: tags do not count.

    Example
    -------
    >>> letters_of("<mi>x</mi><mo>+</mo><mn>10</mn>")
    4
    """
    return len(re.sub(r"<[^>]*>", "", text))


def as_fraction(factor: float) -> tuple[float, int]:
    """A positive factor as numerator and denominator where one writes it as a fraction, else itself over one.

    Example
    -------
    >>> as_fraction(0.5), as_fraction(2 / 3), as_fraction(1.5), as_fraction(0.2)
    ((1, 2), (2, 3), (3, 2), (0.2, 1))
    """
    if not 0 < factor < LARGEST_NUMERATOR:
        return factor, 1
    whole = round(1 / factor)
    if whole in DIVISORS and abs(whole * factor - 1) < 1e-14:
        return 1, whole
    for divisor in QUARTERS:
        above = round(factor * divisor)
        if above % 2 and above < LARGEST_QUARTERS and factor * divisor == above:
            return above, divisor
    for divisor in THIRDS:
        above = round(factor * divisor)
        if above % 3 and above < LARGEST_NUMERATOR and abs(factor * divisor - above) < 1e-14 * max(above, 1):
            return above, divisor
    return factor, 1


# Roots and multiples of π that a number is compared with, and how large the whole numbers beside them may be.
RADICANDS, LARGEST_BESIDE = (2, 3, 5, 6, 7, 10, 11, 13, 14, 15), 12
KNOWN_BY_DIGITS = 4e-15


def as_radical(factor: float) -> tuple[int, int, int] | None:
    """(a, r, b) of a positive number a √r / b, with r = 0 for a π / b; None where it is neither.

    Example
    -------
    >>> as_radical(3**0.5 / 2), as_radical(2**0.5), as_radical(6.283185307179586), as_radical(0.866)
    ((1, 3, 2), (1, 2, 1), (2, 0, 1), None)
    """
    for radicand in (*RADICANDS, 0):
        share = factor / (math.sqrt(radicand) if radicand else math.pi)
        for below in range(1, LARGEST_BESIDE + 1):
            above = round(share * below)
            if 0 < above <= LARGEST_BESIDE and abs(share * below - above) < KNOWN_BY_DIGITS * above:
                return above, radicand, below
    return None


@dataclass(frozen=True)
class TwoCases:
    """One value where a condition holds, and another where it does not."""

    condition: Value
    value: Value
    otherwise: Value


class FormulaWriter:
    """Writes values of one table in one style."""

    def __init__(self, table: Ordered, style: Text, longest: int = LONGEST) -> None:
        self.table, self.style, self.longest, self._left = table, style, longest, longest

    def write(self, value: Value) -> str:
        """A value as text; cut with … where it is longer than anyone reads."""
        self._left = self.longest
        return self._value(value)[0]

    def terms(self, value: Value) -> list[str]:
        """A value as the texts of its terms, each with its sign, so that a long one can be broken between them."""
        self._left = self.longest
        terms = self.table.terms(value)
        if len(terms) < 2:
            return [self._value(value)[0]]
        return ["".join(part) for part in self._signed(terms)]

    def pieces(self, value: Value, widest: float) -> list[str]:
        """The same in pieces: a term that is wider than `widest` is broken between factors and inside brackets."""
        self._left = self.longest
        return self._pieces(self.table.terms(value) or [value], widest, DEEPEST)

    def _pieces(self, terms: list[Value], widest: float, depth: int) -> list[str]:
        found: list[str] = []
        for parts, term in zip(self._signed(terms), self._in_order(terms)):
            text = "".join(parts)
            if self.style.width(text) <= widest or not depth:
                found.append(text)
                continue
            if isinstance(term, TwoCases):
                first, *rest = self._broken_cases(term, widest, depth - 1) if self.style.breaks_cases else parts[-1:]
                found += ["".join([*parts[:-1], first]), *rest]
                continue
            factor, place = term
            entry = self.table[place]
            signs = [parts[0]] if len(parts) > 1 else []
            factors = entry[1] if entry[0] == "product" else ((place, 1.0),)
            above = [(base, exponent) for base, exponent in factors if exponent > 0]
            below = [(base, -exponent) for base, exponent in factors if exponent < 0]
            upper, lower = self._number(abs(factor))
            number = [self.style.product(upper)] if upper else [self.style.number(1.0)] if not above else []
            pieces = [piece for own in above for piece in self._broken(*own, widest, depth)]
            for own in below:
                first, *rest = self._broken(*own, widest, depth)
                pieces += [f"{self.style.sign('/')}{first}", *rest]
            pieces += [f"{self.style.sign('/')}{own}" for own in lower]
            # A sign and a number stay with what they belong to.
            found += ["".join([*signs, *number, *pieces[:1]]), *pieces[1:]]
        return found

    def _broken(self, base: int, exponent: float, widest: float, depth: int) -> list[str]:
        """A factor in pieces: long sums and products between brackets, arguments of functions, all else whole."""
        style, entry = self.style, self.table[base]
        whole = self._factor(base, exponent, 2)
        if self.style.width(whole) <= widest or not depth or entry[0] not in ("sum", "product", "call", "if"):
            return [whole]
        if entry[0] == "if":
            cases = TwoCases(entry[1], entry[2], (0.0, self.table.one))
            return self._broken_cases(cases, widest, depth - 1, exponent) if style.breaks_cases else [whole]
        if entry[0] == "call":
            return self._broken_call(entry[1], entry[2], exponent, widest, depth - 1)
        terms = list(entry[1]) if entry[0] == "sum" else [(1.0, base)]
        return style.bracketed(self._pieces(terms, widest, depth - 1), self._raised(style.sign(")"), exponent))

    def _broken_call(
        self, function: str, arguments: Sequence[Value], exponent: float, widest: float, depth: int
    ) -> list[str]:
        """A function of long arguments, each in pieces."""
        style = self.style
        inside: list[str] = []
        for k, value in enumerate(arguments):
            own = self._parts(value, widest, depth)
            inside += own if k == len(arguments) - 1 else [*own[:-1], own[-1] + style.comma]
        first, *rest = style.bracketed(inside, style.sign(")"))
        return [f"{self._raised(style.function_name(function), exponent)}{first}", *rest]

    def _broken_cases(self, cases: TwoCases, widest: float, depth: int, exponent: float = 1.0) -> list[str]:
        """[value if condition, otherwise value], which goes on in the next row."""
        style = self.style
        value, other = (self._parts(own, widest, depth) for own in (cases.value, cases.otherwise))
        condition = self._broken_condition(cases.condition, widest, depth)
        between = [style.words("if") + condition[0], *condition[1:], style.words(", otherwise") + other[0], *other[1:]]
        return [
            f"{style.sign('[')}{value[0]}", *value[1:], *between[:-1],
            f"{between[-1]}{self._raised(style.sign(']'), exponent)}",
        ]  # fmt: skip

    def _broken_condition(self, condition: Value, widest: float, depth: int) -> list[str]:
        """Both sides of a relation in pieces, where it is long."""
        whole, entry = self._value(condition)[0], self.table[condition[1]]
        if self.style.width(whole) <= widest or entry[0] != "relation" or condition[0] != 1.0:
            return [whole]
        left, right = (self._parts(side, widest, depth) for side in entry[2:4])
        return [*left, self.style.sign(entry[1]) + right[0], *right[1:]]

    def _parts(self, value: Value, widest: float, depth: int) -> list[str]:
        return self._pieces(self.table.terms(value) or [value], widest, depth)

    def _raised(self, text: str, exponent: float) -> str:
        """Raised to a power; a root that is broken is the power one half."""
        style = self.style
        half = f"{style.number(1)}{style.sign('/')}{style.number(2)}"
        return text if exponent == 1.0 else style.power(text, half if exponent == 0.5 else style.number(exponent))

    def _value(self, value: Value) -> tuple[str, int]:
        """The text of a value and how tightly it binds."""
        factor, place = value
        entry = self.table[place]
        if self._left <= 0:
            return self.style.name(CUT), ATOM
        if entry[0] == "sum" and abs(factor) == 1.0:
            return self._sum([(factor * own, term) for own, term in entry[1]]), SUM
        if factor < 0:
            text, _ = self._term(-factor, place)
            return self.style.together([self.style.sign("-"), text]), SUM
        return self._term(factor, place)

    def _sum(self, terms: list[Value]) -> str:
        return self.style.together([piece for part in self._signed(terms) for piece in part])

    def _signed(self, terms: list[Value]) -> list[list[str]]:
        """Every term with its sign before it."""
        style = self.style
        parts: list[list[str]] = []
        for term in self._in_order(terms):
            if isinstance(term, TwoCases):
                pairs = [(self._value(term.value)[0], self._value(term.condition)[0])]
                text = style.cases([*pairs, (self._value(term.otherwise)[0], "")])
                parts.append([style.sign("+"), text] if parts else [text])
                continue
            factor, place = term
            signs = [style.sign("-" if factor < 0 else "+")] if parts or factor < 0 else []
            parts.append([*signs, self._term(abs(factor), place)[0]])
        return parts

    def _in_order(self, terms: list[Value]) -> list[Value | TwoCases]:
        """What is added reads best first; complementary conditions become cases."""
        return sorted(self._joined_cases(terms), key=lambda term: not isinstance(term, TwoCases) and term[0] < 0)

    def _joined_cases(self, terms: list[Value]) -> list[Value | TwoCases]:
        """Terms as they are; `a if c` plus `b if not c` as one."""
        found: list[Value | TwoCases] = []
        open_cases: dict[Value, dict[bool, Value]] = {}
        for factor, place in terms:
            entry = self.table[place]
            if entry[0] != "if":
                found.append((factor, place))
                continue
            condition, value = entry[1], (factor * entry[2][0], entry[2][1])
            negated = self.table[condition[1]]
            plain = negated[1] if negated[0] == "not" else condition
            open_cases.setdefault(plain, {})[negated[0] == "not"] = value
        for condition, branches in open_cases.items():
            nothing = (0.0, self.table.one)
            found.append(TwoCases(condition, branches.get(False, nothing), branches.get(True, nothing)))
        return found

    def _term(self, factor: float, place: int) -> tuple[str, int]:
        """A positive number times an entry."""
        style, entry = self.style, self.table[place]
        factors = entry[1] if entry[0] == "product" else ((place, 1.0),)
        above = [(base, exponent) for base, exponent in factors if exponent > 0]
        below = [(base, -exponent) for base, exponent in factors if exponent < 0]
        number, lower = self._number(factor)
        texts = [*number, *(self._factor(base, exponent, len(above) + len(number)) for base, exponent in above)]
        texts = texts or [style.number(1.0)]
        lower += [self._factor(base, exponent, len(below) + len(lower)) for base, exponent in below]
        self._left -= 2
        if lower:
            return style.fraction(style.product(texts), style.product(lower)), PRODUCT
        if len(texts) > 1:
            return style.product(texts), PRODUCT
        entry = self.table[above[0][0]] if above else entry
        alone = above and entry[0] in ("sum", "relation", "if") and above[0][1] == 1.0
        return texts[0], SUM if alone else ATOM

    def _number(self, factor: float) -> tuple[list[str], list[str]]:
        """A positive number as factors above and below: 2/3, √3/2, π; nothing for one."""
        style = self.style
        numerator, denominator = as_fraction(factor)
        radical = None if denominator > 1 or factor == round(factor) else as_radical(factor)
        if radical is None:
            above = [style.number(numerator)] if numerator != 1.0 else []
        else:
            numerator, radicand, denominator = radical
            above = [style.number(numerator)] if numerator > 1 else []
            above.append(style.root(style.number(radicand)) if radicand else style.name("pi"))
        return above, [style.number(denominator)] if denominator > 1 else []

    def _factor(self, base: int, exponent: float, beside: int) -> str:
        """A power of an entry that stands beside others."""
        style, entry = self.style, self.table[base]
        text, binding = self._entry(base)
        if exponent == 0.5:
            return style.root(text)
        if exponent != 1.0 and exponent == int(exponent) and entry[0] == "call" and entry[1] in RAISED:
            return style.power_of_call(entry[1], [self._value(part)[0] for part in entry[2]], style.number(exponent))
        if exponent != 1.0:
            plain = entry[0] == "name" and not (style.splits_rates and is_word_rate(entry[1]))
            return style.power(text if plain else style.brackets(text), style.number(exponent))
        return style.brackets(text) if binding == SUM and beside > 1 else text

    def _entry(self, place: int) -> tuple[str, int]:
        style, entry = self.style, self.table[place]
        kind = entry[0]
        if self._left <= 0:
            return style.name(CUT), ATOM
        if kind == "name":
            self._left -= len(entry[1])
            return style.name(entry[1]), ATOM
        if kind == "sum":
            return self._sum(list(entry[1])), SUM
        if kind == "product":
            return self._term(1.0, place)
        if kind == "power":
            (base, binding), (exponent, _) = self._value(entry[1]), self._value(entry[2])
            return style.power(base if binding == ATOM else style.brackets(base), exponent), ATOM
        if kind == "call":
            return style.call(entry[1], [self._value(part)[0] for part in entry[2]]), ATOM
        if kind == "relation":
            return style.together([self._value(entry[2])[0], style.sign(entry[1]), self._value(entry[3])[0]]), SUM
        if kind == "not":
            return style.call("not", [self._value(entry[1])[0]]), ATOM
        return style.cases([(self._value(entry[2])[0], self._value(entry[1])[0]), (style.number(0.0), "")]), SUM
