"""Inputs that are not chosen: numbers at every point, or formulas of time where the duration is unknown."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.signals import Signal
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.unknown import Unknown


def given_values(description: Description, given: tuple[int, ...], times: np.ndarray) -> np.ndarray:
    """Given inputs, by their positions, at times (K,), as (K, number of given inputs)."""
    order = {k: place for place, k in enumerate(given)}
    found = np.zeros((len(times), len(order)))
    for positions, value in description.given_names:
        if positions[0] not in order:
            continue
        columns = [order[k] for k in positions]
        found[:, columns] = _values(description, value, times, len(positions))
    return found


def _values(description: Description, value: object, times: np.ndarray, size: int) -> np.ndarray:
    if isinstance(value, Signal):
        return value.flat(times)
    if isinstance(value, ca.SX):
        function = ca.Function("given", [description.system.symbol("t"), description.system.symbol("p")], [value])
        return np.array([function(t, description.parameters).full().ravel() for t in times])
    if callable(value):
        return np.array(
            [np.broadcast_to(np.asarray(value(float(t)), dtype=float).ravel(order="F"), (size,)) for t in times]
        )
    return np.broadcast_to(np.asarray(value, dtype=float).ravel(order="F"), (len(times), size))


def moving_formula(description: Description, value: object, name: str, always: bool = False) -> ca.SX | None:
    """A given input as a formula of time, for problems whose duration is unknown; None where it does not move."""
    time = description.system.symbol("t")
    open_ = isinstance(description.duration, Unknown)
    if not open_ and not always:
        return None
    if isinstance(value, Signal):
        if len(value.times) == 1:
            return None
        if value.coefficients is not None:
            return _curved(time, value)
        steps = ca.pw_lin if value.kind == "linear" else _held
        return ca.vertcat(*(steps(time, ca.DM(value.times), ca.DM(column)) for column in value.values.T))
    formula, reason = written_formula(description, value)
    if formula is None and reason and open_:
        raise InputError(
            f"The given input {name} cannot be written as a formula of time.",
            reason,
            because="the duration is unknown, and so are the times at which the input is evaluated.",
            remedy="a function made of NumPy's elementwise functions, or dd.signal(times, values)",
        )
    return formula


def written_formula(description: Description, value: object) -> tuple[ca.SX | None, str]:
    """A given expression, or what is traced of a function; None where it has no formula, and of a function why."""
    if isinstance(value, ca.SX) or not callable(value) or isinstance(value, Signal):
        return (value, "") if isinstance(value, ca.SX) else (None, "")
    from daedalus.tracing.trace import trace_signal

    times = (description.begin, description.begin + 0.4 * description.expected_duration)
    size = next(len(positions) for positions, own in description.given_names if own is value)
    return trace_signal(value, description.system.symbol("t"), size, times)


def _curved(time: ca.SX, table: Signal) -> ca.SX:
    """A spline as a formula: the polynomial of the piece that a time lies in."""
    assert table.coefficients is not None
    breaks = ca.DM(table.times[:-1])
    shift = time - _held(time, breaks, breaks)
    columns = []
    for rows in np.moveaxis(table.coefficients, 2, 0):
        total = ca.SX(0)
        for k in range(table.order, -1, -1):
            total = total * shift + _held(time, breaks, ca.DM(rows[:, k]))
        columns.append(total)
    return ca.vertcat(*columns)


def _held(time: ca.SX, times: ca.DM, values: ca.DM) -> ca.SX:
    return ca.pw_const(time, times[1:], values)
