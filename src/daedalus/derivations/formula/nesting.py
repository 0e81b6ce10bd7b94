"""A polynomial written with its common factors outside: a x² + b x² as (a + b) x²."""

from __future__ import annotations

from collections.abc import Callable, Collection

import casadi as ca

from daedalus.algebra.rank_decision import ROUNDING
from daedalus.derivations.formula.polynomial import (
    Atoms,
    Monomial,
    Polynomial,
    common_factor,
    divided_by,
    factor_of_all,
    key_of,
    nice,
    scaled,
    times,
)
from daedalus.model.expressions import combined, symbol_key

# Numbers whose roots are written under the root of what they stand before.
SMALL_ROOTS = (2, 3, 5, 6, 7, 10)

# (sign, number, monomial, coefficient) of terms with the same variables.
Group = tuple[float, float, Monomial, ca.SX | None]


class Nesting:
    """Writes polynomials as CasADi expressions, equal parts once.

    collect: atoms whose factors are gathered before all others, in that order: accelerations, multipliers.
    nest: whether factors that only some terms share come out too. apart: whether terms keep denominators of their own;
    otherwise sums are written over one denominator.
    """

    def __init__(self, atoms: Atoms, collect: Collection[int] = (), nest: bool = True, apart: bool = False) -> None:
        self.atoms, self.collect, self.nest = atoms, list(collect), nest
        self._shared = factor_of_all if apart else common_factor
        self._written: dict[object, ca.SX] = {}
        self._weights: dict[int, int] = {}

    def write(self, polynomial: Polynomial) -> ca.SX:
        """The expression of a polynomial."""
        key = key_of(polynomial)
        if key not in self._written:
            self._written[key] = self._sum(polynomial)
        return self._written[key]

    def collected(self, polynomial: Polynomial, constants: Collection[int]) -> ca.SX:
        """Terms with the same variables together, their coefficients of constants in front.

        The factors of the chosen atoms are gathered before; what all terms share comes out where nothing is gathered.
        """
        if len(polynomial) == 1:
            return self.write(polynomial)
        shared = () if self.collect else self._shared(polynomial)
        rest = {divided_by(m, shared): f for m, f in polynomial.items()}
        terms = []
        for atom in self.collect:
            for factor, cofactor in self._taken(rest, atom):
                ((monomial, _),) = factor.items()
                found = self._by_variables(cofactor, constants)
                if len(found) == 1:
                    sign, number, own, coefficient = found[0]
                    terms.append(self._signed(sign, number, times(own, monomial), coefficient))
                else:
                    common, number = common_factor(own for _, _, own, _ in found), shared_number(found)
                    rest_of = [(s, nice(n / number), divided_by(own, common), c) for s, n, own, c in found]
                    inner = self._joined(rest_of, constants)
                    sign = -1.0 if all(s < 0 for s, _ in inner) else 1.0
                    inside = _added([(sign * s, term) for s, term in inner])
                    terms.append((sign, self._product(number, times(common, monomial), inside)))
        found, number = self._by_variables(rest, constants), 1.0
        if shared:
            number = shared_number(found)
            found = [(s, nice(n / number), own, c) for s, n, own, c in found]
        terms += self._joined(found, constants)
        if not terms:
            return ca.SX(0)
        return self._product(number, shared, _added(terms)) if shared or number != 1.0 else _added(terms)

    def _joined(self, groups: list[Group], constants: Collection[int]) -> list[tuple[float, ca.SX]]:
        """Groups as terms; those with the same coefficient and the same functions together: k x − k y as k (x − y).

        What is alone then is joined by its coefficient: m y cos − m x sin as m (y cos − x sin); what is still alone by
        the constants above its fraction: k x/n² − k y/n as k (x/n − y)/n; and with its offset: k x − k l as k (x − l).
        """

        def coefficient(group: Group) -> tuple[object, ...]:
            _, number, own, inside = group
            fixed = tuple((atom, e) for atom, e in own if atom in constants)
            return number, fixed, inside is not None and symbol_key(inside)

        def above(group: Group) -> tuple[object, ...]:
            _, number, own, inside = group
            fixed = tuple((atom, e) for atom, e in own if atom in constants and e > 0)
            return (number, fixed, inside is not None and symbol_key(inside)) if fixed else (id(group),)

        def functions(group: Group) -> tuple[object, ...]:
            return tuple((atom, e) for atom, e in group[2] if self.atoms.content[atom][0] != "symbol")

        first = _alike(groups, lambda group: (coefficient(group), functions(group)))
        alone = [members[0] for members in first if len(members) == 1]
        joined = {id(members[0]): members for members in first if len(members) > 1}
        second = _alike(alone, coefficient)
        joined |= {id(members[0]): members for members in second if len(members) > 1}
        third = _alike([m[0] for m in second if len(m) == 1], above)
        joined |= {id(members[0]): members for members in third if len(members) > 1}
        joined |= {id(m[0]): m for m in _with_offsets([m[0] for m in third if len(m) == 1], constants)}
        terms = []
        for members in (joined[id(group)] for group in groups if id(group) in joined):
            shared = self._shared([own for _, _, own, _ in members])
            _, number, _, inside = members[0]
            if len(members) == 1 or not (shared or inside is not None):
                terms += [self._signed(*group) for group in members]
                continue
            sign = -1.0 if all(s < 0 for s, *_ in members) else 1.0
            total = _added([(sign * s, self._product(1.0, divided_by(own, shared), None)) for s, _, own, _ in members])
            terms.append((sign, self._product(number, shared, total if inside is None else inside * total)))
        return terms

    def _signed(self, sign: float, number: float, monomial: Monomial, inside: ca.SX | None) -> tuple[float, ca.SX]:
        """A product with its sign, which goes into a sum that takes away: −c (T − x) as c (x − T)."""
        turned = self._turned(monomial) if sign < 0 else None
        if turned is None:
            return sign, self._product(number, monomial, inside)
        rest, bracket = turned
        return 1.0, self._product(number, rest, bracket if inside is None else inside * bracket)

    def _turned(self, monomial: Monomial) -> tuple[Monomial, ca.SX] | None:
        """What is left of a product, and its first sum that takes something away with all signs turned."""
        for atom, exponent in monomial:
            content = self.atoms.content[atom]
            if exponent == 1 and content[0] == "sum" and any(value < 0 for value in content[1].values()):
                return divided_by(monomial, ((atom, exponent),)), self.write(scaled(content[1], -1.0))
        return None

    def _by_variables(self, polynomial: Polynomial, constants: Collection[int]) -> list[Group]:
        """(sign, number, monomial, coefficient) of every group of terms with the same variables."""
        groups: dict[Monomial, Polynomial] = {}
        for monomial, factor in polynomial.items():
            moving = tuple((atom, e) for atom, e in monomial if atom not in constants)
            groups.setdefault(moving, {})[divided_by(monomial, moving)] = factor
        found: list[Group] = []
        for moving, coefficient in groups.items():
            shared, number = self._shared(coefficient), common_number(list(coefficient.values()))
            own = times(moving, shared)
            rest = {divided_by(m, shared): nice(f / number) for m, f in coefficient.items()}
            inside = None if list(rest) == [()] else self.write(rest)
            number = number if inside is not None else nice(number * rest[()])
            found.append((1.0 if number > 0 else -1.0, abs(number), own, inside))
        return found

    # -- sums --------------------------------------------------------------------------------------------------

    def _sum(self, polynomial: Polynomial) -> ca.SX:
        if not polynomial:
            return ca.SX(0)
        if len(polynomial) == 1:
            ((monomial, factor),) = polynomial.items()
            return self._product(factor, monomial, None) if factor > 0 else self._negative(-factor, monomial)
        shared = self._shared(polynomial)
        number = common_number(list(polynomial.values()))
        if not self.nest:
            shared, number = tuple((a, e) for a, e in shared if e < 0), 1.0
        if shared or number != 1.0:
            rest = {divided_by(m, shared): nice(f / number) for m, f in polynomial.items()}
            if len(rest) > 1:
                whole = self._product(abs(number), shared, self.write(rest))
                return whole if number > 0 else -whole
        return _added(self._terms(polynomial))

    def _terms(self, polynomial: Polynomial) -> list[tuple[float, ca.SX]]:
        """The terms of a sum with their signs, those with a shared factor together."""
        groups = self._groups(polynomial) if self.nest else []
        inside = [(factor, cofactor) for factor, cofactor in groups if len(factor) > 1 or len(cofactor) > 1]
        alone = {m: f for factor, cofactor in groups if len(factor) == 1 == len(cofactor) for m, f in
                 self.atoms.multiply(factor, cofactor).items()}  # fmt: skip
        alone = alone if self.nest else polynomial
        terms = [self._of_group(*group) for group in inside]
        plain = all(self.atoms.content[atom][0] == "symbol" for monomial in alone for atom, _ in monomial)
        ordered = sorted(alone.items()) if plain else list(alone.items())
        return [*terms, *((factor, self._product(abs(factor), monomial, None)) for monomial, factor in ordered)]

    def _of_group(self, factor: Polynomial, cofactor: Polynomial) -> tuple[float, ca.SX]:
        """A product of two polynomials with its sign in front."""
        sign = 1.0
        if len(factor) > 1:
            return 1.0, self.write(factor) * self.write(cofactor)
        ((monomial, number),) = factor.items()
        if all(value < 0 for value in cofactor.values()):
            sign, cofactor = -1.0, scaled(cofactor, -1.0)
        inner = common_number(list(cofactor.values()))
        if inner != 1.0:
            number, cofactor = nice(number * inner), {m: nice(f / inner) for m, f in cofactor.items()}
        shared = common_factor(cofactor)
        if shared:
            monomial, cofactor = times(monomial, shared), {divided_by(m, shared): f for m, f in cofactor.items()}
        return sign * number, self._product(abs(number), monomial, self.write(cofactor))

    def _groups(self, polynomial: Polynomial) -> list[tuple[Polynomial, Polynomial]]:
        """(factor, cofactor) whose products add up to a polynomial; equal cofactors share a factor."""
        rest, found = dict(polynomial), []
        for atom in self.collect:
            found += self._taken(rest, atom)
        while (best := self._best_atom(rest)) is not None:
            found += self._taken(rest, best)
        found += [({monomial: factor}, {(): 1.0}) for monomial, factor in rest.items()]
        joined: dict[object, tuple[Polynomial, Polynomial]] = {}
        for factor, cofactor in found:
            first = cofactor[min(cofactor)]
            normal = {m: nice(f / first) for m, f in cofactor.items()}
            key = key_of(normal) if len(normal) > 1 else ("alone", len(joined))
            if key in joined:
                before, own = joined[key]
                share = nice(first / own[min(own)])
                joined[key] = self.atoms.add(before, scaled(factor, share)), own
            else:  # with the numbers that it has: no fraction comes out that others need not share
                joined[key] = factor, cofactor
        return list(joined.values())

    def _taken(self, rest: Polynomial, atom: int) -> list[tuple[Polynomial, Polynomial]]:
        """Take all terms with an atom out of the rest; powers of it apart."""
        own = {m: f for m, f in rest.items() if dict(m).get(atom, 0.0)}
        groups: dict[float, Polynomial] = {}
        signs = {dict(m)[atom] > 0 for m in own}
        least = min((dict(m)[atom] for m in own), key=abs, default=0.0) if len(signs) == 1 else None
        for monomial, factor in own.items():
            exponent = dict(monomial)[atom] if least is None or atom in self.collect else least
            groups.setdefault(exponent, {})[divided_by(monomial, ((atom, exponent),))] = factor
            del rest[monomial]
        return [({((atom, exponent),): 1.0}, cofactor) for exponent, cofactor in groups.items()]

    def _best_atom(self, polynomial: Polynomial) -> int | None:
        """The atom that saves most when it is written once: the one in most terms, functions before letters."""
        counts: dict[tuple[int, bool], int] = {}
        for monomial in polynomial:
            for atom, exponent in monomial:
                counts[atom, exponent > 0] = counts.get((atom, exponent > 0), 0) + 1
        gains = [((n - 1) * self._weight(atom), -atom) for (atom, _), n in counts.items() if n > 1]
        return -max(gains)[1] if gains else None

    def _weight(self, atom: int) -> int:
        """Operations that are saved when an atom is written once less."""
        if atom not in self._weights:
            content = self.atoms.content[atom]
            parts = [] if content[0] == "symbol" else [content[1]] if content[0] == "sum" else content[2]
            self._weights[atom] = 1 + sum(sum(1 + len(m) for m in part) for part in parts)
        return self._weights[atom]

    def _negative(self, factor: float, monomial: Monomial) -> ca.SX:
        """−factor times a product; the sign goes into a sum that takes away: −(a − b) c as (b − a) c."""
        turned = self._turned(monomial)
        return -self._product(factor, monomial, None) if turned is None else self._product(factor, *turned)

    # -- products ----------------------------------------------------------------------------------------------

    def _product(self, factor: float, monomial: Monomial, last: ca.SX | None) -> ca.SX:
        """A number, powers of atoms and one more factor, what divides below."""
        if factor != 1.0 and last is None:
            for atom, exponent in monomial:
                content = self.atoms.content[atom]
                if exponent == 1 and content[0] == "sum" and _is_plainer_inside(factor, content[1]):
                    inside = self.write(scaled(content[1], factor))
                    return self._product(1.0, divided_by(monomial, ((atom, exponent),)), inside)
        factor, monomial, root = self._under_the_root(factor, monomial)
        above = [(a, e) for a, e in monomial if e > 0]
        below = [(a, -e) for a, e in monomial if e < 0]
        result = self._all(above)
        if root is not None:
            result = root if result is None else result * root
        if last is not None:
            result = last if result is None else combined(ca.OP_MUL, result, last)
        if factor != 1.0 or result is None:
            result = ca.SX(factor) if result is None else combined(ca.OP_MUL, ca.SX(factor), result)
        lower = self._all(below)
        return result if lower is None else combined(ca.OP_DIV, result, lower)

    def _under_the_root(self, factor: float, monomial: Monomial) -> tuple[float, Monomial, ca.SX | None]:
        """A number that is a root itself goes under one beside it: √2 a √(g h) as a √(2 g h)."""
        square = _radicand(factor)
        if square is None:
            return factor, monomial, None
        for atom, exponent in monomial:
            content = self.atoms.content[atom]
            if exponent == 0.5 and content[0] == "sum":
                root = ca.sqrt(self.write(scaled(content[1], float(square))))
                return 1.0, divided_by(monomial, ((atom, exponent),)), root
        return factor, monomial, None

    def _all(self, powers: list[tuple[int, float]]) -> ca.SX | None:
        total: ca.SX | None = None
        for atom, exponent in sorted(powers, key=lambda power: self._reading_order(power[0])):
            own = self._atom(atom)
            if exponent != 1:
                own = ca.sqrt(own) if exponent == 0.5 else combined(ca.OP_POW, own, ca.SX(exponent))
            total = own if total is None else combined(ca.OP_MUL, total, own)
        return total

    def _reading_order(self, atom: int) -> tuple[object, ...]:
        """Letters first, then functions, those of one angle beside each other: the sine before the cosine."""
        content = self.atoms.content[atom]
        angle, operation = (content[3], content[1]) if content[0] == "call" else ((), 0)
        return content[0] != "symbol", angle, operation, atom

    def _atom(self, atom: int) -> ca.SX:
        content = self.atoms.content[atom]
        if content[0] == "symbol":
            return content[1]
        if content[0] == "sum":
            return self.write(content[1])
        parts = [self.write(part) for part in content[2]]
        if len(parts) == 1:
            return ca.SX.unary(content[1], parts[0])
        return ca.SX.binary(content[1], *parts)


