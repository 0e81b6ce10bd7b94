"""A Python function turned into a formula, and the proof that the formula is the function.

The function runs once on numbers that record what is done to them (`traced_number`, `traced_array`, `traced_code`).
If that fails and the function uses CasADi, it runs on an SX column. A formula counts only if it holds no NaN and
agrees with the function itself at the start and at two points nearby; otherwise the caller keeps the function, with
the reason in words.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements, has_nan
from daedalus.tracing.captured import cell_content
from daedalus.tracing.code_names import global_names, plain_function
from daedalus.tracing.traced_array import as_objects, filled
from daedalus.tracing.traced_code import traceable_copy
from daedalus.tracing.traced_number import TracedNumber, UntraceableError, follow_all_paths, refuse, symbolic

# Rounding in another order may move the last digits: relative to the component, and to the largest component.
_RELATIVE, _SCALED = 1e-11, 1e-12
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Trace:
    """The outcome of tracing: a dense SX column, or None and the reason why there is none."""

    expression: ca.SX | None
    reason: str


def trace(
    fun: Callable[..., Any],
    arguments: Callable[[bool], Sequence[Any]],
    size: int,
    after: Callable[[], None] = lambda: None,
) -> Trace:
    """The formula that `fun` computes.

    Parameters
    ----------
    fun: any Python callable; it is not called itself but in a copy that works on traced numbers.
    arguments: makes the arguments anew for each run: `arguments(False)` of traced numbers and arrays,
        `arguments(True)` of SX scalars and columns (for functions written with CasADi).
    size: how many values the function returns; one value stands for all, as in NumPy's broadcasting.
    after: called after each run; may refuse it, say because the function changed its arguments.

    >>> x = ca.SX.sym("x", 2)
    >>> found = trace(lambda y: [y[1], -np.sin(y[0])], lambda column: [x if column else traced_column(x)], 2)
    >>> found.expression, found.reason
    (SX([x_1, (-sin(x_0))]), 'traced')
    """
    try:
        return _run(fun, arguments, size, after, False)
    except _REFUSALS as error:
        reason = _in_words(error)
    if mentions_casadi(fun):
        try:
            return _run(fun, arguments, size, after, True)
        except _REFUSALS as error:
            reason = _in_words(error)
    return Trace(None, reason)


# A traced run may fail in any way the user's code can; none of it is an error of the user's function.
_REFUSALS = (Exception,)


def _in_words(error: Exception) -> str:
    if isinstance(error, UntraceableError):
        return str(error)
    text = str(error).strip().splitlines()
    return f"it raised {type(error).__name__} on symbols" + (f" ({text[0][:120]})" if text else "")


def _run(
    fun: Callable[..., Any],
    arguments: Callable[[bool], Sequence[Any]],
    size: int,
    after: Callable[[], None],
    column: bool,
) -> Trace:
    def once() -> list[ca.SX]:
        values = _column_of(traceable_copy(fun)(*arguments(column)), size)
        after()
        return values

    expression = ca.vertcat(*follow_all_paths(once)) if size else ca.SX(0, 1)
    if has_nan(expression):
        return Trace(None, "its formula holds NaN")
    return Trace(ca.densify(expression), "traced")


def _column_of(result: Any, size: int) -> list[ca.SX]:
    """What the function returned as a list of SX: a matrix column by column, one value for all."""
    if isinstance(result, (ca.SX, ca.DM)):
        result = [TracedNumber(entry) for entry in elements(ca.SX(ca.densify(result)))]
    objects = as_objects(result)
    objects = objects.reshape(-1, order="F") if objects.size == size else objects
    column = np.empty(size, dtype=object)
    try:
        column[...] = objects
    except ValueError:
        refuse(f"it returned values of shape {objects.shape} where {size} are needed")
    return [symbolic(element) for element in column]


def traced_column(symbols: ca.SX) -> Any:
    """A column of symbols as an array of traced numbers."""
    column = filled(symbols.numel(), 0.0)
    for i, symbol in enumerate(elements(symbols)):
        column[i] = TracedNumber(symbol)
    return column


def mentions_casadi(fun: Callable[..., Any]) -> bool:
    """Whether a function, or one it calls by name, uses a name that comes from CasADi."""
    met: set[int] = set()

    def mentions(function: types.FunctionType | None) -> bool:
        if function is None or id(function) in met:
            return False
        met.add(id(function))
        captured = [function.__globals__.get(name) for name in global_names(function.__code__)]
        captured += [cell_content(cell) for cell in function.__closure__ or ()]
        for value in captured:
            home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
            if isinstance(home, str) and home.split(".")[0] == "casadi":
                return True
        return any(mentions(value) for value in captured if isinstance(value, types.FunctionType))

    return mentions(plain_function(fun)[0])


def disagreement(
    formula: Callable[..., np.ndarray], original: Callable[..., np.ndarray], start: Any, others: Iterable[Any]
) -> str:
    """Why a formula cannot stand for the original function; empty when it can.

    Both are called with the same numbers at `start`, then at `others` until two points gave finite values. An error
    that the original raises at the start is the user's and passes through.
    """
    first, again = original(*start), original(*start)
    if not np.array_equal(first, again, equal_nan=True):
        return "two calls with the same values gave different answers"
    if not np.isfinite(first).all():
        return "its value at the start is not finite, so the formula cannot be checked"
    if not agree(formula(*start), first):
        return "its formula and the function itself differ at the start"
    checked = 0
    for point in others:
        try:
            with np.errstate(all="ignore"):
                value = original(*point)
        except Exception:
            continue
        if np.isfinite(value).all():
            if not agree(formula(*point), value):
                return "its formula and the function itself differ near the start"
            checked += 1
            if checked == 2:
                return ""
    return "it is finite at fewer than two points near the start, so the formula cannot be checked"


def agree(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two results are equal but for rounding: 1e-11 of the component and 1e-12 of the largest.

    >>> agree(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 4e-16])), agree(np.array([1.0]), np.array([float("nan")]))
    (True, False)
    """
    largest = np.max(np.abs(b), initial=0.0)
    return bool(np.all(np.abs(a - b) <= _RELATIVE * np.abs(b) + _SCALED * largest))


