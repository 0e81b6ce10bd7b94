"""Formulas of netlists: numbers with suffixes, parameters, functions, voltages and currents.

    sum     {2*r1 + 3k}         conditions  {v(a) > 1 ? 2 : 3}        probes  v(out), v(a,b), i(vin), time

The same formula gives a number where all it names are numbers, and an expression where it names a voltage or current.
Powers are those of ngspice: `**` and `^` take the size of their base, (-2)**3 is 8, and bind from the left, 2**3**2 is
64. In formulas of parameters pow(x, y) keeps the sign and pwr(x, y) does not; in those of voltages and currents it is
the other way round. Nothing that is read can run code.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from daedalus.components.spice.netlist_text import Card, plain_number

DEEPEST, LONGEST = 60, 20000  # brackets inside each other, characters
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?[a-z]*)|(?P<name>[a-z_$#@.](?:[\w$#@.]|!(?!=))*)"
    r"|(?P<sign>\*\*|&&|\|\||==|!=|<>|<=|>=|[-+*/^%\\()<>?:,!~&|]))"
)
_LEVELS = (("||", "|"), ("&&", "&"), ("==", "!=", "<>", "<", "<=", ">", ">="), ("+", "-"),
           ("*", "/", "%", "\\"))  # fmt: skip


def _step(x: Any) -> Any:
    return ca.if_else(x > 0, 1, 0) if isinstance(x, ca.SX) else float(x > 0)


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    return ca.if_else(condition, yes, no) if isinstance(condition, ca.SX) else (yes if condition else no)


def _largest(*values: Any) -> Any:
    found = values[0]
    for value in values[1:]:
        found = ca.fmax(found, value)
    return found


def _smallest(*values: Any) -> Any:
    found = values[0]
    for value in values[1:]:
        found = ca.fmin(found, value)
    return found


def _limited(x: Any, a: Any, b: Any) -> Any:
    return _smallest(_largest(x, _smallest(a, b)), _largest(a, b))


def _whole(x: Any) -> Any:
    return ca.sign(x) * ca.floor(ca.fabs(x))


def _nearest(x: Any) -> Any:
    return ca.floor(x + 0.5) if isinstance(x, ca.SX) else float(round(x))


def _table(x: Any, *points: float) -> Any:
    """Straight lines through points, constant outside."""
    if len(points) < 4 or len(points) % 2:
        raise ValueError("a table has pairs")
    places, values = points[::2], points[1::2]
    if any(later <= earlier for earlier, later in itertools.pairwise(places)):
        raise ValueError("places increase")
    found: Any = values[0]
    for k in range(len(places) - 1):
        slope = (values[k + 1] - values[k]) / (places[k + 1] - places[k])
        found = found + slope * (_smallest(_largest(x, places[k]), places[k + 1]) - places[k])
    return found


def _lines(x: Any, *points: float) -> Any:
    """Straight lines through points, the first and the last going on outside, as pwl() of ngspice has them."""
    inside, places, values = _table(x, *points), points[::2], points[1::2]
    first = (values[1] - values[0]) / (places[1] - places[0])
    last = (values[-1] - values[-2]) / (places[-1] - places[-2])
    return inside + first * (_smallest(x, places[0]) - places[0]) + last * (_largest(x, places[-1]) - places[-1])


def _power(x: Any, y: Any) -> Any:
    if isinstance(y, (int, float)) and float(y).is_integer() and abs(y) <= 16:
        return x ** int(y)
    return ca.power(x, y) if isinstance(x, ca.SX) or isinstance(y, ca.SX) else float(x) ** float(y)


def _power_of_size(x: Any, y: Any) -> Any:
    if isinstance(y, (int, float)) and float(y) % 2 == 0:
        return _power(x, y)
    return _power(ca.fabs(x), y)


def _signed_power(x: Any, y: Any) -> Any:
    return ca.sign(x) * _power(ca.fabs(x), y)


FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    **{name: (getattr(ca, name), 1, 1) for name in
       ("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
        "acosh", "atanh", "floor", "ceil")},
    "ln": (ca.log, 1, 1), "abs": (ca.fabs, 1, 1), "sgn": (ca.sign, 1, 1),
    "int": (_whole, 1, 1),
    "nint": (_nearest, 1, 1), "min": (_smallest, 1, 64), "max": (_largest, 1, 64), "pow": (_power, 2, 2),
    "pwr": (_power_of_size, 2, 2), "sqr": (lambda x: x * x, 1, 1), "u": (_step, 1, 1), "stp": (_step, 1, 1),
    "u2": (lambda x: _limited(x, 0, 1), 1, 1), "eq0": (lambda x: _choose(x == 0, 1.0, 0.0), 1, 1),
    "ne0": (lambda x: _choose(x != 0, 1.0, 0.0), 1, 1), "gt0": (lambda x: _choose(x > 0, 1.0, 0.0), 1, 1),
    "lt0": (lambda x: _choose(x < 0, 1.0, 0.0), 1, 1), "ge0": (lambda x: _choose(x >= 0, 1.0, 0.0), 1, 1),
    "le0": (lambda x: _choose(x <= 0, 1.0, 0.0), 1, 1), "arctan": (ca.atan, 1, 1),
    "uramp": (lambda x: ca.fmax(x, 0), 1, 1), "limit": (_limited, 3, 3), "if": (_choose, 3, 3),
    "ternary_fcn": (_choose, 3, 3), "atan2": (ca.atan2, 2, 2), "hypot": (lambda x, y: ca.sqrt(x * x + y * y), 2, 2),
    "table": (_table, 5, 4096), "pwl": (_lines, 5, 4096), "square": (lambda x: x * x, 1, 1),
}  # fmt: skip


# Draws of Monte Carlo analyses: of one run they are their nominal value, told where they stand. By it and its spread.
_DRAWS = {"agauss": 3, "gauss": 3, "aunif": 2, "unif": 2, "mc": 2}
FUNCTIONS |= {name: (lambda x, *_: x, 1, most) for name, most in _DRAWS.items()}
# Of voltages and currents ngspice has the two the other way round.
OF_VOLTAGES: dict[str, Callable[..., Any]] = {"pow": _power_of_size, "pwr": _signed_power}


class Unreadable(Exception):
    """A formula that is none."""


@dataclass(frozen=True)
class UserFunction:
    """.func name(arguments) {formula}."""

    arguments: tuple[str, ...]
    formula: tuple[Any, ...]


@dataclass(frozen=True)
class Scope:
    """What names mean: parameters, functions of the netlist, and how voltages and currents are found."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    # ("v", nodes), ("i", (element,)), ("time", ()) or ("ddt", (expression,))
    probe: Callable[[str, tuple[Any, ...]], Any] | None = None

    def named(self, name: str) -> Any:
        """The value of a name."""
        if name in self.parameters:
            return self.parameters[name]
        if name == "pi":
            return math.pi
        if name == "e":
            return math.e
        if self.probe is not None and name == "time":
            return self.probe(name, ())
        raise Unreadable(name)


