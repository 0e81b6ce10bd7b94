"""How derivatives of cases begin: with columns of the identity, or along what the model keeps at each start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.differentiation.case import given_states
from daedalus.differentiation.variational.tangent_start import StartMoves
from daedalus.ensembles.derivatives.derived_model import DerivedModel
from daedalus.model.lazy_values import cached_property
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
        return np.concatenate([columns[:n], self._first(columns), columns[n:]]).reshape(-1, *rows.shape[1:])

    @cached_property
    def _moves(self) -> StartMoves:
        given = given_states(self.model.system, self.road.request.start)
        return StartMoves(self.road.request.model, self.model.system, self.model.form, given)

    def _first(self, own: np.ndarray) -> np.ndarray:
        """S of some starts, column by column; no number where a start is none."""
        n, count = self.states, own.shape[1]
        found = np.full((n * len(self.model.columns), count), np.nan)
        good = np.flatnonzero(np.isfinite(own).all(axis=0))
        if self.alike:  # the same numbers wherever a run begins
            good = np.arange(count)
        x, u, p = (part[:, good].T.copy() for part in np.split(own, [n, n + self.model.system.sizes["u"]]))
        t0 = self.road.request.t0
        for table, slots in self.road.drive.tables:
            u[:, list(slots)] = table.flat(np.array([t0]))
        if self.alike:
            S = self._moves.at((t0, x[0], u[0], p[0]), self.model.directions).S[None]
        elif len(good):
            S = self._moves.many(t0, x, u, p, self.model.directions)
        else:
            return found
        found[:, good] = S[:, :, self.model.places].transpose(2, 1, 0).reshape(len(found), -1)
        return found
