"""Solutions for small values of ε beside the limit: x(t) - x0(t), and z(t) - z0(t) less the boundary layer.

The layer Z(τ) tends to z0 at the start, so z0(t) + Z((t - t0)/ε) - z0(t0) describes the fast variables from the start
on, with an error of O(ε) (A. B. Vasil'eva 1963).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.errors import InputError, SolverError
from daedalus.reduction.forms.fast_and_slow import FastAndSlow
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.simulate import simulate
from daedalus.studies.boundary_layer import BESIDE_ATOL, BESIDE_RTOL

# An explicit method needs about span / ε steps for a fast part; beyond this the comparison says so.
MOST_STEPS = 2_000_000


@dataclass(frozen=True, eq=False)
class LimitComparison:
    """How far solutions are from the limit of a small parameter. `print` shows a table.

    epsilon: (k,) the values. slow, fast: (k,) the largest distance over the path, in nominal values; that of the fast
    variables with the boundary layer added to the limit. order: the exponent with which both fall, from the last two
    values. runs: the solutions.
    """

    epsilon: np.ndarray
    slow: np.ndarray
    fast: np.ndarray
    order: float
    runs: tuple[Trajectory, ...]

    def __str__(self) -> str:
        lines = ["   epsilon      slow      fast, layer added"]
        lines += [f"{e:10.3g}  {s:10.3e}  {f:10.3e}" for e, s, f in zip(self.epsilon, self.slow, self.fast)]
        return "\n".join([*lines, f"falls as epsilon^{self.order:.2f}"])

    __repr__ = __str__


def compared(parts: FastAndSlow, path: Trajectory, layer: Trajectory, epsilon: np.ndarray) -> LimitComparison:
    """Run the model for each ε and measure its distance from the limit."""
    if epsilon.ndim != 1 or not len(epsilon) or np.any(~(epsilon > 0)) or np.any(np.diff(epsilon) >= 0):
        raise InputError(
            "epsilon must be a list of decreasing positive values.",
            f"got {epsilon.tolist()!r}",
            remedy="[0.02, 0.01, 0.005]",
        )
    runs = [_run(parts, path, float(value)) for value in epsilon]
    slow = np.array([_distance(parts, path, run, parts.slow) for run in runs])
    fast = np.array([_distance(parts, path, run, parts.fast, layer, e) for run, e in zip(runs, epsilon.tolist())])
    order = np.nan
    if len(epsilon) > 1:
        both = np.maximum(slow, fast)
        order = float(np.log(both[-2] / both[-1]) / np.log(epsilon[-2] / epsilon[-1])) if both[-1] > 0 else np.inf
    return LimitComparison(epsilon, slow, fast, order, tuple(runs))


def _run(parts: FastAndSlow, path: Trajectory, epsilon: float) -> Trajectory:
    span = (float(path.time[0]), float(path.time[-1]))
    values = {parts.parameter: epsilon}
    run = simulate(parts.book, span, parameters=values, rtol=BESIDE_RTOL, atol=BESIDE_ATOL, max_steps=MOST_STEPS)
    if not run.success:
        raise SolverError(
            f"The model with {parts.parameter} = {epsilon:g} does not reach the end of the path.",
            run.stop_reason,
            because=f"the step must stay near {parts.parameter} while the fast part is integrated.",
            remedy=f"larger values: compare([{10 * epsilon:g}, {5 * epsilon:g}])",
        )
    return run


def _distance(
    parts: FastAndSlow,
    path: Trajectory,
    run: Trajectory,
    entries: tuple[tuple[str, int], ...],
    layer: Trajectory | None = None,
    epsilon: float = 1.0,
) -> float:
    """The largest distance of some variables, in nominal values, at the steps of a run."""
    beside = path.at(run.time)
    worst = 0.0
    for (name, k), label in zip(entries, parts.names(entries)):
        gap = run[label] - beside[label]
        if layer is not None:
            stretched = np.minimum((run.time - run.time[0]) / epsilon, layer.time[-1])
            gap = gap - (layer.at(stretched)[label] - layer[label][-1])
        worst = max(worst, float(np.abs(gap).max()) / parts.book.written.variables[name].nominal[k])
    return worst
