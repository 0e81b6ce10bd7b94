"""The system Jacobian of the signature method, and the repair of a structure that it shows to be misleading.

J_ij = ∂f_i / ∂x_j^(d_j - c_i), on the entries with σ_ij = d_j - c_i, must be regular for the offsets to be right. Where
it is singular whatever the values are, a combination u with uᵀ J = 0 hides an equation of lower order: f_l is replaced
by Σ u_i f_i^(c_i - θ) with θ = min c_i (G. Tan, N. S. Nedialkov, J. D. Pryce, Conversion methods for improving
structural analysis of differential-algebraic equation systems, BIT 57, 2017: the linear combination method).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus.analysis.interval_arithmetic import range_over
from daedalus.analysis.structure.block_form import Block, blocks_in_order
from daedalus.analysis.structure.consistent_jet import Jet
from daedalus.analysis.structure.constant_null_vector import constant_null_vector
from daedalus.analysis.structure.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import Signature, signature
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate, elements, symbol_key

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

# A symbolic null vector is looked for in blocks up to this size; its expressions grow with the cube.
LARGEST_BLOCK = 10
# Each repair lowers the value of the signature, so the number of repairs is bounded; this bounds their cost.
MOST_REPAIRS = 12
# Scaled matrices whose smallest singular value is below this share of the largest are singular.
SINGULAR = 1e-9
# Entries below this are zero but for rounding.
EMPTY = 1e-13
# A sum is zero that lies within this many times the bounds of its own rounding.
ROUNDED = 1e3
# Above this size regularity is judged by sparse factors and an estimate of the condition.
DENSE = 200
LARGEST_CONDITION = 1e13
# Slopes that differ by more from those at the jet say little; nearer points are taken, with at most this difference.
MOST_GROWTH, FAIR_GROWTH = 1e12, 1e2


@dataclass(frozen=True, eq=False)
class Repair:
    """One replaced equation: which, from which others, what it became and what it says if it folded to a number."""

    replaced: int
    involved: tuple[int, ...]
    equation: ca.SX
    times: int  # how often an equation was differentiated for it
    constant: float | None = None


@dataclass(frozen=True, eq=False)
class Structure:
    """Equations with the signature that belongs to them, after as many repairs as were needed.

    singular: blocks of the system Jacobian that stay singular everywhere. at_point: blocks that are singular at the jet
    alone. folded: repairs that left a number, 0 for a redundant equation.
    """

    equations: ca.SX
    signature: Signature
    repairs: tuple[Repair, ...] = ()
    singular: tuple[Block, ...] = ()
    at_point: tuple[Block, ...] = ()
    folded: tuple[Repair, ...] = ()
    blocks: tuple[Block, ...] = field(default=())

    @property
    def trusted(self) -> bool:
        """Whether the offsets are proved right at the jet by a regular system Jacobian."""
        return self.signature.regular and not (self.singular or self.at_point or self.folded)


def system_jacobian(array: DerivativeArray, equations: ca.SX, s: Signature) -> ca.SX:
    """J as a sparse expression of the jet."""
    total = ca.SX(s.size, s.size)
    for order in sorted(set(s.orders[s.tight].tolist())):
        chosen = s.tight & (s.orders == order)
        pattern = ca.Sparsity.triplet(s.size, s.size, s.rows[chosen].tolist(), s.columns[chosen].tolist())
        total += ca.project(ca.jacobian(equations, array.unknowns(order)), pattern)
    return total


def repaired_structure(array: DerivativeArray, jet: Jet) -> Structure:
    """The signature of a system, its equations combined until the system Jacobian is regular."""
    equations = array.level(0)
    repairs: list[Repair] = []
    for _ in range(MOST_REPAIRS + 1):
        top = max(array.highest_order(equations, array.y), 1)
        s = signature(equations, [array.unknowns(k) for k in range(top + 1)])
        if not s.regular:
            return Structure(equations, s, tuple(repairs))
        jacobian = system_jacobian(array, equations, s)
        blocks = blocks_in_order(s, tight=True)
        always, here = _singular_blocks(array, jacobian, jet, blocks)
        if not always:
            return Structure(equations, s, tuple(repairs), at_point=tuple(here), blocks=tuple(blocks))
        repair = next((r for b in always if (r := _combined(array, equations, s, jacobian, b, jet))), None)
        if repair is None or len(repairs) == MOST_REPAIRS:
            return Structure(equations, s, tuple(repairs), tuple(always), tuple(here), blocks=tuple(blocks))
        if repair.constant is not None:
            return Structure(equations, s, tuple(repairs), tuple(always), (), (repair,), tuple(blocks))
        repairs.append(repair)
        rows = elements(equations)
        rows[repair.replaced] = repair.equation
        equations = ca.vertcat(*rows)
    raise AssertionError("unreachable")


def _singular_blocks(
    array: DerivativeArray, jacobian: ca.SX, jet: Jet, blocks: list[Block]
) -> tuple[list[Block], list[Block]]:
    """Blocks that are singular at random jets, and those that are singular at this jet alone."""
    order = max(len(array.y) - 1, 1)
    function = ca.Function("J", array.arguments(order), [jacobian])
    points = (jet.arguments(order), *random_arguments(array, jet, order))
    matrices = [as_sparse(function(*arguments)).tocsr() for arguments in points]
    always, here = [], []
    for block in blocks:
        flags = [is_singular(m[block.equations][:, block.unknowns]) for m in matrices]
        if all(flags[1:]):
            always.append(block)
        elif flags[0]:
            here.append(block)
    return always, here


def singular_anywhere(array: DerivativeArray, s: Signature, start: Jet) -> bool:
    """Whether the system Jacobian of a large system is singular at values drawn around those given."""
    order = max(len(array.y) - 1, 1)
    function = ca.Function("J", array.arguments(order), [system_jacobian(array, array.level(0), s)])
    return all(is_singular(as_sparse(function(*a))) for a in random_arguments(array, start, order))


def as_sparse(matrix: ca.DM) -> csc_matrix:
    """A CasADi matrix as one of SciPy."""
    from scipy.sparse import csc_matrix

    pattern = matrix.sparsity()
    return csc_matrix((np.array(matrix.nonzeros(), dtype=float), pattern.row(), pattern.colind()), shape=pattern.shape)


def random_arguments(array: DerivativeArray, jet: Jet, order: int, count: int = 2) -> list[list[Any]]:
    """Arguments at values drawn around those of a jet, parameters held."""
    draw = np.random.default_rng(2017)
    t, p, u, y = jet.arguments(order)
    points = [[draw.uniform(0.3, 1.3), p, _drawn(draw, u), _drawn(draw, y)] for _ in range(count)]
    if all(_slopes_grow(array, jet, point) < MOST_GROWTH for point in points):
        return points
    # Exponentials that leave all bounds there are looked at nearer to the jet, first in time, then in the rest.
    moderate = []
    for time, _, inputs, values in points:
        near, share = [t, p, u, y], 1.0
        for place, there in ((0, np.asarray(time - t)), (3, values - y), (2, inputs - u)):
            for share in 0.25 ** np.arange(20.0):
                trial = [v + share * there if k == place else v for k, v in enumerate(near)]
                if _slopes_grow(array, jet, trial) < FAIR_GROWTH:
                    near = trial
                    break
        moderate.append(near)
    return moderate


def _slopes_grow(array: DerivativeArray, jet: Jet, point: list[Any]) -> float:
    """The largest ratio of a slope of the equations at a point to that at the jet, either way."""
    t, p, u, y = point
    own = [t, p, u[: 2 * len(jet.u)], y[: 2 * array.size]]
    there, here = (np.abs(array.function(0)(*a)[1].nonzeros()) for a in (own, jet.arguments(1)))
    if not np.all(np.isfinite(there)):
        return float("inf")
    both = (there > 0) & (here > 0)
    return float(np.max(np.maximum(there[both] / here[both], here[both] / there[both]), initial=0.0))


def _drawn(draw: np.random.Generator, values: np.ndarray) -> np.ndarray:
    return values + np.maximum(np.abs(values), 1.0) * draw.uniform(0.2, 1.0, len(values)) * draw.choice(
        [-1.0, 1.0], len(values)
    )


def is_singular(matrix: csc_matrix | np.ndarray) -> bool:
    """Whether a square matrix is singular to rounding once rows and columns are scaled; False if it is not finite."""
    if not isinstance(matrix, np.ndarray) and matrix.shape[0] > DENSE:
        return _is_singular_sparse(matrix)
    full = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    if not np.all(np.isfinite(full)):
        return False
    for axis in (1, 0):
        largest = np.abs(full).max(axis=axis, keepdims=True)
        if np.any(largest < EMPTY):
            return True
        full = full / largest
    values = np.linalg.svd(full, compute_uv=False)
    return bool(values[-1] < SINGULAR * values[0])


def _is_singular_sparse(matrix: csc_matrix) -> bool:
    from scipy.sparse import diags
    from scipy.sparse.linalg import LinearOperator, norm, onenormest, splu

    scaled = matrix.tocsc()
    if not np.all(np.isfinite(scaled.data)):
        return False
    for axis in (1, 0):
        largest = abs(scaled).max(axis=axis).toarray().ravel()
        if np.any(largest < EMPTY):
            return True
        scaled = (diags(1 / largest) @ scaled if axis else scaled @ diags(1 / largest)).tocsc()
    try:
        factors = splu(scaled)
    except RuntimeError:  # exactly singular
        return True
    inverse = LinearOperator(scaled.shape, matvec=factors.solve, rmatvec=lambda v: factors.solve(v, "T"))
    return bool(norm(scaled, 1) * onenormest(inverse) > LARGEST_CONDITION)


def _combined(
    array: DerivativeArray, equations: ca.SX, s: Signature, jacobian: ca.SX, block: Block, jet: Jet
) -> Repair | None:
    """The repair of a singular block, or None when no combination with coefficients of low order exists."""
    if len(block.equations) > LARGEST_BLOCK:
        return None
    matrix = ca.densify(jacobian[block.equations.tolist(), block.unknowns.tolist()])
    order = max(len(array.y) - 1, 1)
    arguments = random_arguments(array, jet, order, 3)
    block_at = ca.Function("block", array.arguments(order), [matrix])
    u = _constant_combination(block_at, arguments) or left_null_vector(matrix, block_at(*arguments[0]).full())
    if u is None:
        return None
    involved = [k for k, entry in enumerate(u) if not entry.is_zero()]
    rows = block.equations[involved]
    least = int(s.c[rows].min())
    # The coefficients may only contain derivatives below d_j - θ, or the combination does not lower the order.
    coefficients = concatenate(u[k] for k in involved)
    present = {symbol_key(symbol) for symbol in ca.symvar(coefficients)}
    for level, symbols in enumerate(array.y):
        for j, symbol in enumerate(elements(symbols)):
            if symbol_key(symbol) in present and level >= s.d[j] - least:
                return None
    replaced = int(max(row for row in rows if s.c[row] == least))
    pivot = u[involved[rows.tolist().index(replaced)]]
    terms = [
        (u[k] / pivot) * array.differentiated(equations[int(row)], int(s.c[row]) - least)
        for k, row in zip(involved, rows)
    ]
    total = ca.SX(0)
    for term in terms:
        total += term
    total = without_vanishing(array, total, jet)
    constant = _constant(array, total, jet)
    return Repair(replaced, tuple(int(r) for r in rows), total, int(s.c[rows].max()) - least, constant)


def _constant_combination(block_at: ca.Function, points: list[list[Any]]) -> list[ca.SX] | None:
    """A left null vector that depends neither on the unknowns nor on the parameters."""
    draw = np.random.default_rng(1972)
    moved = [[t, p * draw.uniform(0.9, 1.1, np.shape(p)), *rest] for t, p, *rest in points]
    vector = constant_null_vector([block_at(*a).full() for a in (*points, *moved)])
    return None if vector is None else [ca.SX(float(entry)) for entry in vector]


def left_null_vector(matrix: ca.SX, shadow: np.ndarray) -> list[ca.SX] | None:
    """u with uᵀ M = 0 by elimination on Mᵀ; the numbers in `shadow`, taken at random values, choose the pivots."""
    rows = [[matrix[j, i] for j in range(matrix.shape[0])] for i in range(matrix.shape[1])]
    numbers = shadow.T.copy()
    scale = np.abs(numbers).max(initial=0.0) or 1.0
    pivots: list[int] = []
    for c in range(len(rows)):
        r = len(pivots)
        best = r + int(np.argmax(np.abs(numbers[r:, c]))) if r < len(rows) else r
        if r == len(rows) or abs(numbers[best, c]) < 1e-10 * scale:
            # Column c is free: it follows from the pivots before it.
            u = [ca.SX(0) for _ in rows]
            u[c] = ca.SX(1)
            for k, column in enumerate(pivots):
                u[column] = -rows[k][c] if abs(numbers[k, c]) > 1e-12 * scale else ca.SX(0)
            return u
        rows[r], rows[best] = rows[best], rows[r]
        numbers[[r, best]] = numbers[[best, r]]
        factor, number = rows[r][c], numbers[r, c]
        rows[r] = [entry / factor for entry in rows[r]]
        numbers[r] /= number
        for k in range(len(rows)):
            if k != r and abs(numbers[k, c]) > 1e-12 * scale:
                own = rows[k][c]
                rows[k] = [entry - own * other for entry, other in zip(rows[k], rows[r])]
                numbers[k] -= numbers[k, c] * numbers[r]
        pivots.append(c)
    return None


def without_vanishing(array: DerivativeArray, expression: ca.SX, jet: Jet) -> ca.SX:
    """A scalar expression with every symbol removed that it does not depend on at random values."""
    symbols = [array.time, *(s for level in array.y for s in elements(level))]
    present = {symbol_key(s) for s in ca.symvar(expression)}
    own = [s for s in symbols if symbol_key(s) in present]
    if not own:
        return expression
    slopes = ca.densify(ca.gradient(expression, ca.vertcat(*own)))
    order = len(array.y) - 1
    points = random_arguments(array, jet, order, 3)
    function = ca.Function("slopes", array.arguments(order), [slopes])
    samples = np.array([function(*a).full().ravel() for a in points])
    size = max(float(np.abs(samples).max(initial=0.0)), 1.0)
    small = np.flatnonzero(np.abs(samples).max(axis=0) <= 1e-12 * size).tolist()
    if small and np.any(samples[:, small]):
        # Small beside steep others may still be true: it counts as zero only if it is small at the jet too, and if
        # rounding explains it. A constant has been rounded before.
        here = np.abs(function(*jet.arguments(order)).full().ravel())
        small = [
            k
            for k in small
            if not here[k] > 1e-12 * here.max()
            and (
                slopes[k].is_constant()
                or is_rounding(ca.Function("slope", array.arguments(order), [slopes[k]]), points)
            )
        ]
    if not small:
        return expression
    return ca.substitute(expression, ca.vertcat(*(own[k] for k in small)), ca.SX.zeros(len(small)))


def is_rounding(slope: ca.Function, points: list[list[Any]]) -> bool:
    """Whether zero lies within the rounding of an expression at all points, by interval arithmetic."""
    columns = [np.array([np.atleast_1d(a[k]) for a in points], dtype=float) for k in range(slope.n_in())]
    try:
        found = range_over(slope, columns, columns)
    except SolverError:  # an operation without bounds
        return True
    # Coefficients are rounded as well as sums, hence the wider bounds.
    slack = ROUNDED * (found.high[0] - found.low[0])
    return bool(np.all((found.low[0] - slack <= 0) & (found.high[0] + slack >= 0)))


def _constant(array: DerivativeArray, expression: ca.SX, jet: Jet) -> float | None:
    """The number that an expression without unknowns is, at the jet; None when unknowns are left."""
    own = {symbol_key(s) for level in array.y for s in elements(level)}
    if any(symbol_key(s) in own for s in ca.symvar(expression)):
        return None
    order = len(array.y) - 1
    value = float(ca.Function("constant", array.arguments(order), [expression])(*jet.arguments(order)))
    return 0.0 if abs(value) < 1e-10 else value
