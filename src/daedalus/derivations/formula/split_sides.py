"""The terms of a sum put on two sides of an equation."""

from __future__ import annotations

from collections.abc import Set

import casadi as ca

from daedalus.model.expressions import symbol_key


def split_terms(entry: ca.SX, wanted: set[int], kept: Set[int] = frozenset()) -> tuple[ca.SX, ca.SX]:
    """A sum split in terms without some symbols and, on the other side, terms with them; signs as few as possible.

    kept: symbols whose terms stay where they are.

    Example
    -------
    >>> import casadi as ca
    >>> x, u = ca.SX.sym("x"), ca.SX.sym("u")
    >>> split_terms(2 * x - u + 3, {symbol_key(u)})
    (SX(((2.*x)+3)), SX(u))
    """
    plus: list[ca.SX] = []
    minus: list[ca.SX] = []
    _collect_terms(entry, 1, plus, minus)

    def moves(term: ca.SX) -> bool:
        return _has(term, wanted) and not _has(term, kept) and (not kept or _goes_with(term, wanted))

    left = [(s, t) for s, terms in ((1, plus), (-1, minus)) for t in terms if not moves(t)]
    right = [(-s, t) for s, terms in ((1, plus), (-1, minus)) for t in terms if moves(t)]
    if not left or not right:
        return entry, ca.SX(0)
    return _signed_sum(left), _signed_sum(right)


def _collect_terms(node: ca.SX, sign_of: int, plus: list[ca.SX], minus: list[ca.SX]) -> None:
    waiting = [(node, sign_of)]
    while waiting:
        node, own = waiting.pop()
        if not node.is_constant() and not node.is_symbolic() and node.op() in (ca.OP_ADD, ca.OP_SUB):
            waiting.append((node.dep(1), own if node.op() == ca.OP_ADD else -own))
            waiting.append((node.dep(0), own))
        elif not node.is_constant() and not node.is_symbolic() and node.op() == ca.OP_NEG:
            waiting.append((node.dep(0), -own))
        else:
            (plus if own > 0 else minus).append(node)


def _goes_with(term: ca.SX, wanted: Set[int]) -> bool:
    """Whether a term is zero where its symbols are: u cos x, but not k (x − u), the force of a spring that u moves."""
    own = [s for s in ca.symvar(term) if symbol_key(s) in wanted]
    return ca.substitute(term, ca.vertcat(*own), ca.SX.zeros(len(own))).is_zero()


def _has(term: ca.SX, wanted: Set[int]) -> bool:
    return any(symbol_key(s) in wanted for s in ca.symvar(term))


def _signed_sum(terms: list[tuple[int, ca.SX]]) -> ca.SX:
    turned = [None if own > 0 else _turned(term) for own, term in terms]
    terms = [pair if now is None else (1, now) for pair, now in zip(terms, turned)]
    ordered = sorted(terms, key=lambda term: -term[0])
    total = ordered[0][1] if ordered[0][0] > 0 else -ordered[0][1]
    for own, term in ordered[1:]:
        total = total + term if own > 0 else total - term
    return total


def _turned(term: ca.SX) -> ca.SX | None:
    """What is taken away by a product with a difference, as what is added: c (b − a) for c (a − b)."""
    if term.is_constant() or term.is_symbolic():
        return None
    if term.op() in (ca.OP_MUL, ca.OP_DIV):
        places = (0, 1) if term.op() == ca.OP_MUL else (0,)
        for k in places:
            inside = _turned(term.dep(k))
            if inside is not None:
                operands = [inside if j == k else term.dep(j) for j in (0, 1)]
                return ca.SX.binary(term.op(), *operands)
        return None
    plus: list[ca.SX] = []
    minus: list[ca.SX] = []
    _collect_terms(term, 1, plus, minus)
    return negated(term) if plus and minus else None


def negated(side: ca.SX) -> ca.SX:
    """A sum with all its signs turned."""
    plus: list[ca.SX] = []
    minus: list[ca.SX] = []
    _collect_terms(side, 1, plus, minus)
    return _signed_sum([*((1, t) for t in minus), *((-1, t) for t in plus if not t.is_zero())] or [(1, ca.SX(0))])


def is_negative(entry: ca.SX, wanted: set[int]) -> bool:
    """Whether a sum takes away all of its terms with some symbols."""
    plus: list[ca.SX] = []
    minus: list[ca.SX] = []
    _collect_terms(entry, 1, plus, minus)
    return not any(_has(term, wanted) for term in plus) and any(_has(term, wanted) for term in minus)


def with_first(side: ca.SX, wanted: set[int]) -> ca.SX:
    """A sum whose terms with some symbols come first, as far as they are added.

    Example
    -------
    >>> import casadi as ca
    >>> x, v = ca.SX.sym("x"), ca.SX.sym("v")
    >>> with_first(2 * x + 3 * v, {symbol_key(v)})
    SX(((3*v)+(2.*x)))
    """
    plus: list[ca.SX] = []
    minus: list[ca.SX] = []
    _collect_terms(side, 1, plus, minus)
    plus.sort(key=lambda term: not _has(term, wanted))
    minus.sort(key=lambda term: not _has(term, wanted))
    return _signed_sum([*((1, t) for t in plus), *((-1, t) for t in minus)])


def denominator_of_sum(entry: ca.SX, wanted: set[int]) -> ca.SX | None:
    """What divides a sum with some symbols, the first of the terms of an expression that is such a fraction.

    Example
    -------
    >>> import casadi as ca
    >>> u, v, r = (ca.SX.sym(name) for name in "uvr")
    >>> denominator_of_sum((u - v) / r - u, {symbol_key(v)}), denominator_of_sum(v / r - u, {symbol_key(v)})
    (SX(r), None)
    """
    plus: list[ca.SX] = []
    minus: list[ca.SX] = []
    _collect_terms(entry, 1, plus, minus)
    for term in (*plus, *minus):
        is_fraction = not term.is_constant() and not term.is_symbolic() and term.op() == ca.OP_DIV
        if is_fraction and _is_sum(term.dep(0)) and _has(term.dep(0), wanted):
            return term.dep(1)
    return None


def _is_sum(node: ca.SX) -> bool:
    return not node.is_constant() and not node.is_symbolic() and node.op() in (ca.OP_ADD, ca.OP_SUB)


def without_leading_minus(entry: ca.SX) -> ca.SX:
    """−(a − b)/c as (b − a)/c.

    Example
    -------
    >>> import casadi as ca
    >>> a, b, c = (ca.SX.sym(name) for name in "abc")
    >>> without_leading_minus(-((a - b) / c)), without_leading_minus(-((a + b) / c))
    (SX(((b-a)/c)), SX((-((a+b)/c))))
    """
    if entry.is_constant() or entry.is_symbolic() or entry.op() != ca.OP_NEG:
        return entry
    inside = entry.dep(0)
    is_fraction = not inside.is_constant() and not inside.is_symbolic() and inside.op() == ca.OP_DIV
    above = inside.dep(0) if is_fraction else inside
    plus: list[ca.SX] = []
    minus: list[ca.SX] = []
    _collect_terms(above, 1, plus, minus)
    if not minus:
        return entry
    return negated(above) / inside.dep(1) if is_fraction else negated(above)
