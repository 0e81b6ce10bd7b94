"""Reference end values of DAEs by collocation at many Radau points in extended precision.

M x'(t_i) = f(t_i, x(t_i)) at s = 7 right Radau points a step: order 13, and its nodes and weights are computed here, so
that it owes nothing to the numbers of the tools it judges. Newton's matrix is in double precision, its residual in
extended precision. `python -m benchmarks.collocation_reference NAME STEPS [FIRST]` prints what a problem file stores;
with FIRST the steps grow geometrically from that one on.
"""

import sys
from itertools import pairwise

import numpy as np

from benchmarks.problem import Problem, trace
from benchmarks.problems import load

STAGES = 7
COMPLEX_STEP = 1e-30
# Newton ends when a correction is this small beside the unknown, or is small and no longer becomes smaller: an unknown
# near zero is a difference of larger ones. What that leaves shows when two grids are compared.
ROUNDING, STAGNANT, MOST = 1e-19, 1e-9, 30


def radau_points(stages: int) -> np.ndarray:
    """Zeros of P_s - P_(s-1) on (0, 1], by Newton's method in extended precision."""
    from numpy.polynomial import legendre

    series = np.zeros(stages + 1)
    series[-2:] = -1.0, 1.0
    points = np.sort(legendre.legroots(series).real).astype(np.longdouble)
    wide = series.astype(np.longdouble)
    slope = np.array(legendre.legder(series), dtype=np.longdouble)
    for _ in range(4):
        points = points - clenshaw(points, wide) / clenshaw(points, slope)
    points[-1] = 1
    return (points + 1) / 2


def clenshaw(points: np.ndarray, series: np.ndarray) -> np.ndarray:
    """A Legendre series in the precision of the points."""
    before, now = np.ones_like(points), points
    total = series[0] * before + (series[1] * now if len(series) > 1 else 0)
    for k in range(2, len(series)):
        before, now = now, ((2 * k - 1) * points * now - (k - 1) * before) / np.longdouble(k)
        total = total + series[k] * now
    return total


def weights(points: np.ndarray) -> np.ndarray:
    """A with ∫ from 0 to c_i of p(t) dt = Σ_j A_ij p(c_j) for polynomials p of degree below s."""
    s = len(points)
    matrix = np.empty((s, s), dtype=np.longdouble)
    for j in range(s):
        others = np.delete(points, j)
        coefficients = np.ones(1, dtype=np.longdouble)
        for other in others:
            coefficients = np.convolve(coefficients, np.array([-other, 1], dtype=np.longdouble))
        coefficients = coefficients / np.prod(points[j] - others)
        powers = np.arange(1, s + 1)
        for i in range(s):
            matrix[i, j] = np.sum(coefficients * points[i] ** powers / powers)
    return matrix


def jacobian(problem: Problem, t: float, x: np.ndarray) -> np.ndarray:
    """∂f/∂x by complex steps."""
    shifts = 1j * COMPLEX_STEP * np.eye(problem.size)
    columns = [trace(problem, np, t, x + shift, problem.inputs, problem.parameters) for shift in shifts]
    return np.array(columns, dtype=complex).imag.T / COMPLEX_STEP


def collocated(problem: Problem, t: np.longdouble, x: np.ndarray, h: np.longdouble, a: np.ndarray, c: np.ndarray,
               rates: np.ndarray) -> np.ndarray:  # fmt: skip
    """The rates x' at the points of one step, by simplified Newton from a guess."""
    mass = np.array(problem.mass, dtype=np.longdouble)
    s, n = len(c), problem.size
    middle = np.array(x + h * (a[s // 2] @ rates), dtype=float)
    inner = jacobian(problem, float(t + c[s // 2] * h), middle)
    # Columns are scaled so that algebraic unknowns, whose rates count with h, do not spoil the condition.
    matrix = np.kron(np.eye(s), mass.astype(float)) - float(h) * np.kron(a.astype(float), inner)
    sizes = np.abs(matrix).max(axis=1)
    last = np.inf
    for _ in range(MOST):
        states = x + h * (a @ rates)
        found = [trace(problem, np, t + ci * h, xi, problem.inputs, problem.parameters) for ci, xi in zip(c, states)]
        residual = rates @ mass.T - np.array(found, dtype=np.longdouble)
        change = np.linalg.solve(matrix / sizes[:, None], (residual.ravel() / sizes).astype(float)).reshape(s, n)
        rates = rates - change
        size = float(np.max(np.abs(h * change) / np.maximum(np.abs(states).max(axis=0), 1e-16)))
        if size <= ROUNDING or (size >= 0.5 * last and size < STAGNANT):
            return rates
        last = size
    raise ArithmeticError(f"Newton's method did not arrive at t = {float(t):g}, last correction {last:.1e}")


def collocation_reference(problem: Problem, times: np.ndarray) -> np.ndarray:
    """The end state in extended precision after steps between the given times."""
    c = radau_points(STAGES)
    a = weights(c)
    x, rates = np.array(problem.start, dtype=np.longdouble), np.zeros((STAGES, problem.size), dtype=np.longdouble)
    for before, after in pairwise(times):
        h = after - before
        rates = collocated(problem, before, x, h, a, c, np.tile(rates[-1], (STAGES, 1)))
        x = x + h * (a[-1] @ rates)
    return x


def grid(end: float, steps: int, first: float | None) -> np.ndarray:
    """Equal steps, or from 0 to `first` and then growing geometrically."""
    if first is None:
        return np.linspace(0, end, steps + 1, dtype=np.longdouble)
    later = np.exp(np.linspace(np.log(np.longdouble(first)), np.log(np.longdouble(end)), steps, dtype=np.longdouble))
    return np.concatenate([[np.longdouble(0)], later])


def main(name: str, steps: str, first: str | None = None) -> None:
    """Prints the end values of the finer of two grids, and by how much the coarser one differs."""
    problem, start = load(name), None if first is None else float(first)
    coarse, fine = (collocation_reference(problem, grid(problem.end, k, start)) for k in (int(steps), 2 * int(steps)))
    gap = np.abs(fine - coarse) / np.maximum(np.abs(fine), problem.scale)
    print(f"# two grids agree to {float(gap.max()):.1e}", file=sys.stderr)
    for value in fine:
        print(f"    {float(value)!r},")


if __name__ == "__main__":
    main(*sys.argv[1:])
