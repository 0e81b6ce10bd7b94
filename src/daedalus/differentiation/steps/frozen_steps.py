"""Run again on the steps of an earlier run: the discrete map with its step sizes held fixed.

Every step of the earlier run becomes a breakpoint, and the step is longer than any of them, so that the method takes
exactly one step from each to the next. Runge–Kutta methods commute with differentiation: the same steps on the
variational equations are the exact derivative of the discrete map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.errors import SolverError
from daedalus.simulation.result.ending import ENDINGS, Ending

Attempt = tuple[Any, Mapping[str, Any]]


def breakpoints(times: np.ndarray) -> Any:
    """A table without values that makes a run stop at every one of the times."""
    ordered = np.unique(times)
    return _core.Table(ordered, np.zeros(0), [], False)


def run_on_steps(
    rhs: Any,
    attempts: Sequence[Attempt],
    times: np.ndarray,
    y0: np.ndarray,
    u: np.ndarray,
    p: np.ndarray,
    tables: Sequence[Any],
    projection: Any,
) -> Any:
    """A core run from times[0] to times[-1] with one step from each time to the next.

    attempts: the method as the core takes it, with its options; later ones for where Newton's method does not arrive.
    """
    t0, t1 = float(times[0]), float(times[-1])
    call = {
        "step": max(2.0 * abs(t1 - t0), NOT_ZERO),
        "tables": [*tables, breakpoints(times)],
        "projection": projection,
    }
    for method, options in attempts:
        run = _core.integrate(rhs, method, t0, t1, y0, u, p, **call, **options)
        ending = ENDINGS[run.status]
        if not ending.is_unsolved:
            break
    if ending is Ending.FINISHED:
        return run
    where = f"the run on the same steps ended at t = {run.stop_time:.6g}"
    if ending.is_unsolved:
        raise SolverError(
            "The stages of a step cannot be solved again.",
            where,
            because="Newton's method, which iterates to rounding here, does not converge within the step.",
            remedy='a smaller rtol, max_step=..., or by="variational"',
        )
    raise SolverError(
        "The derivatives of the run are not finite.",
        where,
        because="the right-hand side has no derivative there, or the sensitivities grow without bound.",
        remedy="a shorter span, or other start values",
    )


def pieces(times: np.ndarray) -> list[tuple[int, int]]:
    """(first, last) rows of the stretches between events, where a run has two rows at one time."""
    cuts = np.flatnonzero(np.diff(times) == 0)
    begins = [0, *(int(k) + 1 for k in cuts)]
    ends = [*(int(k) for k in cuts), len(times) - 1]
    return list(zip(begins, ends))
