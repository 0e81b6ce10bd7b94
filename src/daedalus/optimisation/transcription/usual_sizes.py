"""The usual sizes of states and inputs: what the model says, or else the order of magnitude that the problem shows.

Searches weigh a step in metres against one in radians by these sizes. A nominal value that was written is taken as it
is. Without one, a height that begins at 80 000 is not of size one: its start, end and guess tell that it is of size
10 000, as the bounds of an input do, and conditions on inputs alone, such as |F| <= 80 000. Only powers of ten are
taken, so that ordinary sizes stay one.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements, symbol_key
from daedalus.model.signals import Signal
from daedalus.optimisation.description.conditions import Condition, depends_only_on
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.transcription.boundary.reference_ends import first_guess, fixed_states

# A size that nobody wrote.
UNWRITTEN = 1.0
# Powers of ten that an input is looked at with, where a condition tells how large it is.
ORDERS = 10.0 ** np.arange(1, 13)


def usual_states(description: Description) -> np.ndarray:
    """Sizes of the states of the model, (n,)."""
    system = description.system
    seen = np.abs(first_guess(description))
    for ends in (description.starts, description.ends):
        for k, value in fixed_states(ends).items():
            seen[k] = max(seen[k], abs(value))
    for k, label in enumerate(system.labels["x"]):
        seen[k] = max(seen[k], _largest(description.guesses.get(label)), description.sizes.get(label, 0.0))
    return _sizes(system.nominal["x"], seen)


def usual_inputs(description: Description) -> np.ndarray:
    """Sizes of the inputs of the model, (n,)."""
    system = description.system
    limits = [description.bounds.get(symbol_key(s), (0.0, 0.0)) for s in elements(system.symbol("u"))]
    seen = np.array([max(abs(low), abs(high)) for low, high in limits])
    unbounded = ~np.isfinite(seen) | (seen == 0.0)
    seen[unbounded] = _limited_by_conditions(description)[unbounded]
    for k, label in enumerate(system.labels["u"]):
        shown = max(_largest(description.guesses.get(label)), description.sizes.get(label, 0.0))
        seen[k] = max(seen[k] if np.isfinite(seen[k]) else 0.0, shown)
    return _sizes(system.nominal["u"], seen)


def _limited_by_conditions(description: Description) -> np.ndarray:
    """The largest order of magnitude that conditions on inputs alone leave to each input, (n,); 0 where none speaks."""
    system = description.system
    symbols = system.symbols(("u", "p"))
    found = np.full(symbols[0].numel(), np.inf)
    for condition in description.conditions:
        if condition.at not in ("all", "nodes") or not depends_only_on(condition.expression, symbols):
            continue
        function = ca.Function("limited", symbols, [condition.expression])

        def beyond(u: np.ndarray, condition: Condition = condition, function: ca.Function = function) -> np.ndarray:
            """Which bounds are passed at an input."""
            value = np.asarray(function(u, description.parameters)).ravel()
            return np.concatenate([value > condition.upper, value < condition.lower])

        rest = beyond(np.zeros(len(found)))
        for k, axis in enumerate(np.eye(len(found))):
            passed = [bool(np.any(beyond(size * axis) & beyond(-size * axis) & ~rest)) for size in ORDERS]
            if any(passed):
                found[k] = min(found[k], ORDERS[passed.index(True)] / 10.0)
    return np.where(np.isfinite(found), found, 0.0)


def _largest(guess: object) -> float:
    """The largest number of a guess; functions of time are not looked at."""
    values = guess.values if isinstance(guess, Signal) else guess
    if values is None or callable(values):
        return 0.0
    size = np.abs(np.asarray(values, dtype=float)).max(initial=0.0)
    return float(size) if np.isfinite(size) else 0.0


def _sizes(written: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Written sizes, and orders of magnitude above one where none was written.

    Example
    -------
    >>> import numpy as np
    >>> _sizes(np.array([1.0, 1.0, 1.0, 50.0]), np.array([0.2, 8.0, 80_000.0, 1.0])).tolist()
    [1.0, 1.0, 10000.0, 50.0]
    """
    orders = 10.0 ** np.floor(np.log10(np.maximum(seen, 1.0)))
    return np.where(written == UNWRITTEN, orders, written)
