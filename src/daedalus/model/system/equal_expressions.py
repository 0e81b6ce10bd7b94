"""Expressions as a key: a formula that is written again is found again."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

# Expressions are compared to this depth; deeper ones count as new.
EQUAL_DEPTH = 20


class EqualExpressions:
    """Expressions by name, equal to others that say the same of the same symbols (CasADi's own are not hashable).

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
        self.by_name = {name: ca.SX(expression) for name, expression in by_name.items()}
        self._shapes = frozenset((name, expression.shape) for name, expression in self.by_name.items())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, EqualExpressions)
            and self._shapes == other._shapes
            and all(ca.is_equal(own, other.by_name[name], EQUAL_DEPTH) for name, own in self.by_name.items())
        )

    def __hash__(self) -> int:
        return hash(self._shapes)
