"""Expressions as text in the user's names: `m*g - k*x[0]`, never CasADi's own `x_0` and `@1`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

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
# How strongly a name binds: more than any operation.
_ATOM = 9
# Beyond this length a text that is meant to be whole names what is repeated, which could make it endless.
WHOLE = 60_000
# That of one side of a condition in a sentence.
SHORT = 60
# a + (-b) is written a - b, and a - (-b) is written a + b.
_OPPOSITE = {ca.OP_ADD: ca.OP_SUB, ca.OP_SUB: ca.OP_ADD}


def expression_text(expression: ca.SX, labels: Mapping[int, str], limit: int = 160) -> str:
    """One scalar expression in the names of `labels` (symbol key -> name), cut off with … at `limit` characters."""
    return fitted_text(expression, labels, limit) or _TextWriter(labels, limit).text(expression)[: limit - 1] + "…"


def fitted_text(expression: ca.SX, labels: Mapping[int, str], limit: int) -> str | None:
    """The same where it is not longer than `limit` characters; None where it is."""
    text = _TextWriter(labels, limit).text(expression)
    return text if len(text) <= limit else None


def whole_text(expression: ca.SX, labels: Mapping[int, str]) -> str:
    """All of a scalar expression; where repeated parts would make it endless, they get names.

    Example
    -------
    >>> x = ca.SX.sym("x")
    >>> whole_text(x**2 + 1, {})
    'x^2 + 1'
    >>> for _ in range(20):
    ...     x = x * (x + 1)
    >>> print(whole_text(x, {})[-58:])
    part18 = part17*(part17 + 1), part19 = part18*(part18 + 1)
    """
    text = fitted_text(expression, labels, WHOLE)
    if text is not None:
        return text
    writer = _TextWriter(labels, math.inf, names_of_parts(expression, set(labels.values())))
    return f"{writer.text(expression)}, where {', '.join(writer.parts)}"


def count_terms(expression: ca.SX) -> int:
    """The number of terms of a sum as it is written; a number before it does not count.

    Example
    -------
    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> count_terms(x * y - 3 * (x + y)), count_terms(x - (y + 1)), count_terms(x * (y + 1))
    (3, 3, 1)
    """
    counts: dict[int, int] = {}
    for node in _in_order(expression, lambda own: bool(_summands(own))):
        counts[symbol_key(node)] = sum(counts[symbol_key(own)] for own in _summands(node)) or 1
    return counts[symbol_key(expression)]


def _summands(node: ca.SX) -> list[ca.SX]:
    """What a sum adds, and a product of a sum with a number; nothing for all else."""
    if node.is_leaf():
        return []
    operands = [node.dep(k) for k in range(node.n_dep())]
    if node.op() in (ca.OP_MUL, ca.OP_DIV):
        fixed = [own.is_constant() for own in operands]
        factor = node.op() == ca.OP_MUL and fixed[0]
        return operands[1:] if factor else operands[:1] if fixed[1] else []
    return operands if node.op() in (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE) else []


def names_of_parts(expression: ca.SX, taken: set[str]) -> dict[int, str]:
    """Names for the parts of an expression that occur more than once."""
    uses: dict[int, int] = {}
    nodes = [node for node in _in_order(expression) if not node.is_leaf()]
    for node in nodes:
        for k in range(node.n_dep()):
            key = symbol_key(node.dep(k))
            uses[key] = uses.get(key, 0) + 1
    repeated = [symbol_key(node) for node in nodes if uses.get(symbol_key(node), 0) > 1]
    free = (name for k in itertools.count(1) if (name := f"part{k}") not in taken)
    return dict(zip(repeated, free))


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
    def of(cls, expression: ca.SX, labels: Mapping[int, str]) -> ConditionText:
        """The text of an expression, short and whole."""
        fitted = fitted_text(expression, labels, SHORT)
        return (
            cls(fitted) if fitted else cls(expression_text(expression, labels, SHORT), whole_text(expression, labels))
        )

    def followed_by(self, end: str) -> ConditionText:
        """With more behind it."""
        return ConditionText(self + end, self.whole + end)


def _in_order(expression: ca.SX, opens: Callable[[ca.SX], bool] = lambda node: True) -> Iterator[ca.SX]:
    """The nodes of an expression, each once and behind those it is made of; only nodes that `opens` are entered."""
    done: set[int] = set()
    waiting = [(expression, False)]
    while waiting:
        node, entered = waiting.pop()
        key = symbol_key(node)
        if key in done:
            continue
        if entered or node.is_leaf() or not opens(node):
            done.add(key)
            yield node
        else:
            waiting.append((node, True))
            waiting += [(node.dep(k), False) for k in range(node.n_dep())]


class _TextWriter:
    """Texts of nodes and how tightly they bind, each node once, kept to the first `limit` characters and one more.

    What stands in front of a text is never cut off by what comes behind it, so that the beginning is right.
    parts: texts of the nodes with a name, which are written by that name elsewhere.
    """

    def __init__(self, labels: Mapping[int, str], limit: float, named: Mapping[int, str] | None = None) -> None:
        self.labels, self.limit, self.named = labels, limit, named or {}
        self.parts: list[str] = []

    def text(self, expression: ca.SX) -> str:
        """The text of a node."""
        written: dict[int, tuple[str, int]] = {}
        for node in _in_order(expression):
            text, binding = self._node(node, written)
            key = symbol_key(node)
            if key in self.named:
                self.parts.append(f"{self.named[key]} = {text}")
                text, binding = self.named[key], _ATOM
            written[key] = (text if len(text) <= self.limit else text[: int(self.limit) + 1]), binding
        return written[symbol_key(expression)][0]

    def _node(self, node: ca.SX, written: Mapping[int, tuple[str, int]]) -> tuple[str, int]:
        if node.is_constant():
            return _number(float(node))
        if node.is_symbolic():
            return self.labels.get(symbol_key(node), node.name()), _ATOM
        parts = [written[symbol_key(node.dep(k))] for k in range(node.n_dep())]
        operation = node.op()
        if operation in _OPPOSITE and (turned := self._without_sign(node.dep(1), written)) is not None:
            return _infix(_OPPOSITE[operation], [parts[0], turned])
        return _operation(operation, parts)

    def _without_sign(self, node: ca.SX, written: Mapping[int, tuple[str, int]]) -> tuple[str, int] | None:
        """The opposite of a negative number, of -a and of a product with a negative number; None for all else."""
        if symbol_key(node) in self.named or not _is_negative(node):
            return None
        if node.is_constant():
            return _number(-float(node))
        last = written[symbol_key(node.dep(node.n_dep() - 1))]
        return last if node.op() == ca.OP_NEG else _operation(ca.OP_MUL, [_number(-float(node.dep(0))), last])


def _number(value: float) -> tuple[str, int]:
    return f"{value:.12g}", _ATOM if value >= 0 else 1


def _operation(operation: int, parts: list[tuple[str, int]]) -> tuple[str, int]:
    """The text of an operation on texts."""
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
    if node.is_leaf():
        return bool(node.is_constant()) and float(node) < 0
    factor = node.op() == ca.OP_MUL and node.dep(0).is_constant()
    return node.op() == ca.OP_NEG or (factor and float(node.dep(0)) < 0)


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
