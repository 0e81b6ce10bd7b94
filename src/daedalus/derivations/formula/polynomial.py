"""Expressions as polynomials in what cannot be taken apart: symbols, function values, and sums under a power.

A monomial is a sorted tuple of (atom, exponent), a polynomial a dict from monomials to numbers. Exponents may be
negative or fractions: a denominator that is a sum is an atom with a negative exponent. Conditions
that keep a division or a root off one point, such as cos²θ < 1e-20, are left out, as a person does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import casadi as ca

from daedalus.algebra.agreement import TWELVE_DIGITS
from daedalus.algebra.rank_decision import ROUNDING
from daedalus.model.expressions import elements, folded, symbol_key

Monomial = tuple[tuple[int, float], ...]
Polynomial = dict[Monomial, float]

_POWERS = {ca.OP_SQ: 2.0, ca.OP_INV: -1.0, ca.OP_SQRT: 0.5}


class TooManyTerms(Exception):
    """An expanded expression has more terms than anybody reads."""


def nice(number: float) -> float:
    """The number without the rounding that stands between it and a multiple of one twelfth."""
    twelfths = round(number * 12)
    near = twelfths / 12
    return near if twelfths and abs(number - near) <= ROUNDING * abs(near) else number


def key_of(polynomial: Polynomial) -> tuple[tuple[Monomial, float], ...]:
    """What tells two polynomials apart, the order of terms aside."""
    return tuple(sorted(polynomial.items()))


class Atoms:
    """The atoms of some expressions and their polynomials.

    expand: whether products and powers of sums are multiplied out. most: how many terms a polynomial may have.
    symbols: in the order in which they are read in products and sums; others follow as they are met.
    units: columns of symbols whose squares add up to one, such as a unit quaternion.
    shorten: makes a sum that stays together shorter where it can.

    Example
    -------
    >>> import casadi as ca
    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> atoms = Atoms(expand=True)
    >>> sorted(atoms.polynomial((x + y) ** 2 - x**2).values())
    [1.0, 2.0]
    """

    def __init__(
        self,
        expand: bool,
        most: int = 600,
        symbols: Iterable[ca.SX] = (),
        units: Iterable[ca.SX] = (),
        shorten: Callable[[Atoms, Polynomial], Polynomial] | None = None,
    ) -> None:
        self.expand, self.most, self._shorten = expand, most, shorten
        self._places: dict[object, int] = {}
        # ("symbol", SX) | ("call", operation, polynomials, key) | ("sum", polynomial)
        self.content: list[tuple[Any, ...]] = []
        self._known: dict[int, Polynomial] = {}
        self._nodes: list[ca.SX] = []  # keys of nodes are valid while the nodes live
        self._units: set[object] = set()
        for symbol in symbols:
            self.polynomial(symbol)
        self._units = {key_of(self._squares(unit)) for unit in units}

    def _squares(self, unit: ca.SX) -> Polynomial:
        """The sum of the squares of some symbols."""
        return {tuple((a, 2.0 * e) for a, e in m): 1.0 for s in elements(unit) for m in self.polynomial(s)}

    # -- from CasADi -------------------------------------------------------------------------------------------

    def polynomial(self, expression: ca.SX) -> Polynomial:
        """The polynomial of a scalar expression; raises TooManyTerms."""
        return folded(expression, self._known, self._made)

    def _made(self, node: ca.SX, operands: list[ca.SX]) -> Polynomial:
        self._nodes.append(node)
        if node.is_constant():
            value = float(node)
            return {(): value} if value else {}
        if node.is_symbolic():
            return self.of_atom(self._place(("symbol", symbol_key(node)), ("symbol", node)))
        parts = [self._known[symbol_key(operand)] for operand in operands]
        operation = node.op()
        if operation in (ca.OP_ADD, ca.OP_SUB):
            return self.add(parts[0], parts[1], 1.0 if operation == ca.OP_ADD else -1.0)
        if operation in (ca.OP_NEG, ca.OP_TWICE):
            return scaled(parts[0], -1.0 if operation == ca.OP_NEG else 2.0)
        if operation == ca.OP_MUL:
            return self.multiply(parts[0], parts[1])
        if operation == ca.OP_DIV:
            return self.multiply(parts[0], self.power(parts[1], -1.0))
        if operation in _POWERS:
            return self.power(parts[0], _POWERS[operation])
        if operation in (ca.OP_POW, ca.OP_CONSTPOW) and set(parts[1]) <= {()}:
            return self.power(parts[0], parts[1].get((), 0.0))
        holds = guard(node.dep(0)) if operation == ca.OP_IF_ELSE_ZERO else None
        if holds is not None:
            return parts[1] if holds else {}
        return self.call(operation, parts)

    # -- atoms -------------------------------------------------------------------------------------------------

    def _place(self, key: object, content: tuple[Any, ...]) -> int:
        if key not in self._places:
            self._places[key] = len(self.content)
            self.content.append(content)
        return self._places[key]

    def of_atom(self, atom: int, exponent: float = 1.0) -> Polynomial:
        """An atom by itself."""
        return {((atom, exponent),): 1.0}

    def call(self, operation: int, parts: list[Polynomial]) -> Polynomial:
        """A function of polynomials; odd and even ones take the sign of what they are applied to."""
        sign = 1.0
        if operation in (ca.OP_SIN, ca.OP_COS) and parts[0] and min(key_of(parts[0]))[1] < 0:
            parts, sign = [scaled(parts[0], -1.0)], -1.0 if operation == ca.OP_SIN else 1.0
        if not parts[0] and operation == ca.OP_COS:
            return {(): 1.0}
        if not parts[0] and operation == ca.OP_SIN:
            return {}
        key = ("call", operation, tuple(key_of(part) for part in parts))
        return scaled(self.of_atom(self._place(key, ("call", operation, parts, key[2]))), sign)

    def of_sum(self, polynomial: Polynomial, exponent: float) -> Polynomial:
        """A power of a sum that stays together; its first term counts positive and without a number.

        What all its terms share stands outside: 1/a + 1/b as (a + b)/(a b).
        """
        shorter = polynomial if self._shorten is None else self._shorten(self, polynomial)
        if 0 < len(shorter) < len(polynomial):
            return self.power(shorter, exponent) if len(shorter) == 1 else self.of_sum(shorter, exponent)
        shared: Monomial = common_factor(polynomial) if exponent == int(exponent) else ()
        if shared:
            outside = {tuple((atom, own * exponent) for atom, own in shared): 1.0}
            rest = {divided_by(monomial, shared): factor for monomial, factor in polynomial.items()}
            return self.multiply(outside, self.of_sum(rest, exponent))
        first = min(key_of(polynomial))[1]
        number = first if exponent == int(exponent) else abs(first)
        own = {monomial: nice(factor / number) for monomial, factor in polynomial.items()}
        if key_of(own) in self._units:
            return {(): nice(number**exponent)}
        atom = self._place(("sum", key_of(own)), ("sum", own))
        return {((atom, exponent),): nice(number**exponent)}

    # -- arithmetic --------------------------------------------------------------------------------------------

    def add(self, one: Polynomial, two: Polynomial, factor: float = 1.0) -> Polynomial:
        """one + factor · two, without what cancels."""
        total = dict(one)
        for monomial, own in two.items():
            before = total.get(monomial, 0.0)
            after = before + factor * own
            if abs(after) <= ROUNDING * max(abs(before), abs(own)):
                total.pop(monomial, None)
            else:
                total[monomial] = nice(after)
        self._count(len(total))
        return total

    def multiply(self, one: Polynomial, two: Polynomial) -> Polynomial:
        """The product: multiplied out, or of sums that stay together."""
        if not self.expand:
            one, two = (self.of_sum(part, 1.0) if len(part) > 1 else part for part in (one, two))
        self._count(len(one) * len(two) // 4)
        total: Polynomial = {}
        for first, left in one.items():
            for second, right in two.items():
                monomial, number = self._without_whole_roots(times(first, second))
                total[monomial] = total.get(monomial, 0.0) + left * right * number
        largest = max((abs(value) for value in total.values()), default=0.0)
        return {m: nice(v) for m, v in total.items() if abs(v) > ROUNDING**2 * largest and v}

    def _without_whole_roots(self, monomial: Monomial) -> tuple[Monomial, float]:
        """√(a b) √(a b) as a b: products that were kept together for a root, where the root is gone."""
        number = 1.0
        for atom, exponent in monomial:
            content = self.content[atom]
            if content[0] == "sum" and len(content[1]) == 1 and exponent == int(exponent):
                ((inside, factor),) = content[1].items()
                monomial = divided_by(monomial, ((atom, exponent),))
                monomial = times(monomial, tuple((own, power * exponent) for own, power in inside))
                number *= factor**exponent
        return monomial, number

    def power(self, base: Polynomial, exponent: float) -> Polynomial:
        """A power: of one term its factors', of a sum multiplied out where that is wanted."""
        if not exponent:
            return {(): 1.0}
        whole = exponent == int(exponent)
        if not base:
            return {} if exponent > 0 else self.call(ca.OP_INV, [base])
        if len(base) == 1:
            ((monomial, factor),) = base.items()
            safe = all(own != int(own) or own % 2 for _, own in monomial) and len(monomial) <= 1
            ends = whole or nice(factor**exponent) * 12 == round(nice(factor**exponent) * 12)
            if whole or (factor > 0 and safe and ends):
                # √(x²) is |x|, not x: only whole powers, and roots of single odd powers, go into a product. √(2 x)
                # stays together, its number would have no end outside.
                return {tuple((atom, own * exponent) for atom, own in monomial): nice(factor**exponent)}
            if factor > 0 and safe and monomial:
                return self.of_atom(self._place(("sum", key_of(base)), ("sum", base)), exponent)
            return self.of_sum(base, exponent)
        if whole and exponent > 0 and self.expand:
            total = base
            for _ in range(int(exponent) - 1):
                total = self.multiply(total, base)
            return total
        return self.of_sum(base, exponent)

    def _count(self, terms: int) -> None:
        if terms > self.most:
            raise TooManyTerms


