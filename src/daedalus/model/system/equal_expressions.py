"""Expressions as a key: a formula that is written again is found again."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

# Expressions are compared to this depth; deeper ones count as new.
EQUAL_DEPTH = 20


class EqualExpressions:
    """Expressions by name, equal to others that say the same of the same symbols (CasADi's own are not hashable).

    They are held as they come: whoever gives them does not write into them afterwards.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> EqualExpressions({"u": -2 * x}) == EqualExpressions({"u": -2 * x})
    True
    >>> EqualExpressions({"u": -2 * x}) == EqualExpressions({"u": -3 * x})
    False
    """

    def __init__(self, by_name: Mapping[str, ca.SX]) -> None:
        self.by_name = dict(by_name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EqualExpressions) or self.by_name.keys() != other.by_name.keys():
            return False
        return all(_say_the_same(own, other.by_name[name]) for name, own in self.by_name.items())

    def __hash__(self) -> int:
        return hash(frozenset(self.by_name))


def _say_the_same(one: ca.SX, other: ca.SX) -> bool:
    return one is other or (one.shape == other.shape and bool(ca.is_equal(one, other, EQUAL_DEPTH)))
