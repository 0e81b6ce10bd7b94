"""Start values of one form of a model read by another: states by name, also those that stand for a derivative.

A reduction writes derivatives as states, q_rate for q_dot, and what was a state may follow from others. A start, or a
moment of a run, has all of these values by some name, and each form of the model takes its own states from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import InputError
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.guesses import GuessedStart
from daedalus.model.names import element_label, split_derivative, split_index
from daedalus.model.system.equation_row import Role
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, different_starts, flat_values

# Equations that say q' = v, some with a push that vanishes along solutions.
STATE_FOR_RATE = (Role.DERIVATIVE, Role.PUSHED)


def standing_for(system: System, k: int) -> int | None:
    """The state that stands for the derivative of state k, where an equation that a reduction wrote says so."""
    residual, rate = system.residual, system.symbol("xdot")[k]
    pattern = structure_of(system).pattern("xdot")
    within = pattern.row()[pattern.colind(k) : pattern.colind(k + 1)]
    # A constraint that was differentiated on the way may contain the derivative, too.
    found = ([row for row in within if system.rows[row].role is role] for role in (Role.PUSHED, Role.DERIVATIVE))
    rows = next(filter(None, found), [])
    if len(rows) != 1:
        return None
    row = _as_selected(system, residual[rows[0]])
    if system.rows[rows[0]].role is Role.PUSHED:  # the multipliers of the push vanish along solutions
        z = system.symbol("z")
        row = ca.substitute(row, z, ca.SX.zeros(z.shape))
    inside = {symbol_key(symbol) for symbol in ca.symvar(row)} - {symbol_key(rate)}
    if len(inside) != 1:
        return None
    state = _states(system).get(inside.pop())
    if state is None:
        return None
    return state if ca.simplify(ca.substitute(row, rate, system.symbol("x")[state])).is_zero() else None


@remembered
def _states(system: System) -> dict[object, int]:
    """Where each state stands in x, by the key of its symbol."""
    return {symbol_key(symbol): j for j, symbol in enumerate(elements(system.symbol("x")))}


def _as_selected(system: System, row: ca.SX) -> ca.SX:
    """A row in which every state of a choice is integrated: s' - f_s, whatever stands in its place elsewhere."""
    parameters = elements(system.symbol("p"))
    places = {int(k) for choice in system.choices for k in system.place(choice.parameter).positions}
    chosen = [parameters[k] for k in sorted(places)]
    return ca.substitute([row], [ca.vertcat(*chosen)], [ca.SX.zeros(len(chosen))])[0] if chosen else row


@remembered
def derivatives_as_states(system: System) -> dict[str, str]:
    """The states that stand for derivatives, each with the name of the derivative: q_rate -> q_dot.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); q = m.state("q", start=1.0, rate=0.0); m.equation(m.der(m.der(q)), -q)
    >>> derivatives_as_states(dd.to_first_order(m).freeze())
    {'q_rate': 'q_dot'}
    """
    if not system.rows.places(*STATE_FOR_RATE):
        return {}
    own = system.labels["x"]
    found = {}
    for k, rate in enumerate(system.labels["xdot"]):
        if rate not in own and (other := standing_for(system, k)) is not None:
            found[own[other]] = rate
    return found


def states_in(system: System, moment: Any) -> dict[str, float]:
    """The states of a system, by label, that a start or a moment of a run of some form of its model has.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); q = m.state("q", start=1.0, rate=2.0); m.equation(m.der(m.der(q)), -q)
    >>> n = dd.to_first_order(m)
    >>> states_in(n.freeze(), dd.initialise(m)), states_in(m.freeze(), dd.initialise(n))
    ({'q': 1.0, 'q_rate': 2.0}, {'q': 1.0, 'q_dot': 2.0})
    """
    rates, further, found = derivatives_as_states(system), _further_names(system), {}
    for label in system.labels["x"]:
        names = (label, rates.get(label, label), *further.get(label, ()))
        name = next((name for name in names if name in moment), None)
        if name is not None:
            found[label] = float(np.asarray(moment[name]).reshape(()))
    return found


