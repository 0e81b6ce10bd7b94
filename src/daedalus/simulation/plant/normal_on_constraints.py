"""The matrix of a correction onto invariants, without what vanishes on them.

Gauss–Newton's correction x − W Jᵀ N⁻¹ c has N = J W Jᵀ at x. Leaving out of N what is a combination of the invariants
changes it by O(|c|), so that the correction still converges quadratically: a unit quaternion has N = 4 |q|² = 4 + 4 c,
so 4 will do, which needs no division; a rod of length L has 4 L², which is the same all along a run.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements, nonzeros

# Samples of the states beyond as many as there are invariants: each of them contradicts a combination that is none.
_MORE = 8
# Combinations are found to rounding, by sums of as many terms as there are invariants.
_ROUNDING = 1e-10
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
    rounded[np.abs(rounded) < _ROUNDING * np.abs(rounded).max(initial=0.0)] = 0.0
    return rounded if _equal(of_invariants @ rounded, changes, values) else None


def _equal(a: np.ndarray, b: np.ndarray, values: np.ndarray) -> bool:
    """Whether numbers are equal but for rounding beside values of an entry; what is none is not."""
    return bool(np.abs(a - b).max(initial=0.0) <= _ROUNDING * np.abs(values).max(initial=0.0))
