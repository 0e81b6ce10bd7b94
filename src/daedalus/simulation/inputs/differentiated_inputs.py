"""Inputs that a model differentiates: derivatives are taken of expressions, traced functions of time and tables.

A constraint with an input in it, x = u(t), asks for u' and often u'' before the model can be run, and `m.der(u)` for u'
in so many words. Numbers, expressions in the model's symbols and Python functions that can be traced have such
derivatives, tables as many as their order; a function that jumps has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.input_rates import expression_rate, no_rate, rates_of, system_rates
from daedalus.model.model import Model, as_system
from daedalus.model.names import derivative_name, split_index, times_text
from daedalus.model.notebook import checked_expression
from daedalus.model.reopened import as_model
from daedalus.model.signals import Signal
from daedalus.model.system.closed_loop import MOST_LOOPS
from daedalus.model.system.equal_expressions import EqualExpressions
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.index.derivative_inputs import with_derivative_inputs
from daedalus.reduction.index.differentiate import DifferentiatedInputError
from daedalus.reduction.index.given_inputs import check_smooth, smooth_instead
from daedalus.reduction.reduce import reduced_with
from daedalus.reduction.reduction_record import Reduction
from daedalus.simulation.inputs.read_inputs import input_place, traced_input
from daedalus.simulation.inputs.table_rates import table_rates
from daedalus.simulation.plant.solvable import solvable


def driven_system(
    model: Model | System, inputs: Mapping[str, object] | None, span: tuple[float, float]
) -> tuple[System | NoForm, Mapping[str, object]]:
    """The system that is run for a model, and the inputs that are left: those that it differentiates are put in.

    Where x' and z follow from nonlinear equations there is none, which is an answer; what no method can run is refused.
    """
    found, left = with_inputs_put_in(model, inputs, span)
    if isinstance(found, NoForm):
        return found, left
    solved = solvable(found)
    return (solved, {} if inputs is None else inputs) if isinstance(solved, NoForm) else (found, left)


def with_inputs_put_in(
    model: Model | System, inputs: Mapping[str, object] | None, span: tuple[float, float]
) -> tuple[System | NoForm, Mapping[str, object]]:
    """The same, where x' and z of a system with inputs put in may follow from nonlinear equations."""
    given = {} if inputs is None else inputs
    found = solvable(model)
    if isinstance(found, System) or isinstance(found.found, SolverError):
        return found, given
    if not isinstance(found.found, DifferentiatedInputError):
        raise found.error
    error, model = found.found, as_model(model)
    values = dict(check_mapping(given, "inputs"))
    for name in values:
        input_place(as_system(model), name)
    tables = {n: v for n, times in error.needed.items() if isinstance(v := values.get(n), Signal)}
    smooth = {name: _with_derivatives(model, name, values, span, error) for name in error.needed if name not in tables}
    rates = rates_of([v.name for v in as_system(model).of_kind("input")])
    gone = {rate for name in error.needed for rate in (name, *rates.get(name, ()))}
    rest = {name: value for name, value in values.items() if name not in gone}
    for name, table in tables.items():
        times = error.needed[name]
        levels = [table, *table_rates(name, table, times, span, error.facts[:1])]
        rest.update(zip((derivative_name(name, k) for k in range(times + 1)), levels))
    return _reduced(model, smooth, {name: error.needed[name] for name in tables}), rest


def with_input_derivatives(
    model: Model | System, inputs: Mapping[str, object] | None, span: tuple[float, float]
) -> Mapping[str, object] | None:
    """The inputs of a run; a model that takes derivatives of inputs gets them from what is given for the inputs.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("follower")
    >>> x = m.state("x"); force = m.algebraic("force"); u = m.input("u")
    >>> m.equation(m.der(m.der(x)), force); m.equation(x, u)
    >>> n = dd.reduce(m)
    >>> sorted(with_input_derivatives(n, {"u": ca.sin(m.time)}, (0.0, 1.0)))
    ['u', 'u_ddot', 'u_dot']
    """
    system = as_system(model)
    derivatives = system_rates(system)
    if not derivatives:
        return inputs
    values = dict(check_mapping(inputs, "inputs"))
    for name, names in derivatives.items():
        missing = [n for n in names if n in system.places and n not in values]
        if missing:
            levels = _levels(as_model(model), name, len(names), values, span)
            values[name] = levels[0]
            values.update({n: level for n, level in zip(names, levels[1:]) if n in missing})
    return values


