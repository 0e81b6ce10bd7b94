"""DAEs called as SciPy's users call `solve_ivp`: F(t, y, y') = 0, or M y' = f(t, y) with a constant mass matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES, is_singular
from daedalus.analysis.analyse import analyse
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.written_structure import indices_by_structure
from daedalus.integrators.methods import METHODS
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.scipy_calls.dae_arguments import (
    Form,
    check_constant_mass,
    check_finite,
    check_method,
    check_size,
    is_constant_jacobian,
    read_dae_settings,
    read_index,
    read_jacobian,
    read_mass,
    read_rate,
)
from daedalus.scipy_calls.dae_callbacks import CallbackDae, callback_dae, central_differences, forward_differences
from daedalus.scipy_calls.dae_check import DEEP, StepCheck
from daedalus.scipy_calls.dae_model import DaeModel, check_regular, dae_model
from daedalus.scipy_calls.dae_repeated import RepeatedRuns
from daedalus.scipy_calls.dae_start import GivenStart, callback_start, traced_start
from daedalus.scipy_calls.ivp_arguments import Arguments
from daedalus.scipy_calls.ivp_events import Guards, read_events
from daedalus.scipy_calls.ivp_function import Formula, find_formula
from daedalus.scipy_calls.ivp_result import IvpResult
from daedalus.scipy_calls.ivp_run import run_in_core
from daedalus.scipy_calls.ivp_settings import IvpSettings, Problem, read_problem
from daedalus.scipy_calls.ivp_task import Task, called_task
from daedalus.simulation.plant.constant_mass import varying_mass
from daedalus.simulation.start.implicit_start import ATOL, RTOL

# A formula has sparse Jacobians, a function that is called has dense ones.
MOST_TRACED, MOST_CALLED = 20_000, 3000


def solve_dae(
    F: Callable[..., Any],
    t_span: Any,
    y0: Any,
    yp0: Any = None,
    method: str = "Radau",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    args: Any = None,
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    jac: Any = None,
    mass: Any = None,
    index: Any = None,
    repair: bool = False,
    vectorized: bool = False,
    **options: Any,
) -> IvpResult:
    """Solve F(t, y, y') = 0, y(t0) = y0 of index 1, 2 or 3, with the interface of SciPy's `solve_ivp`.

    The function is traced as in `dd.solve_ivp`. The formula is only used if it agrees with F at the start and at two
    points nearby. A function that cannot be traced is called as it is, with Jacobians by finite differences.
    `result.traced` and `result.reason` tell you which.

    Parameters
    ----------
    F: F(t, y, yp, *args) -> n values that are zero along the solution; with `mass` f(t, y, *args), and M y' = f.
    t_span: (t0, t1), forwards or backwards.
    y0, yp0: start values (n,). yp0=None computes y' from y0. The start must satisfy F and its hidden constraints within
        the tolerances, unless `repair` is True.
    method: "Radau" (radau5), "BDF" (bdf), "auto" and "LSODA" (radau5, and radau9 below rtol = 1e-6), or an implicit
        method of `dd.methods()`.
    t_eval, dense_output, args: as in `dd.solve_ivp`.
    events: one function or several: g(t, y, yp, *args) or g(t, y, *args); attributes `terminal` and `direction`.
    rtol, atol: the local error of each component is kept below atol + rtol |y|; atol a number or (n,).
    jac: jac(t, y, yp, *args) -> (dF/dy, dF/dy'); with `mass` jac(t, y, *args) -> df/dy; numbers where it is constant. A
        traced F needs none.
    mass: a constant matrix (n, n), dense or sparse, usually singular.
    index: computed if None. Otherwise a number, or one for each component as in RADAU5: 1 for differential variables
        and those of index 1, and 2 or 3 for those determined by one or two further differentiations. It scales Newton's
        method and the errors.
    repair: move y0 to the nearest consistent values and treat yp0 as a guess.
    vectorized: whether F takes y and yp of shape (n, k).
    options: first_step, max_step, step (a fixed one).

    Returns
    -------
    IvpResult with SciPy's t, y (n, nt), sol, t_events, y_events, nfev, njev, nlu, status, message, success; and yp
    (n, nt), yp_events, index (of the system, 0 for an ODE), variable_index (n,), traced, reason, method.

    At index 3 a run is compared with one of ten times the tolerances, and some steps of a traced F with finer ones, at
    up to twice the cost of the run. A run that is less accurate than asked for by a factor of 100 is repeated with
    rtol / 30, and once more where that is not enough; `reason` says so, and how certain the values are if runs with
    different tolerances still differ. If steps stay wrong, `success` is False and the message gives the time, the
    component and its error.

    If a traced F no longer determines y at some point, as a mechanism in a dead centre, and the run passes it smoothly,
    `reason` says so; otherwise the run ends there.

    Raises an InconsistentStartError with the distance and the nearest consistent start, and ValueError or TypeError for
    wrong arguments. A run that stops early has status -1 and a message with the time and the component.

    Example
    -------
    >>> import daedalus as dd
    >>> def pendulum(t, y, yp):
    ...     x, h, vx, vy, force = y
    ...     return [yp[0] - vx, yp[1] - vy, yp[2] + force * x, yp[3] + force * h + 9.81, x**2 + h**2 - 1]
    >>> result = dd.solve_dae(pendulum, (0, 2), [1.0, 0.0, 0.0, 0.0, 0.0], rtol=1e-8, atol=1e-8)
    >>> result.success, result.index, result.variable_index.tolist()
    (True, 3, [1, 1, 2, 2, 3])
    >>> bool(abs(result.y[0, -1] ** 2 + result.y[1, -1] ** 2 - 1) < 1e-9)
    True
    """
    problem = read_problem(F, t_span, y0, t_eval, args)
    settings = read_dae_settings(method, problem, {"rtol": rtol, "atol": atol, **options})
    n = problem.y0.size
    form = Form(F, problem.args, n, read_mass(mass, n), bool(vectorized))
    rate, indices = read_rate(yp0, n), read_index(index, n)
    wanted = GivenStart(problem.span[0], problem.y0, rate, settings.rtol, settings.atol, repair)
    arguments = Arguments(problem.args)
    # Whatever the function raises at the start is the user's, and passes through unchanged.
    left = form.residual(problem.span[0], problem.y0, np.zeros(n) if rate is None else rate)
    check_finite(left, form.mass is not None, rate is None)
    formula, reason = _formula(form, problem, rate, arguments)
    needs_constant_mass = METHODS[settings.name].family == "rosenbrock"
    found = (
        _traced(formula, form, wanted, indices, arguments, is_constant_jacobian(jac, form), needs_constant_mass)
        if formula is not None
        else _called(form, wanted, indices, arguments, problem, jac, reason)
    )
    check_method(settings.name, int(found.variable_index.max()))
    if needs_constant_mass:
        check_constant_mass(settings.name, found.moving)
    wanted_events, row = read_events(events), found.task.row
    guards = None
    if wanted_events is not None:
        guards = Guards(wanted_events, problem, arguments, row, form.mass is None, found.task.inputs.size)
    reason = reason if formula is not None else f"called as a Python function: {reason}"
    about = {
        "index": found.index,
        "variable_index": found.variable_index,
        "traced": formula is not None,
        "reason": "; ".join(part for part in (reason, *found.notes) if part),
        "method": settings.name,
    }
    return _checked(found, problem, settings, guards, dense_output, about)


def _checked(
    found: _Ready, problem: Problem, settings: IvpSettings, guards: Guards | None, dense_output: bool,
    about: dict[str, Any],
) -> IvpResult:  # fmt: skip
    """The run; at index 3 compared with others, which take its place where it is less accurate than asked for."""
    run = lambda by, check: run_in_core(found.task, problem, by, guards, dense_output, about, check)  # noqa: E731
    if int(found.variable_index.max()) < DEEP or settings.step is not None or not np.all(np.isfinite(problem.span)):
        return run(settings, None)
    check = StepCheck(found.task, found.variable_index, settings, found.settle) if found.settle else None
    return RepeatedRuns(found.task, problem.span[0], found.variable_index, settings, run, check).result()


@dataclass(frozen=True, eq=False)
class _Ready:
    """A DAE ready to run from a consistent row (y, y'), and its index."""

    task: Task
    index: int
    variable_index: np.ndarray
    notes: tuple[str, ...]
    moving: list[str]  # what dF/dy' depends on
    settle: Callable[[GivenStart], tuple[np.ndarray, str]] | None  # the row near a start that fits, where that is known


def _formula(form: Form, problem: Problem, rate: np.ndarray | None, arguments: Arguments) -> tuple[Formula | None, str]:
    t0, y0 = problem.start
    end, n = problem.span[1], y0.size
    if form.mass is not None:
        start = t0, y0
        return find_formula(form.function, form.right_side, n, start, end, arguments, form.vectorized, most=MOST_TRACED)
    start = t0, np.concatenate([y0, np.zeros(n) if rate is None else rate])
    both = lambda t, row: form.residual(t, row[:n], row[n:])  # noqa: E731
    return find_formula(form.function, both, n, start, end, arguments, form.vectorized, parts=2, most=MOST_TRACED)


def _traced(
    formula: Formula, form: Form, wanted: GivenStart, indices: np.ndarray | None, arguments: Arguments,
    given_as_numbers: bool, needs_constant_mass: bool,
) -> _Ready:  # fmt: skip
    found = dae_model(formula, form.mass)
    row, moved = traced_start(found, wanted, arguments.values)
    of_system, note = traced_index(found, wanted.t, row, arguments.values)
    if indices is not None:
        found = dae_model(formula, form.mass, indices)
        by_equations, of_system = of_system, int(indices.max())
        note = "index as given" + (f"; by the equations it is {by_equations}" if by_equations > of_system else "")
    labels = varying_mass(found.system) if needs_constant_mass and form.mass is None else []
    moving = [label.replace("y_dot", "yp") for label in labels]
    constant = given_as_numbers and found.constant_jacobians
    task = Task(found, row, arguments.values, implicit=True, rates=True, constant_jacobians=constant)
    settle = lambda start: traced_start(found, start, arguments.values)  # noqa: E731
    return _Ready(task, of_system, found.plant.index.index.copy(), (note, moved), moving, settle)


def _called(
    form: Form, wanted: GivenStart, indices: np.ndarray | None, arguments: Arguments, problem: Problem, jac: Any,
    reason: str,
) -> _Ready:  # fmt: skip
    rate = np.zeros(wanted.y.size) if wanted.yp is None else wanted.yp
    check_size(wanted.y.size, MOST_CALLED, reason)
    jacobians, at_start = (read_jacobian(jac, form, by) for by in (forward_differences, central_differences))
    start = (wanted.t, wanted.y, rate)
    found: CallbackDae = callback_dae(form.residual, jacobians, start, problem.span[1], at_start)
    of_system, own, note = callback_index(found, wanted, indices)
    row, moved = callback_start(found, wanted, own)
    moving = [] if form.mass is not None or found.constant_dot else ["t, y or yp"]
    constant = is_constant_jacobian(jac, form)
    task = called_task(found, row, arguments.values, own, rates=True, constant_jacobians=constant)
    return _Ready(task, of_system, own, (note, moved), moving, None)


# The index that `solve_dae` reports: from the structure of F, from its numbers where the structure is not enough.


def traced_index(found: DaeModel, t: float, row: np.ndarray, p: np.ndarray) -> tuple[int, str]:
    """The index of a traced F at a consistent row, and a note where structure and numbers disagree.

    A structure of index 0 or 1 is confirmed by the matrix that gives y' (and what has no derivative) being regular.
    """
    structural = found.structure.index
    assert structural is not None  # a singular structure has no start
    if (
        structural > 1
        or found.plant.model.consistent(t, row, np.zeros(0), p, RTOL, np.full(len(row), ATOL)) is not None
    ):
        return structural, ""
    actual = once(found.system, _index_at, found, By(p, p.tobytes()), By((t, row)))
    if actual is None:
        return structural, f"the index is {structural} by structure; ranks at the start do not confirm it"
    note = (
        f"the structure shows index {structural}, the ranks {actual}; index= scales for more than 1"
        if actual > 1
        else ""
    )
    return actual, note


def _index_at(system: System, found: DaeModel, p: By[np.ndarray], at: By[tuple[float, np.ndarray]]) -> int | None:
    """The index by ranks at the row of the first call with these parameters."""
    t, row = at.value
    y = dict(zip(system.labels["x"], row[: found.size].tolist()))
    values = dict(zip(system.labels["p"], p.value.tolist()))
    return analyse(found.model, {**y, "t": t}, parameters=values).index


def callback_index(found: CallbackDae, wanted: GivenStart, given: np.ndarray | None) -> tuple[int, np.ndarray, str]:
    """Index of the system, of each component, and a note; by the pattern of the Jacobians where it is not given."""
    n = found.size
    if given is not None:
        return int(given.max()), given, "index as given"
    structure: Signature = found.structure
    check_regular(structure)
    own = indices_by_structure(structure).index
    index = structure.index or 0
    if index == 0:
        rate = np.zeros(n) if wanted.yp is None else wanted.yp
        dot = found.jacobians(wanted.t, wanted.y, rate)[1]
        index = 1 if is_singular(dot, KNOWN_BY_DIFFERENCES) else 0
    note = f"index {index} by the pattern of the Jacobians" + (
        "" if index < 3 else "; hidden constraints that two differentiations show are not checked"
    )
    return index, own, note
