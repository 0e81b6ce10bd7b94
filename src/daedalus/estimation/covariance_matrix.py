"""Covariances as users give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daedalus.errors import InputError
from daedalus.model.plain_numbers import plain_array, plain_number


def covariance_matrix(value: object, size: int, names: Sequence[str], word: str, units: Sequence[str]) -> np.ndarray:
    """A covariance from a number, a diagonal, a matrix, or variances by name."""
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise InputError(f"{word}= has {unknown[0]}.", f"known: {', '.join(list(names)[:8])}")
        given = [(value.get(name, 0.0), name, unit) for name, unit in zip(names, units)]
        value = [plain_number(variance, f"{word} of {name}", unit) for variance, name, unit in given]
    array = plain_array(value, word)
    whole = np.eye(size) * array if array.ndim == 0 else np.diag(array) if array.ndim == 1 else array
    if whole.shape != (size, size) or not np.allclose(whole, whole.T) or np.linalg.eigvalsh(whole)[0] < -1e-12:
        raise InputError(f"{word} is not a covariance of {size} numbers.", f"got shape {array.shape}")
    return whole
