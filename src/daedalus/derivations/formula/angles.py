"""Sines and cosines shortened: sin² + cos² = 1, and products of two angles as functions of their sum or difference."""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.derivations.formula.polynomial import Atoms, Monomial, Polynomial, divided_by, times


def angles_of(atoms: Atoms, polynomial: Polynomial) -> dict[tuple[Any, ...], dict[int, int]]:
    """The atoms of sine and cosine by the angle they belong to."""
    found: dict[tuple[Any, ...], dict[int, int]] = {}
    for atom in sorted({atom for monomial in polynomial for atom, _ in monomial}):
        content = atoms.content[atom]
        if content[0] == "call" and content[1] in (ca.OP_SIN, ca.OP_COS):
            found.setdefault(content[3], {})[content[1]] = atom
    return found


def without_squares(atoms: Atoms, polynomial: Polynomial, of: int) -> Polynomial:
    """Every square of the sine (or of the cosine) replaced by one less the other's."""
    for own in angles_of(atoms, polynomial).values():
        if of not in own:
            continue
        other = _partner(atoms, own, of)
        while any(dict(m).get(own[of], 0.0) >= 2 for m in polynomial):
            total: Polynomial = {}
            for monomial, factor in polynomial.items():
                if dict(monomial).get(own[of], 0.0) < 2:
                    total = atoms.add(total, {monomial: factor})
                    continue
                rest = divided_by(monomial, ((own[of], 2.0),))
                total = atoms.add(total, {rest: factor, times(rest, ((other, 2.0),)): -factor})
            polynomial = total
    return polynomial


def with_fewer_terms(atoms: Atoms, polynomial: Polynomial) -> Polynomial:
    """A sum with sin² + cos² taken together where that leaves fewer terms; of cos² a + sin² a the one.

    Example
    -------
    >>> import casadi as ca
    >>> a, b = ca.SX.sym("a"), ca.SX.sym("b")
    >>> atoms = Atoms(expand=True)
    >>> with_fewer_terms(atoms, atoms.polynomial(ca.cos(a) ** 2 + ca.sin(a) ** 2)), len(
    ...     with_fewer_terms(atoms, atoms.polynomial(b + ca.sin(a) ** 2)))
    ({(): 1.0}, 2)
    """
    for function in (ca.OP_SIN, ca.OP_COS):
        form = without_squares(atoms, polynomial, function)
        polynomial = form if len(form) < len(polynomial) else polynomial
    return polynomial


def _partner(atoms: Atoms, own: dict[int, int], of: int) -> int:
    """The atom of the other function of the same angle."""
    other = ca.OP_COS if of == ca.OP_SIN else ca.OP_SIN
    if other not in own:
        ((monomial, _),) = atoms.call(other, [atoms.content[own[of]][2][0]]).items()
        own[other] = monomial[0][0]
    return own[other]


def with_squares(atoms: Atoms, polynomial: Polynomial) -> Polynomial:
    """T − T cos² as T sin², and T − T sin² as T cos²."""
    for own in angles_of(atoms, polynomial).values():
        for function, atom in list(own.items()):
            for monomial in list(polynomial):
                if monomial not in polynomial or dict(monomial).get(atom, 0.0) < 2:
                    continue
                rest = divided_by(monomial, ((atom, 2.0),))
                factor = polynomial[monomial]
                if abs(polynomial.get(rest, 0.0) + factor) > 1e-13 * abs(factor):
                    continue
                other = _partner(atoms, own, function)
                polynomial = {m: f for m, f in polynomial.items() if m not in (monomial, rest)}
                polynomial = atoms.add(polynomial, {times(rest, ((other, 2.0),)): -factor})
    return polynomial


def with_sums_of_angles(atoms: Atoms, polynomial: Polynomial) -> Polynomial:
    """sin a cos b ± cos a sin b and cos a cos b ± sin a sin b as one function of the sum or the difference."""
    changed = True
    while changed:
        changed = False
        angles = [own for own in angles_of(atoms, polynomial).values() if len(own) == 2]
        for k, one in enumerate(angles):
            for two in angles[k + 1 :]:
                shorter = _joined(atoms, polynomial, one, two)
                if shorter is not None:
                    polynomial, changed = shorter, True
                    break
            if changed:
                break
    return polynomial


def _joined(atoms: Atoms, polynomial: Polynomial, one: dict[int, int], two: dict[int, int]) -> Polynomial | None:
    """The polynomial with all pairs of two angles taken together; None where there is no pair."""
    sin, cos = ca.OP_SIN, ca.OP_COS
    a, b = (atoms.content[own[sin]][2][0] for own in (one, two))
    found = False
    for first, second, function in (((sin, cos), (cos, sin), sin), ((cos, cos), (sin, sin), cos)):
        left = _pair(one[first[0]], two[first[1]])
        right = _pair(one[second[0]], two[second[1]])
        for monomial in list(polynomial):
            if monomial not in polynomial or not contains(monomial, left):
                continue
            rest = divided_by(monomial, left)
            mate = times(rest, right)
            factor, other = polynomial[monomial], polynomial.get(mate, 0.0)
            if mate == monomial or not other or abs(abs(factor) - abs(other)) > 1e-13 * abs(factor):
                continue
            same = factor * other > 0
            # sin(a ± b) keeps the sign of its second product, cos(a ± b) turns it.
            angle = atoms.add(a, b, 1.0 if same == (function == sin) else -1.0)
            product = atoms.multiply({rest: factor}, atoms.call(function, [angle]))
            polynomial = {m: f for m, f in polynomial.items() if m not in (monomial, mate)}
            polynomial, found = atoms.add(polynomial, product), True
    return polynomial if found else None


def _pair(one: int, two: int) -> Monomial:
    return times(((one, 1.0),), ((two, 1.0),))


def contains(monomial: Monomial, factor: Monomial) -> bool:
    """Whether a monomial has a factor."""
    own = dict(monomial)
    return all(own.get(atom, 0.0) >= exponent for atom, exponent in factor)
