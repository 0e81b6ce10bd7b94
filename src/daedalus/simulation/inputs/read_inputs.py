"""What drives a run: inputs as numbers, tables, functions of time or expressions, put where the core reads them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.errors import InputError
from daedalus.initialisation.input_values import in_their_unit
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model, as_system
from daedalus.model.names import did_you_mean, shape_text, split_index
from daedalus.model.plain_numbers import plain_result, result_at
from daedalus.model.signals import Signal, SignalInUnits, signal
from daedalus.model.system.closed_loop import MOST_LOOPS, closed_loop, opened
from daedalus.model.system.named_vectors import Place
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, flat_values, write_plain, wrong_kind
from daedalus.simulation.inputs.delayed_inputs import DelayedInputs
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_models import InputCalled


class Drive(NamedTuple):
    """Values of u: constants, tables and Python functions, each with its slots."""

    constants: np.ndarray
    tables: tuple[tuple[Signal, tuple[int, ...]], ...] = ()
    callbacks: tuple[tuple[Callable[[float], Any], tuple[int, ...]], ...] = ()
    notes: tuple[Record, ...] = ()
    delayed: DelayedInputs | None = None

    def core_tables(self) -> list[Any]:
        """The tables as the core takes them."""
        return [
            _core.Table(s.times, s.values, list(slots), s.kind == "linear", s.coefficients) for s, slots in self.tables
        ]

    def at(self, times: np.ndarray) -> np.ndarray:
        """u at times (N,), as (N, nu)."""
        values = np.tile(self.constants, (len(times), 1))
        for table, slots in self.tables:
            values[:, slots] = table.flat(times)
        for function, slots in self.callbacks:
            values[:, slots] = [np.asarray(function(float(t)), dtype=float).ravel(order="F") for t in times]
        if self.delayed is not None:
            values[:, self.delayed.slots] = self.delayed.at(times)
        return values

    @property
    def moves(self) -> bool:
        """Whether u is more than constants."""
        return bool(self.tables) or bool(self.callbacks) or self.delayed is not None

    def at_time(self, t: float) -> np.ndarray:
        """u at one time, as (nu,)."""
        return self.at(np.array([t]))[0] if self.moves else self.constants

    def fill(self, t: float, u: np.ndarray) -> np.ndarray:
        """u with the Python functions evaluated at t; the rest as the core left it."""
        out = np.array(u)
        for function, slots in self.callbacks:
            out[list(slots)] = np.asarray(function(t), dtype=float).ravel(order="F")
        return out

    def sampled(self, times: np.ndarray) -> Drive:
        """The same without Python functions: they become tables over `times`, so that a result can travel."""
        grid = np.unique(times)
        tables = [
            (signal(grid, np.array([np.ravel(f(float(t)), order="F") for t in grid]), "linear"), slots)
            for f, slots in self.callbacks
        ]
        return self._replace(tables=(*self.tables, *tables), callbacks=())


def read_inputs(
    system: System, values: Mapping[str, object], span: tuple[float, float], *, with_addition: bool = False
) -> tuple[System, Drive]:
    """The system with expressions and traced functions put in for inputs, and the drive for what is left.

    with_addition: inputs stay where expressions take their place, as what is added to them, which is zero here. Delayed
    signals are written by the run itself.
    """
    constants = np.empty(system.sizes["u"])
    if system.delayed:
        _check_delayed(system, values)
    if isinstance(values, dict) and write_plain(constants, system, "u", values) == len(constants):
        return system, Drive(constants)
    given = check_mapping(values, "inputs")
    plain: dict[str, object] = {}
    feedback: dict[str, ca.SX] = {}
    notes: list[Record] = []
    for name, value in given.items():
        place = input_place(system, name)
        if isinstance(value, ca.SX) and not value.is_constant():
            feedback[name] = _checked_expression(system, place, value)
        elif callable(value) and not isinstance(value, Signal):
            expression, reason = traced_input(system, place, value, span)
            if expression is None:
                plain[name] = value
                notes.append(InputCalled(name, reason))
            else:
                feedback[name] = expression
        else:
            plain[name] = value
    _check_whole(system, feedback)
    closed = closed_loop(system, feedback, with_addition=with_addition)
    added = dict.fromkeys(feedback, 0.0) if with_addition else {}
    return closed, _drive(closed, {**plain, **added}, span, tuple(notes))


def _check_delayed(system: System, values: Mapping[str, object]) -> None:
    """Refuse values for delayed signals."""
    for variable in system.delayed:
        if variable.name in values:
            raise InputError(
                f"{variable.name} is a delayed signal.",
                because="a run computes it from its own history.",
                remedy=f"m.delay(..., history=...) for what {variable.name} was before the start",
            )


def input_place(system: System, name: str) -> Place:
    """Where an input lives; other names are refused."""
    names = [v.name for v in system.of_kind("input")]
    try:
        place = system.place(name)
    except InputError:
        raise InputError(
            f"The model {system.name!r} has no input {name!r}.",
            f"its inputs are {', '.join(names)}" if names else "it has no inputs",
            remedy=did_you_mean(name, names),
        ) from None
    if place.letter != "u":
        raise wrong_kind(system, name, place, "an input")
    return place


def _checked_expression(system: System, place: Place, value: ca.SX) -> ca.SX:
    """An expression in the model's symbols, of the shape of the input."""
    value = opened(system).translated("expression", value)
    known = {symbol_key(s) for part in system.symbols() for s in elements(part)}
    for scalar in ca.symvar(value):
        if symbol_key(scalar) not in known:
            raise InputError(
                f"The expression for input {place.name} contains a foreign symbol.",
                f"it prints as {scalar.name()!r} and is not one of the model {system.name!r}",
                remedy='symbols of this model, m["name"]',
            )
    flat = ca.densify(ca.vec(value))
    if flat.numel() != len(place.positions):
        raise InputError(
            f"The expression for input {place.name} has the wrong shape.",
            f"{place.name} is {shape_text(place.shape)}, the expression has shape {value.shape}",
        )
    if ca.depends_on(flat, system.symbol("u")[place.positions.tolist()]):
        raise InputError(f"The expression for input {place.name} contains {place.name} itself.")
    return flat


