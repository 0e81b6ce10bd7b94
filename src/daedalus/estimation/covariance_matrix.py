"""Covariances as users give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daedalus.algebra.agreement import agree
from daedalus.algebra.rank_decision import ROUNDING
from daedalus.errors import InputError
from daedalus.model.names import did_you_mean
from daedalus.model.plain_numbers import plain_array, plain_number

# Entries that were written with five digits are symmetric, beside the deviations whose product they are.
SYMMETRIC = 1e-5


def covariance_matrix(value: object, size: int, names: Sequence[str], word: str, units: Sequence[str]) -> np.ndarray:
    """A covariance from a number, a diagonal, a matrix, or variances by name."""
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise InputError(
                f"{word}= has {unknown[0]}.",
                f"known: {', '.join(list(names)[:8])}",
                remedy=did_you_mean(unknown[0], names, listed=False),
            )
        given = [(value.get(name, 0.0), name, unit) for name, unit in zip(names, units)]
        value = [plain_number(variance, f"{word} of {name}", unit) for variance, name, unit in given]
    array = plain_array(value, word)
    whole = np.eye(size) * array if array.ndim == 0 else np.diag(array) if array.ndim == 1 else array
    wrong = f"got shape {array.shape}" if whole.shape != (size, size) else _wrong(whole)
    if wrong:
        raise InputError(
            f"{word} is not a covariance of {size} numbers.",
            wrong,
            because="it is symmetric, and no variance is negative.",
            remedy=f"{word}=0.01, a list of {size} variances, a symmetric matrix, or variances by name",
        )
    return whole


def _wrong(whole: np.ndarray) -> str:
    """What keeps a square matrix from being a covariance."""
    if not np.all(np.isfinite(whole)):
        return "it has values that are not finite"
    deviations = np.sqrt(np.abs(np.diag(whole)))
    deviations[deviations == 0] = 1.0
    sizes = np.outer(deviations, deviations)
    if not agree(whole, whole.T, SYMMETRIC, sizes):
        return "it is not symmetric"
    negative = np.linalg.eigvalsh(whole / sizes)[0] < -10 * ROUNDING
    return f"the variance along some direction is {np.linalg.eigvalsh(whole)[0]:g}" if negative else ""
