"""The system Jacobian of the signature method, whose regularity proves the offsets right.

J_ij = ∂f_i / ∂x_j^(d_j - c_i) on the entries with σ_ij = d_j - c_i, zero elsewhere. Where it is regular at a consistent
jet, the system has Σ d - Σ c degrees of freedom there and every unknown is determined (J. D. Pryce, A simple structural
analysis method for DAEs, BIT 41, 2001: theorem 4.2). It is judged block by block of its own triangular form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus.algebra.counted_entries import counted
from daedalus.algebra.rank_decision import (
    EPSILON,
    ROUNDING,
    SINGULAR,
    STILL,
    RankDecision,
    balanced_sparse,
    singular_share,
)
from daedalus.analysis.structure.block_form import Block
from daedalus.analysis.structure.jets.consistent_jet import Jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import Signature, tight_slopes

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

# Slopes that differ by more from those at the jet say little; nearer points are taken, with at most this difference.
MOST_GROWTH, FAIR_GROWTH = 1e12, 1e2


def system_jacobian(array: DerivativeArray, equations: ca.SX, s: Signature) -> ca.SX:
    """J as a sparse expression of the jet."""
    written = array.written
    if written is not None and s is written.signature and equations is array.level(0):
        return written.jacobian
    return tight_slopes(lambda order, rows, columns: ca.jacobian(equations[rows], array.unknowns(order)[columns]), s)


@dataclass(frozen=True, eq=False)
class Regularity:
    """Blocks that are singular at random jets and so everywhere, and those that are singular at the jet alone.

    rank: the decision on the whole matrix at the jet.
    """

    always: tuple[Block, ...]
    here: tuple[Block, ...]
    rank: RankDecision


def regularity(array: DerivativeArray, jacobian: ca.SX, jet: Jet, blocks: list[Block]) -> Regularity:
    """Which blocks of the system Jacobian are singular."""
    order = max(len(array.y) - 1, 1)
    points = (jet.arguments(order), *random_arguments(array, jet, order))
    shares = np.array([block_shares(m, blocks) for m in matrices_at(array, jacobian, points)])
    shares = shares.reshape(len(points), len(blocks))
    singular = shares < SINGULAR
    always = np.all(singular[1:], axis=0)
    kept = shares[0][~singular[0]]
    lost = int(sum(len(block.equations) for block, flag in zip(blocks, singular[0]) if flag))
    n = int(jacobian.shape[0])
    smallest, largest = float(kept.min(initial=1.0)), float(shares[0][singular[0]].max(initial=0.0))
    gap = smallest / max(largest, EPSILON * max(n, 1))
    rank = RankDecision("system Jacobian", (n, n), n - lost, smallest, largest, gap)
    return Regularity(
        tuple(block for block, flag in zip(blocks, always) if flag),
        tuple(block for block, flag in zip(blocks, singular[0] & ~always) if flag),
        rank,
    )


def structural_index_holds(array: DerivativeArray, s: Signature, jet: Jet) -> bool:
    """Whether the index at a jet where J is regular is the structural one, which is an upper bound of it.

    One differentiation less leaves out the last rows of J, those with the largest c. If a null vector v of the others
    has a part in an unknown of the lowest d, where the next derivative is x', the array of that order has a null vector
    that begins with it: all lower derivatives zero, the higher ones following from rows of J, which are independent.
    """
    from scipy.sparse.linalg import splu

    jacobian = system_jacobian(array, array.level(0), s)
    scaled, _ = balanced_sparse(jacobians_at(array, jacobian, [jet])[0])
    last, wanted = s.c == s.c.max(), s.d == s.d.min()
    right = np.where(last, np.random.default_rng(2001).uniform(0.5, 1.5, s.size), 0.0)
    v = np.abs(splu(scaled).solve(right))
    return bool(v[wanted].max(initial=0.0) > STILL * v.max(initial=0.0))


def singular_anywhere(array: DerivativeArray, s: Signature, start: Jet) -> bool:
    """Whether the system Jacobian of a large system is singular at values drawn around those given."""
    points = random_arguments(array, start, max(len(array.y) - 1, 1))
    matrices = matrices_at(array, system_jacobian(array, array.level(0), s), points)
    return all(singular_share(m) < SINGULAR for m in matrices)


def jacobians_at(array: DerivativeArray, jacobian: ca.SX, jets: list[Jet]) -> list[csc_matrix]:
    """The system Jacobian at jets, as sparse matrices."""
    order = max(len(array.y) - 1, 1)
    return matrices_at(array, jacobian, [jet.arguments(order) for jet in jets])


def matrices_at(array: DerivativeArray, jacobian: ca.SX, points: Any) -> list[csc_matrix]:
    """A sparse matrix of expressions at points, without entries that are rounding there."""
    symbols = ca.symvar(jacobian)
    function = ca.Function("J", [ca.vertcat(*symbols) if symbols else ca.SX(0, 1)], [jacobian])
    vectors = [array.read(symbols, point) for point in points]
    return [counted(lambda own: function(own).sparse(), v, array.sizes_at(symbols, v)) for v in vectors]


def block_shares(matrix: csc_matrix, blocks: list[Block]) -> np.ndarray:
    """The smallest singular value of every block over its largest; blocks of one entry all at once."""
    rows = matrix.tocsr()
    single = np.array([len(block.equations) == 1 for block in blocks], dtype=bool)
    shares = np.ones(len(blocks))
    places = [(int(b.equations[0]), int(b.unknowns[0])) for b, flag in zip(blocks, single) if flag]
    if places:
        entries = np.abs(np.asarray(rows[tuple(np.array(places).T)]).ravel())
        shares[single] = np.where(entries == 0, 0.0, 1.0)
    for k in np.flatnonzero(~single):
        shares[k] = singular_share(rows[blocks[k].equations][:, blocks[k].unknowns])
    return shares


def random_arguments(array: DerivativeArray, jet: Jet, order: int, count: int = 2) -> list[list[Any]]:
    """Arguments at values drawn around those of a jet, parameters held, and inputs where the jet says so."""
    drawn = array.drawn_points
    key = (id(jet), order, count, len(array.y))
    if key not in drawn:
        drawn[key] = jet, _random_arguments(array, jet, order, count)
    return drawn[key][1]


def with_other_parameters(point: list[Any]) -> list[Any]:
    """The same point with other values of the parameters, near theirs; what is zero is so no more."""
    t, p, *rest = point
    draw = np.random.default_rng(1972)
    return [t, np.where(p == 0, 0.1, p) * draw.uniform(0.9, 1.1, np.shape(p)), *rest]


def _random_arguments(array: DerivativeArray, jet: Jet, order: int, count: int) -> list[list[Any]]:
    draw = np.random.default_rng(2017)
    t, p, u, y = jet.arguments(order)
    points = [[draw.uniform(0.3, 1.3), p, _drawn(draw, u), _drawn(draw, y)] for _ in range(count)]
    if jet.inputs_stay:
        points = [[time, p, u, own] for time, p, _, own in points]
    if np.all(_growth(array, jet, points, order) < MOST_GROWTH):
        return points
    # Exponentials that leave all bounds there are looked at nearer to the jet, first in time, then in the rest.
    moderate = []
    for time, _, inputs, values in points:
        near = [t, p, u, y]
        for place, there in ((0, np.asarray(time - t)), (3, values - y), (2, inputs - u)):
            for share in 0.25 ** np.arange(20.0):
                trial = [v + share * there if k == place else v for k, v in enumerate(near)]
                if _growth(array, jet, [trial], order)[0] < FAIR_GROWTH:
                    near = trial
                    break
        moderate.append(near)
    return moderate


def _growth(array: DerivativeArray, jet: Jet, points: list[list[Any]], order: int) -> np.ndarray:
    """The largest ratio of a slope of the equations at each point to that at the jet, either way."""
    here, *there = np.abs(array.slopes([jet.arguments(order), *points]))
    found = np.full(len(points), np.inf)
    for k, slopes in enumerate(there):
        # What is zero but for rounding tells nothing, nor does what is small at the jet alone, like forces that die out
        # along a chain: it would grow by so much without leaving the sizes of the others.
        told = here > FAIR_GROWTH / MOST_GROWTH * here.max(initial=0.0)
        both = (slopes > ROUNDING * slopes.max(initial=0.0)) & told
        if np.all(np.isfinite(slopes)):
            ratio = slopes[both] / here[both]
            found[k] = np.max(np.maximum(ratio, 1 / ratio), initial=0.0)
    return found


def _drawn(draw: np.random.Generator, values: np.ndarray) -> np.ndarray:
    return values + np.maximum(np.abs(values), 1.0) * draw.uniform(0.2, 1.0, len(values)) * draw.choice(
        [-1.0, 1.0], len(values)
    )
