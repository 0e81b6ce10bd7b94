"""Inputs given element by element, as a list or by names such as `u[0]`: put together before they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.initialisation.input_values import in_their_unit
from daedalus.model.model import Model, as_system
from daedalus.model.names import split_index
from daedalus.model.signals import Signal, SignalInUnits
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping


def gathered_inputs(model: Model | System, inputs: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The inputs with one expression or function in the place of a list of numbers, expressions and functions.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("carrier")
    >>> x = m.state("x", 2, start=[0.0, 1.0]); u = m.input("u", 2)
    >>> m.equation(m.der(x), u)
    >>> gathered_inputs(m, {"u": [0.0, -x[1]]})
    {'u': SX([0, (-x[1])])}
    >>> tr = dd.simulate(m, 1.0, inputs={"u[0]": lambda t: 2 * t, "u[1]": -x[1]})
    >>> tr["x"][-1].round(6).tolist()
    [1.0, 0.367879]
    """
    given = check_mapping(inputs, "inputs")
    if any(isinstance(value, SignalInUnits) for value in given.values()):
        inputs = given = {name: in_their_unit(as_system(model), name, value) for name, value in given.items()}
    if not any(_is_mixed(name, value) for name, value in given.items()):
        return inputs
    system = as_system(model)
    found = dict(given)
    for variable in system.of_kind("input"):
        labels = [variable.label(k) for k in range(variable.size)]
        if labels != [variable.name] and all(label in found for label in labels):
            own = [found[label] for label in labels]
            if any(_is_moving(value) for value in own):
                for label in labels:
                    del found[label]
                found[variable.name] = own
        value = found.get(variable.name)
        if isinstance(value, (list, tuple)) and any(_is_moving(part) for part in value):
            found[variable.name] = _together(system, value)
    return found


def _is_mixed(name: str, value: object) -> bool:
    by_element = split_index(name)[1] is not None
    return _is_moving(value) if by_element else isinstance(value, (list, tuple)) and any(_is_moving(v) for v in value)


def _is_moving(value: object) -> bool:
    """An expression or a function of time; a table has points of its own and stays alone."""
    return isinstance(value, ca.SX) or (callable(value) and not isinstance(value, Signal))


def _together(system: System, parts: Sequence[Any]) -> object:
    """One function where there are only functions and numbers, else one expression."""
    if not any(isinstance(part, ca.SX) for part in parts):
        return lambda t: [part(t) if callable(part) else part for part in parts]
    time = system.symbol("t")
    written = [part(time) if callable(part) and not isinstance(part, ca.SX) else part for part in parts]
    return ca.vertcat(*(ca.SX(np.asarray(v).item()) if isinstance(v, np.ndarray) else ca.SX(v) for v in written))