@remembered
def _further_names(system: System) -> dict[str, list[str]]:
    """The further names of states that stand for derivatives, by label: q_rate2 -> q_ddot."""
    found: dict[str, list[str]] = {}
    for name, own in system.aliases.items():
        if split_derivative(split_index(name)[0])[1]:
            place = system.place(own)
            shape = place.shape
            for i, (letter, k) in enumerate(zip(place.letters, place.positions.tolist())):
                label = system.labels[letter][k]
                found.setdefault(label, []).append(element_label(name, shape, i) if shape else name)
    return found


def by_states(system: System, values: object) -> Mapping[str, object]:
    """Values by name with those of derivatives that a state of the system stands for given to that state.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); q = m.state("q", start=1.0, rate=2.0); m.equation(m.der(m.der(q)), -q)
    >>> by_states(dd.to_first_order(m).freeze(), {"q": 0.5, "q_dot": 3.0})
    {'q': 0.5, 'q_rate': 3.0}
    """
    values = without_signs(system, check_mapping(values, "start"))
    rates = {rate: label for label, rate in derivatives_as_states(system).items()}
    stems = {split_index(rate)[0] for rate in rates}
    if not any(split_index(name)[0] in stems for name in values):
        return values
    found: dict[str, object] = {}
    for name, value in values.items():
        if split_index(name)[0] not in stems:
            found[name] = value
            continue
        place = system.place(name)
        numbers = flat_values(place, value, "start value", allow_none=True)
        for letter, k, number in zip(place.letters, place.positions, numbers):
            label = system.labels[letter][int(k)]
            found.setdefault(rates.get(label, label), number)
    return found


@remembered
def negative_states(system: System) -> dict[str, str]:
    """Outputs that are a state with the other sign, each with that state: a capacitor joined the other way round."""
    if not system.aliases:
        return {}
    labels = {symbol_key(symbol): label for symbol, label in zip(elements(system.symbol("x")), system.labels["x"])}
    found = {}
    for name, expression in system.outputs.items():
        if expression.is_scalar() and expression.is_op(ca.OP_NEG) and symbol_key(expression.dep(0)) in labels:
            found[name] = labels[symbol_key(expression.dep(0))]
    return found


def without_signs(system: System, values: Mapping[str, object]) -> Mapping[str, object]:
    """Values by name with those of states with the other sign given to these, and without those of parameters."""
    negative = negative_states(system)
    values = _without_parameters(system, values)
    _check_further_names(system, values, negative)
    if not any(name in negative for name in values):
        return values
    return {
        negative.get(name, name): -value if name in negative and isinstance(value, (int, float)) else value
        for name, value in values.items()
    }


def _without_parameters(system: System, values: Mapping[str, object]) -> Mapping[str, object]:
    """Values by name without those that a parameter gives: a capacitor straight on a source has its voltage."""
    given = {name: own for name in values if (own := system.aliases.get(name)) and system.place(own).letter == "p"}
    for name, own in given.items():
        value, place = values[name], system.place(own)
        usual = system.start["p"][place.positions[0]]
        is_guess = value is None or isinstance(value, GuessedStart)
        if not is_guess and not (isinstance(value, (int, float)) and math.isclose(value, usual, rel_tol=1e-9)):
            raise InputError(
                f"{name} has no start value of its own.",
                f"it is {own}, a parameter: {usual:g} in the model; given {value!r}",
                because="what parts are joined to determines it.",
                remedy=f"leave {name} out of start=, or parameters={{{own!r}: ...}}",
            )
    return {name: value for name, value in values.items() if name not in given} if given else values


def _check_further_names(system: System, values: Mapping[str, object], negative: Mapping[str, str]) -> None:
    """Refuse two values for one state under two of its names, as of capacitors side by side."""
    met: dict[str, tuple[str, float]] = {}
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        try:
            own = float(-value if name in negative else value)
        except OverflowError:  # told where it is read
            continue
        first, before = met.setdefault(negative.get(name, system.aliases.get(name, name)), (name, own))
        if first != name and not math.isclose(before, own, rel_tol=1e-9, abs_tol=1e-300):
            raise different_starts(first, before, name, float(value), name in negative)
