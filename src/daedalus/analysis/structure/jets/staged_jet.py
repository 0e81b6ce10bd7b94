"""A consistent jet of a large system: every equation differentiated no more often than its offset says.

With offsets c and d, the equations f_i, ..., f_i^(c_i) are solved for x_j, ..., x_j^(d_j), which is all that the system
Jacobian contains (J. D. Pryce, BIT 41, 2001). The whole derivative array would differentiate all equations equally
often, and higher derivatives of a large system soon have numbers of any size.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.shortened_steps import shortest_step
from daedalus.analysis.structure.jets.consistent_jet import (
    Jet,
    JetStart,
    first_consistent,
    moved_values,
)
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.jets.jet_equations import JetEquations, staged_pieces
from daedalus.analysis.structure.jets.jet_search import Search
from daedalus.analysis.structure.signature import Signature

# Guesses that are tried, the first as written.
TRIALS = 3


def solved_jet(stages: Stages, start: JetStart) -> Jet:
    """Values of all unknowns and their derivatives up to d_j, given ones first held, then freed."""
    return first_consistent(start, TRIALS, lambda guess, held, _: stages.solve(guess, held))


class Stages:
    """The jets of a large system: those nearest to guesses, and others near them.

    equation: the equation that each row belongs to.
    """

    def __init__(self, array: DerivativeArray, s: Signature, start: JetStart) -> None:
        self._start = start
        self._equations = JetEquations(array, *staged_pieces(array, array.level(0), s))
        self.equation = np.array([row.number for row in self._equations.rows], dtype=int)

    def solve(self, guess: np.ndarray, held: np.ndarray) -> Jet:
        """The jet nearest to a guess of y and y', some of it held."""
        search = self._search(self._start.t, self._along(guess))
        return self._jet(search, search.run(self._along(held)).values)

    def _along(self, y: np.ndarray) -> np.ndarray:
        """What is known of y and y' along the jet."""
        n = self._equations.system.sizes["x"]
        return self._equations.along_jet({"xdot": y[1, :n], "x": y[0, :n], "z": y[0, n:]})

    def _search(self, t: float, guess: np.ndarray) -> Search:
        eq, start = self._equations, self._start
        sizes = start.size[[j for j, _ in eq.unknowns]]
        return Search(eq, t, start.p, eq.steady(start.u), guess, sizes, nearest=False)

    def nearby(
        self, jet: Jet, distance: float, draw: np.random.Generator, without: np.ndarray, still: np.ndarray
    ) -> Jet:
        """A jet at a distance in sizes of the unknowns that obeys all equations but some; its residual is that of all.

        A random step along the solutions, projected onto them again. `still`: unknowns that are moved and then held.
        """
        from scipy.sparse import diags

        eq = self._equations
        position, order = (np.array(part, dtype=int) for part in zip(*eq.unknowns))
        base = jet.y[order, position]
        at_random = np.isin(position, still)
        search = self._search(jet.t + distance * draw.uniform(0.5, 1.0), base)
        sizes = search.sizes
        base = base + np.where(at_random & (order == 0), distance * sizes, 0.0)
        kept = ~np.isin(self.equation, without)
        numbers = eq.evaluation(jet.t, search.p, search.u)
        _residual, slopes, scale = numbers.selected(kept, ~at_random, base, sizes, 0)(base[~at_random])
        weighted = diags(1 / scale) @ slopes @ diags(sizes[~at_random])
        drawn = draw.uniform(-1.0, 1.0, int(np.sum(~at_random)))
        along = shortest_step(weighted, weighted @ drawn) - drawn
        # Lower derivatives set the length: higher ones follow from them.
        low = np.abs(along[order[~at_random] == 0]).max(initial=0.0)
        base[~at_random] += sizes[~at_random] * along * (distance / low if low > 0 else 0.0)
        moved = self._search(search.time, base)
        return self._jet(moved, moved.run(at_random, kept=kept).values)

    def _jet(self, search: Search, values: np.ndarray) -> Jet:
        """Values as a jet, with what is left of all rows there."""
        y, start = self._equations.jet_of(values), self._start
        return Jet(search.time, start.p, start.u, y, search.residual(values)[1], moved_values(start, y[:2]))

    def left(self, jet: Jet, equations: np.ndarray) -> float:
        """The largest share that is left of some equations and their derivatives; infinite if one is not finite."""
        own = np.abs(jet.residual[np.isin(self.equation, equations)])
        return float(own.max(initial=0.0)) if np.all(np.isfinite(own)) else float("inf")
