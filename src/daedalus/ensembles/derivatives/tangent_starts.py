"""How derivatives of cases begin: with columns of the identity, or along what the model keeps at each start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daedalus.differentiation.case import given_states
from daedalus.differentiation.variational.tangent_start import StartMoves
from daedalus.ensembles.derivatives.derived_model import DerivedModel
from daedalus.simulation.run.road import Road


@dataclass(frozen=True, eq=False)
class TangentStarts:
    """The first S of the cases of a road."""

    road: Road
    model: DerivedModel

    @property
    def alike(self) -> bool:
        """Whether S begins as the same numbers in all cases."""
        return not self.model.system.invariants

    @property
    def states(self) -> int:
        """How many states there are."""
        return int(self.model.system.sizes["x"])

    def plain(self, rows: np.ndarray) -> np.ndarray:
        """Rows (start, S, inputs, parameters) without S."""
        n = self.states
        return np.concatenate([rows[:n], rows[n * (1 + len(self.model.columns)) :]])

    def joined(self, rows: np.ndarray) -> np.ndarray:
        """Rows (start, inputs, parameters) with S behind the start, one column or more."""
        n, columns = self.states, rows.reshape(len(rows), -1)
        if self.alike:
            first = np.repeat(self._first(columns[:, 0])[:, None], columns.shape[1], axis=1)
        else:
            first = np.stack([self._first(own) for own in columns.T], axis=1)
        return np.concatenate([columns[:n], first, columns[n:]]).reshape(-1, *rows.shape[1:])

    @cached_property
    def _moves(self) -> StartMoves:
        given = given_states(self.model.system, self.road.request.start)
        return StartMoves(self.road.request.model, self.model.system, self.model.form, given)

    def _first(self, own: np.ndarray) -> np.ndarray:
        """S of one start, column by column; no number where the start is none."""
        n, nu = self.states, self.model.system.sizes["u"]
        x, u, p = (part.copy() for part in np.split(own, [n, n + nu]))
        if not np.isfinite(own).all():
            return np.full(n * len(self.model.columns), np.nan)
        t0 = self.road.request.t0
        for table, slots in self.road.drive.tables:
            u[list(slots)] = table.flat(np.array([t0]))[0]
        start = self._moves.at((t0, x, u, p), self.model.directions)
        return start.S[:, self.model.places].T.ravel()