def _alike(groups: list[Group], key: Callable[..., object]) -> list[list[Group]]:
    """Groups with the same key together, in their order."""
    found: dict[object, list[Group]] = {}
    for group in groups:
        found.setdefault(key(group), []).append(group)
    return list(found.values())


def _with_offsets(groups: list[Group], constants: Collection[int]) -> list[list[Group]]:
    """Groups in pairs that differ by an offset, a spring's own length, or by the one of 1 − l/‖x‖; others alone."""
    found: list[list[Group]] = []
    for group in groups:
        mate = next((pair for pair in found if len(pair) == 1 and _is_offset(pair[0], group, constants)), None)
        if mate is None:
            found.append([group])
        else:
            mate.append(group)
    return found


def _is_offset(one: Group, two: Group, constants: Collection[int]) -> bool:
    """Whether the rests of two terms beside what they share are a letter and a constant, or one of them is nothing."""
    if one[0] == two[0] or one[1] != two[1] or one[3] is not None or two[3] is not None:
        return False
    shared = common_factor([one[2], two[2]])
    if not shared or any(exponent < 0 for _, exponent in shared):
        return False
    rests = sorted((divided_by(group[2], shared) for group in (one, two)), key=len)
    letters = all(len(rest) == 1 and rest[0][1] == 1 for rest in rests)
    fixed = any(atom in constants for rest in rests for atom, _ in rest)
    return (letters and fixed) or (not rests[0] and len(shared) > 1)


