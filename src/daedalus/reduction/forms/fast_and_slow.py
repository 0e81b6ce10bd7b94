"""A model with a small parameter ε at some derivatives, taken apart: its ε = 0 limit and the motion of its fast part.

    x' = f(t, x, z, ε),    ε z' = g(t, x, z, ε)

In the limit 0 = g(t, x, z, 0) gives the fast variables z. In the stretched time τ = (t - t0)/ε the slow ones rest and
dz/dτ = g(t0, x0, z, 0). Neither form has to be written: with F(t, x', z', x, z, ε) = 0 linear in z', z' enters the
stretched equations through ∂²F/∂z'∂ε at ε = 0, which is the limit of (∂F/∂z')/ε.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError, ModelError
from daedalus.model.expressions import at_values, concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean, with_article
from daedalus.model.notebook import declare
from daedalus.model.system.equation_row import Role
from daedalus.model.variables import Variable
from daedalus.model.written import Equation
from daedalus.reduction.forms.first_order import rate_variable
from daedalus.reduction.forms.linearity import is_linear
from daedalus.reduction.rewriting import ReducedModel, equation_rows, rewritten, scalar_rows, substituted, write_rows

Entry = tuple[str, int]


@dataclass(frozen=True, eq=False)
class FastAndSlow:
    """Which scalars are fast and which slow, with the equations they obey.

    book: the model in first order. rows: its equations at ε = 0. stretched: the same with the derivative of every fast
    variable taken in the stretched time.
    """

    book: ReducedModel
    parameter: str
    fast: tuple[Entry, ...]
    slow: tuple[Entry, ...]
    rows: ca.SX
    stretched: ca.SX

    def __reduce__(self) -> tuple[Any, ...]:
        return fast_and_slow, (self.book, self.parameter)

    def names(self, entries: tuple[Entry, ...]) -> list[str]:
        """The names of some scalars."""
        return [self.book.written.variables[name].label(k) for name, k in entries]

    def limit(self, root: dict[Entry, float]) -> ReducedModel:
        """The model at ε = 0; fast variables are algebraic, with `root` as their start."""
        variables: dict[str, Variable | None] = {self.parameter: None}
        for name in {name for name, _ in self.fast}:
            old = self.book.written.variables[name]
            start = tuple(root.get((name, k), value) for k, value in enumerate(old.start))
            whole = all((name, k) in root for k in range(old.size))
            variables[name] = replace(old, kind="algebraic" if whole else "state", start=start)
        n = rewritten(self.book, variables)
        write_rows(n, equation_rows(self.book), elements(self.rows))
        substituted(n, self.book.written.symbols[self.parameter], ca.SX(0))
        return n

    def layer(self, time: float | None) -> ReducedModel:
        """The fast motion in the stretched time, slow variables at rest; at a fixed `time` of the model or at any."""
        n = rewritten(self.book, {self.parameter: None})
        n.name = f"{self.book.name}, boundary layer"
        n.written.outputs, n.written.events, n.written.invariants, n._kept = {}, {}, {}, {}
        write_rows(n, equation_rows(self.book), elements(self.stretched))
        for name in dict.fromkeys(name for name, _ in self.slow):
            own = [k for slow, k in self.slow if slow == name]
            rates = [n.written.derivative_scalar(name, k, 1) for k in own]
            stand = declare(n, rate_variable(n, n.written.variables[name], 1, own, "algebraic"))
            substituted(n, concatenate(rates), ca.vec(stand))
            n.written.equations[f"rest of {name}"] = Equation(f"rest of {name}", concatenate(rates), role=Role.HELD)
        if time is not None:
            substituted(n, n.written.time, ca.SX(time))
        return n


def fast_and_slow(book: ReducedModel, parameter: str) -> FastAndSlow:
    """Take a model in first order apart by a parameter that tends to zero; refuses models that are not of that form."""
    epsilon = _small_parameter(book, parameter)
    states = [(v.name, k) for v in book.written.variables.values() if v.kind == "state" for k in range(v.size)]
    rates = concatenate(book.written.derivative_scalar(name, k, 1) for name, k in states)
    residual = concatenate(scalar_rows(book))
    rows = ca.densify(ca.substitute(residual, epsilon, ca.SX(0)))
    _check_finite(book, parameter, residual, rows)
    before, after = (_present(expression, rates) for expression in (residual, rows))
    fast = [j for j in range(len(states)) if before[j] and not after[j]]
    if not fast:
        raise ModelError(
            f"{parameter} = 0 does not turn a derivative off.",
            "derivatives in the equations: "
            + ", ".join(f"{book.written.variables[n].label(k)}_dot" for n, k in states[:6])
            + "; all of them stay",
            because="a singular limit needs a parameter that multiplies the derivatives of the fast variables.",
            remedy=f"m.equation({parameter} * m.der(z), g), or simulate with {parameter} = 0",
        )
    own = concatenate(rates[j] for j in fast)
    slopes = ca.jacobian(residual, own)
    names = [book.written.variables[states[j][0]].label(states[j][1]) for j in fast]
    if not is_linear(residual, own, slopes):
        raise _not_of_the_form(names, parameter, "a derivative of a fast variable enters nonlinearly")
    count = slopes.shape[0]
    limit = ca.substitute(ca.jacobian(ca.vec(slopes), epsilon), epsilon, ca.SX(0))
    matrix = ca.reshape(ca.densify(limit), count, len(fast))
    sample = _at_random(matrix)
    if not np.all(np.isfinite(sample)) or not np.all(np.any(sample, axis=0)):
        raise _not_of_the_form(names, parameter, f"{parameter} multiplies a derivative in another power than the first")
    stretched = ca.densify(rows + ca.mtimes(matrix, own))
    quick = tuple(states[j] for j in fast)
    slow = tuple(entry for entry in states if entry not in quick)
    return FastAndSlow(book, parameter, quick, slow, rows, stretched)


def _present(expression: ca.SX, rates: ca.SX) -> list[bool]:
    inside = {symbol_key(s) for s in ca.symvar(expression)}
    return [symbol_key(s) in inside for s in elements(rates)]


def _small_parameter(book: Model, name: str) -> ca.SX:
    known = list(book.parameters)
    variable = book.written.variables.get(name)
    if variable is None or variable.kind != "parameter" or variable.size != 1:
        is_one = variable is not None and variable.kind == "parameter"
        kind = "a parameter of several entries" if is_one else with_article(variable.kind) if variable else ""
        raise InputError(
            f"{name!r} is not a small parameter of the model {book.name!r}.",
            f"{name} is {kind}" if kind else f"its parameters are {', '.join(known[:8])}" if known else "it has none",
            because="the limit is taken in one parameter, a number that tends to zero.",
            remedy=did_you_mean(str(name), known) if known else f'{name} = m.parameter("{name}", 0.01)',
        )
    return book.written.symbols[name]


def _check_finite(book: Model, parameter: str, residual: ca.SX, rows: ca.SX) -> None:
    """Refuse equations that are divided by ε."""
    values, near = _at_random(rows).ravel(), _at_random(residual).ravel()
    bad = [row.label for row, a, b in zip(equation_rows(book), values, near) if not np.isfinite(a) and np.isfinite(b)]
    if bad:
        raise ModelError(
            f"The equations have no value at {parameter} = 0.",
            f"divided by {parameter}: {', '.join(bad[:6])}",
            because="the limit is read off the equations as they are written.",
            remedy=f"multiply by {parameter}: m.equation({parameter} * m.der(z), g) in place of "
            f"m.equation(m.der(z), g / {parameter})",
        )


def _at_random(expression: ca.SX) -> np.ndarray:
    draw = np.random.default_rng(1952)
    return at_values(expression, lambda _: draw.uniform(0.4, 1.6)).full()


def _not_of_the_form(names: list[str], parameter: str, fact: str) -> ModelError:
    return ModelError(
        f"The fast part is not of the form {parameter} z' = g(t, x, z).",
        [f"fast: {', '.join(names[:8])}", fact],
        because="the stretched time (t - t0)/epsilon is then not the one of the fast motion.",
        remedy=f"give the factor of the derivatives a parameter of its own, as in mu = {parameter}**2",
    )