def parsed(text: str) -> tuple[Any, ...]:
    """The tree of a formula; Unreadable where it is none."""
    if len(text) > LONGEST:
        raise Unreadable("too long")
    # Braces inside a formula are brackets: {gain}*v(in).
    return _Reader(text.lower().replace("{", "(").replace("}", ")")).whole()


def value(tree: tuple[Any, ...], scope: Scope, depth: int = 0) -> Any:
    """What a formula is in a scope: a number, or an expression."""
    if depth > DEEPEST * 2:
        raise Unreadable("too deep")
    kind = tree[0]
    if kind == "number":
        return tree[1]
    if kind == "name":
        return scope.named(tree[1])
    if kind == "probe":
        if scope.probe is None:
            raise Unreadable(tree[1])
        return scope.probe(tree[1], tree[2])
    if kind == "call":
        if tree[1] == "ddt" and scope.probe is not None and len(tree[2]) == 1:
            return scope.probe("ddt", (value(tree[2][0], scope, depth + 1),))
        return _called(tree[1], [value(argument, scope, depth + 1) for argument in tree[2]], scope, depth)
    return _operated(kind, [value(operand, scope, depth + 1) for operand in tree[1:]])


def _called(name: str, arguments: list[Any], scope: Scope, depth: int) -> Any:
    own = scope.functions.get(name)
    if own is not None:
        if len(own.arguments) != len(arguments):
            raise Unreadable(name)
        inner = Scope({**scope.parameters, **dict(zip(own.arguments, arguments))}, scope.functions, scope.probe)
        return value(own.formula, inner, depth + 8)
    if name not in FUNCTIONS:
        raise Unreadable(name)
    function, least, most = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        raise Unreadable(name)
    return (OF_VOLTAGES.get(name, function) if scope.probe is not None else function)(*arguments)


