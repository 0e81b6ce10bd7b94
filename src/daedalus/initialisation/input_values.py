"""Inputs at the start, with as many of their time derivatives as the differentiated equations contain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import agree
from daedalus.algebra.rank_decision import SAME_FORMULA
from daedalus.errors import InputError
from daedalus.model.input_rates import expressions_with_rates, system_rates
from daedalus.model.names import listed, split_derivative, split_index
from daedalus.model.plain_numbers import result_at
from daedalus.model.signals import Signal, SignalInUnits
from daedalus.model.system.closed_loop import closed_loop
from daedalus.model.system.named_vectors import Place
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, flat_values, wrong_kind

# Distance of the points that a function of time is differentiated over when it cannot be read as an expression.
STEP = 1e-3


def without_expressions(system: System, inputs: object) -> tuple[System, dict[str, object]]:
    """The system with expressions of its symbols put in for inputs, and the inputs that are left."""
    given = dict(check_mapping(inputs, "inputs"))
    loops = {name: value for name, value in given.items() if isinstance(value, ca.SX) and not value.is_constant()}
    if not loops:
        return system, given
    loops = expressions_with_rates(system, loops)
    for name, value in loops.items():
        place = system.place(name)
        if place.letter != "u":
            raise wrong_kind(system, name, place, "an input")
        if value.numel() != len(place.positions):
            raise InputError(
                f"The expression for input {name} has the wrong shape.",
                f"{value.numel()} entries where {name} has {len(place.positions)}",
            )
    closed = closed_loop(system, {name: ca.densify(ca.vec(value)) for name, value in loops.items()})
    return closed, {name: value for name, value in given.items() if name not in loops}


def input_jet(system: System, inputs: Mapping[str, object], time: float, order: int, notes: list[str]) -> np.ndarray:
    """u, u', ..., u^(order) at a time, one row each; what is not said is zero.

    Numbers are constant in time, a held table too; a linear one has the slope to the right. Functions of time are
    differentiated. A derivative may be given by name: `{"u": 1.0, "u_dot": 0.5}`. Derivatives that are inputs of the
    model themselves follow from the input unless they are given.
    """
    jet = np.zeros((order + 1, system.sizes["u"]))
    told = np.zeros(system.sizes["u"], dtype=bool)
    for name, rates in system_rates(system).items():
        if name in inputs:
            rows = _derivatives(system.places[name], inputs[name], time, order + len(rates), notes)
            for k, rate in enumerate(rates, 1):
                if rate in system.places and rate not in inputs:
                    positions = system.places[rate].positions
                    told[positions] = True
                    for level, row in enumerate(rows[k : k + order + 1]):
                        jet[level, positions] = row
    for name, given in inputs.items():
        place, own = _place(system, name)
        value = in_their_unit(system, name, given)
        if own:
            if own <= order:
                jet[own, place.positions] = np.array(flat_values(place, value, "value"), dtype=float)
            continue
        told[place.positions] = True
        for k, row in enumerate(_derivatives(place, value, time, order, notes)[: order + 1]):
            jet[k, place.positions] = row
    if not np.all(told):
        names = [system.labels["u"][k] for k in np.flatnonzero(~told)]
        notes.append(f"{listed(names, 6)} had no value: zero is taken")
    return jet


def in_their_unit(system: System, name: str, value: object) -> object:
    """A table of quantities in the unit of the input that it is given for; all else as it is."""
    if not isinstance(value, SignalInUnits):
        return value
    place, own = _place(system, name)
    return value.in_unit(f"({place.unit})/s**{own}" if own else place.unit, name)


def _place(system: System, name: str) -> tuple[Place, int]:
    """The place of an input, and which derivative of it is meant."""
    stem, index = split_index(name)
    origin, own = split_derivative(stem)
    if own and stem not in system.places and origin in system.places and system.places[origin].letter == "u":
        return system.place(origin + name[len(stem) :] if index else origin), own
    place = system.place(name)
    if place.letter != "u":
        raise wrong_kind(system, name, place, "an input")
    return place, 0


def _derivatives(place: Place, value: object, time: float, order: int, notes: list[str]) -> list[np.ndarray]:
    if isinstance(value, Signal):
        return _of_table(place, value, time)
    if callable(value):
        return _of_function(place, value, time, order, notes)
    number = ca.DM(value) if isinstance(value, ca.SX) else value
    return [np.array(flat_values(place, number, "value"), dtype=float)]


def _of_table(place: Place, table: Signal, time: float) -> list[np.ndarray]:
    low, high = table.times[0], table.times[-1]
    if time < low or (not table.covers_later_times and time > high):
        raise InputError(
            f"The signal for input {place.name} does not cover the start.",
            f"the start is at t = {time:g}, the table goes from {low:g} to {high:g}",
            remedy="more points, or another time=",
        )
    found = [table.flat(np.array([time]))[0]]
    while table.order and len(table.times) > 1:
        table = table.derivative()
        found.append(table.flat(np.array([time]))[0])
    return found


def _of_function(
    place: Place, function: Callable[..., Any], time: float, order: int, notes: list[str]
) -> list[np.ndarray]:
    """A function of time: differentiated as an expression where it can be read as one, by differences otherwise."""

    def numbers(t: float) -> np.ndarray:
        given = result_at(function, t, place.name, "a number, or a function of time alone: lambda t: ...")
        return np.array(flat_values(place, given, "value"), dtype=float)

    value = numbers(time)
    if order == 0:
        return [value]
    found = _as_expression(function, value, time, order)
    if found is not None:
        return found
    # A polynomial through points on both sides has the derivatives wanted, to the accuracy of differences.
    points = np.arange(-(order + 1), order + 2)
    samples = np.array([numbers(time + STEP * k) for k in points])
    coefficients = np.linalg.solve(np.vander(points.astype(float), increasing=True), samples)
    scale = np.cumprod([1.0, *range(1, order + 1)]) / STEP ** np.arange(order + 1)
    notes.append(
        f"derivatives of input {place.name} are taken by differences: the function is not an expression of time"
    )
    return [value, *(coefficients[k] * scale[k] for k in range(1, order + 1))]


def _as_expression(function: Callable[..., Any], value: np.ndarray, time: float, order: int) -> list[np.ndarray] | None:
    t = ca.SX.sym("t")
    try:
        result = function(t)
        entries = result if isinstance(result, ca.SX) else ca.vertcat(*np.ravel(np.array(result, dtype=object), "F"))
        expression = ca.densify(ca.vec(ca.SX(entries)))
    except Exception:  # whatever a function written for numbers does with a symbol
        return None
    if expression.numel() == 1 and len(value) > 1:
        expression = ca.repmat(expression, len(value), 1)
    levels = [expression]
    for _ in range(order):
        levels.append(ca.densify(ca.jacobian(levels[-1], t)))
    if expression.numel() != len(value) or any(s.name() != t.name() for level in levels for s in ca.symvar(level)):
        return None
    numbers = [np.asarray(entry.full()).ravel() for entry in ca.Function("u", [t], levels).call([time])]
    same = agree(numbers[0], value, SAME_FORMULA)
    return numbers if same and np.all(np.isfinite(np.concatenate(numbers))) else None
