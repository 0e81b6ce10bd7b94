"""Covariances as users give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import did_you_mean
from daedalus.model.plain_numbers import plain_array, plain_number


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
    if not np.allclose(whole, whole.T):
        return "it is not symmetric"
    least = np.linalg.eigvalsh(whole)[0]
    return f"the variance along some direction is {least:g}" if least < -1e-12 else ""
