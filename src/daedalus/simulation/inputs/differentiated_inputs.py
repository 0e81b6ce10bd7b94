"""Inputs that a model differentiates: their derivatives are taken from expressions and traced functions of time.

A constraint with an input in it, x = u(t), asks for u' and often u'' before the model can be run. Numbers, expressions
in the model's symbols and Python functions that can be traced have such derivatives; a table has none, and neither has
a function that jumps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.model import Model, as_system
from daedalus.model.names import split_index
from daedalus.model.reopened import as_model
from daedalus.model.signals import Signal
from daedalus.model.system.closed_loop import MOST_LOOPS
from daedalus.model.system.equal_expressions import EqualExpressions
from daedalus.model.system.equation_row import times_text
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.index.derivative_inputs import derivative_input_names
from daedalus.reduction.index.differentiate import DifferentiatedInputError
from daedalus.reduction.index.given_inputs import check_smooth, smooth_instead
from daedalus.reduction.reduce import reduced_with
from daedalus.simulation.inputs.read_inputs import input_place, traced_input
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
    smooth = {name: _with_derivatives(model, name, values, span, error) for name in error.needed}
    rest = {name: value for name, value in values.items() if name not in smooth}
    return _reduced(model, smooth), rest


def with_input_derivatives(
    model: Model | System, inputs: Mapping[str, object] | None, span: tuple[float, float]
) -> Mapping[str, object] | None:
    """The inputs of a run; a model that was reduced with derivatives among its inputs gets them from the others.

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
    values: dict[str, object] | None = None
    derivatives = derivative_input_names(as_system(model))
    model = as_model(model) if derivatives else model
    for name, names in derivatives.items():
        assert isinstance(model, Model)
        own = [n for n in names if n in model._variables]
        given = {} if inputs is None else check_mapping(inputs, "inputs")
        if all(n in given for n in own):
            continue
        values = dict(given) if values is None else values
        error = _needed(name, len(names))
        expression = ca.SX(_with_derivatives(model, name, values, span, error))
        values[name] = expression
        check_smooth(model, {name: expression}, {name: len(names)})
        moving = [v.name for v in model._variables.values() if v.kind != "parameter"]
        times = times_text(len(names))
        if ca.depends_on(expression, concatenate(ca.vec(model._symbols[n]) for n in moving)):
            raise InputError(
                f"The input {name} depends on variables of the model, which differentiates it {times}.",
                because="its derivatives would have to be taken along the motion, before the model was reduced.",
                remedy=f'dd.simulate of the model as it was, or dd.reduce(m, inputs={{"{name}": ...}})',
            )
        for n in names:
            expression = ca.jacobian(ca.vec(expression), model._time)
            if n in own:
                values[n] = ca.densify(ca.reshape(expression, *model._symbols[n].shape))
    return inputs if values is None else values


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
    if isinstance(value, Signal):
        held = value.kind == "hold"
        raise InputError(
            f"The input {name} is a {'held' if held else 'linear'} table, and the model differentiates it {times}.",
            [f"{value!r}", *error.facts[:1]],
            because="each step of the table would become an impulse."
            if held
            else "at each point of the table the slope jumps: the first derivative jumps and the second is an impulse.",
            remedy=smooth_instead(name, error.needed[name]),
        )
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
        return ca.reshape(expression, *model._symbols[name].shape)
    return model._expression(value, f"The input {name!r}")


def _reduced(model: Model, smooth: dict[str, ca.SX]) -> System:
    """The reduced system with expressions in the place of inputs; equal expressions are put in once."""
    return once(as_system(model), _put_in, model, EqualExpressions(smooth), most=MOST_LOOPS)


def _put_in(system: System, model: Model, smooth: EqualExpressions) -> System:
    return reduced_with(model, smooth.by_name).freeze()
