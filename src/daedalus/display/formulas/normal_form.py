"""An expression put in order for reading: sums without brackets, products as powers, equal terms and factors together.

Every entry of the table is met once, however often the expression uses it. A value is a number times an entry:

    ("name", label)                      a variable
    ("product", ((entry, exponent), …))  powers of entries; the empty product is one
    ("sum", ((factor, entry), …))        at least two terms
    ("power", entry, entry)              exponents that are no numbers
    ("call", function, (value, …))       sin, max, …
    ("relation", sign, value, value), ("not", value), ("if", value, value)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from daedalus.model.expressions import folded, symbol_key

Entry = tuple[Any, ...]  # as listed above
Value = tuple[float, int]  # a number times the entry of that place

FUNCTIONS = {
    getattr(ca, f"OP_{name.upper()}"): name
    for name in (
        *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"),
        *("atanh", "floor", "ceil", "fabs", "sign", "erf", "erfinv", "fmin", "fmax", "atan2", "copysign", "fmod"),
        *("remainder", "log1p", "expm1", "hypot"),
    )
}
RELATIONS = {ca.OP_LT: "<", ca.OP_LE: "≤", ca.OP_EQ: "=", ca.OP_NE: "≠", ca.OP_AND: "and", ca.OP_OR: "or"}


def _snapped(number: float) -> float:
    """A whole number where only rounding is between."""
    whole = round(number)
    return float(whole) if whole and abs(number - whole) < 1e-14 * abs(whole) else number


def _ends(number: float) -> bool:
    """Whether a root is written with few digits: that of 4 or 0.25, not that of 2."""
    return abs(number - float(f"{number:.6g}")) < 1e-14 * number


class Ordered:
    """Expressions of one model in normal form, in one table.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> table = Ordered({})
    >>> factor, place = table.value(0.5 * (2 * x * x) + x**2)
    >>> factor, table[place], table[table[place][1][0][0]]
    (2.0, ('product', ((1, 2.0),)), ('name', 'x'))
    """

    def __init__(self, labels: Mapping[int, str]) -> None:
        self._labels = labels
        self._entries: list[Entry] = []
        self._places: dict[Entry, int] = {}
        self._known: dict[int, Value] = {}
        self._kept: list[ca.SX] = []  # keys of nodes stay valid while the nodes live
        self.one = self._place(("product", ()))

    def __getitem__(self, place: int) -> Entry:
        return self._entries[place]

    def _place(self, entry: Entry) -> int:
        if entry not in self._places:
            self._places[entry] = len(self._entries)
            self._entries.append(entry)
        return self._places[entry]

    # -- from CasADi -------------------------------------------------------------------------------------------

    def value(self, node: ca.SX) -> Value:
        """The normal form of a scalar expression."""
        return folded(node, self._known, self._made)

    def _made(self, node: ca.SX, operands: list[ca.SX]) -> Value:
        self._kept.append(node)
        parts = [self._known[symbol_key(operand)] for operand in operands]
        if node.is_constant():
            return float(node), self.one
        if node.is_symbolic():
            return 1.0, self._place(("name", self._labels.get(symbol_key(node), node.name())))
        operation = node.op()
        if operation == ca.OP_ADD:
            return self.sum([parts[0], parts[1]])
        if operation == ca.OP_SUB:
            return self.sum([parts[0], (-parts[1][0], parts[1][1])])
        if operation == ca.OP_MUL:
            return self.product([(parts[0], 1.0), (parts[1], 1.0)])
        if operation == ca.OP_DIV:
            return self.product([(parts[0], 1.0), (parts[1], -1.0)])
        if operation in (ca.OP_NEG, ca.OP_TWICE):
            return (-1.0 if operation == ca.OP_NEG else 2.0) * parts[0][0], parts[0][1]
        powers = {ca.OP_SQ: 2.0, ca.OP_INV: -1.0, ca.OP_SQRT: 0.5}
        if operation in powers:
            return self.product([(parts[0], powers[operation])])
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            return self._power(*parts)
        if operation in RELATIONS:
            return 1.0, self._place(("relation", RELATIONS[operation], *parts))
        if operation == ca.OP_NOT:
            return 1.0, self._place(("not", parts[0]))
        if operation == ca.OP_IF_ELSE_ZERO:
            return 1.0, self._place(("if", *parts))
        return 1.0, self._place(("call", FUNCTIONS.get(operation, f"operation {operation}"), tuple(parts)))

    # -- putting together --------------------------------------------------------------------------------------

    def terms(self, value: Value) -> list[Value]:
        """The terms whose sum a value is; a number is a term of the empty product."""
        factor, place = value
        entry = self._entries[place]
        if entry[0] == "sum" and abs(factor) == 1.0:
            return [(factor * own, term) for own, term in entry[1]]
        return [value] if factor else []

    def sum(self, values: list[Value]) -> Value:
        """A sum, equal terms taken together."""
        collected: dict[int, float] = {}
        for value in values:
            for factor, place in self.terms(value):
                collected[place] = collected.get(place, 0.0) + factor
        left = [(_snapped(factor), place) for place, factor in collected.items() if factor]
        if not left:
            return 0.0, self.one
        if len(left) == 1:
            return left[0]
        return 1.0, self._place(("sum", tuple(left)))

    def product(self, factors: list[tuple[Value, float]]) -> Value:
        """A product of powers, equal bases taken together."""
        number = 1.0
        collected: dict[int, float] = {}
        for (factor, place), exponent in factors:
            entry = self._entries[place]
            if factor == 0.0 and exponent > 0:
                return 0.0, self.one
            # A number comes out of a power where that is safe: a whole exponent, or a positive number whose root ends.
            ends = exponent == int(exponent) or (factor > 0 and (entry == ("product", ()) or _ends(factor**exponent)))
            if factor != 1.0 and ends and (factor or exponent > 0):
                number *= factor**exponent
            elif factor != 1.0:
                place = self._place(("sum", ((factor, place),)))
                entry = self._entries[place]
            # √(x²) is |x|: a root of a product stays together.
            apart = entry[0] == "product" and (exponent == int(exponent) or not entry[1])
            inner = entry[1] if apart else ((place, 1.0),)
            for base, own in inner:
                collected[base] = collected.get(base, 0.0) + own * exponent
        number = _snapped(number)
        left = tuple((base, exponent) for base, exponent in collected.items() if exponent)
        if len(left) == 1 and left[0][1] == 1.0:
            return number, left[0][0]
        return number, self._place(("product", left))

    def _power(self, base: Value, exponent: Value) -> Value:
        if exponent[1] == self.one:
            return self.product([(base, exponent[0])])
        return 1.0, self._place(("power", base, exponent))

    def depends_on(self, place: int, labels: set[str], known: dict[int, bool]) -> bool:
        """Whether an entry contains one of some names; `known` is what was found for them before."""
        if place not in known:
            kind, first, *_ = entry = self._entries[place]
            parts = (self.depends_on(part, labels, known) for part in parts_of(entry))
            known[place] = first in labels if kind == "name" else any(parts)
        return known[place]


def parts_of(entry: Entry) -> list[int]:
    """The places of all entries that an entry is made of."""
    kind = entry[0]
    if kind == "name":
        return []
    if kind == "product":
        return [base for base, _ in entry[1]]
    if kind == "sum":
        return [place for _, place in entry[1]]
    if kind == "call":
        return [place for _, place in entry[2]]
    return [part[1] for part in entry[1:] if isinstance(part, tuple)]
