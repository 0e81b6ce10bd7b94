"""Reference end values by extrapolation of the modified midpoint rule in extended precision.

Gragg, Bulirsch and Stoer's method has rational coefficients: it owes nothing to the numbers of the tools it judges.
`python -m benchmarks.reference NAME` prints what a problem file stores as its reference.
"""

import sys

import numpy as np

from benchmarks.problem import Problem, trace
from benchmarks.problems import load

# Bulirsch's sequence of substeps: its extrapolation weights stay small, so rounding does not grow.
SUBSTEPS = (2, 4, 6, 8, 12, 16, 24, 32)


def midpoint(problem: Problem, t: np.longdouble, x: np.ndarray, step: np.longdouble, parts: int) -> np.ndarray:
    """Gragg's modified midpoint rule over one step in `parts` substeps, smoothed at the end."""
    inputs, parameters = (np.array(v, dtype=np.longdouble) for v in (problem.inputs, problem.parameters))

    def f(time: np.longdouble, state: np.ndarray) -> np.ndarray:
        return np.array(trace(problem, np, time, state, inputs, parameters), dtype=np.longdouble)

    h = step / parts
    before, now = x, x + h * f(t, x)
    for k in range(1, parts):
        before, now = now, before + 2 * h * f(t + k * h, now)
    return (before + now + h * f(t + step, now)) / 2


def extrapolate(problem: Problem, t: np.longdouble, x: np.ndarray, step: np.longdouble) -> tuple[np.ndarray, float]:
    """One step by the Aitken–Neville scheme in (h / substeps)², with the difference of its last two entries."""
    extrapolated: list[np.ndarray] = []
    for k, parts in enumerate(SUBSTEPS):
        row = [midpoint(problem, t, x, step, parts)]
        for j in range(1, k + 1):
            ratio = np.longdouble(parts) / SUBSTEPS[k - j]
            row.append(row[-1] + (row[-1] - extrapolated[j - 1]) / (ratio * ratio - 1))
        extrapolated = row
    gap = np.max(np.abs(extrapolated[-1] - extrapolated[-2]) / np.maximum(np.abs(extrapolated[-1]), problem.scale))
    return extrapolated[-1], float(gap)


def reference(problem: Problem, tolerance: float) -> np.ndarray:
    """End state in extended precision; `tolerance` bounds the last correction in every step."""
    t, end, x = np.longdouble(0), np.longdouble(problem.end), np.array(problem.start, dtype=np.longdouble)
    step = end / 1000
    while t < end:
        step = min(step, end - t)
        moved, gap = extrapolate(problem, t, x, step)
        if gap <= tolerance:
            t, x = t + step, moved
        # The correction is of order 2 * len(SUBSTEPS) - 1 in the step.
        growth = 0.9 * (tolerance / max(gap, 1e-30)) ** (1 / (2 * len(SUBSTEPS) - 1))
        step = step * np.longdouble(min(2.0, max(0.2, growth)))
    return x


def main(name: str) -> None:
    """Prints the end values at the tighter of two tolerances, and by how much the looser one differs."""
    problem = load(name)
    loose, tight = reference(problem, 1e-16), reference(problem, 1e-18)
    gap = np.max(np.abs(tight - loose) / np.maximum(np.abs(tight), problem.scale))
    print(f"# two tolerances agree to {gap:.1e}", file=sys.stderr)
    for value in tight:
        print(f"        {float(value)!r},")


if __name__ == "__main__":
    main(sys.argv[1])
