"""How the core integrates y with an implicit method: its model, rows of its own, and what happens at steps and events.

Where x' and z have formulas, 0 = y' - F(t, y, u, p) is run, and a row of the core is (y, y'). Where they have none, a
row is (X, Z, X') of the residual variational equations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from daedalus.compilation import Compiled
from daedalus.differentiation.case import Case


class CoreRows(ABC):
    """What the core takes of the variational equations."""

    @cached_property
    @abstractmethod
    def model(self) -> Any:
        """The implicit model."""

    @cached_property
    @abstractmethod
    def guards(self) -> Compiled | None:
        """The guards of the events as functions of rows; None where there are none."""

    @cached_property
    @abstractmethod
    def resets(self) -> Compiled | None:
        """The rows behind each event; None where a run ends at each event and goes on behind it."""

    @abstractmethod
    def row(self, case: Case, t: float, y: np.ndarray) -> np.ndarray:
        """The row of the core at y."""

    @abstractmethod
    def unpacked(self, rows: np.ndarray) -> np.ndarray:
        """y of rows, or of the coefficients of a dense output: the last axis is that of the row."""

    @abstractmethod
    def entry(self, unknown: int) -> int:
        """Where an unknown of the core stands in y."""

    @abstractmethod
    def tolerances(self, case: Case) -> np.ndarray:
        """Absolute tolerances of a row."""

    @abstractmethod
    def projection(self, exact: bool) -> Compiled | None:
        """The row moved onto the invariants, the move differentiated or its derivatives made tangent."""