def _levels(
    model: Model, name: str, times: int, values: Mapping[str, object], span: tuple[float, float]
) -> list[object]:
    """An input and its derivatives up to an order."""
    value, system, error = values.get(name), as_system(model), _needed(name, times)
    if isinstance(value, Signal):
        return [value, *table_rates(name, value, times, span)]
    expression = ca.SX(_with_derivatives(model, name, values, span, error))
    if expression.is_scalar() and system.places[name].shape != ():
        expression = ca.repmat(expression, *model.written.symbols[name].shape)
    if expression.is_constant():
        return [value, *[0.0] * times]
    check_smooth(model, {name: expression}, {name: times})
    moving = concatenate(system.symbols(("x", "xdot", "z", "u")))
    if system.part(Reduction) is not None and ca.depends_on(expression, moving):
        raise InputError(
            f"The input {name} depends on variables of the model, which differentiates it {times_text(times)}.",
            because="its derivatives would have to be taken along the motion, before the model was reduced.",
            remedy=f'dd.simulate of the model as it was, or dd.reduce(m, inputs={{"{name}": ...}})',
        )
    found = [expression]
    for order in range(1, times + 1):
        rate = expression_rate(system, found[-1])
        if rate is None:
            raise no_rate(name, order)
        found.append(rate)
    return list(found)


def _needed(name: str, times: int) -> DifferentiatedInputError:
    error = DifferentiatedInputError(f"The input {name} is differentiated {times_text(times)}.", [])
    error.needed = {name: times}
    return error


def _with_derivatives(
    model: Model, name: str, values: Mapping[str, object], span: tuple[float, float], error: DifferentiatedInputError
) -> ca.SX:
    """The expression of an input that is differentiated; refuses what has no derivatives."""
    times = times_text(error.needed[name])
    if name not in values:
        elements = [key for key in values if split_index(key)[0] == name]
        raise InputError(
            f"The input {name} is differentiated {times} and has no value as a whole.",
            [*error.facts[:1], *([f"given: {', '.join(elements[:4])}"] if elements else [])],
            because="its derivatives are taken from the expression or function that is given for it.",
            remedy=smooth_instead(name, error.needed[name]),
        )
    value: Any = values[name]
    system = as_system(model)
    if callable(value) and not isinstance(value, ca.SX):
        expression, reason = traced_input(system, system.place(name), value, span)
        if expression is None:
            raise InputError(
                f"The function for input {name} cannot be differentiated, and the model needs that {times}.",
                [reason, *error.facts[:1]],
                because="derivatives are taken of the formula of a function, and this one could not be read as one.",
                remedy=smooth_instead(name, error.needed[name]),
            )
        return ca.reshape(expression, *model.written.symbols[name].shape)
    return checked_expression(model, value, f"The input {name!r}")


def _reduced(model: Model, smooth: dict[str, ca.SX], tables: Mapping[str, int]) -> System:
    """The reduced system with expressions in the place of inputs; equal expressions are put in once.

    tables: inputs that stay open with their derivatives, and how often each is differentiated.
    """
    return once(as_system(model), _put_in, model, EqualExpressions(smooth), tuple(tables.items()), most=MOST_LOOPS)


def _put_in(system: System, model: Model, smooth: EqualExpressions, tables: tuple[tuple[str, int], ...]) -> System:
    given = smooth.by_name
    if not tables:
        return reduced_with(model, given).freeze()
    return with_derivative_inputs(
        model, dict(tables), lambda twin, polynomials: reduced_with(twin, {**given, **polynomials})
    ).freeze()
