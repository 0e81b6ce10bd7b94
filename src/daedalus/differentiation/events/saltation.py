"""Sensitivities through an event: the time of the event moves, and the reset is differentiated.

At an event with guard g(t, x, u, p) = 0 and reset x⁺ = r(t, x, u, p)

    dτ/dθ = -(g_x S + g_θ) / (g_t + g_x f⁻)
    S⁺ = r_x S + r_θ + (r_x f⁻ + r_t - f⁺) dτ/dθ          f⁺ = f(t, x⁺, u, p)

(M. A. Aizerman, F. R. Gantmacher 1958; I. A. Hiskens, M. A. Pai, Trajectory sensitivity analysis of hybrid systems,
IEEE Transactions on Circuits and Systems I 47, 2000). Algebraic variables in g and r are put in as z(t, x, u, p) first,
so that they are differentiated too. Where the guard's rate vanishes the event grazes and no derivative exists.

`carried` is that formula in numbers, for every transition of a run: an event, a round of clocks, an impact, a condition
that the equations jump at (without a reset), the way onto a surface (whose reset is a projection). `carried_along` is
the same where S is at hand and the reset is a map without a matrix, as the impacts of bodies are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def unchanged(states: int, given: int) -> np.ndarray:
    """∂x⁺/∂(t, x, u, p) of a transition that leaves the states as they are; given: how many (x, u, p) are."""
    return np.eye(states, 1 + given, 1)


def in_turn(reset: np.ndarray, before: np.ndarray) -> np.ndarray:
    """∂x⁺/∂(t, x, u, p) of a reset behind another one, of which the same is known."""
    n, width = len(reset), before.shape[1]
    own = np.eye(width)
    return np.asarray(reset[:, 1 : 1 + n] @ before + reset[:, :1] @ own[:1] + reset[:, 1 + n :] @ own[1 + n :])


def carried(reset: np.ndarray, before: np.ndarray, after: np.ndarray, time: np.ndarray) -> np.ndarray:
    """∂x⁺/∂(x, u, p) at a fixed time behind a transition, r_v + (r_t + r_x f⁻ - f⁺) ∂τ/∂v.

    reset: ∂r/∂(t, x, u, p). before, after: f⁻ and f⁺. time: ∂τ/∂(x, u, p).

    Example
    -------
    A ball on a floor: h⁺ = h, v⁺ = -v/2, at v = -2 under gravity 10, dτ = dh / 2.

    >>> import numpy as np
    >>> reset = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -0.5]])
    >>> carried(reset, np.array([-2.0, -10.0]), np.array([1.0, -10.0]), np.array([0.5, 0.0])).tolist()
    [[-0.5, 0.0], [7.5, -0.5]]
    """
    along = reset[:, 0] + reset[:, 1 : 1 + len(before)] @ before - after
    return np.asarray(reset[:, 1:] + np.outer(along, time))


def carried_along(
    slopes: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    time: np.ndarray,
    mapped: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """S⁺ = R (S + f⁻ ∂τ/∂θ) - f⁺ ∂τ/∂θ behind a transition, of S before it; mapped: R of columns, else x⁺ = x.

    Example
    -------
    The same ball, varied by its height and its speed.

    >>> import numpy as np
    >>> before, after = np.array([-2.0, -10.0]), np.array([1.0, -10.0])
    >>> impact = lambda columns: np.diag([1.0, -0.5]) @ columns
    >>> carried_along(np.eye(2), before, after, np.array([0.5, 0.0]), impact).tolist()
    [[-0.5, 0.0], [7.5, -0.5]]
    """
    if mapped is None:
        return np.asarray(slopes + np.outer(before - after, time))
    return np.asarray(mapped(slopes + np.outer(before, time)) - np.outer(after, time))
