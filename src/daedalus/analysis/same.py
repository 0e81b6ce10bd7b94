"""Whether two models are the same system: their accelerations compared on consistent states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.analysis.points.motion_samples import MovingModel
from daedalus.errors import InputError
from daedalus.model.expressions import column, concatenate
from daedalus.model.mechanics.equations_of_motion import time_derivative
from daedalus.model.model import Model
from daedalus.model.names import derivative_name, did_you_mean
from daedalus.model.notebook import checked_expression
from daedalus.model.reopened import as_model
from daedalus.model.system.system import System


@dataclass(frozen=True)
class Sameness:
    """The result of `dd.same`: true in an `if` when the two models agree.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("m")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> dd.same(m, m.copy()).difference
    0.0
    """

    difference: float
    """largest difference of a derivative, relative to the largest derivative of its sample (or to 1)"""
    worst: str
    """the derivative with that difference, in the second model's names"""
    violation: float
    """how far the mapped states are from the second model's constraints"""
    samples: int
    tolerance: float

    @property
    def same(self) -> bool:
        """Whether both are within the tolerance."""
        return self.difference <= self.tolerance and self.violation <= KNOWN_BY_DIFFERENCES

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        verdict = "The same" if self.same else "Not the same"
        lines = [f"{verdict}: largest difference {self.difference:.3g}, in {self.worst}, over {self.samples} states."]
        if self.violation > KNOWN_BY_DIFFERENCES:
            lines.append(f"The mapped states violate the second model's constraints by {self.violation:.3g}.")
        return "\n".join(lines)

    __repr__ = __str__


def same(
    model_a: Model | System,
    model_b: Model | System,
    samples: int = 20,
    *,
    map: Mapping[str, object] | None = None,
    spread: float = 0.3,
    tolerance: float = 1e-8,
    seed: int = 0,
) -> Sameness:
    """Check whether two models move alike, on random consistent states near the start of the first.

    Consistent states of the first model are transferred to the second, and the derivatives of both models are compared,
    including accelerations. Redundant constraints and different multipliers do not matter. Each model keeps its own
    parameter values; inputs with the same name get the same values.

    Parameters
    ----------
    model_a, model_b: models of any kind. Pass a model whose constraints are plain equations as the second.
    samples: how many states.
    map: for states and inputs of the second model, a name of the first or an expression in its symbols. Rates and
        velocities of bodies are derived from these. Equal names need no entry.
    spread: how far from the start, in nominal sizes.
    tolerance: the largest relative difference that counts as equal.
    seed: of the random states.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> by_angle = dd.Model("angle")
    >>> a = by_angle.coordinate("a", start=0.5, rate=0.0)
    >>> by_angle.kinetic_energy(0.5 * by_angle.rate(a) ** 2)
    >>> by_angle.potential_energy(-9.81 * ca.cos(a))
    >>> by_rod = dd.Model("rod")
    >>> q = by_rod.coordinate("q", 2)
    >>> by_rod.kinetic_energy(0.5 * ca.sumsqr(by_rod.rate(q)))
    >>> by_rod.potential_energy(9.81 * q[1])
    >>> rod = by_rod.constraint("rod", ca.sumsqr(q) - 1)
    >>> bool(dd.same(by_angle, by_rod, map={"q": ca.vertcat(ca.sin(a), -ca.cos(a))}))
    True
    """
    first, second = MovingModel(as_model(model_a)), MovingModel(as_model(model_b))
    carry = _carry(first, second, dict(map or {}))
    random = np.random.default_rng(seed)
    found = [_compare(first, second, carry, random, spread) for _ in range(samples)]
    difference, worst, _ = max(found)
    return Sameness(difference, worst, max(violation for _, _, violation in found), samples, tolerance)


def _compare(
    first: MovingModel, second: MovingModel, carry: ca.Function, random: np.random.Generator, spread: float
) -> tuple[float, str, float]:
    """One sample: the largest relative difference, where it is, and the violation of constraints."""
    t = float(random.uniform())
    u = random.standard_normal(first.system.sizes["u"])
    x = first.sample(random, spread, t, u)
    other, rate, inputs = (part.full().ravel() for part in carry(t, x, first.derivative(t, x, u), u, first.parameters))
    gap = np.abs(second.derivative(t, other, inputs) - rate) / max(1.0, np.max(np.abs(rate), initial=0.0))
    worst = int(np.argmax(gap))
    size = float(gap[worst]) if np.isfinite(gap[worst]) else float("inf")
    return size, second.system.labels["xdot"][worst], second.violation(t, other, inputs)