def traced_input(
    system: System, place: Place, function: Callable[..., Any], span: tuple[float, float]
) -> tuple[ca.SX | None, str]:
    """A function of time as an expression; the same code with the same captured values is traced once a system."""
    from daedalus.tracing.captured import fingerprint

    print_of = fingerprint(function)
    if print_of is None:
        return _traced(system, place.name, By(function), By(span))
    return once(system, _traced, place.name, By(function, print_of), By(span), most=MOST_LOOPS)


def _traced(
    system: System, name: str, function: By[Callable[..., Any]], span: By[tuple[float, float]]
) -> tuple[ca.SX | None, str]:
    from daedalus.tracing.trace import trace_signal

    # Checked at the start and at two odd places of the run.
    begin, end = span.value
    try:
        first = function.value(begin)
    except Exception:  # told where it is evaluated
        first = None
    plain_result(first, name)
    times = tuple(begin + fraction * (end - begin) for fraction in (0.0, 0.381966, 0.864665))
    return trace_signal(function.value, system.symbol("t"), len(system.place(name).positions), times)


def _check_whole(system: System, feedback: dict[str, ca.SX]) -> None:
    for name in feedback:
        if name not in system.places:
            raise InputError(
                f"An expression or function drives {name}, one element of an input.",
                because="expressions take the place of a whole input.",
                remedy=f"inputs={{{name.split('[')[0]!r}: ...}} with all elements",
            )


def _drive(system: System, plain: dict[str, object], span: tuple[float, float], notes: tuple[Record, ...]) -> Drive:
    constants = np.full(system.sizes["u"], np.nan)
    for variable in system.delayed:
        constants[system.place(variable.name).positions] = 0.0
    for variable in system.noises:  # its mean, where no run draws it
        constants[system.place(variable.name).positions] = 0.0
    for variable in system.of_kind("input"):  # values that the model has for inputs that nothing drives
        if variable.start and None not in variable.start:
            constants[system.place(variable.name).positions] = variable.start
    tables: list[tuple[Signal, tuple[int, ...]]] = []
    callbacks: list[tuple[Callable[[float], Any], tuple[int, ...]]] = []
    for name, value in plain.items():
        place = system.place(name)
        if isinstance(value, Signal):
            _check_table(place, value, span)
            tables.append((value, tuple(place.positions.tolist())))
            constants[place.positions] = 0.0
        elif callable(value):
            _check_callback(place, value, span[0])
            callbacks.append((value, tuple(place.positions.tolist())))
            constants[place.positions] = 0.0
        else:
            _check_no_series(place, value)
            constants[place.positions] = flat_values(place, _as_numbers(value), "value")
    if constants.size and math.isnan(constants.sum()):
        missing = [system.labels["u"][k] for k in np.flatnonzero(np.isnan(constants))]
        raise InputError(
            f"{', '.join(missing[:6])} {'has' if len(missing) == 1 else 'have'} no value.",
            because="an input comes from outside; the model holds no value for it.",
            remedy=f"inputs={{{missing[0].split('[')[0]!r}: 0.0}}",
        )
    return Drive(constants, tuple(tables), tuple(callbacks), notes)


def check_finite_inputs(system: System, drive: Drive, t: float) -> None:
    """Refuse functions that give NaN or infinity where a run begins; called when the run failed there."""
    u = drive.at_time(t)
    wrong = np.flatnonzero(~np.isfinite(u))
    if len(wrong):
        names = [system.labels["u"][k] for k in wrong]
        raise InputError(
            f"The input {names[0]} is {u[wrong[0]]:g} at t = {t:g}.",
            f"not finite either: {', '.join(names[1:6])}" if len(names) > 1 else (),
            because="a run cannot start with a value that is not finite.",
            remedy="a function that has a value over the whole span",
        )


