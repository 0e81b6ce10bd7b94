"""Starts near a start: where consistent values go when what is varied moves by a finite amount.

The start goes along its tangent and is put back onto the constraints in the directions that `tangent_start` found,
x₀(θ) = x₀ + S₀ θ + B λ with c(t, x₀(θ), u, p) = 0. Its derivative at θ = 0 is S₀.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import damped_newton, sizes_of_equations
from daedalus.algebra.rank_decision import SINGULAR
from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.variational.tangent_start import TangentStart
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate

ITERATIONS = 50


class StartChart:
    """Cases near a case, as a function of the change θ of all directions."""

    def __init__(self, case: Case, directions: Directions, start: TangentStart) -> None:
        self._case, self._directions, self._start = case, directions, start
        system = case.system
        self._invariants: ca.Function | None = None
        if system.invariants:
            kept = case.form.applied(system, concatenate(system.invariants.values()))
            arguments = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
            v = ca.vertcat(*arguments[1:])
            self._invariants = ca.Function("invariants", arguments, [kept, ca.densify(ca.jacobian(kept, v))])

    def moved(self, change: np.ndarray) -> Case:
        """The case with everything changed by θ, (m,)."""
        case, d = self._case, self._directions
        p = case.p.copy()
        p[list(d.p)] += change[d.columns("p")]
        blocks = change[d.columns("u")].reshape(max(d.intervals, 1), len(d.u))
        du = np.zeros((len(blocks), case.system.sizes["u"]))
        du[:, list(d.u)] = blocks
        near = case.changed(case.x0 + self._start.S @ change, du if d.intervals else du[0], p)
        return near if self._invariants is None else near.changed(self._put_back(near), 0 * du[0], p)

    def _put_back(self, near: Case) -> np.ndarray:
        assert self._invariants is not None
        invariants, along, sizes = self._invariants, self._start.inverse, np.maximum(1.0, np.abs(near.x0))

        def equations(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            x = near.x0 + along @ shares
            left, slopes = (part.full() for part in invariants(near.t0, x, near.u0, near.p))
            slopes = slopes[:, : len(x)]
            return left.ravel(), slopes @ along, sizes_of_equations(slopes, x, sizes)

        count = along.shape[1]
        root = damped_newton(equations, np.zeros(count), np.ones(count), limit=ITERATIONS)
        if not root.solved:
            raise SolverError(
                "A start this far away cannot be put on the constraints.", f"{np.abs(root.residual).max():.2g} off"
            )
        return near.x0 + along @ root.values

    def slopes(self, near: Case) -> np.ndarray:
        """∂x₀/∂θ at a case that `moved` made, (n, m)."""
        S, n = self._start.S, len(near.x0)
        if self._invariants is None:
            return S
        J = self._invariants(near.t0, near.x0, near.u0, near.p)[1].full()
        V = np.concatenate([S, near.given_slopes(self._directions, near.t0)])
        B = self._start.inverse
        return S - B @ (np.linalg.pinv(J[:, :n] @ B, rcond=SINGULAR) @ (J @ V))
