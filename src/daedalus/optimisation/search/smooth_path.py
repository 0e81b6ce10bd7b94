"""A smooth path between two states: positions by cubics that begin and end with the given velocities.

Where the derivative of a state is another state, q' = v, the first goes along Hermite's cubic and the second along its
derivative, so that the guess is a motion; all other states go along straight lines.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements, symbol_key
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.optimisation.stage_form import stage_form


def smooth_path(system: System, start: np.ndarray, end: np.ndarray, duration: float, shares: np.ndarray) -> np.ndarray:
    """States at shares of the duration, (shares, n)."""
    path = start + shares[:, None] * (end - start)
    s = shares
    for q, v in once(system, velocity_pairs):
        leave, arrive = start[v] * duration, end[v] * duration
        path[:, q] = (
            (2 * s**3 - 3 * s**2 + 1) * start[q]
            + (s**3 - 2 * s**2 + s) * leave
            + (3 * s**2 - 2 * s**3) * end[q]
            + (s**3 - s**2) * arrive
        )
        path[:, v] = (
            6 * (s**2 - s) * (start[q] - end[q]) + (3 * s**2 - 4 * s + 1) * leave + (3 * s**2 - 2 * s) * arrive
        ) / duration
    return path


def velocity_pairs(system: System) -> tuple[tuple[int, int], ...]:
    """Pairs (position, velocity) of states with position' = velocity.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart")
    >>> x, v = m.state("x"), m.state("v")
    >>> m.equation([m.der(x), m.der(v)], [v, -x])
    >>> velocity_pairs(m.freeze())
    ((0, 1),)
    """
    own = {symbol_key(s): k for k, s in enumerate(elements(system.symbol("x")))}
    pairs = []
    for q, rate in enumerate(elements(ca.simplify(stage_form(system).rates))):
        v = own.get(symbol_key(rate)) if rate.is_symbolic() else None
        if v is not None and v != q:
            pairs.append((q, v))
    return tuple(pairs)
