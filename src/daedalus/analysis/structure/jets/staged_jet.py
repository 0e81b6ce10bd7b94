"""A consistent jet of a large system: every equation differentiated no more often than its offset says.

With offsets c and d, the equations f_i, ..., f_i^(c_i) are solved for x_j, ..., x_j^(d_j), which is all that the system
Jacobian contains (J. D. Pryce, BIT 41, 2001). The whole derivative array would differentiate all equations equally
often, and higher derivatives of a large system soon have numbers of any size.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.shortened_steps import shortest_step
from daedalus.analysis.structure.incomplete_structure import with_rest
from daedalus.analysis.structure.jets.consistent_jet import (
    Jet,
    JetStart,
    first_consistent,
    moved_values,
)
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.jets.jet_evaluation import JetEvaluation
from daedalus.analysis.structure.jets.nearest_jet import nearest_by_levels
from daedalus.analysis.structure.signature import Signature, raised
from daedalus.model.expressions import elements

# Guesses that are tried, the first as written.
TRIALS = 3


def solved_jet(stages: Stages, start: JetStart) -> Jet:
    """Values of all unknowns and their derivatives up to d_j, given ones first held, then freed."""
    return first_consistent(start, TRIALS, lambda guess, held, _: stages.solve(guess, held))


class StagedEquations:
    """The equations f_i, ..., f_i^(c_i) as one sparse function of the jet x_j, ..., x_j^(d_j).

    equation: the equation that each row belongs to. position, order: the unknown of each entry of the jet and how often
    it is differentiated. levels: of each row and of each entry, from the lowest up to 0.
    """

    def __init__(self, array: DerivativeArray, s: Signature) -> None:
        rows, origin = array.stack(array.level(0), s.c)
        self.equation = np.array([i for i, _ in origin], dtype=int)
        self.order = np.concatenate([np.arange(d + 1) for d in s.d]).astype(int)
        self.position = np.repeat(np.arange(array.size), s.d + 1)
        times = np.array([k for _, k in origin], dtype=int)
        self.levels = times - s.c[self.equation], self.order - s.d[self.position]
        levels = [elements(array.unknowns(k)) for k in range(int(s.d.max(initial=0)) + 1)]
        jet = ca.vertcat(*(levels[k][j] for j, k in zip(self.position, self.order)))
        stack = ca.densify(ca.vertcat(*rows))
        # Inputs are constant in time: their derivatives are zero.
        rates = [symbol for symbol in ca.symvar(stack) if array.place(symbol)[0] == "u" and array.place(symbol)[1]]
        if rates:
            stack = ca.substitute(stack, ca.vertcat(*rates), ca.SX.zeros(len(rates)))
        slopes = ca.jacobian(stack, jet)
        self._function = ca.Function("stages", [array.time, array.parameters, array.u[0], jet], [stack, slopes])

    def at(self, t: float, p: np.ndarray, u: np.ndarray) -> JetEvaluation:
        """The rows in numbers, at a time with parameters and inputs."""
        return JetEvaluation(self._function, np.array([t]), p, u)


class Stages:
    """The jets of a large system: those nearest to guesses, and others near them.

    equation: the equation that each row belongs to.
    """

    def __init__(self, array: DerivativeArray, s: Signature, start: JetStart) -> None:
        self._array, self._start = array, start
        s = with_rest(raised(s, np.where(np.arange(array.size) < array.system.sizes["x"], 1, 0)))
        staged = StagedEquations(array, s)
        self.equation, self._order, self._position, self._levels = (
            staged.equation, staged.order, staged.position, staged.levels,
        )  # fmt: skip
        self._at = lambda t: staged.at(t, start.p, start.u)
        self._usual = start.size[self._position]

    def solve(self, guess: np.ndarray, held: np.ndarray) -> Jet:
        """The jet nearest to a guess of y and y', some of it held."""
        low = self._order < 2
        base, fixed = np.zeros(len(self._order)), np.zeros(len(self._order), dtype=bool)
        base[low] = guess[self._order[low], self._position[low]]
        fixed[low] = held[self._order[low], self._position[low]]
        return self._solved(base, ~fixed, self._start.t, np.ones(len(self.equation), dtype=bool))

    def nearby(
        self, jet: Jet, distance: float, draw: np.random.Generator, without: np.ndarray, still: np.ndarray
    ) -> Jet:
        """A jet at a distance in sizes of the unknowns that obeys all equations but some; its residual is that of all.

        A random step along the solutions, projected onto them again. `still`: unknowns that are moved and then held.
        """
        from scipy.sparse import diags

        base = jet.y[self._order, self._position]
        at_random = np.isin(self._position, still)
        base = base + np.where(at_random & (self._order == 0), distance * self._usual, 0.0)
        free, kept = ~at_random, ~np.isin(self.equation, without)
        _residual, slopes, scale = self._at(jet.t).selected(kept, free, base, self._usual, 0)(base[free])
        weighted = diags(1 / scale) @ slopes @ diags(self._usual[free])
        drawn = draw.uniform(-1.0, 1.0, int(free.sum()))
        along = shortest_step(weighted, weighted @ drawn) - drawn
        # Lower derivatives set the length: higher ones follow from them.
        low = np.abs(along[self._order[free] == 0]).max(initial=0.0)
        base[free] += self._usual[free] * along * (distance / low if low > 0 else 0.0)
        return self._solved(base, free, jet.t + distance * draw.uniform(0.5, 1.0), kept)

    def _solved(self, base: np.ndarray, free: np.ndarray, t: float, kept: np.ndarray) -> Jet:
        """The jet nearest to given values that obeys the rows kept, some entries free; with the residual of all."""
        evaluation = self._at(t)
        found = nearest_by_levels(evaluation, base, kept, free, self._usual, self._levels)
        left = evaluation.rows(found) / evaluation.sizes(np.maximum(self._usual, np.abs(found)))
        y = np.zeros((max(int(self._order.max(initial=0)), 1) + 1, self._array.size))
        y[self._order, self._position] = found
        start = self._start
        return Jet(t, start.p, start.u, y, left, moved_values(start, y[:2]))

    def left(self, jet: Jet, equations: np.ndarray) -> float:
        """The largest share that is left of some equations and their derivatives; infinite if one is not finite."""
        own = np.abs(jet.residual[np.isin(self.equation, equations)])
        return float(own.max(initial=0.0)) if np.all(np.isfinite(own)) else float("inf")