def _operated(sign: str, operands: list[Any]) -> Any:
    a, b = operands[0], operands[-1]
    symbolic = any(isinstance(operand, ca.SX) for operand in operands)
    if sign == "?":
        return _choose(*operands)
    if sign in ("neg", "not"):
        return -a if sign == "neg" else (ca.logic_not(a) if symbolic else float(not a))
    if sign == "^":
        return _power_of_size(a, b)
    if sign in ("/", "%", "\\") and not symbolic and b == 0:
        raise ZeroDivisionError
    if sign in ("&&", "||") and symbolic:
        return ca.logic_and(a, b) if sign == "&&" else ca.logic_or(a, b)
    found = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "<": lambda: a < b,
        "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b, "==": lambda: a == b, "!=": lambda: a != b,
        "<>": lambda: a != b, "%": lambda: ca.fmod(a, b), "\\": lambda: _whole(a / b),
        "&&": lambda: bool(a) and bool(b), "||": lambda: bool(a) or bool(b),
    }[sign]()  # fmt: skip
    return float(found) if isinstance(found, bool) else found


class _Reader:
    """A formula from left to right, by the strength of its signs."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        place = 0
        text = text.strip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                raise Unreadable(text[place : place + 10])
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            place = match.end()
        self.next, self.depth = 0, 0

    def whole(self) -> tuple[Any, ...]:
        tree = self._ternary()
        if self.next < len(self.tokens):
            raise Unreadable(self.tokens[self.next][1])
        return tree

    def _sign(self, *signs: str) -> str | None:
        if self.next < len(self.tokens) and self.tokens[self.next] in [("sign", sign) for sign in signs]:
            self.next += 1
            return self.tokens[self.next - 1][1]
        return None

    def _ternary(self) -> tuple[Any, ...]:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable("too deep")
        tree = self._level(0)
        if self._sign("?"):
            yes = self._ternary()
            if not self._sign(":"):
                raise Unreadable("?")
            tree = ("?", tree, yes, self._ternary())
        self.depth -= 1
        return tree

    def _level(self, level: int) -> tuple[Any, ...]:
        if level == len(_LEVELS):
            return self._signed()
        tree = self._level(level + 1)
        while sign := self._sign(*_LEVELS[level]):
            sign = {"|": "||", "&": "&&"}.get(sign, sign)
            tree = (sign, tree, self._level(level + 1))
        return tree

    def _signed(self) -> tuple[Any, ...]:
        if self._sign("-"):
            return ("neg", self._signed())
        if self._sign("+"):
            return self._signed()
        if self._sign("!", "~"):
            return ("not", self._signed())
        tree = self._atom()
        while self._sign("**", "^"):
            tree = ("^", tree, self._exponent())
        return tree

    def _exponent(self) -> tuple[Any, ...]:
        """What stands behind ** with its signs, without further powers: these bind from the left."""
        if self._sign("-"):
            return ("neg", self._exponent())
        return self._exponent() if self._sign("+") else self._atom()

    def _atom(self) -> tuple[Any, ...]:
        if self._sign("("):
            tree = self._ternary()
            if not self._sign(")"):
                raise Unreadable("(")
            return tree
        if self.next >= len(self.tokens):
            raise Unreadable("the end")
        kind, text = self.tokens[self.next]
        self.next += 1
        if kind == "number":
            number = plain_number(text)
            if number is None:
                raise Unreadable(text)
            return ("number", number)
        if kind != "name":
            raise Unreadable(text)
        if text in ("v", "i") and self._sign("("):
            return ("probe", text, tuple(self._names()))
        if self._sign("("):
            arguments = [] if self._sign(")") else self._arguments()
            return ("call", text, tuple(arguments))
        return ("name", text)

    def _arguments(self) -> list[tuple[Any, ...]]:
        found = [self._ternary()]
        while self._sign(","):
            found.append(self._ternary())
        if not self._sign(")"):
            raise Unreadable("(")
        return found

    def _names(self) -> list[str]:
        """Names of nodes or elements between brackets; a name may hold signs, as in a-b or x1:out."""
        found = [""]
        while self.next < len(self.tokens) and self.tokens[self.next] != ("sign", ")"):
            text = self.tokens[self.next][1]
            self.next += 1
            if text == ",":
                found.append("")
            else:
                found[-1] += text
        if not self._sign(")") or not 1 <= len(found) <= 2 or "" in found:
            raise Unreadable("v(")
        return found


def formula(text: str, card: Card, scope: Scope) -> Any:
    """What a formula is; a ModelError with its card where it cannot be read."""
    try:
        tree = parsed(text)
        found = value(tree, scope)
        _tell_meaning(tree, card)
        if isinstance(found, ca.SX):
            return found
        number = float(found)
        if math.isfinite(number):
            return number
        because = "it has no real value."
    except (ArithmeticError, TypeError, ValueError):
        because = "it has no real value."
    except (Unreadable, RecursionError) as error:
        because = (
            f"formulas are of numbers, names of .param, + - * / ** ?: and functions; {str(error)!r} is none of these."
        )
    raise card.refuse(f"has a formula that cannot be read: {text}", because, "numbers, + - * / **, .param")


def _tell_meaning(tree: tuple[Any, ...], card: Card) -> None:
    """Warn where a formula of ngspice is not what its reader may expect."""
    for kind, *parts in _branches(tree):
        if kind == "call" and parts[0] in _DRAWS:
            card.tell(f"{parts[0]}() is its nominal value, nothing is drawn; dd.sweep runs a model with many values.")
        if kind == "^" and parts[1][0] == "number" and parts[1][1] % 2 == 1 and _may_be_negative(parts[0]):
            power = f"{parts[1][1]:g}"
            card.tell(f"x**{power} is |x|**{power}, as in ngspice; pwr(x,{power}) of voltages has the sign of x.")


def _branches(tree: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """A tree and all trees in it."""
    found, waiting = list[tuple[Any, ...]](), [tree]
    while waiting:
        own = waiting.pop()
        found.append(own)
        inner = own[2] if own[0] == "call" else () if own[0] in ("number", "name", "probe") else own[1:]
        waiting += inner
    return found


def _may_be_negative(tree: tuple[Any, ...]) -> bool:
    """Whether a base is a voltage, a current or a difference: names of parameters are sizes."""
    return any(kind in ("probe", "neg", "-") for kind, *_ in _branches(tree))


def quantity(word: str, card: Card, scope: Scope) -> Any:
    """A number with a suffix, a parameter, or a formula in braces or quotes."""
    if word[0] in "{'":
        closing = "}" if word[0] == "{" else "'"
        if len(word) < 2 or word[-1] != closing:
            raise card.refuse(f"has a formula that does not end: {word}", f"{closing} is missing.", "{r*2}, 'r*2'")
        return formula(word[1:-1], card, scope)
    found = plain_number(word)
    if found is not None:
        return found
    if word in scope.parameters:
        return scope.parameters[word]
    if word[:1] in "+-" and word[1:] in scope.parameters:
        return scope.parameters[word[1:]] * (-1 if word[0] == "-" else 1)
    try:
        return value(parsed(word), scope)  # a formula without braces
    except (Unreadable, ArithmeticError, TypeError, ValueError, RecursionError):
        pass
    raise card.refuse(
        f"has {word!r} where a number is expected", "it is neither a number nor a .param.", "1k, 2.2u, {r*2}"
    )


def number(word: str, card: Card, scope: Scope) -> float:
    """The same where a number is needed."""
    found = quantity(word, card, scope)
    if isinstance(found, ca.SX):
        raise card.refuse(f"has {word!r} where a number is expected", "it changes during a run.", "a B element")
    return float(found)
