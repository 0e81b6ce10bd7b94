"""Conditions put together: all_of, any_of and negate, since CasADi's symbols have no and, or, not."""

from __future__ import annotations

from functools import reduce

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.expressions import COMPARISONS, as_expression, is_logical, operation


def is_condition(expression: ca.SX) -> bool:
    """Whether an expression is true or false: a comparison, or such put together."""
    return bool(expression.is_scalar()) and (is_logical(expression) or operation(expression) in COMPARISONS)


def all_of(*conditions: object) -> ca.SX:
    """The condition that is true if all of the given conditions are true.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=0.0); full = m.discrete("full", start=0)
    >>> m.equation(m.der(h), 1.0)
    >>> m.when(dd.all_of(h > 1, m.time > 1.5), {"full": 1}, name="fills")
    >>> [(e.name, round(e.time, 9)) for e in dd.simulate(m, 2.0).events]
    [('fills', 1.5)]
    """
    return reduce(ca.logic_and, _checked(conditions, "all_of"))


def any_of(*conditions: object) -> ca.SX:
    """The condition that is true if at least one of the given conditions is true.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=0.0); full = m.discrete("full", start=0)
    >>> m.equation(m.der(h), 1.0)
    >>> m.when(dd.any_of(h > 1, m.time > 1.5), {"full": 1}, name="fills")
    >>> [(e.name, round(e.time, 9)) for e in dd.simulate(m, 2.0).events]
    [('fills', 1.0)]
    """
    return reduce(ca.logic_or, _checked(conditions, "any_of"))


def negate(condition: object) -> ca.SX:
    """The condition that is true if the given one is false.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=1.0); empty = m.discrete("empty", start=0)
    >>> m.equation(m.der(h), -1.0)
    >>> m.when(dd.negate(h > 0.5), {"empty": 1})
    >>> float(dd.simulate(m, 1.0)["empty"][-1])
    1.0
    """
    (own,) = _checked((condition,), "negate")
    return ca.logic_not(own)


def _checked(conditions: tuple[object, ...], who: str) -> list[ca.SX]:
    """Conditions as expressions; numbers and quantities are refused."""
    found = [as_expression(condition, f"A condition of dd.{who}") for condition in conditions]
    wrong = [k for k, condition in enumerate(found) if not is_condition(condition)]
    if not found or wrong:
        raise ModelError(
            f"dd.{who} takes conditions.",
            f"argument {wrong[0] + 1} is a quantity" if wrong else "none is given",
            because="a condition is true or false.",
            remedy=f"dd.{who}(x > 1, v < 0)" if who != "negate" else "dd.negate(x > 1)",
        )
    return found
