"""A user's function f(t, y, *args) made ready for the core: a compiled formula where it can be had, else the function.

Formulas are kept by what the function is: its code and the values it captured, not its name or its place in memory.
So a repeated call with other start values or arguments neither traces nor compiles. Each call compares formula and
function at its own start anyway.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.model.forking import fork_safe_lock
from daedalus.model.lazy_values import cached_property
from daedalus.scipy_calls.ivp_arguments import Arguments
from daedalus.tracing.captured import fingerprint
from daedalus.tracing.trace import disagreement, nearby, trace, traced_column
from daedalus.tracing.traced_number import TracedNumber, refuse

# Functions that were compiled; each is a few kilobytes of code.
_MOST_KEPT = 32
# Beyond this many unknowns, functions are written with whole arrays, and those are fast as they are.
_MOST_UNKNOWNS = 3000


class Formula:
    """A traced function of (t, y, u, p), u empty and p the numbers of `args`; compiled on first use."""

    def __init__(self, expression: ca.SX, symbols: list[ca.SX]) -> None:
        self.expression = expression
        self.symbols = symbols
        self.function = ca.Function("formula", symbols, [expression])
        self.kept: dict[Hashable, Any] = {}  # models made of it, for repeated calls

    @cached_property
    def compiled(self) -> Compiled:
        """The formula as machine code behind the core's signature."""
        return compile_function(self.function)

    def at(self, p: np.ndarray) -> Callable[[float, np.ndarray], np.ndarray]:
        """The formula as a function of (t, y) for given numbers."""
        nothing = np.zeros(0)
        core = self.compiled.core
        return lambda t, y: core(np.array([t]), y, nothing, p)[0]


class _Kept:
    """The formulas (or the reasons why there is none) of the last functions, least recently used first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, Formula | str] = OrderedDict()
        self._lock = fork_safe_lock()

    def get(self, key: Hashable | None) -> Formula | str | None:
        """What is kept under a key; nothing is under None."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: Hashable | None, value: Formula | str) -> None:
        """Keep a formula or a reason; nothing is kept under None."""
        if key is None:
            return
        with self._lock:
            self._entries[key] = value
            while len(self._entries) > _MOST_KEPT:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()


KEPT = _Kept()
# How often a function was really traced; tests count that repeated calls do not.
traces_made = 0


def find_formula(
    fun: Callable[..., Any],
    original: Callable[[float, np.ndarray], np.ndarray],
    size: int,
    start: tuple[float, np.ndarray],
    end: float,
    arguments: Arguments,
    vectorized: bool = False,
    parts: int = 1,
    most: int = _MOST_UNKNOWNS,
) -> tuple[Formula | None, str]:
    """The formula of `fun`, checked against `original` (the same on numbers) at the start; or None; and the reason.

    `parts` is how many arguments of equal size `fun` takes for y: two for F(t, y, y'). Functions of more than `most`
    unknowns are not followed.
    """
    captured = fingerprint(fun)
    shape = (len(start[1]), size, vectorized, parts, most)

    def problem_of(found: Formula | str) -> str:
        if isinstance(found, str):
            return found
        return disagreement(found.at(arguments.values), original, start, _points(start, end, parts))

    # A function that could be followed at no level stays a callback for all values of its arguments.
    hopeless = _key(captured, shape, "hopeless", arguments.key(0))
    known = KEPT.get(hopeless)
    if isinstance(known, str):
        return None, known
    reason = ""
    found: Formula | str | None = None
    for level in arguments.levels():
        key = _key(captured, shape, level, arguments.key(level))
        found = KEPT.get(key)
        reason = problem_of(found) if found is not None else "not traced yet"
        # A kept formula that disagrees missed a change in what the function captured: trace again, once.
        if found is None or (reason and isinstance(found, Formula)):
            found = _trace(fun, shape, level, arguments)
            KEPT.put(key, found)
            reason = problem_of(found)
        if isinstance(found, Formula) and not reason:
            return found, "traced"
    if isinstance(found, str):
        KEPT.put(hopeless, reason)
    return None, reason


def _points(start: tuple[float, np.ndarray], end: float, parts: int) -> Iterator[tuple[float, np.ndarray]]:
    """Points near the start, each part of y moved in its own size."""
    t, y = start
    for moved in zip(*(nearby(t, part, end) for part in np.split(y, parts))):
        yield moved[0][0], np.concatenate([part for _, part in moved])


def _key(captured: Hashable | None, shape: Hashable, level: Hashable, arguments: Hashable | None) -> Hashable | None:
    """Under what a formula is kept; None when a later call could not be compared with this one."""
    return None if captured is None or arguments is None else (captured, shape, level, arguments)


def _trace(
    fun: Callable[..., Any], shape: tuple[int, int, bool, int, int], level: int, arguments: Arguments
) -> Formula | str:
    global traces_made
    traces_made += 1
    n, size, vectorized, parts, most = shape
    if n > most * parts:
        return f"it has more than {most} unknowns; NumPy's own arrays serve it better"
    t, y = ca.SX.sym("t"), ca.SX.sym("y", n)
    p = ca.SX.sym("p", arguments.values.size)

    given: list[Callable[[], bool]] = []

    def make(column: bool) -> tuple[Any, ...]:
        extra = arguments.rebuilt(level, p, column)
        given[:] = [arguments.unchanged(extra)]
        pieces = ca.vertsplit(y, n // parts) if parts > 1 else [y]
        if column:
            return t, *pieces, *extra
        states = [traced_column(piece) for piece in pieces]
        return TracedNumber(t), *(state.reshape(-1, 1) if vectorized else state for state in states), *extra

    def refuse_writes() -> None:
        if not given[0]():
            refuse("it changes its arguments")

    found = trace(fun, make, size, refuse_writes)
    return found.reason if found.expression is None else Formula(found.expression, [t, y, ca.SX.sym("u", 0), p])
