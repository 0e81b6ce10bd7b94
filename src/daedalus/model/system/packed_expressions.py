"""Expressions in the symbols of a system: packed for a pickle beside it, unpacked in the symbols that it has then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.system.formulas import expressions_of, formulas_of
from daedalus.model.system.system import System

_LETTERS = ("t", "xdot", "x", "z", "u", "p")


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
    known = {symbol_key(s): (letter, k) for letter in _LETTERS for k, s in enumerate(elements(system.symbol(letter)))}
    symbols = ca.symvar(ca.vertcat(*(ca.vec(expression) for expression in expressions)) if expressions else ca.SX(0, 1))
    places = tuple(known.get(symbol_key(symbol), symbol.name()) for symbol in symbols)
    return PackedExpressions(places, formulas_of([concatenate(symbols)], list(expressions)))


def unpacked(system: System, record: PackedExpressions) -> list[ca.SX]:
    """The expressions in the symbols of a system, which is the one they were packed with or its copy."""
    symbols = [
        ca.SX.sym(place) if isinstance(place, str) else system.symbol(place[0])[place[1]] for place in record.places
    ]
    return expressions_of(record.formulas, [concatenate(symbols)])