def scaled(polynomial: Polynomial, factor: float) -> Polynomial:
    """A polynomial times a number."""
    return {monomial: nice(own * factor) for monomial, own in polynomial.items()} if factor else {}


def times(one: Monomial, two: Monomial) -> Monomial:
    """The product of two monomials."""
    if not one or not two:
        return one or two
    total = dict(one)
    for atom, exponent in two:
        after = total.get(atom, 0.0) + exponent
        if after:
            total[atom] = after
        else:
            del total[atom]
    return tuple(sorted(total.items()))


def divided_by(monomial: Monomial, factor: Monomial) -> Monomial:
    """What is left of a monomial when another one is taken out of it."""
    return times(monomial, tuple((atom, -exponent) for atom, exponent in factor))


def common_factor(monomials: Iterable[Monomial]) -> Monomial:
    """The largest monomial in all of some: the least power of every atom, denominators included."""
    shared: dict[int, float] | None = None
    for monomial in monomials:
        own = dict(monomial)
        if shared is None:
            shared = own
            continue
        both = {atom: min(shared.get(atom, 0.0), own.get(atom, 0.0)) for atom in {*shared, *own}}
        shared = {atom: exponent for atom, exponent in both.items() if exponent}
    return tuple(sorted((shared or {}).items()))


def factor_of_all(monomials: Iterable[Monomial]) -> Monomial:
    """The largest monomial that every one of some has: powers of one sign in all of them.

    Example
    -------
    >>> factor_of_all([((0, 2.0), (1, -1.0)), ((0, 1.0),)])
    ((0, 1.0),)
    """
    every = [dict(monomial) for monomial in monomials]
    found = []
    for atom, exponent in (every[0] if every else {}).items():
        own = [powers.get(atom, 0.0) for powers in every]
        if all(power * exponent > 0 for power in own):
            found.append((atom, min(own, key=abs)))
    return tuple(sorted(found))


def guard(condition: ca.SX) -> bool | None:
    """What a condition is everywhere but at single points; None where it is no guard.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> guard(ca.cos(x) ** 2 < 1e-20), guard(x**2 > 1e-20), guard(x < 1e-20), guard(x**2 < 1)
    (False, True, None, None)
    """
    if condition.is_constant() or condition.is_symbolic():
        return None
    if condition.op() == ca.OP_NOT:
        inside = guard(condition.dep(0))
        return None if inside is None else not inside
    if condition.op() not in (ca.OP_LT, ca.OP_LE):
        return None
    below, above = condition.dep(0), condition.dep(1)
    if _is_tiny(above) and _is_square(below):
        return False
    return True if _is_tiny(below) and _is_square(above) else None


def _is_tiny(side: ca.SX) -> bool:
    return bool(side.is_constant()) and 0 <= float(side) <= TWELVE_DIGITS


def _is_square(side: ca.SX) -> bool:
    """Whether an expression is a square or a sum of squares."""
    if side.is_constant() or side.is_symbolic():
        return False
    if side.op() == ca.OP_ADD:
        return _is_square(side.dep(0)) and _is_square(side.dep(1))
    return side.op() == ca.OP_SQ