def _carry(first: MovingModel, second: MovingModel, given: dict[str, object]) -> ca.Function:
    """(t, x, x', u, p) of the first model -> x, x' and u of the second."""
    b = second.system
    known = {v.name for v in b.variables if v.kind in ("state", "input")} | set(b.places)
    for name in given:
        if name not in known:
            raise InputError(
                f"The second model has no state or input {name!r}.",
                f"it has {', '.join(sorted(known)[:8])}",
                because="map= gives the states of the second model in terms of the first.",
                remedy=did_you_mean(name, known),
            )
    states = [column(_expression(first, second, given, name, order))[k] for name, k, order in b.entries]
    x = concatenate(ca.SX(s) for s in states)
    t, x_a, rates, u, p = first.system.symbols(("t", "x", "xdot", "u", "p"))
    moving = ca.jtimes(x, ca.vertcat(t, x_a), ca.vertcat(1, rates))
    inputs = concatenate(_input(first, given, v.name, v.size) for v in b.of_kind("input"))
    own = ca.symvar(ca.vertcat(x, inputs))
    strange = {s.name() for s in own} - {s.name() for s in ca.symvar(ca.vertcat(t, x_a, u, p))}
    if strange:
        raise InputError(
            f"The map does not give {', '.join(sorted(strange)[:4])} as a function of states.",
            "rates of the second model would need second derivatives of the first, which are not states there",
            because="only states, inputs, parameters and the time of the first model may appear.",
            remedy="an entry of map= for the rates, or the models the other way round",
        )
    return ca.Function("carry", [t, x_a, rates, u, p], [x, ca.densify(moving), inputs])


def _expression(first: MovingModel, second: MovingModel, given: dict[str, object], state: str, order: int) -> ca.SX:
    """A derivative of a state of the second model in the symbols of the first: mapped, of equal name, or a rate."""
    a, name = first.model, derivative_name(state, order)
    if name in given:
        value = given[name]
        expression = a[value] if isinstance(value, str) else checked_expression(a, value, f"The map of {name!r}")
        if expression.numel() != second.system.place(name).positions.size:
            raise InputError(
                f"The map of {name!r} has the wrong size.",
                f"{expression.numel()} entries, wanted {second.system.place(name).positions.size}",
                remedy="one entry for each element, column-major",
            )
        return expression
    if name in first.system.places and first.system.place(name).letter == "x":
        return a[name]
    if order:
        return time_derivative(a, a.written.mechanics, _expression(first, second, given, state, order - 1))
    for velocity in second.model.written.mechanics.velocities.values():
        if velocity.velocity == name:
            place = _expression(first, second, given, velocity.position, 0)
            return _velocity(second, velocity.position, place, time_derivative(a, a.written.mechanics, place))
    raise InputError(
        f"{name!r} of the second model has no counterpart in the first.",
        f"states of the first: {', '.join([v.name for v in first.system.of_kind('state')][:8])}",
        because="the first model has no state of that name.",
        remedy=f"map={{{name!r}: expression in the symbols of the first model}}",
    )


def _velocity(second: MovingModel, position: str, place: ca.SX, rate: ca.SX) -> ca.SX:
    """The velocity v of a body with position' = N(position) v, the smallest where there is a choice."""
    velocity, book = second.model.written.mechanics.velocities[position], second.model
    matrix = ca.jacobian(column(velocity.rate), book.written.symbols[velocity.velocity])
    matrix = ca.substitute(
        ca.densify(matrix), book.written.symbols[position], ca.reshape(place, *book.written.symbols[position].shape)
    )
    return ca.densify(ca.solve(matrix.T @ matrix, matrix.T @ column(rate)))


def _input(first: MovingModel, given: dict[str, object], name: str, size: int) -> ca.SX:
    a = first.model
    if name in given:
        value = given[name]
        return a[value] if isinstance(value, str) else checked_expression(a, value, f"The map of {name!r}")
    shared = name in a.inputs and a.inputs[name].size == size
    return a[name] if shared else ca.SX.zeros(size)
