"""Lines of a derivation as plain data, for pickles: formulas as instruction lists, and the labels of their symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from daedalus.derivations.formula.line import FormulaLine
from daedalus.model.expressions import concatenate, symbol_key
from daedalus.model.system.formulas import expressions_of, formulas_of
from daedalus.model.system.packed_expressions import apart, together


@dataclass(frozen=True)
class PackedLines:
    """names: of all symbols. sides: (left, right, sign, labels by number of the symbol) of each line."""

    names: tuple[str, ...]
    sides: tuple[tuple[Any, Any, str, dict[int, str]], ...]
    formulas: dict[str, Any]


def packed_lines(lines: Sequence[FormulaLine]) -> PackedLines:
    """Lines that share their symbols.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); x = m.coordinate("x"); k = m.parameter("k", 4.0)
    >>> m.kinetic_energy(0.5 * m.rate(x) ** 2); m.potential_energy(0.5 * k * x**2)
    >>> print(unpacked_lines(packed_lines(dd.derive(m, "lagrange").equations))[0])
    x_ddot + k*x = 0
    """
    found: list[ca.SX] = []
    plain = [(apart(line.left, found), apart(line.right, found), line.sign) for line in lines]
    symbols = ca.symvar(ca.vertcat(*(ca.vec(expression) for expression in found))) if found else []
    keys = [symbol_key(symbol) for symbol in symbols]
    labels = [{k: line.labels[key] for k, key in enumerate(keys) if key in line.labels} for line in lines]
    sides = tuple((*sides, own) for sides, own in zip(plain, labels))
    names = tuple(symbol.name() for symbol in symbols)
    return PackedLines(names, sides, formulas_of([concatenate(symbols)], found))


def unpacked_lines(record: PackedLines) -> list[FormulaLine]:
    """The lines in new symbols."""
    symbols = [ca.SX.sym(name) for name in record.names]
    expressions = expressions_of(record.formulas, [concatenate(symbols)])
    return [
        FormulaLine(
            together(left, expressions), together(right, expressions),
            {symbol_key(symbols[k]): label for k, label in labels.items()}, tuple(symbols), sign,
        )
        for left, right, sign, labels in record.sides
    ]  # fmt: skip
