"""Derivatives of states of parts that connections took away: they stay readable beside the values themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import casadi as ca

from daedalus.model.expressions import concatenate, symbol_key
from daedalus.model.names import derivative_name
from daedalus.model.system.freeze import highest_orders

if TYPE_CHECKING:
    from daedalus.model.doors.inner_parts import PartDoor


def name_derivatives(book: PartDoor, flat: PartDoor, values: Mapping[int, ca.SX]) -> None:
    """Write outputs for derivatives of states that are gone, as far as the flat model determines them.

    values: what stands for a symbol that is gone, by its key.
    """
    states = [v for v in flat._variables.values() if v.kind == "state"]
    residual = concatenate(e.residual for e in flat._all_equations().values())
    orders = highest_orders(flat, states, residual)
    for state in book._variables.values():
        if state.kind != "state" or state.shape != () or state.name in flat._variables:
            continue
        other = flat._variables.get(flat._aliases.get(state.name, ""))
        if other is not None and other.kind == "state":
            continue  # derivatives of another name of a state are found behind it
        value = values.get(symbol_key(book._symbols[state.name]))
        for order in range(1, max(1, len(book._derivatives.get(state.name, ()))) + 1):
            value = None if value is None else _rate(flat, orders, value)
            if value is None:
                break
            flat._outputs[derivative_name(state.name, order)] = value


def _rate(flat: PartDoor, orders: Mapping[str, tuple[int, ...]], value: ca.SX) -> ca.SX | None:
    """The time derivative of an expression; None where nothing in the flat model determines it."""
    total = ca.SX(0)
    for symbol in ca.symvar(value):
        name, k, order = flat._known.get(symbol_key(symbol), ("", 0, 0))
        kind = "time" if name == "t" else flat._variables[name].kind if name in flat._variables else ""
        if kind in ("parameter", "discrete"):
            continue
        if kind == "time":
            total += ca.jacobian(value, symbol)
        elif kind == "state" and order < orders[name][k]:
            total += ca.jacobian(value, symbol) * flat._derivative_scalar(name, k, order + 1)
        else:
            return None
    return ca.densify(total)
