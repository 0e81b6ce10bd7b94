"""Polynomials over the steps of a run, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from daedalus import _core


class Dense(NamedTuple):
    """The dense output: on each piece x(start + θ (end - start)) = Σ c_j θ^j."""

    starts: np.ndarray
    ends: np.ndarray
    coefficients: np.ndarray

    def at(self, times: np.ndarray) -> np.ndarray:
        """The rows at times within."""
        return _core.evaluate_dense(*self, times)

    def steps_around(self, times: np.ndarray) -> np.ndarray:
        """The steps that times lie in, in order and each once: the later one where two meet.

        Example
        -------
        >>> import numpy as np
        >>> dense = Dense(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.zeros((3, 1, 1)))
        >>> dense.steps_around(np.array([0.1, 2.5, 0.2])).tolist()
        [0, 2]
        """
        forward = -1.0 if self.ends[-1] < self.starts[0] else 1.0
        before = np.searchsorted(forward * self.starts, forward * times, side="right")
        found: np.ndarray = np.unique(np.maximum(before - 1, 0))
        return found

    def with_slopes(self) -> Dense:
        """The same for rows (x, x').

        Example
        -------
        >>> import numpy as np
        >>> square = Dense(np.array([0.0]), np.array([2.0]), np.array([[[0.0], [0.0], [4.0]]]))  # t²
        >>> square.with_slopes().at(np.array([1.5])).tolist()
        [[2.25, 3.0]]
        """
        degrees = np.arange(1, self.coefficients.shape[1])[:, None]
        lengths = (self.ends - self.starts)[:, None, None]
        slopes = np.pad(degrees * self.coefficients[:, 1:] / lengths, ((0, 0), (0, 1), (0, 0)))
        return self._replace(coefficients=np.ascontiguousarray(np.concatenate([self.coefficients, slopes], axis=2)))

    @staticmethod
    def joined(parts: Sequence[Dense], width: int = 0) -> Dense:
        """The dense output of runs that follow each other, polynomials of a lower degree filled up with zeros."""
        if not parts:
            return Dense(np.zeros(0), np.zeros(0), np.zeros((0, 1, width)))
        most = max(part.coefficients.shape[1] for part in parts)
        filled = [np.pad(c, ((0, 0), (0, most - c.shape[1]), (0, 0))) for *_, c in parts]
        starts, ends = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        return Dense(starts, ends, np.ascontiguousarray(np.concatenate(filled)))
