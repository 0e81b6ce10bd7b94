"""What a run was asked for: every argument read, and refused where it means nothing, in one place for all verbs."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.model.model import Model, as_system
from daedalus.model.names import read_names, split_index
from daedalus.model.plain_numbers import by_name, plain_times, without_unit
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.linear_way import AUTO, LinearWay, read_linear
from daedalus.simulation.start.guessed_start import without_guesses

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau

Start = Mapping[str, object] | Samples
Values = Mapping[str, object] | None
ON_STOP = ("return", "raise")
LIMITS = ("step", "max_step", "first_step", "max_steps", "time_limit")
# The options of `dd.simulate` that the other verbs take by name.
OPTIONS = ("method", "rtol", "atol", *LIMITS, "locate_switches", "linear", "preconditioner")
NO_LIMITS = (None,) * len(LIMITS)
# Beyond this many steps the time no longer moves by each of them.
MOST_FIXED_STEPS = 1e15
NUMBERS = ("rtol", *LIMITS)
# Of these infinity means nothing; of the others it means no limit.
FINITE = ("rtol", "step")


def read_saved_names(system: System, names: object, argument: str) -> list[str]:
    """The names of the variables to keep, each once; unknown ones are refused before anything runs.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", 2)
    >>> m.equation(m.der(x), -x); m.output("first", x[0])
    >>> read_saved_names(as_system(m), ["first", "x[1]", "x_dot", "first"], "save")
    ['first', 'x[1]', 'x_dot']
    """
    if isinstance(names, str):
        raise InputError(f"{argument} is a list of names.", f"got {names!r}"[:80], remedy=f"[{names!r}]")
    found = list(dict.fromkeys(read_names(names, argument)))
    for name in found:
        stem = split_index(name)[0]
        if stem not in system.output_names and stem not in system.aliases:
            system.place(name)
    return found


class Options(NamedTuple):
    """How a run is made: with the system, all that its road follows from."""

    method: Any  # a name or a tableau; of `dd.simulate` a multistep method too, which has no road
    rtol: float
    atol: object
    limits: tuple[Any, ...]  # as LIMITS names them
    locate_switches: bool
    linear: LinearWay = AUTO
    stepped: bool = False  # whether the caller finds the forces of hard contacts between bodies itself


class Request(NamedTuple):
    """A run as it was asked for; each of its pieces is made from it."""

    model: Model | System
    t0: float
    t1: float
    start: Start | None
    inputs: Values
    parameters: Values
    save_at: np.ndarray | None
    options: Options
    rows_only: bool = False  # whether the rows of save_at and the end are all that anybody reads of the run

    @property
    def system(self) -> System:
        """The snapshot of the model, which a Model keeps until it is written in again."""
        return as_system(self.model)

    @property
    def span(self) -> tuple[float, float]:
        """Where the run begins and ends."""
        return self.t0, self.t1

    @property
    def method(self) -> str | Tableau:
        """As asked for: a name, "auto", or a tableau."""
        method: str | Tableau = self.options.method
        return method

    @property
    def rtol(self) -> float:
        """The relative tolerance."""
        return self.options.rtol

    @property
    def atol(self) -> object:
        """The absolute tolerance: a number, or numbers by name."""
        return self.options.atol

    @property
    def limits(self) -> tuple[Any, ...]:
        """The limits, as LIMITS names them."""
        return self.options.limits

    @property
    def locate_switches(self) -> bool:
        """Whether steps end where conditions change."""
        return self.options.locate_switches

    @property
    def step(self) -> float | None:
        """The fixed step, None where it is adaptive."""
        step: float | None = self.options.limits[0]
        return step

    def with_options(self, **changed: Any) -> Request:
        """The same run, made in another way."""
        return self._replace(options=self.options._replace(**changed))


def read_request(
    model: Model | System,
    span: object,
    start: Start | None = None,
    inputs: Values = None,
    parameters: Values = None,
    save_at: object = None,
    options: Mapping[str, Any] | None = None,
    verb: str = "dd.simulate",
) -> Request:
    """The request of a verb that takes the options of `dd.simulate` by name; others are refused."""
    given = dict(options or {})
    limits = read_limits(*(given.pop(name, None) for name in LIMITS))
    tolerances = given.pop("rtol", 1e-6), given.pop("atol", 1e-9)
    linear = read_linear(given.pop("linear", "auto"), given.pop("preconditioner", None))
    way = Options(given.pop("method", "auto"), *tolerances, limits, given.pop("locate_switches", True), linear)
    check_options(given, verb)
    t0, t1 = read_span(span)
    times = read_save_at(save_at, t0, t1)
    start = without_guesses(model, start, inputs, parameters, t0)
    start, inputs, parameters = read_values(start, inputs, parameters)
    return Request(model, t0, t1, start, inputs, parameters, times, way)


def check_options(given: Iterable[str], verb: str, own: Sequence[str] = ()) -> None:
    """Refuse options that a verb does not take by name. own: those that it takes beside OPTIONS."""
    known = (*own, *OPTIONS)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(
            f"{verb} takes no {', '.join(unknown)}.", f"its options are {', '.join(known)}", remedy="one of these"
        )


def read_values(start: Any, inputs: Any, parameters: Any) -> tuple[Start | None, Values, Values]:
    """Values by name, as they are given or from columns of pandas; dicts are taken as they are."""
    if not (start is None or type(start) is dict):
        start = by_name(start)
    if not (inputs is None or type(inputs) is dict):
        inputs = check_mapping(by_name(inputs), "inputs")
    if not (parameters is None or type(parameters) is dict):
        parameters = check_mapping(by_name(parameters), "parameters")
    return start, inputs, parameters


def read_limits(*limits: Any) -> tuple[Any, ...]:
    """The limits of a run as LIMITS names them; quantities of time are seconds."""
    return tuple(without_unit(value, "s", name) for name, value in zip(LIMITS, limits, strict=True))


def read_span(span: object) -> tuple[float, float]:
    """(t0, t1) from an end time or a pair."""
    try:
        if type(span) is float and math.isfinite(span):
            return 0.0, span
        span = without_unit(span, "s", "The span")
        t0, t1 = span if isinstance(span, (tuple, list, np.ndarray)) else (0.0, span)
        if any(isinstance(part, (str, bytes, bool, np.bool_)) for part in (t0, t1)):
            raise TypeError
        t0, t1 = float(t0), float(t1)
    except (TypeError, ValueError, OverflowError):
        t0 = t1 = math.nan
    if not (math.isfinite(t0) and math.isfinite(t1)):
        raise InputError("The span is not a time.", f"got {span!r}"[:80], remedy="10.0, or (0.0, 10.0)")
    return t0, t1


def read_save_at(save_at: object, t0: float, t1: float) -> np.ndarray | None:
    """The times to keep: within the span and in the order of the run."""
    if save_at is None:
        return None
    try:
        times = plain_times(save_at, "The times of save_at")
    except InputError as error:
        raise _not_times(error.facts[0]) from None
    if times.ndim == 0:
        times = times.reshape(1)
    low, high = (t0, t1) if t0 <= t1 else (t1, t0)
    if times.ndim == 1 and times.size == 1 and low <= times.item() <= high:
        return times
    if times.ndim != 1 or not np.all(np.isfinite(times)):
        got = f"got an array of shape {times.shape}" if times.ndim != 1 else "got times that are not finite"
        raise _not_times(got)
    if times.size and (times.min() < low or times.max() > high):
        # Sums of steps, as those of numpy.arange, end some roundings beyond the last time.
        within = np.clip(times, low, high)
        if np.all(np.abs(within - times) <= same_instant(low, high)):
            return read_save_at(within, t0, t1)
        raise InputError(
            "save_at is outside the span.",
            f"the run covers {low:g} to {high:g}, save_at {times.min():g} to {times.max():g}",
            remedy="times within the span",
        )
    steps = np.diff(times)
    if np.any(steps <= 0 if t1 >= t0 else steps >= 0):
        raise InputError("The times of save_at are not in order.", remedy="sort them in the direction of the run")
    return times


def _not_times(got: str) -> InputError:
    return InputError("save_at is a list of times.", got, remedy="np.linspace(t0, t1, 101), or None for every step")


def check_on_stop(on_stop: object) -> None:
    """Refuse a word that says nothing about early ends."""
    if on_stop not in ON_STOP:
        raise InputError(f"on_stop={on_stop!r} is not valid.", remedy='on_stop="return" or on_stop="raise"')


def check_step(request: Request) -> None:
    """Refuse a fixed step that no computer can count up to the end with."""
    t0, t1, step = request.t0, request.t1, request.step
    if step is not None and abs(t1 - t0) > MOST_FIXED_STEPS * step:
        raise InputError(
            "step is too short for the span.",
            f"the run from {t0:g} to {t1:g} would take {abs(t1 - t0) / step:.1e} steps of {step:g}",
            remedy="a longer step, or a method that chooses it",
        )


def checked_numbers(rtol: object, limits: tuple[Any, ...]) -> dict[str, Any]:
    """rtol and the limits of a run by name; what is not a positive number is refused."""
    numbers: dict[str, Any] = dict(zip(NUMBERS, (rtol, *limits)))
    # An integer that no double holds is infinite.
    numbers = {k: math.inf if isinstance(v, int) and v > sys.float_info.max else v for k, v in numbers.items()}
    numbers["max_steps"] = _whole(numbers["max_steps"])
    for name, value in numbers.items():
        if value is None and name != "rtol":
            continue
        positive = isinstance(value, (int, float, np.integer, np.floating)) and value > 0
        if not positive or (name in FINITE and not math.isfinite(value)):
            usual = "rtol=1e-6" if name == "rtol" else f"{name}=None or a number > 0"
            raise InputError(f"{name} must be a positive number.", f"got {value!r}"[:80], remedy=usual)
    return numbers


def _whole(max_steps: Any) -> Any:
    """A number of steps; 1e6 is one, 1.5 is none. What is not a number at all is refused with the others."""
    if not isinstance(max_steps, (float, np.floating)) or not max_steps > 0 or max_steps == math.inf:
        return None if max_steps == math.inf else max_steps
    if max_steps != int(max_steps):
        raise InputError("max_steps must be a whole number.", f"got {max_steps!r}", remedy="max_steps=1000")
    return int(max_steps)
