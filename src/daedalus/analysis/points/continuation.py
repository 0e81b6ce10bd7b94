"""A point of rest found in steps where Newton's method alone does not arrive, as circuit simulators do.

1. Newton's method as it is, on a matrix whose rows and columns are brought to one size: conductances of 1e-12 S beside
   others of 1 S are solved for, not called singular.
2. Leaks: conductances whose usual size is a leak (`gmin` of SPICE) begin at 0.01 S and fall to their value.
3. Sources: F(v) = (1 − λ) F(0), which is a circuit whose sources have the share λ of their values, from 0 to 1.
4. Time: implicit Euler steps of growing length from rest at zero (C. T. Kelley, D. E. Keyes, SIAM J. Numer. Anal. 35,
   1998).

The last word has always Newton's method on the equations as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import SOLVED, STALLED, TOLERANCE, Equations, Root
from daedalus.algebra.newton_steps import Solve, halved_newton
from daedalus.analysis.points.complete_point import Entry, equations_in, usual_sizes
from daedalus.deadline import poll
from daedalus.model.system.system import System

# Of one Newton's method.
MOST_ITERATIONS = 80
MOST_STEPS, OF_A_STEP = 100, 20  # of a continuation, and their iterations: steps in time take 35 where none fails
LEAST_PIVOT = 1e-14  # of the scaled matrix: below it is rounding
SWEEPS = 8  # of the scaling of rows and columns
LEAK_NOMINAL, FIRST_LEAK, LEAST_LEAK = 1e-9, 1e-2, 1e-14  # in S
# Steps of a continuation in its parameter, from 0 to 1: the first one, and the shortest before it is given up.
FIRST_SHARE, LEAST_SHARE = 0.1, 1e-4
FIRST_STEP, LAST_STEP, LEAST_STEP = 1e-9, 1e12, 1e-20  # in s


@dataclass(frozen=True)
class StepwiseRoot:
    """A root, and what led to it."""

    root: Root
    by: str


def balanced_factors(matrix: Any) -> Solve | None:
    """b -> J^-1 b, with rows and columns of J scaled to one size and answers refined; None where J is singular."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    given = csc_matrix(matrix)
    if not np.all(np.isfinite(given.data)) or np.any(np.diff(given.indptr) == 0):
        return None
    row_of, column_of = given.indices, np.repeat(np.arange(given.shape[1]), np.diff(given.indptr))
    sizes, rows, columns = np.abs(given.data), np.ones(given.shape[0]), np.ones(given.shape[1])
    for _ in range(SWEEPS):
        now = sizes * rows[row_of] * columns[column_of]
        across = np.zeros(given.shape[0])
        np.maximum.at(across, row_of, now)
        down = np.maximum.reduceat(now, given.indptr[:-1])
        if not (np.all(across > 0) and np.all(down > 0)):
            return None
        rows, columns = rows / np.sqrt(across), columns / np.sqrt(down)
    data = given.data * rows[row_of] * columns[column_of]
    try:
        factors = splu(csc_matrix((data, given.indices, given.indptr), given.shape))
    except RuntimeError:
        return None
    pivots = np.abs(factors.U.diagonal())
    if not pivots.min(initial=1.0) > LEAST_PIVOT * pivots.max(initial=1.0):
        return None

    def solve(right: np.ndarray) -> np.ndarray:
        found = columns * factors.solve(rows * right)
        return found + columns * factors.solve(rows * (right - given @ found))

    return solve


def newton(equations: Equations, guess: np.ndarray, nominal: np.ndarray, most: int = MOST_ITERATIONS) -> Root:
    """From a guess, each correction halved until the next one would be shorter.

    A step of a continuation, which gets few iterations, ends where no part of a correction helps: a shorter one does.
    """

    def linearised(v: np.ndarray) -> tuple[np.ndarray, Callable[[], Solve | None]]:
        residual, slopes, _ = equations(v)
        return residual, lambda: balanced_factors(slopes)

    def length(step: np.ndarray, v: np.ndarray) -> float:
        with np.errstate(over="ignore"):  # infinitely long is too long
            return float(np.sqrt(np.mean((step / np.maximum(nominal, np.abs(v))) ** 2)))

    v, converged, count, step, _, residual = halved_newton(
        linearised, np.array(guess, dtype=float), length, most=most, tolerance=TOLERANCE, stalled=STALLED,
        forced=most == MOST_ITERATIONS,
    )  # fmt: skip
    scale = equations(v)[2]
    with np.errstate(over="ignore", invalid="ignore"):  # what is infinite in itself does not vanish
        scaled = np.nan_to_num(residual / np.where(scale > 0, scale, 1.0), nan=np.inf)
    return Root(v, residual, scaled, np.zeros((len(v), 0)), count, converged, step / np.maximum(nominal, np.abs(v)))


