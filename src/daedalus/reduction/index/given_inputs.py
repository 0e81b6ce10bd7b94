"""Inputs given as expressions of time, parameters and states, so that derivatives of them can be taken."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from daedalus.errors import InputError, ModelError
from daedalus.model.expressions import concatenate, symbol_key
from daedalus.model.input_rates import with_rates
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean, times_text
from daedalus.model.notebook import checked_expression
from daedalus.model.signals import Signal, SignalInUnits
from daedalus.reduction.forms.linearity import steps_with
from daedalus.reduction.rewriting import ReducedModel, rewritten, substituted


def smooth_instead(name: str, times: int) -> str:
    """What to give instead of something that has no derivatives: as many filters as there are differentiations."""
    function = f'a smooth function of time, inputs={{"{name}": lambda t: ...}}'
    if times == 1:
        return f"{function}, or a filter, m.equation(T * m.der(y) + y, {name}) with the state y in the place of {name}"
    return f"{function}, or {times} filters T * m.der(y) + y = {name} one behind the other in the place of {name}"


def with_inputs(book: ReducedModel, inputs: Mapping[str, object]) -> ReducedModel:
    """The model with expressions in the place of inputs; each is an output of the same name from then on."""
    if not inputs:
        return book
    given = {name: _expression(book, name, value) for name, value in inputs.items()}
    given = with_rates(book.inputs, given, book.der)
    twin = rewritten(book, dict.fromkeys(given))
    twin.written.equations = dict(book.written.equations)
    old = concatenate(book.written.symbols[name] for name in given)
    substituted(twin, old, concatenate(given.values()))
    twin.written.outputs.update(given)
    return twin


def check_smooth(book: Model, expressions: Mapping[str, object], counts: Mapping[str, int]) -> None:
    """Refuse what jumps or has a kink where it is differentiated: the impulse would be lost without a word."""
    moving = [v.name for v in book.written.variables.values() if v.kind == "state"]
    unknowns = concatenate([book.written.time, *(ca.vec(book.written.symbols[name]) for name in moving)])
    for name in expressions:
        if counts.get(name) and steps_with(_expression(book, name, expressions[name]), unknowns, kinks=True):
            raise InputError(
                f"The input {name} jumps or has a kink, and the model differentiates it {times_text(counts[name])}.",
                "its expression contains a comparison, sign, floor, abs, min or max",
                because="the derivative at a jump is an impulse, at a kink a jump, and neither is in the formula.",
                remedy=smooth_instead(name, counts[name]),
            )


def _expression(book: Model, name: str, value: object) -> ca.SX:
    known = list(book.inputs)
    if name not in known:
        raise InputError(
            f"The model {book.name!r} has no input {name!r}.",
            f"it has {', '.join(known[:8])}" if known else "it has no inputs",
            because="inputs= gives expressions for inputs.",
            remedy=did_you_mean(name, known),
        )
    if isinstance(value, (Signal, SignalInUnits)):
        raise InputError(
            f"The input {name} is a table and cannot be differentiated.",
            f"{value!r}",
            because="a held table jumps and a linear one has kinks: its derivative would be an impulse or a jump.",
            remedy=f"a smooth expression of m.time, or a state {name} with m.equation(m.der({name}), ...)",
        )
    symbol = book.written.symbols[name]
    try:
        if callable(value) and not isinstance(value, ca.SX):
            value = value(book.time)
        expression = checked_expression(book, value, f"The input {name!r}")
    except (ModelError, TypeError, RuntimeError, NotImplementedError) as error:
        raise InputError(
            f"The input {name} is not an expression.",
            str(error).splitlines()[0],
            because="derivatives are taken of expressions of m.time, parameters and states.",
            remedy=f'inputs={{"{name}": casadi.sin(m.time)}}, or a function of the time that CasADi can trace',
        ) from None
    if expression.is_scalar():
        expression = ca.repmat(expression, *symbol.shape)
    inside = {book.written.known[symbol_key(s)][0] for s in ca.symvar(expression)} - {"t"}
    wrong = [n for n in inside if book.written.variables[n].kind not in ("state", "parameter")]
    if expression.shape != symbol.shape or wrong:
        fact = (
            f"it contains {', '.join(wrong)}" if wrong else f"shape {expression.shape} given, {symbol.shape} expected"
        )
        raise InputError(
            f"The expression for the input {name} does not fit.",
            fact,
            because="it takes the place of the input and has a derivative.",
            remedy="an expression of m.time, parameters and states, as many entries as the input has",
        )
    return expression
