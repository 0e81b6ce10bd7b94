"""Keep what a model promises to keep: after each step the state is moved onto the invariants, by the shortest way.

With invariants c(t, x) = 0 and J = ∂c/∂x the correction is Gauss–Newton's, x ← x − W Jᵀ (J W Jᵀ)⁻¹ c with W the
squares of the nominal values. It converges quadratically and begins within the tolerance of a step, so two corrections
reach rounding (E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, IV.4). They are expressions, always as
many: machine code for steps, and differentiated with them. Searches from afar are `algebra.damped_newton`'s.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import KNOWN, SYMBOLIC_SOLVE
from daedalus.errors import SolverError
from daedalus.model.expressions import column, concatenate, elements, nonzeros
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm

# A step ends off the constraints by its error, which one correction squares; the second one is for curved ones.
CORRECTIONS = 2


def projection(system: System, form: ExplicitForm) -> ca.SX | None:
    """The projected state as an expression of (t, x, u, p); None when there is nothing to keep."""
    if not system.invariants:
        return None
    return projected_state(system, form.applied(system, concatenate(system.invariants.values())))


def corrected(system: System, form: ExplicitForm) -> ca.SX:
    """The state after one of the `CORRECTIONS` of the projection, as an expression of (t, x, u, p)."""
    x, kept = system.symbol("x"), form.applied(system, concatenate(system.invariants.values()))
    return column(x - correction(kept, x, system.nominal["x"] ** 2))


def corrected_with_length(system: System, form: ExplicitForm) -> tuple[ca.SX, ca.SX]:
    """The state after a correction by the matrix on the constraints, and how far that went in nominal values, squared.

    It leaves a few times as much as the one of `corrected`, for fewer operations; its length is cᵀ (J W Jᵀ)⁻¹ c.
    """
    x, kept = system.symbol("x"), form.applied(system, concatenate(system.invariants.values()))
    weighted, normal = _weighted_and_normal(kept, x, system.nominal["x"] ** 2)
    normal = normal_on_constraints(normal, kept, x, system.symbols(("t", "u", "p")))
    step, multipliers = _solved_in_groups(weighted, normal, kept)
    return column(x - step), ca.dot(multipliers, kept)


def projected_state(system: System, kept: ca.SX) -> ca.SX:
    """The state with expressions of (t, x, u, p) brought to zero."""
    return column(moved_onto(kept, system.symbol("x"), system.nominal["x"] ** 2, system.symbols(("t", "u", "p"))))


def moved_onto(
    kept: ca.SX, x: ca.SX, weights: np.ndarray, others: list[ca.SX], idle: ca.SX | None = None,
    largest: int = SYMBOLIC_SOLVE,
) -> ca.SX:  # fmt: skip
    """x behind all `CORRECTIONS` onto c = 0, as an expression of x and of the others that c is a formula of.

    idle: 1 for rows that ask for nothing at a moment, where they are zero with their slopes, and 0 for all others.
    largest: more rows than so many that share variables raise a SolverError.
    """
    weighted, normal = _weighted_and_normal(kept, x, weights)
    if idle is not None:
        normal = normal + ca.diag(idle)
    once = ca.Function("correct", [x, *others], [x - _solved_in_groups(weighted, normal, kept, largest)[0]])
    state = x
    for _ in range(CORRECTIONS):
        state = once(state, *others)
    return state


def correction(kept: ca.SX, x: ca.SX, weights: np.ndarray, right: ca.SX | None = None, damping: float = 0.0) -> ca.SX:
    """W Jᵀ (J W Jᵀ)⁻¹ c, solved group by group of invariants that share variables; `right` stands for c if given.

    damping: this share of the mean diagonal of J W Jᵀ is added to it, for invariants that depend on each other.
    """
    weighted, normal = _weighted_and_normal(kept, x, weights)
    if damping:
        normal = normal + damping / kept.numel() * ca.trace(normal) * ca.SX.eye(kept.numel())
    return _solved_in_groups(weighted, normal, kept if right is None else right)[0]


def _weighted_and_normal(kept: ca.SX, x: ca.SX, weights: np.ndarray) -> tuple[ca.SX, ca.SX]:
    """W Jᵀ and J W Jᵀ."""
    jacobian = ca.jacobian(kept, x)
    weighted = ca.mtimes(ca.diag(ca.SX(ca.DM(weights))), jacobian.T)
    return weighted, ca.mtimes(jacobian, weighted)


def _solved_in_groups(
    weighted: ca.SX, normal: ca.SX, right: ca.SX, largest: int = SYMBOLIC_SOLVE
) -> tuple[ca.SX, ca.SX]:
    """W Jᵀ m and m = (J W Jᵀ)⁻¹ c."""
    steps, multipliers = [ca.SX(weighted.size1(), right.size2())], ca.SX.zeros(*right.shape)
    for rows in _groups(normal.sparsity()):
        if len(rows) > largest:
            raise SolverError(
                "The invariants of this model cannot be kept by projection.",
                f"{len(rows)} of them share variables; at most {largest} are solved together",
                because="the projection is compiled as one formula.",
                remedy="fewer bodies in one mechanism",
            )
        multipliers[rows, :] = _solved(normal[rows, rows], right[rows, :])
        steps.append(ca.mtimes(weighted[:, rows], multipliers[rows, :]))
    # Groups move states of their own: added in pairs, their sum costs no square of their number.
    while len(steps) > 1:
        steps = [reduce(add, steps[k : k + 2]) for k in range(0, len(steps), 2)]
    return ca.densify(steps[0]), multipliers


def normal_inverse(jacobian: ca.SX, weights: ca.SX) -> ca.SX:
    """(J W Jᵀ)⁻¹, group by group of rows that share variables."""
    normal = ca.mtimes(ca.mtimes(jacobian, weights), jacobian.T)
    inverse = ca.SX(normal.size1(), normal.size2())
    for rows in _groups(normal.sparsity()):
        inverse[rows, rows] = _solved(normal[rows, rows], ca.SX.eye(len(rows)))
    return inverse


def _solved(normal: ca.SX, right: ca.SX) -> ca.SX:
    """normal⁻¹ right by L D Lᵀ, which needs no pivots where a matrix is symmetric and positive definite.

    CasADi's own solve writes QR factors, a formula four times as long: 36 600 operations against 8700 for the nineteen
    invariants of Andrews' mechanism at index 2, where twelve evaluations of its accelerations are 43 500.
    """
    diagonal, upper, order = ca.ldl(normal)
    return ca.ldl_solve(ca.densify(right), diagonal, upper, order)


def _groups(pattern: ca.Sparsity) -> list[list[int]]:
    """The connected groups of a symmetric pattern."""
    count, members, begins = pattern.scc()
    return [list(members[begins[k] : begins[k + 1]]) for k in range(count)]


# The matrix of a correction onto invariants, without what vanishes on them.
#
# Gauss–Newton's correction x − W Jᵀ N⁻¹ c has N = J W Jᵀ at x. Leaving out of N what is a combination of the
# invariants changes it by O(|c|), so that the correction still converges quadratically: a unit quaternion has N = 4
# |q|² = 4 + 4 c, so 4 will do, which needs no division; a rod of length L has 4 L², which is the same all along a
# run.

# Samples of the states beyond as many as there are invariants: each of them contradicts a combination that is none.
_MORE = 8
# Digits of a weight: an entry needs no more than half of them, since what it leaves is so small a share of c.
_DIGITS = 12


def normal_on_constraints(normal: ca.SX, kept: ca.SX, x: ca.SX, others: list[ca.SX]) -> ca.SX:
    """A matrix in which entries N = a + Σ_k b_k c_k with numbers b and an a without states x are that a.

    others: what the matrix and the invariants `kept` are formulas of beside x.
    """
    entries = nonzeros(normal)
    rest, values, invariants = _sampled(entries, kept, x, others)
    if not (np.isfinite(values).all() and np.isfinite(invariants).all()):
        return normal
    # Zeros of the states are put in: the difference does not depend on them.
    at_zero, of_kept = ca.substitute([entries, kept], [x], [ca.SX.zeros(*x.shape)])
    found = elements(entries)
    for k in range(len(found)):
        weights = _combination(values[:, :, k], invariants)
        if weights is None:
            continue
        constant = ca.simplify(at_zero[k] - ca.dot(ca.SX(ca.DM(weights)), of_kept))
        at_samples = ca.Function("at_samples", [x, *others], [constant])
        expected = values[:, 0, k] - invariants[:, 0] @ weights
        if _equal(np.array([float(at_samples(0, *sample)) for sample in rest]), expected, values[:, :, k]):
            found[k] = constant
    return ca.sparsify(ca.SX(normal.sparsity(), concatenate(found)))


def _sampled(
    entries: ca.SX, kept: ca.SX, x: ca.SX, others: list[ca.SX]
) -> tuple[list[list[np.ndarray]], np.ndarray, np.ndarray]:
    """Two samples of what is beside x, and for both of them entries and invariants at samples of x."""
    count, random = kept.numel() + _MORE, np.random.default_rng(1)
    function = ca.Function("sampled", [x, *others], [entries, kept])
    rest = [[random.uniform(0.5, 1.5, part.shape) for part in others] for _ in range(2)]
    rows = [[function(random.uniform(-1.5, 1.5, x.shape), *sample) for _ in range(count)] for sample in rest]
    values, invariants = (np.array([[row[k].full().ravel() for row in part] for part in rows]) for k in range(2))
    return rest, values, invariants


def _combination(values: np.ndarray, invariants: np.ndarray) -> np.ndarray | None:
    """Weights with which an entry is the combination of the invariants, but for what is the same at all samples of x.

    values: (2, samples), invariants: (2, samples, count).
    """
    changes = (values - values[:, :1]).ravel()
    of_invariants = (invariants - invariants[:, :1]).reshape(len(changes), -1)
    weights = np.linalg.lstsq(of_invariants, changes, rcond=None)[0]
    rounded = np.array([float(f"{weight:.{_DIGITS}g}") for weight in weights])
    rounded[np.abs(rounded) < KNOWN * np.abs(rounded).max(initial=0.0)] = 0.0
    return rounded if _equal(of_invariants @ rounded, changes, values) else None


def _equal(a: np.ndarray, b: np.ndarray, values: np.ndarray) -> bool:
    """Whether numbers are equal but for rounding beside values of an entry; what is none is not."""
    return bool(np.abs(a - b).max(initial=0.0) <= KNOWN * np.abs(values).max(initial=0.0))