def regular_root(system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[Entry]) -> Root | None:
    """What Newton's method finds by itself from the values in the vectors; None where it does not arrive."""
    if len(unknowns) != len(system.equation_labels):
        return None
    guess = np.array([vectors[letter][k] for letter, k in unknowns])
    root = newton(equations_in(system, vectors, unknowns), guess, usual_sizes(system, vectors, unknowns))
    return root if root.solved else None


def found_by_continuation(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[Entry]
) -> StepwiseRoot | None:
    """A regular root of a system with as many equations as unknowns; None where nothing arrives."""
    if len(unknowns) != len(system.equation_labels):
        return None
    nominal = usual_sizes(system, vectors, unknowns)
    guess = np.array([vectors[letter][k] for letter, k in unknowns])
    ways: tuple[tuple[str, Callable[[], np.ndarray | None]], ...] = (
        ("Newton's method", lambda: guess),
        ("leaks stepped down", lambda: _by_leaks(system, vectors, unknowns, guess, nominal)),
        ("sources stepped up", lambda: _by_sources(equations_in(system, vectors, unknowns), guess, nominal)),
        ("steps in time", lambda: _by_time(system, vectors, unknowns, nominal)),
    )
    for name, way in ways:
        begin = way()
        if begin is None:
            continue
        root = newton(equations_in(system, vectors, unknowns), begin, nominal)
        if root.converged and root.worst <= SOLVED:
            return StepwiseRoot(root, name)
    return None


def _by_leaks(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[Entry], guess: np.ndarray, nominal: np.ndarray
) -> np.ndarray | None:
    """Where the leaks have fallen to their own values; None where there are none or a step fails."""
    leaks = leak_places(system)
    if not len(leaks):
        return None
    own, point = vectors["p"][leaks].copy(), {**vectors, "p": vectors["p"].copy()}
    values, level, factor = guess, FIRST_LEAK, 10.0
    arrived: tuple[np.ndarray, float] | None = None
    while level > LEAST_LEAK:
        poll("an operating point")
        point["p"][leaks] = np.maximum(own, level)
        root = newton(equations_in(system, point, unknowns), values, nominal)
        if root.converged:
            values, arrived = root.values, (root.values, level)
            factor = min(factor * 2, 100.0)
        elif arrived is None or factor < 1.1:
            return None
        else:
            values, level, factor = arrived[0], arrived[1], factor**0.25
        level /= factor
    return values


def leak_places(system: System) -> np.ndarray:
    """Parameters that are conductances whose usual size is a leak."""
    return np.array(
        [k for v in system.of_kind("parameter") if v.unit == "S" for k in system.places[v.name].positions.tolist()
         if system.nominal["p"][k] <= LEAK_NOMINAL],
        dtype=int,
    )  # fmt: skip


def _by_sources(equations: Equations, guess: np.ndarray, nominal: np.ndarray) -> np.ndarray | None:
    """From a circuit without sources to the whole one."""
    values = np.zeros_like(guess)
    whole = equations(values)[0]
    if not np.all(np.isfinite(whole)):
        return None
    share, step = 0.0, FIRST_SHARE
    for _ in range(MOST_STEPS):
        poll("an operating point")
        if share >= 1.0:
            return values
        trial = min(1.0, share + step)

        def partly(v: np.ndarray, rest: float = 1.0 - trial) -> tuple[np.ndarray, Any, np.ndarray]:
            residual, slopes, scale = equations(v)
            return residual - rest * whole, slopes, scale

        root = newton(partly, values, nominal, OF_A_STEP)
        if root.converged:
            values, share, step = root.values, trial, min(2 * step, 0.25)
        else:
            step /= 4
            if step < LEAST_SHARE:
                return None
    return None


def _by_time(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[Entry], nominal: np.ndarray
) -> np.ndarray | None:
    """Where implicit Euler steps of growing length end."""
    moving = [(place, k) for place, (letter, k) in enumerate(unknowns) if letter == "x"]
    if not moving:
        return None
    rates: list[Entry] = [("xdot", k) for _, k in moving]
    both = equations_in(system, vectors, [*unknowns, *rates])
    places, count = [place for place, _ in moving], len(unknowns)
    values, step, least = np.zeros(count), FIRST_STEP, LEAST_STEP
    for _ in range(MOST_STEPS):
        poll("an operating point")
        if step >= LAST_STEP:
            return values
        before = values[places].copy()

        def stepped(v: np.ndarray, h: float = step, then: np.ndarray = before) -> tuple[np.ndarray, Any, np.ndarray]:
            residual, slopes, scale = both(np.concatenate([v, (v[places] - then) / h]))
            matrix = slopes if isinstance(slopes, np.ndarray) else slopes.toarray()
            own = matrix[:, :count].copy()
            own[:, places] += matrix[:, count:] / h
            return residual, own, scale

        root = newton(stepped, values, nominal, OF_A_STEP)
        if root.converged:
            values, step = root.values, 4 * step
        else:
            step /= 8
            if step < least:
                return None
    return None
