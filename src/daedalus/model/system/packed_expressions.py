"""Expressions in the symbols of a system: packed for a pickle beside it, unpacked in the symbols that it has then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import casadi as ca

from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.system.formulas import expressions_of, formulas_of
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS


@dataclass(frozen=True)
class PackedExpressions:
    """Formulas as plain data, and for each of their symbols its place in the system, or its name where it has none."""

    places: tuple[tuple[str, int] | str, ...]
    formulas: dict[str, Any]


def packed(system: System, expressions: Sequence[ca.SX]) -> PackedExpressions:
    """Expressions as plain data.

    Example
    -------
    >>> import daedalus as dd, pickle
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> unpacked(pickle.loads(pickle.dumps(m.freeze())), packed(m.freeze(), [x**2 + m.time]))
    [SX((sq(x)+t))]
    """
    known = {symbol_key(s): (letter, k) for letter in ARGUMENTS for k, s in enumerate(elements(system.symbol(letter)))}
    symbols = ca.symvar(ca.vertcat(*(ca.vec(expression) for expression in expressions)) if expressions else ca.SX(0, 1))
    places = tuple(known.get(symbol_key(symbol), symbol.name()) for symbol in symbols)
    return PackedExpressions(places, formulas_of([concatenate(symbols)], list(expressions)))


def unpacked(system: System, record: PackedExpressions) -> list[ca.SX]:
    """The expressions in the symbols of a system, which is the one they were packed with or its copy."""
    symbols = [
        ca.SX.sym(place) if isinstance(place, str) else system.symbol(place[0])[place[1]] for place in record.places
    ]
    return expressions_of(record.formulas, [concatenate(symbols)])


# Records with expressions somewhere inside, taken apart into plain data and expressions, and put together again.


@dataclass(frozen=True)
class ExpressionPlace:
    """Where an expression stands among all that were taken out."""

    number: int


@dataclass(frozen=True)
class PlainPart:
    """A record without its expressions: its type, and its fields by name."""

    kind: type
    fields: dict[str, Any]


def apart(value: Any, found: list[ca.SX]) -> Any:
    """A value of lists, tuples, dicts and records with places for the expressions, which are added to `found`.

    Example
    -------
    >>> found = []
    >>> plain = apart({"cost": [ca.SX.sym("x"), 1.0]}, found)
    >>> plain, found
    ({'cost': [ExpressionPlace(number=0), 1.0]}, [SX(x)])
    >>> together(plain, found)
    {'cost': [SX(x), 1.0]}
    """
    if isinstance(value, ca.SX):
        found.append(value)
        return ExpressionPlace(len(found) - 1)
    if is_dataclass(value) and not isinstance(value, type):
        before = len(found)
        own = {f.name: apart(getattr(value, f.name), found) for f in fields(value)}
        return value if len(found) == before else PlainPart(type(value), own)
    return _entries(value, lambda entry: apart(entry, found))


def together(value: Any, expressions: Sequence[ca.SX]) -> Any:
    """The inverse of `apart`."""
    if isinstance(value, ExpressionPlace):
        return expressions[value.number]
    if isinstance(value, PlainPart):
        return value.kind(**{name: together(entry, expressions) for name, entry in value.fields.items()})
    return _entries(value, lambda entry: together(entry, expressions))


def _entries(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(change(entry) for entry in value)
    if type(value) is dict:
        return {key: change(entry) for key, entry in value.items()}
    return value
