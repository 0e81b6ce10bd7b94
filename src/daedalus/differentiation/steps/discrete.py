"""Exact derivatives of the discrete map: the steps of the nominal run, differentiated with their sizes held fixed.

The nominal run is that of `dd.simulate`. Its accepted steps are taken again by the variational equations, projection
onto the invariants included, so that the result is the derivative of the numbers that were computed, to rounding.
Implicit steps are those of a Runge–Kutta method with its stages solved to rounding: the same stages of the variational
equations are then the implicit function theorem with the exact Jacobians at the converged stages. A Rosenbrock step of
the variational equations, whose matrix is the exact Jacobian of all of them, is the derivative of a Rosenbrock step;
z is solved for again where each begins. Between two parts of a run the jump is that of the flow (saltation): the step
that ends there is cut by the guard.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.algebra.agreement import HALF_OF_DIGITS
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.steps.frozen_steps import breakpoints, pieces, run_on_steps
from daedalus.differentiation.steps.stepwise import family_of
from daedalus.differentiation.variational.augmented import AnyAugmented, Augmented
from daedalus.differentiation.variational.finished import check_finished
from daedalus.differentiation.variational.recorded import Recorded, dense_of, work_of
from daedalus.integrators.methods import choose_method, is_implicit
from daedalus.integrators.tableaux.core_tableau import core_tableau
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.result.ending import ENDINGS, Ending
from daedalus.simulation.result.outcome import Work
from daedalus.simulation.run.settings import Settings


def run_discrete(case: Case, augmented: AnyAugmented, y0: np.ndarray, nominal: Any = None) -> Recorded | None:
    """y on the steps of the nominal run, which is made unless it is given; None where "auto" finds it stiff."""
    nominal = nominal_run(case, True) if nominal is None else nominal
    if nominal.status == Ending.STIFF:
        return None
    times, runs, y = np.array(nominal.t), [], y0
    for first, last in pieces(times):
        if first < last:
            run = taken_again(case, augmented, times[first : last + 1], y)
            runs.append(run)
            y = run.y[-1]
    rows_t = np.concatenate([[case.t0], *(run.t[1:] if k == 0 else run.t for k, run in enumerate(runs))])
    rows_y = np.concatenate([y0[None], *(run.y[1:] if k == 0 else run.y for k, run in enumerate(runs))])
    ended_by = tuple(guard for guard, t, *_ in nominal.events if nominal.status == Ending.EVENT and t == times[-1])
    dense, work = (lambda: Dense.joined([run.dense for run in runs])), work_of(nominal)
    return Recorded(rows_t, rows_y, dense, ENDINGS[nominal.status], work, ended_by)


def nominal_run(case: Case, watched: bool = False) -> Any:
    """The run of `dd.simulate`, with every step kept; a grid cuts its steps. Rows of implicit runs are (x, z, x').

    watched: whether a run by "auto" ends where it turns out to be stiff.
    """
    settings, row = nominal_settings(case), case.row0 if is_implicit(case.method) else case.x0
    call = dict(settings.call) if watched else {**settings.call, "watch_stiffness": False}
    tables = nominal_tables(case)
    if tables:
        call["tables"] = tables
    start = (case.t0, case.t1, row, case.drive.constants, case.p)
    run = _core.integrate(settings.rhs, settings.core_method, *start, **call)
    if run.status != Ending.STIFF:
        check_finished(case, run)
    return run


def nominal_settings(case: Case) -> Settings:
    """The settings of the nominal run: those of the case, or of the implicit method on the system as it stands."""
    return case.implicit_settings if is_implicit(case.method) else case.settings


def nominal_tables(case: Case) -> list[Any]:
    """The tables of the inputs, and one that makes steps end on the grid."""
    return case.drive.core_tables() + ([] if case.grid is None else [breakpoints(case.grid)])


def taken_again(case: Case, augmented: AnyAugmented, times: np.ndarray, y: np.ndarray) -> Recorded:
    """y on given steps without events between them."""
    u, tables = core_inputs(case)
    if not is_implicit(case.method):
        assert isinstance(augmented, Augmented)
        moved = augmented.exact.core if "projection" in case.settings.call else None
        attempts = [(case.settings.core_method, dict[str, Any]())]
        run = run_on_steps(augmented.rhs.core, attempts, times, y, u, case.p, tables, moved)
        return Recorded(run.t, run.x, lambda: Dense(*run.dense()), ENDINGS[run.status], Work())
    rows = augmented.core_rows
    exact = rows.projection(True) if nominal_settings(case).moves_by_formula else None
    moved = None if exact is None else exact.core
    attempts = implicit_on_steps(case, times, rows.tolerances(case))
    row = rows.row(case, float(times[0]), y)
    run = run_on_steps(rows.model, attempts, times, row, u, case.p, tables, moved)
    return Recorded(run.t, rows.unpacked(run.x), partial(dense_of, run, rows.unpacked), ENDINGS[run.status], Work())


def steps_again(case: Case, times: np.ndarray, row: np.ndarray) -> Any:
    """The nominal run on given steps without events, with the stages of implicit methods to rounding."""
    settings = nominal_settings(case)
    attempts = [(settings.core_method, dict[str, Any]())]
    if is_implicit(case.method):
        attempts = implicit_on_steps(case, times, settings.call["atol"])
    return run_on_steps(
        settings.rhs, attempts, times, row, case.drive.constants, case.p, case.drive.core_tables(),
        settings.call.get("projection"),
    )  # fmt: skip


def states_again(case: Case, times: np.ndarray, row: np.ndarray) -> np.ndarray:
    """The rows of the nominal run on given steps."""
    return np.ascontiguousarray(steps_again(case, times, row).x)


@cache
def _with_full_newton(method: str) -> Any:
    return core_tableau(tableau(method))


def implicit_on_steps(case: Case, times: np.ndarray, atol: np.ndarray) -> list[tuple[Any, dict[str, Any]]]:
    """The implicit method of a case on given steps with its tolerances, and again for where it does not arrive.

    Radau's own Newton method is simplified; that of its tableau has a new matrix in every iteration. Both may stop at
    rounding errors where large terms cancel in a small variable: then those count in nominal values. Rosenbrock steps
    begin with z solved for, of which an error would be left.
    """
    step, rtol, family = max(abs(float(times[-1] - times[0])), NOT_ZERO), case.settings.call["rtol"], family_of(case)
    method = choose_method(case.method, rtol, step).core
    factor = min(1.0, HALF_OF_DIGITS / rtol) if family == "rosenbrock" else 1.0
    options = {"rtol": factor * rtol, "atol": factor * atol}
    n = len(case.x0)
    smallest = (nominal_settings(case).call["atol"][:n] / case.system.nominal["x"]).min(initial=rtol)
    coarse = {**options, "atol": options["atol"] * max(1.0, rtol / max(smallest, NOT_ZERO))}
    methods = [method, _with_full_newton(case.method)] if family == "radau" else [method]
    return [(each, numbers) for numbers in (options, coarse) for each in methods]