def _radicand(number: float) -> int | None:
    """The small number whose root a number is; None where it is none."""
    square = round(number * number)
    return square if square in SMALL_ROOTS and abs(number * number - square) <= ROUNDING * square else None


def _is_plainer_inside(number: float, polynomial: Polynomial) -> bool:
    """Whether a number reads better inside a sum: (a + 3 b)/3 as a/3 + b, numbers such as 1.5 as 1/2."""
    inside = scaled(polynomial, number).values()
    before = [number, *polynomial.values()]
    counts = [sum(abs(value) != 1.0 for value in values) for values in (before, inside)]
    plain = [all(_is_plain(value) for value in values) for values in (before, inside)]
    return plain[1] and (counts[1] < counts[0] or (counts[1] == counts[0] and not plain[0]))


def _is_plain(value: float) -> bool:
    """Whether a number is whole or one part in a whole number."""
    return value == round(value) or nice(1 / value) == round(1 / value)


def common_number(factors: list[float]) -> float:
    """The number that comes out of a sum: one that all terms share, or a whole one that divides all of them."""
    least = min(factors, key=abs)
    shared = all(abs(abs(f) - abs(least)) <= 1e-13 * abs(least) for f in factors)
    if not shared and (abs(least) < 2 or any(abs(f / least - round(f / least)) > 1e-12 for f in factors)):
        return 1.0 if any(f > 0 for f in factors) else -1.0
    return abs(least) if any(f > 0 for f in factors) else -abs(least)


def shared_number(groups: list[Group]) -> float:
    """The number that all groups have, or a whole one that divides all of theirs; roots stay under their signs."""
    number = abs(common_number([own for _, own, _, _ in groups])) if groups else 1.0
    return 1.0 if _radicand(number) else number


def _added(terms: list[tuple[float, ca.SX]]) -> ca.SX:
    """A sum: what is added first, then what is taken away."""
    ordered = [term for term in terms if term[0] > 0] + [term for term in terms if term[0] < 0]
    total = ordered[0][1] if ordered[0][0] > 0 else -ordered[0][1]
    for sign, term in ordered[1:]:
        total = combined(ca.OP_ADD if sign > 0 else ca.OP_SUB, total, term)
    return total
