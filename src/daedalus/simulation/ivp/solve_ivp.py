"""SciPy's `solve_ivp`, with the right-hand side turned into machine code where that can be done safely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.simulation.ivp.ivp_arguments import Arguments
from daedalus.simulation.ivp.ivp_errors import IvpValueError
from daedalus.simulation.ivp.ivp_events import Event, Guards, read_events
from daedalus.simulation.ivp.ivp_function import Formula, find_formula
from daedalus.simulation.ivp.ivp_result import DenseSolution, IvpResult
from daedalus.simulation.ivp.ivp_scipy import run_scipy, with_exact_jacobian
from daedalus.simulation.ivp.ivp_settings import Problem, Settings, read_problem, read_settings, why_scipy

_LATEST = 1e300
MESSAGES = {
    "finished": "The solver successfully reached the end of the integration interval.",
    "event": "A termination event occurred.",
}


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
    """The solution of y' = fun(t, y), y(t0) = y0, called and returned as in `scipy.integrate.solve_ivp`.

    The function is traced: it runs once on symbols, and the formula it leaves behind is compiled. The formula counts
    only if it agrees with the function at the start and at two points nearby; a function that cannot be followed (it
    draws random numbers, has effects outside itself, calls into another library) is called as it is. `result.traced`
    and `result.reason` say which. A repeated call with other `y0` or `args` neither traces nor compiles again.

    Parameters
    ----------
    fun: fun(t, y, *args) -> n values; t a float, y an array (n,).
    t_span: (t0, t1), forwards or backwards.
    y0: start values (n,).
    method: "RK45" (default), "RK23", "DOP853"; any explicit method of `dd.methods()` or a `dd.Tableau` (one without an
        error estimate needs `step=`). "Radau", "BDF", "LSODA" run SciPy's implementation on the compiled function
        with its exact Jacobian; complex `y0` and solver classes are handed to SciPy as they are.
    t_eval: times to return, sorted, inside the span; default: the steps.
    dense_output: whether `result.sol(t)` is wanted.
    events: one function g(t, y, *args) or several; with attributes `terminal` (True, or after how many crossings to
        stop) and `direction` (+1, -1: only upwards, only downwards).
    vectorized: whether fun takes y of shape (n, k).
    args: further arguments of fun and of the events; numbers in them are parameters of the formula.
    options: rtol (1e-3), atol (1e-6, number or (n,)), first_step, max_step; for implicit methods jac, jac_sparsity,
        lband, uband, min_step; for fixed steps step.

    Returns
    -------
    IvpResult with t (nt,), y (n, nt), sol, t_events, y_events, nfev, njev, nlu, status, message, success; and traced,
    reason, method.

    What can go wrong: a wrong argument raises an `InputError` that is a ValueError (or TypeError) too; what `fun`
    itself raises passes through; a run that stops early has status -1 and a message with the time and the component.

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
        return run_scipy(fun, problem.span, problem.y0, method, reason=aside, traced=False, **call)
    settings = read_settings(method, problem, options)
    original = _on_numbers(fun, problem, vectorized)
    # Whatever the function raises at the start is the user's, and passes through unchanged.
    original(*problem.start)
    arguments = Arguments(problem.args)
    formula, reason = find_formula(
        fun, original, problem.y0.size, problem.start, problem.span[1], arguments, vectorized
    )
    if settings.core is None:
        return _run_implicit(fun, problem, settings.name, formula, reason, arguments, call)
    core = _callback(original, problem, arguments) if formula is None else formula.compiled.core
    return _run_explicit(core, problem, settings, read_events(events), arguments, dense_output, formula, reason)


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


def _callback(original: Callable[[float, np.ndarray], np.ndarray], problem: Problem, arguments: Arguments) -> Any:
    n = problem.y0.size
    core = _core.Function("fun", [1, n, 0, arguments.values.size], [n], 4, 1, 0, 0)
    core.set_python(lambda t, y, u, p: original(float(t[0]), np.array(y)))
    return core


def _run_implicit(
    fun: Callable[..., Any],
    problem: Problem,
    method: str,
    formula: Formula | None,
    reason: str,
    arguments: Arguments,
    call: dict[str, Any],
) -> IvpResult:
    """SciPy's implicit methods, on the compiled function and its exact Jacobian where there is a formula."""
    read_events(call["events"])
    if formula is None:
        why = f"called as a Python function by SciPy's {method}: {reason}"
        return run_scipy(fun, problem.span, problem.y0, method, reason=why, traced=False, **call)
    compiled = formula.at(arguments.values)
    options, jacobian = with_exact_jacobian(formula, arguments.values, method, call["options"])
    why = f"traced; SciPy's {method} runs on the compiled function and {jacobian}"
    call = {**call, "options": options, "vectorized": False}
    return run_scipy(
        lambda t, y, *args: compiled(t, y), problem.span, problem.y0, method, reason=why, traced=True, **call
    )


