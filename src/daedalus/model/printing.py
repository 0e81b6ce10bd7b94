"""Expressions as text in the user's names: `m*g - k*x[0]`, never CasADi's own `x_0` and `@1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca

from daedalus.model.expressions import symbol_key

_INFIX = {
    ca.OP_ADD: (" + ", 1),
    ca.OP_SUB: (" - ", 1),
    ca.OP_MUL: ("*", 2),
    ca.OP_DIV: ("/", 2),
    ca.OP_POW: ("^", 4),
    ca.OP_CONSTPOW: ("^", 4),
    ca.OP_LT: (" < ", 0),
    ca.OP_LE: (" <= ", 0),
    ca.OP_EQ: (" == ", 0),
    ca.OP_NE: (" != ", 0),
    ca.OP_AND: (" and ", 0),
    ca.OP_OR: (" or ", 0),
}
_FUNCTIONS = {
    getattr(ca, f"OP_{name.upper()}"): name
    for name in (
        *("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"),
        *("atanh", "floor", "ceil", "fabs", "sign", "erf", "erfinv", "fmin", "fmax", "atan2", "copysign", "fmod"),
        *("remainder", "log1p", "expm1", "hypot"),
    )
}
_ATOM = 9
# The length of a text that is meant to be whole; shared parts could make it endless.
WHOLE = 60_000
# That of one side of a condition in a sentence.
SHORT = 60
# a + (-b) is written a - b, and a - (-b) is written a + b.
_OPPOSITE = {ca.OP_ADD: ca.OP_SUB, ca.OP_SUB: ca.OP_ADD}


def expression_text(expression: ca.SX, labels: Mapping[int, str], limit: int = 160) -> str:
    """One scalar expression in the names of `labels` (symbol key -> name), cut off with … at `limit` characters."""
    text, _ = _write(expression, labels, [4 * limit])
    return text if len(text) <= limit else text[: limit - 1] + "…"


class ConditionText(str):
    """A condition in the user's names, as long as a sentence may hold it; `whole` is all of it.

    Example
    -------
    >>> text = ConditionText("a + b… > 0", "a + b + c > 0")
    >>> print(text, "|", text.whole)
    a + b… > 0 | a + b + c > 0
    """

    whole: str

    def __new__(cls, short: str, whole: str = "") -> ConditionText:
        """A short text, and all of it where that is more."""
        found = super().__new__(cls, short)
        found.whole = whole or short
        return found

    @classmethod
    def of(cls, write: Callable[[int], str]) -> ConditionText:
        """The text that `write` gives for a short limit and for none."""
        short = write(SHORT)
        return cls(short, write(WHOLE) if "…" in short else short)

    def followed_by(self, end: str) -> ConditionText:
        """With more behind it."""
        return ConditionText(self + end, self.whole + end)


def _write(node: ca.SX, labels: Mapping[int, str], budget: list[int]) -> tuple[str, int]:
    """The text of a node and how tightly it binds; `budget` bounds the work on expressions with shared parts."""
    if budget[0] <= 0:
        return "…", _ATOM
    if node.is_constant():
        value = float(node)
        return f"{value:.12g}", _ATOM if value >= 0 else 1
    if node.is_symbolic():
        label = labels.get(symbol_key(node), node.name())
        budget[0] -= len(label)
        return label, _ATOM
    budget[0] -= 2
    operation = node.op()
    if operation in _OPPOSITE and _is_negative(node.dep(1)):
        left, right = node.dep(0), node.dep(1)
        return _infix(_OPPOSITE[operation], [_write(left, labels, budget), _write(-right, labels, budget)])
    parts = [_write(node.dep(k), labels, budget) for k in range(node.n_dep())]
    if operation in _INFIX:
        return _infix(operation, parts)
    if operation == ca.OP_NEG:
        return f"-{_wrap(parts[0], 3)}", 1
    if operation == ca.OP_SQ:
        return f"{_wrap(parts[0], 5)}^2", 4
    if operation == ca.OP_TWICE:
        return f"2*{_wrap(parts[0], 2)}", 2
    if operation == ca.OP_INV:
        return f"1/{_wrap(parts[0], 3)}", 2
    if operation == ca.OP_NOT:
        return f"not {_wrap(parts[0], 5)}", 0
    if operation == ca.OP_IF_ELSE_ZERO:
        return f"({parts[1][0]} if {parts[0][0]} else 0)", _ATOM
    name = _FUNCTIONS.get(operation, f"operation {operation}")
    return f"{name}({', '.join(text for text, _ in parts)})", _ATOM


def _is_negative(node: ca.SX) -> bool:
    return float(node) < 0 if node.is_constant() else node.op() == ca.OP_NEG


def _infix(operation: int, parts: list[tuple[str, int]]) -> tuple[str, int]:
    sign, binding = _INFIX[operation]
    # Powers and comparisons do not chain: their left operand needs brackets at equal binding.
    left = _wrap(parts[0], binding + (1 if binding in (0, 4) else 0))
    # The right operand of - and / needs brackets at equal binding.
    right = _wrap(parts[1], binding + (0 if operation in (ca.OP_ADD, ca.OP_MUL) else 1))
    return f"{left}{sign}{right}", binding


def _wrap(part: tuple[str, int], binding: int) -> str:
    text, own = part
    return text if own >= binding else f"({text})"
