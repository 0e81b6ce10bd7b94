"""The differential index at a jet: how often the equations must be differentiated until they determine y'.

The derivative array of order k determines y' when every null vector of its Jacobian in (y', y'', ..., y^(k+1)) is zero
in the part of y': it is 1-full (S. L. Campbell and C. W. Gear, The index of general nonlinear DAEs, 1995). Small arrays
are judged by singular values, large ones by samples of their null space, which need one sparse factorisation each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.counted_entries import counted
from daedalus.algebra.rank_decision import (
    FULL_ARRAY,
    FULL_RANK,
    ROUNDING,
    STILL,
    RankDecision,
    null_space,
    rank_of,
)
from daedalus.analysis.linear.pencils.equilibration import equilibrate
from daedalus.analysis.structure.block_form import Block
from daedalus.analysis.structure.dependence.null_space_probe import NullSpaceProbe
from daedalus.analysis.structure.jets.consistent_jet import Jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray


@dataclass(frozen=True, eq=False)
class Fullness:
    """What a derivative array of each order k determines.

    open: for every k how many combinations of the derivatives y' are not determined. ranks: the decisions behind it.
    """

    open: tuple[int, ...]
    ranks: tuple[RankDecision, ...]

    @property
    def index(self) -> int | None:
        """The first order at which all derivatives are determined."""
        return next((k for k, count in enumerate(self.open) if not count), None)

    @property
    def settled(self) -> int:
        """The first order from which on nothing more is determined."""
        return self.open.index(self.open[-1])


class JetJacobian:
    """∂(F, F', ..., F^(order))/∂(y, y', ..., y^(order+1)) at a jet, in units that make its numbers about one.

    The units of y and of time come from the pencil of the equations themselves: y^(k) is measured in units · speed^k.
    """

    def __init__(self, array: DerivativeArray, jet: Jet, size: np.ndarray, order: int) -> None:
        self.order, self.size, self.count = order, array.size, array.count
        *given, y = jet.arguments(order + 1)
        matrix = array.function(order)(*given, y)[1].sparse()
        units, speed = size, 1.0
        if array.size <= FULL_RANK:
            first = matrix[: array.count].toarray() * np.tile(size, order + 2)
            # What is zero but for rounding, such as the slope λ of λ q at λ = 1e-15, must not set a unit.
            first[np.abs(first) < ROUNDING * np.abs(first).max(axis=1, keepdims=True, initial=0.0)] = 0.0
            scaled = equilibrate(first[:, array.size : 2 * array.size], first[:, : array.size])
            units, speed = size * scaled.columns, scaled.speed
        units = np.concatenate([units * speed**k for k in range(order + 2)])
        matrix = counted(lambda own: array.function(order)(*given, own)[1].sparse(), y, np.maximum(units, np.abs(y)))
        matrix = matrix.multiply(units).tocsr()
        largest = abs(matrix).max(axis=1).toarray().ravel() if matrix.shape[1] else np.zeros(matrix.shape[0])
        self.matrix = matrix.multiply(1 / np.where(largest > 0, largest, 1.0)[:, None]).tocsr()

    def part(self, order: int, first: int, equations: np.ndarray, unknowns: np.ndarray) -> Any:
        """Levels 0 to `order` of some equations against the derivatives first..order + 1 of some unknowns.

        A full matrix, or a sparse one where it has many rows.
        """
        rows = np.concatenate([k * self.count + equations for k in range(order + 1)])
        columns = np.concatenate([k * self.size + unknowns for k in range(first, order + 2)])
        found = self.matrix[rows][:, columns]
        return found.toarray() if len(rows) <= FULL_ARRAY else found.tocsc()


def fullness(jacobian: JetJacobian, block: Block, name: str) -> Fullness:
    """What the derivative arrays of a block determine of its own y', everything before it being known."""
    left_open, ranks = [], []
    for order in range(jacobian.order + 1):
        count, own = _left_open(jacobian, block, order, name)
        left_open.append(count)
        ranks += own
        if not count:
            break
    return Fullness(tuple(left_open), tuple(ranks))


def _left_open(jacobian: JetJacobian, block: Block, order: int, name: str) -> tuple[int, list[RankDecision]]:
    """How many combinations of y' a derivative array leaves open, and the decisions behind it."""
    matrix = jacobian.part(order, 1, block.equations, block.unknowns)
    count = len(block.unknowns)
    if isinstance(matrix, np.ndarray):
        whole = rank_of(matrix, f"{name}, order {order}")
        rest = rank_of(matrix[:, count:], f"{name}, order {order}, higher derivatives")
        return count + rest.rank - whole.rank, [whole, rest]
    found = NullSpaceProbe(matrix).decision(np.arange(count), f"{name}, order {order}, samples of its null space")
    return found.rank, [found]


@dataclass(frozen=True, eq=False)
class OpenUnknowns:
    """What a derivative array leaves open, the differential unknowns being given.

    loose: positions of differential unknowns whose derivative, and of algebraic ones whose value, is not determined.
    start_values: how many values of differential unknowns may be chosen freely.
    """

    loose: np.ndarray
    start_values: int


def freedom(jacobian: JetJacobian, order: int, differential: np.ndarray, algebraic: np.ndarray) -> OpenUnknowns:
    """What derivative arrays up to an order leave open."""
    n = jacobian.size
    whole = jacobian.part(order, 0, np.arange(jacobian.count), np.arange(n))
    given = np.setdiff1d(np.arange(whole.shape[1]), differential)
    wanted = np.concatenate([n + differential, algebraic])
    moved = np.zeros(whole.shape[1], dtype=bool)
    if isinstance(whole, np.ndarray):
        rest, states_given = null_space(whole[:, given], "derivative array, states given")
        moved[given] = np.linalg.norm(rest, axis=1) > STILL
        # Whether all are determined is a matter of ranks; which are not, of null vectors.
        others = np.setdiff1d(given, wanted)
        if states_given.rank == len(wanted) + rank_of(whole[:, others], "derivative array, the rest").rank:
            moved[wanted] = False
        free = len(differential) + states_given.rank - rank_of(whole, "whole derivative array").rank
    else:
        moved[given] = NullSpaceProbe(whole[:, given]).moved()
        free = NullSpaceProbe(whole).dimension(differential)
    loose = np.concatenate([differential[moved[n + differential]], algebraic[moved[algebraic]]])
    return OpenUnknowns(np.sort(loose), free)
