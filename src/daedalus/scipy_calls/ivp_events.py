"""Event functions as SciPy's users write them: their attributes, their guard for the core, and their results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import compile_function
from daedalus.model.variables import Event
from daedalus.scipy_calls.ivp_arguments import Arguments
from daedalus.scipy_calls.ivp_errors import IvpTypeError, IvpValueError
from daedalus.scipy_calls.ivp_function import Formula, find_formula
from daedalus.scipy_calls.ivp_settings import Problem

Found = tuple[list[np.ndarray], list[np.ndarray]]


@dataclass(frozen=True)
class EventFunction:
    """One event function g(t, y): crossing directions and after how many crossings the run ends (0: never)."""

    function: Callable[..., Any]
    direction: int
    ends_after: int


def read_events(events: Any) -> list[EventFunction] | None:
    """The event functions with their attributes `terminal` (bool or count) and `direction` read."""
    if events is None:
        return None
    functions: Sequence[Any] = (events,) if callable(events) else tuple(events)
    found = []
    for i, function in enumerate(functions):
        if not callable(function):
            raise IvpTypeError(
                f"events[{i}] is not a function.",
                f"got {type(function).__name__}",
                remedy="events=hit, with def hit(t, y): return y[0]",
            )
        terminal = getattr(function, "terminal", None)
        if terminal is not None and not (terminal == int(terminal) and terminal >= 0):
            raise IvpValueError(
                f"The `terminal` attribute of events[{i}] must be a boolean or positive integer.",
                f"got {terminal!r}",
                remedy=f"{getattr(function, '__name__', 'event')}.terminal = True",
            )
        found.append(EventFunction(function, int(np.sign(getattr(function, "direction", 0) or 0)), int(terminal or 0)))
    return found


class Guards:
    """All event functions of a run as one guard function of the core; formulas if every one could be traced."""

    def __init__(
        self, events: list[EventFunction], problem: Problem, arguments: Arguments, row: np.ndarray, rates: bool,
        inputs: int = 0,
    ) -> None:  # fmt: skip
        """`row` is y, or (y, y') for an implicit model; `rates`: whether events may take y' too.

        `inputs`: how many the model has, which events do not read.
        """
        n, end, args = problem.y0.size, problem.span[1], problem.args
        start = (problem.span[0], row)
        self.events = events
        takes = [takes_rate(event.function, args, rates) for event in events]
        sizes = [2 * n if with_rate else n for with_rate in takes]
        self.originals = [_on_numbers(event.function, args, n, rate) for event, rate in zip(events, takes)]
        self._check(*start)
        self.at_start = self.values(*start)
        formulas: list[Formula] = []
        self.reason = ""
        for i, (event, original, size) in enumerate(zip(events, self.originals, sizes)):
            own = (start[0], row[:size])
            formula, reason = find_formula(
                event.function, original, 1, own, end, arguments, parts=size // n if n else 1
            )
            if formula is None:
                self.reason = f"events[{i}] is called as a Python function: {reason}"
                break
            formulas.append(formula)
        if not events:
            self.core = None
        elif self.reason:
            self.core = self._callback(row.size, inputs, arguments)
        else:
            self.core = _joined(formulas, row.size, inputs).core

    def values(self, t: float, y: np.ndarray) -> np.ndarray:
        """All guards at one point."""
        return np.concatenate([original(t, y) for original in self.originals] or [np.zeros(0)])

    def _check(self, t: float, y: np.ndarray) -> None:
        for i, original in enumerate(self.originals):
            count = original(t, y).size
            if count != 1:
                raise IvpValueError(
                    f"events[{i}] returns {count} values.",
                    because="an event is where one number crosses zero.",
                    remedy="one event function for each of them",
                )

    def _callback(self, n: int, inputs: int, arguments: Arguments) -> Any:
        core = _core.Function("events", [1, n, inputs, arguments.values.size], [len(self.events)], 4, 1, 0, 0)
        core.set_python(lambda t, y, u, p: self.values(float(t[0]), np.array(y)))
        return core

    def fired_at_start(self, first_step: Callable[[], tuple[float, np.ndarray]]) -> list[int]:
        """Which events count as crossed at the very start: SciPy's rule for a guard that begins at zero.

        It needs the guard at the end of the first step, which is computed only if some guard is zero.
        """
        resting = np.flatnonzero(self.at_start == 0.0)
        if resting.size == 0:
            return []
        after = self.values(*first_step())
        return [int(i) for i in resting if self.events[i].direction * after[i] >= 0.0]

    def options(self, fired: list[int]) -> dict[str, Any]:
        """The keywords of the core's run, which counts the crossings after those at the start."""
        return {
            "guards": self.core,
            "directions": [event.direction for event in self.events],
            "actions": [2 if event.ends_after else 0 for event in self.events],
            "occurrences": [max(event.ends_after - (i in fired), 1) for i, event in enumerate(self.events)],
        }

    @property
    def described(self) -> tuple[Event, ...]:
        """The events as a run names them."""
        return tuple(
            Event(f"events[{i}]", event.direction, bool(event.ends_after)) for i, event in enumerate(self.events)
        )

    def found(self, run_events: list[Any], start: tuple[float, np.ndarray], fired: list[int]) -> Found:
        """SciPy's t_events and y_events: for each event function the times (k,) and the values (k, n)."""
        t_events: list[list[float]] = [[start[0]] if i in fired else [] for i in range(len(self.events))]
        y_events: list[list[np.ndarray]] = [[start[1]] if i in fired else [] for i in range(len(self.events))]
        for i, t, before, *_ in run_events:
            t_events[i].append(t)
            y_events[i].append(before)
        return [np.array(times, dtype=float) for times in t_events], [np.array(values) for values in y_events]


def takes_rate(function: Callable[..., Any], args: tuple[Any, ...], rates: bool) -> bool:
    """Whether an event is g(t, y, y', *args), as far as that is known from its signature; else g(t, y, *args)."""
    if not rates:
        return False
    try:
        inspect.signature(function).bind(0.0, None, None, *args)
    except TypeError:
        return False
    except ValueError:  # nothing is known of its signature
        return True
    return True


def _on_numbers(
    function: Callable[..., Any], args: tuple[Any, ...], n: int, rate: bool
) -> Callable[[float, np.ndarray], np.ndarray]:
    """An event function on numbers, its value as an array with one element."""

    def original(t: float, row: np.ndarray) -> np.ndarray:
        parts = (row[:n].copy(), row[n:].copy()) if rate else (row[:n].copy(),)
        return np.asarray(function(t, *parts, *args), dtype=float).reshape(-1)

    return original


def _joined(formulas: list[Formula], width: int, inputs: int) -> Any:
    """One compiled function of (t, row, u, p) whose rows are the formulas."""
    t, y, nothing, p = formulas[0].symbols
    if len(formulas) == 1 and y.numel() == width and not inputs:
        return formulas[0].compiled
    key = ("guards", width, inputs, tuple(id(formula) for formula in formulas[1:]))
    if len(formulas) == 1 and key in formulas[0].kept:
        return formulas[0].kept[key]
    row, u = ca.SX.sym("row", width), ca.SX.sym("u", inputs)
    values = [formula.function(t, row[: formula.symbols[1].numel()], nothing, p) for formula in formulas]
    compiled = compile_function(ca.Function("events", [t, row, u, p], [ca.vertcat(*values)]))
    if len(formulas) == 1:
        formulas[0].kept[key] = compiled
    return compiled
