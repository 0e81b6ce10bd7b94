"""The order that theory gives the states of a model with a method: over a run, and in one step."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import is_singular
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.errors import InputError
from daedalus.integrators.methods import METHODS, choose_method, is_implicit, is_multistep
from daedalus.integrators.tableaux.dae_orders import DaeOrders, dae_orders, orders_of_mixed_states
from daedalus.model.names import did_you_mean
from daedalus.model.system.system import System

# The tolerance that a method is asked for with.
ASKED_RTOL = 1e-13


def expected_order(system: System, method: Any, step: float) -> int:
    """The order of the states over a run, which the index of the model may lower.

    A name or tableau that `simulate` would refuse is refused here.

    Example
    -------
    >>> from daedalus import catalogue
    >>> expected_order(catalogue.load("pendulum_3d").model.freeze(), "radau5", 0.1)
    3
    """
    found = _orders(system, method, step)
    if isinstance(found, int):
        return found
    if found.index == 1 and _mixes_states(system):
        return orders_of_mixed_states(method)[0]
    kinds = list(found.orders.values()) if found.orders else []
    return min(kinds[k - 1] for k in _indices(system) if k <= len(kinds))


def expected_step_order(system: System, method: Any, step: float) -> int:
    """The order of the error that one step makes in the states.

    What is integrated gets one more order in a step than over a run. What follows from differentiated constraints, the
    velocities at index 3, gets its error anew in every step: the order is the same.

    Example
    -------
    >>> from daedalus import catalogue
    >>> system = catalogue.load("pendulum_3d").model.freeze()
    >>> expected_step_order(system, "radau5", 0.1), expected_step_order(system, "rk4", 0.1)
    (3, 5)
    """
    found = _orders(system, method, step)
    if isinstance(found, int):
        return found + 1
    if found.index == 1 and _mixes_states(system):
        return orders_of_mixed_states(method)[1]
    kinds = list(found.orders.values()) if found.orders else []
    return min(kinds[k - 1] + (k == 1) for k in _indices(system) if k <= len(kinds))


def _orders(system: System, method: Any, step: float) -> DaeOrders | int:
    """The orders by index of a variable, or one for all."""
    if method == "auto":
        raise InputError(
            "The order is measured for one method at a time.",
            'method = "auto"',
            because='"auto" chooses among methods of different orders.',
            remedy=did_you_mean("auto", METHODS, listed=False),
        )
    if is_multistep(method):
        return int(method.order)
    choose_method(method, ASKED_RTOL, step)
    whole = METHODS[method].order if isinstance(method, str) else int(method.order)
    if not is_implicit(method) or (isinstance(method, str) and METHODS[method].family not in ("radau", "tableau")):
        return whole
    found = dae_orders(method, min(variable_index(system).largest, 3))
    return whole if found.orders is None else found


def _indices(system: System) -> set[int]:
    """The indices of the states: of positions 1, of velocities 2."""
    return {int(k) for k in variable_index(system).index[: system.sizes["x"]]}


def _mixes_states(system: System) -> bool:
    """Whether combinations of the states have no derivative: dF/dx' is singular at a random place."""
    random, letters = np.random.default_rng(1), ("t", "xdot", "x", "z", "u", "p")
    symbols = system.symbols(letters)
    leading = ca.Function("leading", symbols, [ca.jacobian(system.residual, system.symbol("xdot"))])
    values = [random.uniform(0.5, 1.5, symbol.shape) for symbol in symbols[:-1]]
    found = leading(*values, np.where(np.isfinite(system.start["p"]), system.start["p"], 1.0)).full()
    return bool(np.all(np.isfinite(found)) and is_singular(found))
