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
        >>> from collections.abc import Set

    import casadi as ca
        >>> x, u = ca.SX.sym("x"), ca.SX.sym("u")
        >>> split_terms(2 * x - u + 3, {symbol_key(u)})
        (SX(((2.*x)+3)), SX(u))
    """
    plus: list[ca.SX] = []
    minus: list[ca.SX] = []
    _collect_terms(entry, 1, plus, minus)

    def moves(term: ca.SX) -> bool:
        return _has(term, wanted) and not _has(term, kept)

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


def _has(term: ca.SX, wanted: Set[int]) -> bool:
    return any(symbol_key(s) in wanted for s in ca.symvar(term))


def _signed_sum(terms: list[tuple[int, ca.SX]]) -> ca.SX:
    ordered = sorted(terms, key=lambda term: -term[0])
    total = ordered[0][1] if ordered[0][0] > 0 else -ordered[0][1]
    for own, term in ordered[1:]:
        total = total + term if own > 0 else total - term
    return total


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
