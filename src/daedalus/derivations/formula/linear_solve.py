"""Linear equations solved as by hand: the simplest pivot first, every line simplified before the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.derivations.formula.formula_length import operations
from daedalus.model.expressions import elements, symbol_key

# Larger systems, or longer entries on the way, are left to numbers.
LARGEST, LONGEST = 8, 300
# Where sines, cosines and variables themselves are zero.
SPECIAL, NO_PIVOT = (0.0, np.pi / 2), 1e-12

Shorten = Callable[[ca.SX], ca.SX]


class SolvedByHand(NamedTuple):
    """x of A x = b: `values` in what was given, `successive` each with those that were found before it."""

    values: ca.SX
    successive: ca.SX
    order: tuple[int, ...]


def solve_by_hand(
    matrix: ca.SX, right: ca.SX, unknowns: ca.SX, short: Shorten, constants: set[int]
) -> SolvedByHand | None:
    """x of A x = b; None where it is too long to be read.

    unknowns: the symbols of x. short: how an expression is simplified. constants: keys of symbols that are never zero:
    preferred pivots.
    """
    n = right.numel()
    if n > LARGEST:
        return None
    rows = [[short(ca.densify(matrix)[i, j]) for j in range(n)] for i in range(n)]
    values = [short(entry) for entry in elements(ca.densify(right))]
    order: list[tuple[int, int]] = []
    open_rows, open_columns = list(range(n)), list(range(n))
    for _ in range(n):
        choice = _pivot(rows, open_rows, open_columns, constants)
        if choice is None:
            return None
        i, j = choice
        order.append(choice)
        open_rows.remove(i)
        open_columns.remove(j)
        for k in open_rows:
            if rows[k][j].is_zero():
                continue
            factor = rows[k][j] / rows[i][j]
            for c in open_columns:
                if not rows[i][c].is_zero():
                    rows[k][c] = short(rows[k][c] - factor * rows[i][c])
                    if operations(rows[k][c]) > LONGEST:
                        return None
            values[k] = short(values[k] - factor * values[i])
            rows[k][j] = ca.SX(0)
            if operations(values[k]) > LONGEST:
                return None
    found: dict[int, ca.SX] = {}
    successive: dict[int, ca.SX] = {}
    for i, j in reversed(order):
        total = partly = values[i]
        for c, value in found.items():
            if not rows[i][c].is_zero():
                total = total - rows[i][c] * value
                partly = partly - rows[i][c] * unknowns[c]
        found[j], successive[j] = short(total / rows[i][j]), short(partly / rows[i][j])
        if operations(found[j]) > LONGEST:
            return None
    return SolvedByHand(
        ca.vertcat(*(found[j] for j in range(n))), ca.vertcat(*(successive[j] for j in range(n))), tuple(found)
    )


def _pivot(
    rows: list[list[ca.SX]], open_rows: list[int], open_columns: list[int], constants: set[int]
) -> tuple[int, int] | None:
    """The entry to divide by: numbers, then constants, then what is nowhere zero, then the shortest."""
    best, choice = None, None
    for i in open_rows:
        filled = sum(not rows[i][c].is_zero() for c in open_columns)
        for j in open_columns:
            entry = rows[i][j]
            if entry.is_zero():
                continue
            symbols = ca.symvar(entry)
            moving = sum(symbol_key(s) not in constants for s in symbols)
            # A sum may vanish, a product of constants does not.
            sums = not entry.is_constant() and not entry.is_symbolic() and entry.op() in (ca.OP_ADD, ca.OP_SUB)
            gone = moving > 0 and _vanishes(entry, symbols, constants)
            rank = (moving > 0, gone, sums, filled, operations(entry), len(symbols), i != j, i, j)
            if best is None or rank < best:
                best, choice = rank, (i, j)
    return choice


def _vanishes(entry: ca.SX, symbols: list[ca.SX], constants: set[int]) -> bool:
    """Whether an entry is zero where one of its variables is zero or a right angle: sin x cos y, not m + sin² x."""
    function = ca.Function("entry", [ca.vertcat(*symbols)], [entry])
    draw = np.random.default_rng(1788)
    for k, symbol in enumerate(symbols):
        if symbol_key(symbol) in constants:
            continue
        for special in SPECIAL:
            values = draw.uniform(0.2, 1.6, len(symbols))
            values[k] = special
            if abs(float(function(values))) < NO_PIVOT:
                return True
    return False
