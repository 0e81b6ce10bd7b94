"""The shortest of several ways to write an expression, kept only if numbers say that it is the same.

Compared with SymPy 1.14 and SymEngine on the equations of motion of a cart-pendulum, a double pendulum and a delta
robot (the page "Derivations" has the table): `sympy.simplify` gives formulas of the same length, shorter by 4 to 6
operations or longer by 42, in about ten times the time; SymEngine is quick and has no trigonometric shortening. Neither
is worth one more package to install.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import casadi as ca

from daedalus.algebra.rank_decision import SAME_FORMULA
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.angles import with_fewer_terms, with_squares, with_sums_of_angles, without_squares
from daedalus.derivations.formula.formula_length import depth, operations
from daedalus.derivations.formula.nesting import Nesting
from daedalus.derivations.formula.polynomial import Atoms, Monomial, Polynomial, TooManyTerms, divided_by, times
from daedalus.derivations.formula.split_sides import without_leading_minus
from daedalus.model.expressions import elements, symbol_key

# Expressions with more operations than these are left as they are: nobody reads them.
LONGEST = 1500
# Of a polynomial with more terms only the plainest forms are tried: all of them take seconds and gain a few operations.
MANY_TERMS = 40


# A form with the factors of chosen symbols gathered may be longer than the shortest one by this factor.
GATHERED = 1.6
# Brackets inside brackets read badly: beyond this depth each costs so much of the length, when forms are compared.
PLAIN_DEPTH, DEEPER = 1, 0.2


class Wish(NamedTuple):
    """What is gathered, the order in which symbols are read, and which are constants or have the length one."""

    collect: list[ca.SX]
    order: dict[int, ca.SX]  # scalars by their keys
    constants: set[int]
    units: list[ca.SX]

    @staticmethod
    def of(
        collect: Iterable[ca.SX], order: Iterable[ca.SX], constants: Iterable[ca.SX], units: Iterable[ca.SX]
    ) -> Wish:
        """The same of columns and matrices."""
        gathered, ordered, fixed = (
            [s for part in parts for s in elements(ca.densify(part))] for parts in (collect, order, constants)
        )
        places: dict[int, ca.SX] = {}
        for symbol in ordered:
            places.setdefault(symbol_key(symbol), symbol)
        return Wish(gathered, places, {symbol_key(s) for s in fixed}, list(units))


def simplified(
    expression: ca.SX,
    collect: Iterable[ca.SX] = (),
    order: Iterable[ca.SX] = (),
    constants: Iterable[ca.SX] = (),
    units: Iterable[ca.SX] = (),
) -> ca.SX:
    """An expression with its terms collected and cancelled, common factors out and sines and cosines shortened.

    Every entry by itself. The result agrees with the expression at random points, or the expression is given back.

    Parameters
    ----------
    collect: symbols whose factors are gathered first, such as accelerations and multipliers.
    order: symbols as they are read in products and sums, parameters first; by their names where it is left out.
    constants: symbols that count as numbers: terms that differ in these alone are taken together.
    units: columns of symbols whose squares add up to one.

    Example
    -------
    >>> import casadi as ca
    >>> a, b, x = ca.SX.sym("a"), ca.SX.sym("b"), ca.SX.sym("x")
    >>> simplified(a * ca.sin(x) ** 2 + b * x - a + b * x)
    SX(((2.*(b*x))-(a*sq(cos(x)))))
    """
    wish = Wish.of(collect, order, constants, units)
    entries = [shortest(entry, wish) for entry in elements(ca.densify(expression))]
    return ca.reshape(ca.vertcat(*entries), *expression.shape) if entries else expression


def shortest(entry: ca.SX, wish: Wish) -> ca.SX:
    """One scalar, as `simplified` writes it."""
    length = operations(entry)
    if length == 0 or length > LONGEST:
        return entry
    entry = without_leading_minus(entry)
    found = [(entry, length, False), *_candidates(entry, wish)]
    least = _least_length(found)
    # A gathered form first where it is not much longer; of equally short ones the later, which is collected.
    near = GATHERED * least + 1
    found.reverse()
    ranked = sorted(found, key=lambda one: (not (one[2] and one[1] <= near), one[1]))
    for candidate, own, _ in ranked:
        if own <= length and (candidate is entry or largest_difference(entry, candidate, wish.units) < SAME_FORMULA):
            return candidate
    return entry


def _least_length(found: list[tuple[ca.SX, int, bool]]) -> float:
    """The length of the shortest form, those with brackets inside brackets counted longer."""
    least = float("inf")
    for form, own, _ in sorted(found, key=lambda one: one[1]):
        if own >= least:
            break
        least = min(least, own * (1 + DEEPER * max(depth(form) - PLAIN_DEPTH, 0)))
    return least


def _candidates(entry: ca.SX, wish: Wish) -> Iterator[tuple[ca.SX, int, bool]]:
    """Ways to write an expression, the plainest first, with their lengths and whether chosen symbols are gathered."""
    present = {symbol_key(s): s for s in ca.symvar(entry)}
    ordered = [symbol for key, symbol in wish.order.items() if key in present]
    ordered += sorted((s for key, s in present.items() if key not in wish.order), key=lambda s: s.name())
    for expand in (False, True):
        atoms = Atoms(expand, symbols=ordered, units=wish.units, shorten=with_fewer_terms)
        try:
            polynomial = atoms.polynomial(entry)
            if len(polynomial) > MANY_TERMS:
                # Three links of an arm have hundreds of products of angles, most of which go together.
                joined = with_sums_of_angles(atoms, without_squares(atoms, polynomial, ca.OP_SIN))
                polynomial = joined if len(joined) < len(polynomial) else polynomial
            plain = len(polynomial) > MANY_TERMS
            gathered, constants = _gathered(atoms, wish.collect), _constants(atoms, wish.constants)
            for form in [polynomial] if plain else _forms(atoms, polynomial):
                if not plain:
                    yield _measured(Nesting(atoms, (), nest=False).write(form), False)
                yield _measured(Nesting(atoms, (), nest=True).write(form), False)
                if _has_denominators(form):
                    yield _measured(Nesting(atoms, (), nest=False, apart=True).write(form), False)
                    yield _measured(Nesting(atoms, (), nest=True, apart=True).write(form), False)
                if gathered or constants:
                    whole = expand or (bool(gathered) and not _hides(atoms, form, wish.collect))
                    yield _measured(Nesting(atoms, gathered).collected(form, constants), whole)
                    # Below a sum a fraction in the numerator would be one inside another.
                    if _has_denominators(form) and not _has_sums_below(atoms, form):
                        apart = Nesting(atoms, gathered, apart=True)
                        yield _measured(apart.collected(form, constants), whole)
        except TooManyTerms:
            continue


def _hides(atoms: Atoms, polynomial: Polynomial, collect: list[ca.SX]) -> bool:
    """Whether brackets that were not multiplied out hold what is gathered."""
    wanted = {symbol_key(s) for s in collect}
    inside = [
        Nesting(atoms, ()).write(atoms.content[a][1])
        for a in {a for m in polynomial for a, _ in m if atoms.content[a][0] == "sum"}
    ]
    return any(symbol_key(s) in wanted for own in inside for s in ca.symvar(own))


def _has_denominators(polynomial: Polynomial) -> bool:
    return any(exponent < 0 for monomial in polynomial for _, exponent in monomial)


def _has_sums_below(atoms: Atoms, polynomial: Polynomial) -> bool:
    return any(e < 0 and atoms.content[atom][0] == "sum" for monomial in polynomial for atom, e in monomial)


def _measured(expression: ca.SX, gathered: bool) -> tuple[ca.SX, int, bool]:
    return expression, operations(expression), gathered


def _gathered(atoms: Atoms, collect: list[ca.SX]) -> list[int]:
    place = {symbol_key(content[1]): k for k, content in enumerate(atoms.content) if content[0] == "symbol"}
    return [place[symbol_key(s)] for s in collect if symbol_key(s) in place]


def _constants(atoms: Atoms, constants: set[int]) -> set[int]:
    """The atoms that count as numbers."""
    return {
        k for k, content in enumerate(atoms.content) if content[0] == "symbol" and symbol_key(content[1]) in constants
    }


def _forms(atoms: Atoms, polynomial: Polynomial) -> Iterator[Polynomial]:
    """A polynomial, over one denominator where it has some, and what its sines and cosines can be turned into."""
    yield polynomial
    if atoms.expand:
        joined = over_one_denominator(atoms, polynomial)
        if joined is not None:
            yield joined
            polynomial = joined
    for function in (ca.OP_SIN, ca.OP_COS):
        plain = without_squares(atoms, polynomial, function)
        joined = with_sums_of_angles(atoms, plain)
        for form in (plain, joined, with_squares(atoms, joined)):
            if form != polynomial:
                yield form


def over_one_denominator(atoms: Atoms, polynomial: Polynomial) -> Polynomial | None:
    """The polynomial with every sum in a denominator below all terms; None where there is none or all have it."""
    lowest: dict[int, float] = {}
    for monomial in polynomial:
        for atom, exponent in monomial:
            if exponent < 0 and atoms.content[atom][0] == "sum" and exponent == int(exponent):
                lowest[atom] = min(lowest.get(atom, 0.0), exponent)
    uneven = {a: e for a, e in lowest.items() if any(dict(m).get(a, 0.0) != e for m in polynomial)}
    whole = {a: e for a, e in lowest.items() if a not in uneven}
    if not lowest:
        return None
    total: Polynomial = {}
    for monomial, factor in polynomial.items():
        term: Polynomial = {tuple((a, e) for a, e in monomial if a not in lowest): factor}
        for atom, exponent in uneven.items():
            for _ in range(int(dict(monomial).get(atom, 0.0) - exponent)):
                term = atoms.multiply(term, atoms.content[atom][1])
        total = atoms.add(total, term)
    below: list[tuple[int, float]] = []
    for atom, exponent in {**uneven, **whole}.items():
        for _ in range(int(-exponent)):
            quotient = quotient_of(atoms, total, atoms.content[atom][1])
            if quotient is None:
                break
            total, exponent = quotient, exponent + 1
        if exponent:
            below.append((atom, exponent))
    shared: Monomial = tuple(sorted(below))
    return {times(m, shared): f for m, f in total.items()}


def quotient_of(atoms: Atoms, above: Polynomial, below: Polynomial) -> Polynomial | None:
    """The polynomial that times another one gives the first; None where a rest stays.

    Example
    -------
    >>> import casadi as ca
    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> atoms = Atoms(expand=True)
    >>> found = quotient_of(atoms, atoms.polynomial(x**2 - y**2), atoms.polynomial(x + y))
    >>> found == atoms.polynomial(x - y)
    True
    """
    rest = dict(above)
    found: Polynomial = {}
    leading = max(below, key=_rank)
    while rest:
        first = max(rest, key=_rank)
        step = divided_by(first, leading)
        if any(e < 0 and dict(first).get(a, 0.0) >= 0 for a, e in step) or len(found) > len(above):
            return None
        factor = rest[first] / below[leading]
        found[step] = factor
        rest = atoms.add(rest, atoms.multiply({step: factor}, below), -1.0)
        if first in rest:
            return None
    return found


def _rank(monomial: Monomial) -> tuple[tuple[int, float], ...]:
    """Lexicographic order: the earliest atoms count most."""
    return tuple((-atom, exponent) for atom, exponent in monomial)
