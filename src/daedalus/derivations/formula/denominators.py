"""Fractions over one denominator, and sums that divide without a rest."""

from __future__ import annotations

from daedalus.derivations.formula.polynomial import Atoms, Monomial, Polynomial, divided_by, times


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
