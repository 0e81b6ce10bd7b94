"""One periodic orbit by collocation with a mesh that follows it: from a guess to a check on half the steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daedalus.algebra.damped_newton import STALLED
from daedalus.algebra.newton_steps import Solve, halved_newton
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.studies.collocation import cut
from daedalus.studies.orbits.orbit_equations import OrbitEquations, OrbitProblem, OrbitValues, on_mesh

# Of a mesh: some for each harmonic of a smooth motion at first; where it misses the equations it becomes finer.
FIRST_INTERVALS, MOST_INTERVALS, MOST_MESHES = 16, 800, 10
# The mesh is fine enough when intervals miss the equations by this share of the states; mesh values are better then.
FINE = 1e-5
# The orbit on half the steps differs by at most this share.
AGREES = 1e-9
# Newton's method ends with corrections of this share of the sizes; rounding may keep them at STALLED.
CONVERGED, MOST_STEPS = 1e-12, 30


def balanced(mesh: np.ndarray, misses: np.ndarray, least: int = FIRST_INTERVALS) -> np.ndarray | None:
    """A mesh whose intervals miss the equations equally, by half a tolerance; None where it would be too large.

    What an interval misses goes with the fifth power of its length (U. M. Ascher, R. M. M. Mattheij and R. D. Russell,
    Numerical Solution of Boundary Value Problems for ODEs, 1995, section 9.3).
    """
    width = np.diff(mesh)
    weights = np.clip(2 * misses, 1e-12, 1e30) ** 0.2
    # Neighbours of a hard interval are hard too: the motion moves on when the parameter does.
    weights = np.maximum(
        weights,
        0.5
        * np.maximum(
            np.roll(weights, 1) * width / np.roll(width, 1), np.roll(weights, -1) * width / np.roll(width, -1)
        ),
    )
    weights = np.maximum(weights, 0.2 * float(np.sum(weights)) * width)
    count = max(least, int(np.ceil(np.sum(weights))))
    if count > MOST_INTERVALS:
        return None
    reached = np.concatenate([[0.0], np.cumsum(weights)])
    finer = np.interp(np.linspace(0, reached[-1], count + 1), reached, mesh)
    finer[0], finer[-1] = 0.0, 1.0
    return np.asarray(finer)


def solved_orbit(problem: OrbitProblem, guess: OrbitValues) -> tuple[OrbitEquations, OrbitValues, int] | None:
    """The orbit near a guess at its parameter, on a mesh that resolves it, and the iterations; None of no success."""
    orbit, iterations = guess, 0
    before: OrbitValues | None = None
    for _ in range(MOST_MESHES):
        equations = OrbitEquations(problem, orbit)
        found = _newton(equations, orbit)
        if found is None:
            return None
        orbit, count = found
        iterations += count
        misses = equations.misses(orbit, FINE)
        if not np.all(np.isfinite(misses)):
            return None
        fine = bool(np.max(misses) <= 1)
        if before is not None and fine and _difference(equations, before, orbit) <= AGREES:
            return equations, orbit, iterations
        if fine:
            before, mesh = orbit, cut(orbit.mesh, 2)
            if len(mesh) > MOST_INTERVALS:
                return None
        else:
            before, finer = None, balanced(orbit.mesh, misses)
            if finer is None:
                return None
            mesh = finer
        orbit = on_mesh(problem, orbit, mesh)
    return None


def _newton(equations: OrbitEquations, orbit: OrbitValues) -> tuple[OrbitValues, int] | None:
    """The orbit at a fixed parameter.

    Corrections are measured along the orbit and in its period; what is eliminated inside the intervals follows.
    """
    first = equations.joined(orbit)
    sizes = equations.sizes(first, 1.0)[:-1]

    def linearised(Y: np.ndarray) -> tuple[np.ndarray, Callable[[], Solve | None]]:
        residual, matrix = equations(np.append(Y, first[-1]))
        return residual, matrix.without_last

    def length(step: np.ndarray, Y: np.ndarray) -> float:
        return float(np.linalg.norm(step / sizes) / len(sizes) ** 0.25)

    def longest(step: np.ndarray) -> float:
        return float(min(1.0, 0.5 * orbit.period / max(abs(step[equations.at_period]), NOT_ZERO)))

    done = halved_newton(
        linearised, first[:-1], length, most=MOST_STEPS, tolerance=CONVERGED, stalled=STALLED, longest=longest
    )
    if not done.converged:
        return None
    return equations.split(np.append(done.values + done.step, first[-1])), done.iterations + 1


def _difference(equations: OrbitEquations, before: OrbitValues, orbit: OrbitValues) -> float:
    x = orbit.values.x[np.searchsorted(orbit.mesh, before.mesh)]
    gap = float(np.max(np.abs(x - before.values.x) / equations.size_x))
    return max(gap, abs(orbit.period - before.period) / orbit.period)
