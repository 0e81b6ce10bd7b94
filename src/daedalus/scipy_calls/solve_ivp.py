"""SciPy's `solve_ivp`, with the right-hand side turned into machine code where that can be done safely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.integrators.methods import is_implicit
from daedalus.scipy_calls.called_model import CalledFunction, Shape, called_model, large_model
from daedalus.scipy_calls.dae_arguments import is_matrix
from daedalus.scipy_calls.dae_callbacks import callback_dae
from daedalus.scipy_calls.dae_model import ode_model
from daedalus.scipy_calls.ivp_arguments import Arguments
from daedalus.scipy_calls.ivp_errors import IvpValueError
from daedalus.scipy_calls.ivp_events import Guards, read_events
from daedalus.scipy_calls.ivp_function import Formula, find_formula
from daedalus.scipy_calls.ivp_result import IvpResult
from daedalus.scipy_calls.ivp_run import run_in_core
from daedalus.scipy_calls.ivp_settings import IMPLICIT, Problem, read_problem, read_settings, why_scipy
from daedalus.scipy_calls.ivp_task import Task, called_task

# A formula of more unknowns is called as a whole by an explicit method: to look into 2000 equations takes 0.13 s, as
# long as to trace, compile and run them, and no rule of the road is about y' = f(t, y) with such a method.
MOST_ON_ROAD = 300


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> IvpResult:
    """Solve y' = fun(t, y), y(t0) = y0, with the interface of `scipy.integrate.solve_ivp`.

    The function is traced: it is called once with symbols, and the resulting formula is compiled. The formula is only
    used if it agrees with the function at the start and at two points nearby. A function that cannot be traced (it
    draws random numbers, has side effects, or calls another library) is called as it is. `result.traced` and
    `result.reason` tell you which. A repeated call with other `y0` or `args` neither traces nor compiles again.

    Parameters
    ----------
    fun: fun(t, y, *args) -> n values; t a float, y an array (n,).
    t_span: (t0, t1), forwards or backwards.
    y0: start values (n,).
    method: "RK45" (default), "RK23", "DOP853", "Radau"; any method of `dd.methods()` or a `dd.Tableau` (one without an
        error estimate needs `step=`). "BDF" and "LSODA" use "bdf" of `dd.methods()`. Implicit methods use the exact
        Jacobian of the formula; for a function that could not be traced, SciPy's own method runs. Complex `y0` and
        solver classes are passed on to SciPy.
    t_eval: the times to return, sorted and inside the span; by default the steps.
    dense_output: whether to return `result.sol(t)`.
    events: one function g(t, y, *args) or several; with attributes `terminal` (True, or after how many crossings to
        stop) and `direction` (+1, -1: only upwards, only downwards).
    vectorized: whether fun takes y of shape (n, k).
    args: further arguments of fun and of the events; their numbers are parameters of the formula.
    options: rtol (1e-3), atol (1e-6, number or (n,)), first_step, max_step; for implicit methods jac, jac_sparsity,
        lband, uband, min_step; for fixed steps step.

    Returns
    -------
    IvpResult with t (nt,), y (n, nt), sol, t_events, y_events, nfev, njev, nlu, status, message, success; and traced,
    reason, method.

    Raises an `InputError`, which is also a ValueError (or TypeError), for a wrong argument. Exceptions of `fun` are not
    caught. A run that stops early has status -1 and a message with the time and the component.

    Example
    -------
    >>> import numpy as np
    >>> import daedalus as dd
    >>> def fall(t, y, g):
    ...     height, speed = y
    ...     return [speed, -g]
    >>> def ground(t, y, g):
    ...     return y[0]
    >>> ground.terminal = True
    >>> result = dd.solve_ivp(fall, (0, 10), [5.0, 0.0], events=ground, args=(9.81,))
    >>> result.message
    'A termination event occurred.'
    >>> bool(abs(result.t[-1] - np.sqrt(2 * 5 / 9.81)) < 1e-9), result.traced
    (True, True)
    """
    problem = read_problem(fun, t_span, y0, t_eval, args)
    call = {
        "t_eval": t_eval, "dense_output": dense_output, "events": events, "vectorized": vectorized, "args": args,
        "options": options,
    }  # fmt: skip
    aside = why_scipy(method, problem, options)
    if aside:
        return run_scipy(fun, problem.span, problem.y0, method, reason=aside, **call)
    settings = read_settings(method, problem, options)
    original = _on_numbers(fun, problem, vectorized)
    # Whatever the function raises at the start is the user's, and passes through unchanged.
    original(*problem.start)
    arguments = Arguments(problem.args)
    formula, reason = find_formula(
        fun, original, problem.y0.size, problem.start, problem.span[1], arguments, vectorized
    )
    if settings.core is None:
        if formula is None:
            read_events(events)
            why = f"called as a Python function by SciPy's {method}: {reason}"
            return run_scipy(fun, problem.span, problem.y0, method, reason=why, **call)
        method = IMPLICIT[method]
        settings = read_settings(method, problem, options)
    known = is_implicit(method) and is_matrix(options.get("jac"))
    task = _task(formula, original, problem, arguments, is_implicit(method), known)
    wanted = read_events(events)
    guards = None if wanted is None else Guards(wanted, problem, arguments, task.row, False, task.inputs.size)
    about = {
        "traced": formula is not None,
        "reason": f"called as a Python function: {reason}" if formula is None else reason,
        "method": settings.name,
    }
    return run_in_core(task, problem, settings, guards, dense_output, about)


def _on_numbers(
    fun: Callable[..., Any], problem: Problem, vectorized: bool
) -> Callable[[float, np.ndarray], np.ndarray]:
    """The function on numbers, as SciPy calls it; y is a copy, so that a function may write into it."""
    n = problem.y0.size

    def original(t: float, y: np.ndarray) -> np.ndarray:
        value = fun(t, y[:, None].copy() if vectorized else y.copy(), *problem.args)
        numbers = np.asarray(value, dtype=float)
        numbers = numbers.reshape(-1) if vectorized else numbers
        column = np.empty(n)
        try:
            column[...] = numbers
        except ValueError as error:
            raise IvpValueError(
                "`fun` returns the wrong number of values.",
                f"y0 has {n} components, fun(t0, y0) has shape {numbers.shape}",
                because="y' needs one value for each component of y.",
                remedy="an array of shape (n,)" + (", .ravel() at the end" if numbers.ndim > 1 else ""),
            ) from error
        return column

    return original


def _task(
    formula: Formula | None, original: Callable[[float, np.ndarray], np.ndarray], problem: Problem,
    arguments: Arguments, implicit: bool, known: bool,
) -> Task:  # fmt: skip
    """y' = f(t, y) for the road, or for the core to call; as an implicit model where the method wants one.

    `known`: whether df/dy was given as a matrix of numbers.
    """
    t0, y0 = problem.start
    p = arguments.values
    row = np.concatenate([y0, original(t0, y0)]) if implicit else y0
    if formula is not None and not implicit and y0.size > MOST_ON_ROAD:
        return Task(large_model(formula), row, p)
    if formula is not None:
        model = ode_model(formula)
        return Task(model, row, p, implicit, constant_jacobians=known and model.constant_jacobians)
    if not implicit:
        return Task(called_model(Shape(y0.size, p.size)), row, p, called=CalledFunction(original))

    def residual(t: float, y: np.ndarray, yp: np.ndarray) -> np.ndarray:
        return yp - original(t, y)

    found = callback_dae(residual, None, (t0, y0, row[y0.size :]), problem.span[1])
    return called_task(found, row, p, np.ones(y0.size, dtype=int))


# The part of `solve_ivp` that SciPy still does: its implicit methods on functions that cannot be traced, complex
# values, solver classes of the user's own. SciPy is imported here only.


def run_scipy(
    fun: Callable[..., Any],
    span: tuple[float, float],
    y0: np.ndarray,
    method: Any,
    *,
    reason: str,
    **call: Any,
) -> IvpResult:
    """SciPy's own `solve_ivp` with all its keywords; its result with ours added."""
    from scipy.integrate import solve_ivp

    options = call.pop("options")
    found = solve_ivp(fun, span, y0, method=method, **call, **options)
    name = method if isinstance(method, str) else method.__name__
    return IvpResult({**found, "traced": False, "reason": reason, "method": f"SciPy {name}"})