def _run_explicit(
    core: Any,
    problem: Problem,
    settings: Settings,
    events: list[Event] | None,
    arguments: Arguments,
    dense_output: bool,
    formula: Formula | None,
    reason: str,
) -> IvpResult:
    """The run in the core, with what SciPy's users expect around it."""
    # A run without end (until an event) goes to the largest time there is room for, and its first step is found here.
    t0, t1 = problem.span
    first = settings.first_step
    if not np.isfinite(t1):
        t1 = float(np.copysign(_LATEST, t1))
        first = first or _small_step(core, problem, settings, arguments)

    def integrate(**options: Any) -> Any:
        return _core.integrate(
            core, settings.core, t0, t1, problem.y0, np.zeros(0), arguments.values,
            rtol=settings.rtol, atol=settings.atol, step=settings.step, first_step=first,
            max_step=settings.max_step, **options,
        )  # fmt: skip

    def first_step() -> tuple[float, np.ndarray]:
        if t0 == t1:
            return problem.start
        short = integrate(max_steps=1)
        return float(short.t[-1]), short.x[-1]

    guards = Guards(events, problem, arguments) if events else None
    nothing: Any = (None, None) if events is None else ([], [])
    fired = guards.fired_at_start(first_step) if guards else []
    reason = f"called as a Python function: {reason}" if formula is None else reason
    reason = f"{reason}; {guards.reason}" if guards and guards.reason else reason
    about = {"traced": formula is not None, "reason": reason, "method": settings.name}
    ended = guards is not None and any(guards.events[i].ends_after == 1 for i in fired)
    if ended or t0 == t1:
        found = guards.found([], problem.start, fired) if guards else nothing
        return _standing(problem, dense_output, found, "event" if ended else "finished", about)
    run = integrate(save_at=problem.t_eval, **(guards.options(fired) if guards else {}))
    if run.status == "interrupted":
        raise KeyboardInterrupt
    found = guards.found(run.events, problem.start, fired) if guards else nothing
    solution = None
    if dense_output:
        solution = DenseSolution(*run.dense()) if run.steps else _constant(problem)
    return _result(*_samples(run), solution, found, run.rhs_calls, run.status, failure(run), about)


def _small_step(core: Any, problem: Problem, settings: Settings, arguments: Arguments) -> float:
    """A first step that moves y by a hundredth of its size (Hairer, Nørsett, Wanner I, II.4)."""
    slope = core(np.array([problem.span[0]]), problem.y0, np.zeros(0), arguments.values)[0]
    scale = settings.atol + settings.rtol * np.abs(problem.y0) + np.finfo(float).tiny
    size, speed = np.linalg.norm(problem.y0 / scale), np.linalg.norm(slope / scale)
    return float(0.01 * size / speed) if min(size, speed) > 1e-5 and np.isfinite(speed) else 1e-6


def _samples(run: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times and values; the second sample at a terminal event's time, which repeats the first, is left out."""
    repeated = run.status == "event" and len(run.t) > 1 and run.t[-1] == run.t[-2]
    count = len(run.t) - 1 if repeated else len(run.t)
    return run.t[:count], run.x[:count].T


def _standing(problem: Problem, dense_output: bool, found: Any, status: str, about: dict[str, Any]) -> IvpResult:
    """The result of a run that takes no step: the start, twice, as SciPy returns it."""
    t0, y0 = problem.start
    times = np.array([t0, t0]) if problem.t_eval is None else problem.t_eval[problem.t_eval == t0]
    solution = _constant(problem) if dense_output else None
    return _result(times, np.repeat(y0[:, None], len(times), axis=1), solution, found, 1, status, "", about)


def _constant(problem: Problem) -> DenseSolution:
    t0, y0 = problem.start
    return DenseSolution(np.array([t0]), np.array([t0]), y0[None, None, :])


def _result(
    t: np.ndarray, y: np.ndarray, sol: Any, found: Any, calls: int, end: str, why: str, about: dict[str, Any]
) -> IvpResult:
    status = {"finished": 0, "event": 1}.get(end, -1)
    return IvpResult(
        t=t, y=y, sol=sol, t_events=found[0], y_events=found[1], nfev=calls, njev=0, nlu=0, status=status,
        message=MESSAGES.get(end, why), success=status >= 0, **about,
    )  # fmt: skip


def failure(run: Any) -> str:
    """Why a run stopped early, with the time and the component."""
    where = f"t = {run.stop_time:.6g}"
    name = f"y[{run.culprit}]" if run.culprit >= 0 else "y"
    if run.status == "not_finite":
        what = f"the derivative of {name}" if run.culprit_stage == "derivative" else name
        return f"The run stopped at {where}: {what} is not finite there."
    if run.status == "step_too_small":
        return (
            f"Required step size is less than spacing between numbers. The run stopped at {where}, because of {name}."
        )
    return f"The run stopped at {where}: {run.status.replace('_', ' ')}."
