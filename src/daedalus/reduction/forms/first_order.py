"""`dd.to_first_order(m)`: derivatives of higher order become states with names of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca

from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import derivative_name, element_label
from daedalus.model.notebook import declare
from daedalus.model.system.equation_row import Role
from daedalus.model.system.freeze import highest_orders
from daedalus.model.system.system import System
from daedalus.model.variables import Variable
from daedalus.model.written import Equation, WrittenEvent
from daedalus.reduction.rewriting import ReducedModel, read_model, substituted, written_out


def to_first_order(model: Model | System) -> ReducedModel:
    """The model with first derivatives only: `q_dot` becomes the state `q_rate`, `q_ddot` the state `q_rate2`.

    Existing expressions stay valid: `q_dot` still is the derivative of q, and results have `q_ddot`. Equations named
    "rate of q" are q' = q_rate. If only some elements of q have higher derivatives, q_rate is a column of those.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> y = m.state("y", start=1.0, rate=0.5)
    >>> m.equation(m.der(m.der(y)) + 4 * y, name="force")
    >>> n = dd.to_first_order(m)
    >>> n.equations
    {'force': ['y_rate_dot + 4*y = 0'], 'rate of y': ['y_dot - y_rate = 0']}
    >>> n.variables["y_rate"].start
    (0.5,)
    """
    book = read_model(model, "to_first_order")
    book.freeze()
    n = written_out(book)
    n.written.aliases = dict(n.written.aliases)
    states = [v for v in n.written.variables.values() if v.kind == "state"]
    orders = highest_orders(n, states, concatenate(e.residual for e in n.written.equations.values()))
    # Derivative symbol -> what stands for it from now on.
    stands: list[tuple[ca.SX, ca.SX]] = []
    links: list[Equation] = []
    for v in states:
        before = {k: n.written.scalars[v.name, 0][k] for k in range(v.size)}
        name, stand = v.name, dict[int, tuple[str, list[int]]]()
        for order in range(1, max(orders[v.name])):
            chosen = [k for k in range(v.size) if orders[v.name][k] > order]
            last, name = name, _declare_rate(n, v, order, chosen)
            rates = dict(zip(chosen, elements(column(n.written.symbols[name]))))
            stands += [(n.written.derivative_scalar(v.name, k, order), rates[k]) for k in chosen]
            links.append(_link(n, last, [n.der(before[k]) - rates[k] for k in chosen]))
            before = rates
            stand[order] = name, chosen
        n.written.aliases.update(_further_names(v, orders[v.name], stand))
        for k, symbol in before.items():
            if orders[v.name][k] > 1:
                stands.append((n.written.derivative_scalar(v.name, k, orders[v.name][k]), n.der(symbol)))
    if stands:
        substituted(n, *(concatenate(side) for side in zip(*stands)))
        n.written.equations.update((link.name, link) for link in links)
        n.written.events = {e.name: _reset_by_new_names(n, e, stands) for e in n.written.events.values()}
    return n


def _further_names(v: Variable, orders: tuple[int, ...], stand: Mapping[int, tuple[str, list[int]]]) -> dict[str, str]:
    """Names of second and higher derivatives, which are `q_rate2` or `q_rate_dot` now, for results.

    stand: for each order the state that stands for the derivative, and the elements of v that are in it.
    """
    found = {}
    for order in range(2, max(orders) + 1):
        whole = derivative_name(v.name, order)
        for k in (k for k, highest in enumerate(orders) if order <= highest):
            name, chosen = stand[min(order, orders[k] - 1)]
            own = name if order < orders[k] else derivative_name(name, 1)
            if len(chosen) == v.size and len(set(orders)) == 1:
                found[whole] = own
            else:
                shape = v.shape if len(chosen) == v.size else (len(chosen),)
                found[element_label(whole, v.shape, k)] = element_label(own, shape, chosen.index(k))
    return found


def _link(n: ReducedModel, name: str, rows: list[ca.SX]) -> Equation:
    wanted = f"rate of {name}"
    while wanted in n.written.equations:
        wanted += ", again"
    return Equation(wanted, concatenate(rows), role=Role.DERIVATIVE)


def rate_name(n: Model, name: str, order: int) -> str:
    """The name of the variable that stands for a derivative: `q_rate`, `q_rate2`."""
    return n.written.free_name(f"{name}_rate" if order == 1 else f"{name}_rate{order}")


def rate_variable(n: Model, v: Variable, order: int, chosen: list[int], kind: str) -> Variable:
    """A variable for the derivatives of some elements; it has the shape of the whole where all of them are meant."""
    rates = [v.rate[k] for k in chosen] if order == 1 and v.rate else [None] * len(chosen)
    infinite = (float("inf"),) * len(chosen)
    return replace(
        v,
        name=rate_name(n, v.name, order),
        kind=kind,
        shape=v.shape if len(chosen) == v.size else (len(chosen),),
        unit="" if not v.unit else f"{v.unit}/s" if order == 1 else f"{v.unit}/s^{order}",
        start=tuple(rates),
        rate=(None,) * len(chosen),
        nominal=tuple(v.nominal[k] for k in chosen),
        lower=tuple(-bound for bound in infinite),
        upper=infinite,
        guess=(),
    )


def _declare_rate(n: ReducedModel, v: Variable, order: int, chosen: list[int]) -> str:
    variable = rate_variable(n, v, order, chosen, "state")
    declare(n, variable)
    return variable.name


def _reset_by_new_names(n: ReducedModel, event: WrittenEvent, stands: list[tuple[ca.SX, ca.SX]]) -> WrittenEvent:
    """The event with resets of derivatives written as resets of the states that stand for them."""
    new = {symbol_key(old): symbol for old, symbol in stands if symbol_key(symbol) in n.written.known}
    resets: dict[str, ca.SX] = {}
    for target, value in event.resets.items():
        scalars = elements(column(n[target]))
        if not any(symbol_key(s) in new for s in scalars):
            resets[target] = value
            continue
        for scalar, entry in zip(scalars, elements(column(value))):
            name, k, _ = n.written.known[symbol_key(new.get(symbol_key(scalar), scalar))]
            resets[element_label(name, n.written.variables[name].shape, k)] = entry
    return replace(event, resets=resets)