def nearby(t: float, y: np.ndarray, end: float) -> Iterable[tuple[float, np.ndarray]]:
    """Eight points near a start inside the span: four on all sides, four with growing values only."""
    largest = np.max(np.abs(y), initial=0.0)
    length = end - t if math.isfinite(end) else math.copysign(1.0, end)
    scale = 1e-2 * np.abs(y) + 1e-3 * (largest if largest > 0 else 1.0)
    for k in range(1, 9):
        # Multiples of the golden ratio spread evenly and look like no pattern of the user's.
        spread = np.modf(_GOLDEN * k * np.arange(1, y.size + 1))[0]
        move = 2.0 * spread - 1.0 if k <= 4 else spread + 0.1
        yield t + length * 0.05 * (_GOLDEN * k % 1.0), y + scale * move


def trace_signal(
    signal: Callable[[float], Any], time: ca.SX, size: int, times: Iterable[float] = (0.0, 0.731, 1.618)
) -> tuple[ca.SX | None, str]:
    """A signal f(t) as an SX column in the symbol `time`, or None; and the reason.

    Parameters
    ----------
    signal: a Python function of time that returns a number or `size` values.
    time: the SX symbol of time.
    size: how many values the signal has.
    times: where formula and function are compared: the start, then points inside the span.

    >>> t = ca.SX.sym("t")
    >>> trace_signal(lambda t: 2 * math.sin(t), t, 1)
    (SX((2.*sin(t))), 'traced')
    >>> trace_signal(lambda t: np.random.rand(), t, 1)
    (None, 'it draws random numbers')
    """
    found = trace(signal, lambda column: [time if column else TracedNumber(time)], size)
    if found.expression is None:
        return None, found.reason
    function = ca.Function("signal", [time], [found.expression])

    def formula(t: float) -> np.ndarray:
        return function(t).full().reshape(-1)

    def original(t: float) -> np.ndarray:
        return as_column(signal(t), size)

    start, *rest = (float(t) for t in times)
    # Points in the middle too, in case the signal is not finite at one of those given.
    rest += [0.5 * (a + b) for a, b in itertools.pairwise([start, *rest])]
    try:
        problem = disagreement(formula, original, (start,), [(t,) for t in rest])
    except Exception as error:
        problem = f"it raised {type(error).__name__} at t = {start:g}"
    return (None, problem) if problem else (found.expression, found.reason)


def as_column(value: Any, size: int) -> np.ndarray:
    """A function's value as `size` floats: a matrix column by column, one value for all."""
    numbers = value.full() if isinstance(value, ca.DM) else np.asarray(value, dtype=float)
    column = np.empty(size)
    column[...] = numbers.reshape(-1, order="F") if numbers.size == size else numbers
    return column
