"""Derivatives of inputs, `m.der(u)`: inputs `u_dot`, `u_ddot`, ... that a run fills from what is given for u.

A signal that leads to an input of a part is differentiated for the derivatives of that input too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import concatenate, elements
from daedalus.model.names import derivative_name, split_derivative
from daedalus.model.unit_labels import rate_unit
from daedalus.model.variables import Variable

if TYPE_CHECKING:
    from daedalus.model.notebook import Notebook
    from daedalus.model.system.system import System

Differentiate = Callable[[ca.SX], ca.SX]


def rates_of(inputs: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Which inputs are derivatives of which other, up to the highest: {"u": ("u_dot", "u_ddot")}.

    Names that end in _dot are reserved, so an input that has one is such a derivative.

    Example
    -------
    >>> rates_of(["u", "v", "u_ddot"])
    {'u': ('u_dot', 'u_ddot')}
    """
    names = list(inputs)
    known, orders = set(names), dict[str, int]()
    for name in names:
        origin, order = split_derivative(name)
        if order and origin in known:
            orders[origin] = max(order, orders.get(origin, 0))
    return {name: tuple(derivative_name(name, k) for k in range(1, most + 1)) for name, most in orders.items()}


def rate_variable(variable: Variable, order: int) -> Variable:
    """The description of a derivative of an input; bounds of the input do not bound it."""
    nothing = np.full(variable.size, np.inf)
    return replace(
        variable,
        name=derivative_name(variable.name, order),
        unit=rate_unit(variable.unit, order),
        lower=tuple(-nothing),
        upper=tuple(nothing),
    )


def input_rate(book: Notebook, name: str, differentiate: Differentiate) -> str:
    """The name of the derivative of an input, which is declared on first use."""
    origin, order = split_derivative(name)
    if origin not in book.written.variables:
        origin, order = name, 0
    rate = derivative_name(origin, order + 1)
    if rate not in book.written.variables:
        from daedalus.model.written import new_symbol

        variable = rate_variable(book.written.variables[origin], order + 1)
        book._adopt(variable, new_symbol(rate, variable.shape))
        if origin in book.written.assembly.defaults:
            book.written.assembly.defaults[rate] = 0.0
        if origin in book.written.assembly.sources:
            join_rates(book, origin, differentiate)
    return rate


def join_rates(book: Notebook, name: str, differentiate: Differentiate) -> None:
    """Lead the derivatives of a signal to the derivatives of the input that it leads to."""
    signal = book.written.assembly.sources[name]
    # A notebook has all derivatives up to the highest: each is declared on the way to the next.
    orders = itertools.takewhile(lambda k: derivative_name(name, k) in book.written.variables, itertools.count(1))
    for order in orders:
        signal = differentiate(signal)
        book.written.assembly.sources[derivative_name(name, order)] = signal


def with_rates(inputs: Iterable[str], bound: dict[str, ca.SX], differentiate: Differentiate) -> dict[str, ca.SX]:
    """Expressions in the place of inputs, and their derivatives in the place of the derivatives of these."""
    names, found = set(inputs), dict(bound)
    for name, rates in rates_of(names).items():
        if name in bound:
            signal = bound[name]
            for rate in rates:
                signal = differentiate(signal)
                if rate in names:
                    found.setdefault(rate, signal)
    return found


def system_rates(system: System) -> dict[str, tuple[str, ...]]:
    """The same for the inputs of a system."""
    return rates_of([variable.name for variable in system.of_kind("input")])


def expression_rate(system: System, expression: ca.SX) -> ca.SX | None:
    """d/dt of an expression of time, states and parameters along the motion; None where other symbols stand in it."""
    x, xdot = elements(system.symbol("x")), elements(system.symbol("xdot"))
    place = {entry: k for k, entry in enumerate(system.entries)}
    rates = []
    for k, (name, element, order) in enumerate(system.entries):
        above = place.get((name, element, order + 1))
        rates.append(xdot[k] if above is None else x[above])
    others = concatenate([system.symbol("z"), system.symbol("u"), *(xdot[k] for k in range(len(x)))])
    if others.numel() and ca.depends_on(expression, others):
        return None
    along, slopes = concatenate([system.symbol("t"), *x]), concatenate([ca.SX(1), *rates])
    return ca.densify(ca.reshape(ca.jtimes(ca.vec(expression), along, slopes), *expression.shape))


def expressions_with_rates(system: System, given: Mapping[str, ca.SX]) -> dict[str, ca.SX]:
    """Expressions in the place of inputs, with those of the derivatives that the system takes beside these."""
    found = dict(given)
    for name, rates in system_rates(system).items():
        if name not in given:
            continue
        value: ca.SX | None = given[name]
        for order, rate in enumerate(rates, 1):
            value = None if value is None else expression_rate(system, value)
            if rate not in system.places or rate in given:
                continue
            if value is None:
                raise no_rate(name, order)
            found[rate] = value
    return found


def no_rate(name: str, order: int) -> InputError:
    """The error for an expression whose derivative is not an expression of time, states and their rates."""
    return InputError(
        f"The expression for the input {name} has no derivative of order {order} in the symbols of the model.",
        f"the model takes {derivative_name(name, order)}",
        because="derivatives along the motion are known of states alone, as often as the equations contain them.",
        remedy=f"an expression of m.time and parameters, or a state {name} with m.equation(m.der({name}), ...)",
    )


def refuse_rates(system: System, what: str) -> None:
    """Refuse derivatives of inputs where inputs are chosen step by step."""
    for name, rates in system_rates(system).items():
        raise InputError(
            f"{what} takes no derivatives of inputs.",
            f"the model contains {', '.join(rate for rate in rates if rate in system.places)}",
            because=f"{name} may jump from one interval to the next, and its derivative would be an impulse.",
            remedy=f"a state {name} with m.equation(m.der({name}), rate), and rate as the input",
        )