def _check_no_series(place: Place, value: Any) -> None:
    """Refuse values over time that come without their times: a pandas Series, or more numbers than the input has."""
    listed = isinstance(value, (list, tuple, np.ndarray)) or hasattr(value, "iloc")
    shape: tuple[int, ...] = np.shape(value) if listed else ()
    longer = len(shape) == len(place.shape) + 1 and shape[0] > 1 and shape[1:] == place.shape
    if not longer:
        return
    times = f"{place.name}.index" if hasattr(value, "iloc") else "times"
    raise InputError(
        f"The values for input {place.name} come without their times.",
        f"{place.name} is {shape_text(place.shape)}; {shape[0]} values were given",
        because="an input is one value, or a signal of times and values.",
        remedy=f'inputs={{"{place.name}": dd.signal({times}, values)}}, or kind="linear" to join them',
    )


def _as_numbers(value: object) -> object:
    return ca.DM(value) if isinstance(value, ca.SX) else value


def _check_table(place: Place, table: Signal, span: tuple[float, float]) -> None:
    if table.shape != place.shape and table.values.shape[1] != len(place.positions):
        raise InputError(
            f"The signal for input {place.name} has the wrong shape.",
            f"{place.name} is {shape_text(place.shape)}, the signal gives {shape_text(table.shape)}",
        )
    low, high = min(span), max(span)
    late = not table.covers_later_times and high > table.times[-1] + 1e-12 * abs(table.times[-1])
    if low < table.times[0] or late:
        raise InputError(
            f"The signal for input {place.name} does not cover the run.",
            f"the run goes from t = {low:g} to {high:g}, the table from {table.times[0]:g} to {table.times[-1]:g}",
            because="the table has no values outside its times"
            + (", and a line ends at its last point." if late else "."),
            remedy='more points, or kind="hold", which keeps the last value',
        )


def _check_callback(place: Place, function: Callable[..., Any], t0: float) -> None:
    value = result_at(function, t0, place.name, "a function of time alone: lambda t: ...")
    if value.size not in (1, len(place.positions)):
        raise InputError(
            f"The function for input {place.name} has the wrong shape.",
            f"{place.name} is {shape_text(place.shape)}, f({t0:g}) has shape {value.shape}",
        )
    again = result_at(function, t0, place.name, "a function of time alone: lambda t: ...")
    if not np.array_equal(value, again, equal_nan=True):
        raise InputError(
            f"The function for input {place.name} gives two values for one time.",
            f"f({t0:g}) is {np.ravel(value)[0]:g}, then {np.ravel(again)[0]:g}",
            because="a run evaluates it many times in every step, and rejects steps whose evaluations disagree.",
            remedy=f'm.noise("{place.name}") for random numbers, or m.sampled_noise("{place.name}", every=0.01)',
        )


def gathered_inputs(model: Model | System, inputs: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The inputs with one expression or function in the place of a list of numbers, expressions and functions.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("carrier")
    >>> x = m.state("x", 2, start=[0.0, 1.0]); u = m.input("u", 2)
    >>> m.equation(m.der(x), u)
    >>> gathered_inputs(m, {"u": [0.0, -x[1]]})
    {'u': SX([0, (-x[1])])}
    >>> tr = dd.simulate(m, 1.0, inputs={"u[0]": lambda t: 2 * t, "u[1]": -x[1]})
    >>> tr["x"][-1].round(6).tolist()
    [1.0, 0.367879]
    """
    given = check_mapping(inputs, "inputs")
    if any(isinstance(value, SignalInUnits) for value in given.values()):
        inputs = given = {name: in_their_unit(as_system(model), name, value) for name, value in given.items()}
    if not any(_is_mixed(name, value) for name, value in given.items()):
        return inputs
    system = as_system(model)
    found = dict(given)
    for variable in system.of_kind("input"):
        labels = [variable.label(k) for k in range(variable.size)]
        if labels != [variable.name] and all(label in found for label in labels):
            own = [found[label] for label in labels]
            if any(_is_moving(value) for value in own):
                for label in labels:
                    del found[label]
                found[variable.name] = own
        value = found.get(variable.name)
        if isinstance(value, (list, tuple)) and any(_is_moving(part) for part in value):
            found[variable.name] = _together(system, value)
    return found


def _is_mixed(name: str, value: object) -> bool:
    by_element = split_index(name)[1] is not None
    return _is_moving(value) if by_element else isinstance(value, (list, tuple)) and any(_is_moving(v) for v in value)


def _is_moving(value: object) -> bool:
    """An expression or a function of time; a table has points of its own and stays alone."""
    return isinstance(value, ca.SX) or (callable(value) and not isinstance(value, Signal))


def _together(system: System, parts: Sequence[Any]) -> object:
    """One function where there are only functions and numbers, else one expression."""
    if not any(isinstance(part, ca.SX) for part in parts):
        return lambda t: [part(t) if callable(part) else part for part in parts]
    time = system.symbol("t")
    written = [part(time) if callable(part) and not isinstance(part, ca.SX) else part for part in parts]
    return ca.vertcat(*(ca.SX(np.asarray(v).item()) if isinstance(v, np.ndarray) else ca.SX(v) for v in written))
