"""A linear DAE as its forms and responses are computed from: matrices, names, and the structure of s E - A."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.analysis.linear.axis_names import Names
from daedalus.analysis.linear.pencils.pencil import Pencil, pencil
from daedalus.model.lazy_values import cached_property


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LinearDae:
    """E x' = A x + B u, y = C x + D u."""

    E: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: Names
    inputs: Names
    outputs: Names

    @cached_property
    def pencil(self) -> Pencil:
        """The structure of s E - A: regularity, index, finite and infinite eigenvalues."""
        return pencil(self.E, self.A)
