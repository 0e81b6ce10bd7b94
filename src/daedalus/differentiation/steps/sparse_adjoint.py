"""The discrete adjoint of implicit Runge–Kutta steps of large systems: the stages of a step as one sparse system.

The equations are those of implicit_adjoint.py. There the stages are eliminated as full blocks, which costs the cube of
the unknowns that hang together; here they are solved as a sparse system: by the eigenvalues of the tableau where it has
them (stage_systems.py), else by factors of the whole matrix. The stages are those of the run, as well as it solved
them; where its polynomials do not give them they are solved for anew by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daedalus.algebra.newton_steps import halved_newton
from daedalus.algebra.rank_decision import KNOWN
from daedalus.differentiation.case import Case
from daedalus.differentiation.steps.residual_pullback import (
    Entries,
    ResidualPullback,
    Solve,
    StepFactors,
    iterated_as_runs,
    singular_step,
    stage_inputs,
)
from daedalus.differentiation.steps.segments import TakenSteps
from daedalus.differentiation.steps.stage_systems import GOOD, Slopes, StageSystems, StepMatrix
from daedalus.errors import SolverError
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.simulation.plant.implicit_plant import ImplicitPlant

# Corrections below the first share of the values are rounding; below the second they may stop shrinking.
CONVERGED, STALLED = 4e-15, KNOWN
MOST_ITERATIONS, SHORTEST = 50, 1e-6
# By which share iterations with P make residuals smaller: GMRES around them sees to the rest.
ITERATED_TO = 1e-2
# Transposed systems are solved so much better than the stages that they belong to: errors of all steps add up.
SHARE_OF_STAGES = 1e-3


class SparsePullback:
    """Steps of one large system by one tableau, pulled back."""

    def __init__(self, plant: ImplicitPlant, tableau: Tableau, projected: bool) -> None:
        self.tableau, self.system = tableau, plant.system
        self.n, self.size = plant.system.sizes["x"], plant.system.sizes["x"] + plant.system.sizes["z"]
        self._parts = ResidualPullback(plant, projected)
        self._nominal = np.concatenate([plant.system.nominal["x"], plant.system.nominal["z"]])

    def steps(
        self, case: Case, times: np.ndarray, taken: TakenSteps, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of the last state as those of the first, of the inputs of each step, and of the parameters."""
        rows, known = taken.rows, taken.stages
        n, c = self.n, self.tableau.c
        inputs, _ = stage_inputs(case, times, np.append(c, 1.0))
        by_inputs, by_parameters = np.zeros((len(times) - 1, inputs.shape[2])), np.zeros(len(case.p))
        iterated, accuracy = iterated_as_runs(self.system, ITERATED_TO), SHARE_OF_STAGES * taken.solved_to
        systems = StageSystems(self.tableau.A, n, self.size, iterated, accuracy)
        for j in reversed(range(len(times) - 1)):
            t, h, u = float(times[j]), float(times[j + 1] - times[j]), inputs[j]
            behind = rows[j + 1]
            solve, unknowns = None, np.tile(np.concatenate([behind[-n:], behind[n:-n]]), (len(c), 1))
            if known is not None:
                solve = self._of_run(systems, t, h, rows[j, :n], known[j], u, case.p, taken.solved_to)
            if known is None or solve is None:
                unknowns, solve = self._stages(systems, t, h, rows[j, :n], unknowns, u, case.p)
            else:
                unknowns = known[j]
            if self._parts.moved is not None:
                end = rows[j, :n] + h * self.tableau.b @ unknowns[:, :n]
                at_end = unknowns[-1]
                parts = self._parts.moved(np.array([t + h]), at_end[:n], end, at_end[n:], u[-1], case.p, weights)
                weights = parts[1]
                by_inputs[j] += parts[3]
                by_parameters += parts[4]
            right = np.zeros((len(c), self.size))
            right[:, :n] = -h * np.outer(self.tableau.b, weights)
            multipliers = solve(right.ravel(), True).reshape(right.shape)
            for i, (X, time) in enumerate(zip(self._states(rows[j, :n], h, unknowns), t + c * h)):
                own = unknowns[i]
                parts = self._parts.pull(np.array([time]), own[:n], X, own[n:], u[i], case.p, multipliers[i])
                weights = weights + parts[1]
                by_inputs[j] += parts[3]
                by_parameters += parts[4]
        return weights, by_inputs, by_parameters

    def _states(self, x: np.ndarray, h: float, unknowns: np.ndarray) -> np.ndarray:
        """X_i = x + h Σ a_ij K_j."""
        return x + h * self.tableau.A @ unknowns[:, : self.n]

    def _residuals(
        self, t: float, h: float, x: np.ndarray, unknowns: np.ndarray, u: np.ndarray, p: np.ndarray
    ) -> np.ndarray:
        n, out = self.n, np.zeros_like(unknowns)
        for i, X in enumerate(self._states(x, h, unknowns)):
            time = np.array([t + self.tableau.c[i] * h])
            out[i] = self._parts.residual(time, unknowns[i, :n], X, unknowns[i, n:], u[i], p)[0]
        return out

    def _linearised(
        self, systems: StageSystems, t: float, h: float, x: np.ndarray, unknowns: np.ndarray, u: np.ndarray,
        p: np.ndarray,
    ) -> tuple[StepMatrix, Solve]:  # fmt: skip
        """δ_ij [F_K F_Z] + h a_ij [F_X 0] over all stages; solves with it, and with its transpose."""
        n, slopes = self.n, []
        for i, X in enumerate(self._states(x, h, unknowns)):
            w, time = np.concatenate([X, unknowns[i, n:]]), t + self.tableau.c[i] * h
            slopes.append(self._parts.jacobians(time, unknowns[i, :n], w, u[i], p))
        matrix, whole = StepMatrix(self.tableau.A, h, n, self.size, slopes), list[Solve]()

        def solve(right: np.ndarray, transposed: bool) -> np.ndarray:
            found = None if whole else systems.solve(matrix, right.reshape(unknowns.shape), transposed)
            if found is not None:
                return found.ravel()
            if not whole:
                whole.append(self._factors(t, h, slopes))
            answer = whole[0](right, transposed)
            if not matrix.is_solved(answer.reshape(unknowns.shape), right.reshape(unknowns.shape), transposed):
                raise singular_step(t)
            return answer

        return matrix, solve

    def _of_run(
        self, systems: StageSystems, t: float, h: float, x: np.ndarray, unknowns: np.ndarray, u: np.ndarray,
        p: np.ndarray, solved_to: float,
    ) -> Solve | None:  # fmt: skip
        """Solves at stages that a run left; None where they do not fulfil their equations to a share of the terms."""
        matrix, solve = self._linearised(systems, t, h, x, unknowns, u, p)
        noise = np.zeros(self.size)
        noise[: self.n] = (np.abs(x) + self._nominal[: self.n]) / abs(h)
        residuals = self._residuals(t, h, x, unknowns, u, p)
        return (
            solve
            if matrix.solved_by(unknowns, self._states(x, h, unknowns), noise, residuals, max(GOOD, solved_to))
            else None
        )

    def _factors(self, t: float, h: float, slopes: list[Slopes]) -> Solve:
        """The same by factors of the whole matrix."""
        n, size, A, parts = self.n, self.size, self.tableau.A, []
        for i, ((rows, columns, values), (at_row, at_column, by_state)) in enumerate(slopes):
            parts.append((rows + i * size, columns + i * size, values))
            of_z = at_column >= n
            parts.append((at_row[of_z] + i * size, at_column[of_z] + i * size, by_state[of_z]))
            for j in np.flatnonzero(A[i]):
                part: Entries = (at_row[~of_z] + i * size, at_column[~of_z] + j * size, h * A[i, j] * by_state[~of_z])
                parts.append(part)
        return StepFactors(len(slopes) * size).of(parts, t)

    def _stages(
        self, systems: StageSystems, t: float, h: float, x: np.ndarray, unknowns: np.ndarray, u: np.ndarray,
        p: np.ndarray,
    ) -> tuple[np.ndarray, Solve]:  # fmt: skip
        """The stages to rounding and the factors there, by Newton's method."""
        factors: list[Solve] = []

        def linearised(flat: np.ndarray) -> tuple[np.ndarray, Callable[[], Callable[[np.ndarray], np.ndarray]]]:
            stages = flat.reshape(unknowns.shape)

            def factorise() -> Callable[[np.ndarray], np.ndarray]:
                factors[:] = [self._linearised(systems, t, h, x, stages, u, p)[1]]
                return lambda right: factors[0](right, False)

            return self._residuals(t, h, x, stages, u, p).ravel(), factorise

        def length(change: np.ndarray, flat: np.ndarray) -> float:
            return self._length(h, x, flat.reshape(unknowns.shape), change.reshape(unknowns.shape))

        done = halved_newton(
            linearised, unknowns.ravel(), length, most=MOST_ITERATIONS, tolerance=CONVERGED, stalled=STALLED,
            least=SHORTEST,
        )  # fmt: skip
        if done.converged:
            return (done.values + done.step).reshape(unknowns.shape), factors[0]
        raise SolverError(
            "The stages of a step cannot be solved again.",
            f"between t = {t:.6g} and t = {t + h:.6g}",
            because="Newton's method for the stages does not converge from the values at the end of the step.",
            remedy="a smaller rtol, or max_step=",
        )

    def _length(self, h: float, x: np.ndarray, unknowns: np.ndarray, change: np.ndarray) -> float:
        """The largest change relative to the values, derivatives counted by what they change in x."""
        whole = np.abs(unknowns) + self._nominal
        whole[:, : self.n] = (np.abs(x) + self._nominal[: self.n]) / abs(h) + np.abs(unknowns[:, : self.n])
        largest = float(np.max(np.abs(change) / whole))
        return largest if np.isfinite(largest) else np.inf
