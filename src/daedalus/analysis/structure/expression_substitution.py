"""Repair of a misleading structure by new unknowns for combinations of derivatives: expression substitution.

Where the system Jacobian J is singular everywhere, J v = 0, the derivatives x_j^(d_j - c_i) with v_j ≠ 0 enter the
equations through fewer combinations than there are unknowns. With C the largest offset c_i of these equations and one
unknown l among them, the combinations y_j = x_j^(d_j - C) - (v_j/v_l) x_l^(d_l - C) become unknowns, and each
x_j^(d_j - c_i) becomes (y_j + (v_j/v_l) x_l^(d_l - C))^(C - c_i). Solutions stay the same, and the value Σ d - Σ c of
the structure falls (G. Tan, N. S. Nedialkov, J. D. Pryce, BIT 57, 2017).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np

from daedalus.analysis.structure.block_form import Block
from daedalus.analysis.structure.cancelled_terms import without_cancelled
from daedalus.analysis.structure.dependence.symbolic_null_vector import left_null_vector
from daedalus.analysis.structure.signature import Signature
from daedalus.model.expressions import at_values, concatenate

# A symbolic null vector is looked for in blocks up to this size.
LARGEST_BLOCK = 10
MOST_SUBSTITUTIONS = 6
ANY_VALUE = 0.7310585786300049


class Symbols(Protocol):
    """Unknowns by position, with as many derivatives as are asked for."""

    def symbol(self, position: int, order: int) -> ca.SX:
        """The symbol of a derivative of an unknown."""

    def place(self, symbol: ca.SX) -> tuple[str, int, int]:
        """What a symbol stands for: "t", "p", "u" or "y", the order of its derivative, and its position."""

    def differentiated(self, expression: ca.SX, times: int = 1) -> ca.SX:
        """The total time derivative of an expression."""


@dataclass(frozen=True, eq=False)
class Substitution:
    """y_j = x_j^(low_j) - ratio_j x_l^(low_l) for every j in `ratios`, with l the leader.

    rows: the equations in which the derivatives are replaced. top: the largest offset of these.
    """

    leader: int
    ratios: dict[int, ca.SX]
    rows: tuple[int, ...]
    top: int
    low: dict[int, int]

    def definition(self, book: Symbols, j: int) -> ca.SX:
        """What y_j stands for."""
        leading = book.symbol(self.leader, self.low[self.leader])
        return book.symbol(j, self.low[j]) - self.ratios[j] * leading


def substitutions(book: Symbols, s: Signature, jacobian: ca.SX, block: Block) -> Iterator[Substitution]:
    """The substitutions that a singular block allows, best leader first."""
    if len(block.unknowns) > LARGEST_BLOCK:
        return
    v = dict(zip(block.unknowns.tolist(), _null_vector(jacobian, block) or ()))
    # A constant to divide by is better than one that may vanish.
    for leader in sorted((j for j in v if not v[j].is_zero()), key=lambda j: not v[j].is_constant()):
        found = _substitution(book, s, block, v, leader)
        if found is not None:
            yield found


def _null_vector(jacobian: ca.SX, block: Block) -> list[ca.SX] | None:
    """v with J v = 0 on a block, as expressions."""
    matrix = ca.densify(jacobian[block.equations.tolist(), block.unknowns.tolist()])
    draw = np.random.default_rng(2017)
    return left_null_vector(matrix.T, at_values(matrix, lambda _: draw.uniform(0.4, 1.6)).full().T)


def _substitution(book: Symbols, s: Signature, block: Block, v: dict[int, ca.SX], leader: int) -> Substitution | None:
    """The substitution with a leading unknown; None where the orders of derivatives forbid it."""
    chosen = [j for j in block.unknowns.tolist() if not v[j].is_zero()]
    tight = _tight(s)
    rows = [i for i in block.equations.tolist() if any((i, j) in tight for j in chosen)]
    top = int(s.c[rows].max())
    # Factors that numerator and denominator share are in the formula still; any value of theirs will do.
    ratios = {
        j: without_cancelled(v[j] / v[leader], lambda symbol: book.place(symbol)[0] == "y", ANY_VALUE)
        for j in chosen
        if j != leader
    }
    low = {j: int(s.d[j]) - top for j in chosen}
    if not ratios or min(low.values()) < 0 or not _orders_allow(book, list(ratios.values()), s, set(chosen), top):
        return None
    return Substitution(leader, ratios, tuple(rows), top, low)


def _tight(s: Signature) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j, flag in zip(s.rows, s.columns, s.tight) if flag}


def _orders_allow(book: Symbols, ratios: list[ca.SX], s: Signature, chosen: set[int], top: int) -> bool:
    """Whether the coefficients contain only derivatives that are low enough for the value to fall."""
    for symbol in ca.symvar(concatenate(ratios)):
        letter, order, j = book.place(symbol)
        if letter == "u":
            return False  # the coefficients are differentiated, and a signal has no derivative
        if letter == "y" and order > int(s.d[j]) - top - (1 if j in chosen else 0):
            return False
    return True


def substituted(
    old: Symbols, new: Symbols, equations: list[ca.SX], s: Signature, step: Substitution, first: int
) -> tuple[list[ca.SX], list[ca.SX]]:
    """The equations with y_j put in, which are the unknowns first, first + 1, ... of `new`; and the definitions."""
    tight = _tight(s)
    places = {j: first + k for k, j in enumerate(step.ratios)}
    leading = new.symbol(step.leader, step.low[step.leader])
    whole = {j: new.symbol(places[j], 0) + ratio * leading for j, ratio in step.ratios.items()}
    changed = list(equations)
    for i in step.rows:
        inside = [j for j in step.ratios if (i, j) in tight]
        if not inside:
            continue
        put = new.differentiated(concatenate(whole[j] for j in inside), step.top - int(s.c[i]))
        symbols = concatenate(old.symbol(j, int(s.d[j] - s.c[i])) for j in inside)
        changed[i] = without_cancelled(
            ca.substitute(equations[i], symbols, put), lambda symbol: new.place(symbol)[0] == "y"
        )
    return changed, [new.symbol(j, step.low[j]) - whole[j] for j in step.ratios]
