"""A consistent jet of a large system: every equation differentiated no more often than its offset says.

With offsets c and d, the equations f_i, ..., f_i^(c_i) are solved for x_j, ..., x_j^(d_j), which is all that the system
Jacobian contains (J. D. Pryce, BIT 41, 2001). The whole derivative array would differentiate all equations equally
often, and higher derivatives of a large system soon have numbers of any size.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.analysis.structure.consistent_jet import SPREAD, Jet, JetStart, moved_values, sparse_gauss_newton
from daedalus.analysis.structure.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import Signature, raised
from daedalus.model.expressions import elements

# Guesses that are tried, the first as written.
TRIALS = 3


def staged_jet(array: DerivativeArray, s: Signature, start: JetStart) -> Jet:
    """Values of all unknowns and their derivatives up to d_j, given ones first held, then freed."""
    n = array.system.sizes["x"]
    stages = _Stages(array, raised(s, np.where(np.arange(array.size) < n, 1, 0)), start)
    draw = np.random.default_rng(1987)
    best: Jet | None = None
    for held in (start.given, np.zeros_like(start.given)):
        for trial in range(TRIALS):
            shaken = start.y + (SPREAD * start.size * draw.standard_normal(start.y.shape) if trial else 0.0)
            jet = stages.solve(np.where(start.given, start.y, shaken), held)
            if jet.consistent:
                return jet
            best = jet if best is None or jet.misfit < best.misfit else best
    assert best is not None
    return best


class _Stages:
    """The equations and their derivatives as one sparse function of the jet."""

    def __init__(self, array: DerivativeArray, s: Signature, start: JetStart) -> None:
        self._array, self._start = array, start
        rows, _ = array.stack(array.level(0), s.c)
        self._order = np.concatenate([np.arange(d + 1) for d in s.d]).astype(int)
        self._position = np.repeat(np.arange(array.size), s.d + 1)
        levels = [elements(array.unknowns(k)) for k in range(int(s.d.max(initial=0)) + 1)]
        jet = ca.vertcat(*(levels[k][j] for j, k in zip(self._position, self._order)))
        stack = ca.vertcat(*rows)
        # Inputs are constant in time: their derivatives are zero.
        rates = [symbol for symbol in ca.symvar(stack) if array.place(symbol)[0] == "u" and array.place(symbol)[1]]
        if rates:
            stack = ca.substitute(stack, ca.vertcat(*rates), ca.SX.zeros(len(rates)))
        slopes = ca.jacobian(stack, jet)
        self._function = ca.Function("stages", [array.time, array.parameters, array.u[0], jet], [stack, slopes])
        self._shape = slopes.shape
        self._rows, self._columns = (np.array(k, dtype=int) for k in slopes.sparsity().get_triplet())
        self._usual = start.size[self._position]

    def solve(self, guess: np.ndarray, held: np.ndarray) -> Jet:
        """The jet nearest to a guess of y and y', some of it held."""
        start, low = self._start, self._order < 2
        base, fixed = np.zeros(len(self._order)), np.zeros(len(self._order), dtype=bool)
        base[low] = guess[self._order[low], self._position[low]]
        fixed[low] = held[self._order[low], self._position[low]]
        free = np.flatnonzero(~fixed)

        def evaluate(values: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
            from scipy.sparse import csc_matrix

            jet = base.copy()
            jet[free] = values
            residual, slopes = self._function(start.t, start.p, start.u, jet)
            entries = np.array(slopes.nonzeros(), dtype=float)
            sizes = np.nan_to_num(np.abs(entries)) * np.maximum(self._usual, np.abs(jet))[self._columns]
            scale = np.zeros(self._shape[0])
            np.maximum.at(scale, self._rows, sizes)
            matrix = csc_matrix((entries, (self._rows, self._columns)), shape=self._shape)[:, free]
            return residual.full().ravel(), matrix, np.where(scale > 0, scale, 1.0)

        found, residual = sparse_gauss_newton(evaluate, base[free], self._usual[free])
        base[free] = found
        y = np.zeros((max(int(self._order.max(initial=0)), 1) + 1, self._array.size))
        y[self._order, self._position] = base
        return Jet(start.t, start.p, start.u, y, residual, moved_values(start, y[:2]))
