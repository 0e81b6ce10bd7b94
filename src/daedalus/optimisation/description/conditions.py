"""Conditions of a problem: comparisons of expressions read as lower <= expression <= upper, with a name and a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import as_expression, column, elements, operation, symbol_key

PLACES = ("all", "nodes", "start", "end")


@dataclass(frozen=True, eq=False)
class Condition:
    """lower <= expression <= upper at a place: "all", "nodes", "start", "end" or a share of the duration.

    soft: the weight of what is left over, or None where the condition is strict.
    """

    name: str
    expression: ca.SX
    lower: np.ndarray
    upper: np.ndarray
    at: str | float
    soft: float | None = None

    @property
    def element_names(self) -> tuple[str, ...]:
        """The names of its elements."""
        count = self.expression.numel()
        return (self.name,) if count == 1 else tuple(f"{self.name}[{k}]" for k in range(count))


def read_condition(
    written: object, at: object, name: str, soft: object, lower: object = None, upper: object = None
) -> Condition:
    """A condition as the user wrote it; a comparison, or an expression with `lower` and `upper`."""
    expression = column(as_expression(written, "A condition", "a comparison such as x**2 + y**2 <= 1"))
    place = _place(at)
    weight = _weight(soft)
    if lower is not None or upper is not None:
        low, high = (
            np.broadcast_to(np.asarray(default if bound is None else bound, dtype=float), (expression.numel(),))
            for bound, default in ((lower, -np.inf), (upper, np.inf))
        )
        return Condition(name, expression, low, high, place, weight)
    parts, lows, highs = zip(*(_read_entry(entry) for entry in elements(expression)))
    return Condition(name, ca.vertcat(*parts), np.array(lows), np.array(highs), place, weight)


def _read_entry(entry: ca.SX) -> tuple[ca.SX, float, float]:
    """Expression, lower and upper bound of one comparison; what is constant goes to the bounds."""
    kind = operation(entry)
    if kind not in (ca.OP_LE, ca.OP_LT, ca.OP_EQ):
        raise InputError(
            "A condition must be a comparison.",
            "True or False is left of it" if entry.is_constant() else "got an expression without <=, >= or ==",
            because="a condition compares two expressions."
            if not entry.is_constant()
            else "both sides are numbers, or a symbol was compared with a Python list.",
            remedy="ocp.subject_to(expression <= 0), or ocp.subject_to(expression, lower=..., upper=...)",
        )
    left, right = entry.dep(0), entry.dep(1)
    if right.is_constant():
        high = float(right)
        return left, high if kind == ca.OP_EQ else -np.inf, high
    if left.is_constant():
        low = float(left)
        return right, low, low if kind == ca.OP_EQ else np.inf
    return left - right, 0.0 if kind == ca.OP_EQ else -np.inf, 0.0


def depends_only_on(expression: ca.SX, symbols: Sequence[ca.SX]) -> bool:
    """Whether an expression holds no other symbols than these."""
    known = {symbol_key(s) for group in symbols for s in elements(group)}
    return all(symbol_key(s) in known for s in ca.symvar(expression))


def _place(at: object) -> str | float:
    if isinstance(at, str) and at in PLACES:
        return at
    if isinstance(at, (int, float, np.number)) and not isinstance(at, bool) and 0 <= at <= 1:
        return {0.0: "start", 1.0: "end"}.get(float(at), float(at))
    raise InputError(
        f"at={at!r} is not a valid time of a condition.",
        because="conditions hold everywhere, at the nodes, at the start, at the end, or at a fraction of the duration.",
        remedy='at="all", "nodes", "start", "end", or a number between 0 and 1',
    )


def _weight(soft: object) -> float | None:
    if soft is None:
        return None
    number = isinstance(soft, (int, float, np.number)) and not isinstance(soft, bool)
    if not number or not 0 < soft < np.inf:  # type: ignore[operator]
        raise InputError(
            f"soft={soft!r} cannot be used.",
            because="it is the cost per unit of violation.",
            remedy="soft=100.0, or soft=None for a hard condition",
        )
    return float(soft)  # type: ignore[arg-type]
