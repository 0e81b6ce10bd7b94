"""The usual sizes of states and inputs: what the model says, or else the order of magnitude that the problem shows.

Searches weigh a step in metres against one in radians by these sizes. A nominal value that was written is taken as it
is. Without one, a height that begins at 80 000 is not of size one: its start, end and guess tell that it is of size
10 000, as the bounds of an input do, and conditions on inputs alone, such as |F| <= 80 000. Only powers of ten are
taken, so that ordinary sizes stay one. A number is small where all that limits it says so: a way that begins at 0 m and
ends at 1e-6 m, a force between -1e-9 and 1e-9 N. One that only begins or is guessed small may grow.
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
# Sizes down to this are ordinary, and count as one.
SMALL = 1e-3
# Powers of ten that an input is looked at with, where a condition tells how large it is.
ORDERS = 10.0 ** np.arange(1, 13)


def usual_states(description: Description) -> np.ndarray:
    """Sizes of the states of the model, (n,)."""
    system = description.system
    seen = np.abs(first_guess(description))
    told = np.zeros(len(seen))  # what both ends say, or an earlier search
    both = [fixed_states(ends) for ends in (description.starts, description.ends)]
    for k in both[0].keys() & both[1].keys():
        told[k] = max(abs(values[k]) for values in both)
    for values in both:
        for k, value in values.items():
            seen[k] = max(seen[k], abs(value))
    for k, label in enumerate(system.labels["x"]):
        told[k] = max(told[k], description.sizes.get(label, 0.0))
        seen[k] = max(seen[k], told[k], _largest(description.guesses.get(label)))
    return _sizes(system.nominal["x"], seen, told)


def usual_inputs(description: Description) -> np.ndarray:
    """Sizes of the inputs of the model, (n,)."""
    system = description.system
    limits = [description.bounds.get(symbol_key(s), (0.0, 0.0)) for s in elements(system.symbol("u"))]
    seen = np.array([max(abs(low), abs(high)) for low, high in limits])
    unbounded = ~np.isfinite(seen) | (seen == 0.0)
    seen[unbounded] = _limited_by_conditions(description)[unbounded]
    told = np.where(np.isfinite(seen), seen, 0.0)  # what limits say, or an earlier search
    for k, label in enumerate(system.labels["u"]):
        told[k] = max(told[k], description.sizes.get(label, 0.0))
        seen[k] = max(told[k], _largest(description.guesses.get(label)))
    return _sizes(system.nominal["u"], seen, told)


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


def _sizes(written: np.ndarray, seen: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Written sizes, and orders of magnitude where none was written: above one as seen, below SMALL where told.

    Example
    -------
    >>> import numpy as np
    >>> seen = np.array([0.2, 8.0, 80_000.0, 1.0, 2e-6])
    >>> _sizes(np.array([1.0, 1.0, 1.0, 50.0, 1.0]), seen, seen).tolist()
    [1.0, 1.0, 10000.0, 50.0, 1e-06]
    """
    large = np.maximum(seen, 1.0)
    small = (told > 0.0) & (seen < 10.0 * SMALL)
    orders = 10.0 ** np.floor(np.log10(np.where(small, np.maximum(told, seen), large)))
    return np.where(written == UNWRITTEN, orders, written)
