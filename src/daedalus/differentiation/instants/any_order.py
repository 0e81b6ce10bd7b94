"""Events at one time whose times move apart: beside the run they happen one by one, in an order that a change decides.

Each is differentiated alone, dx⁺ = Ξ dx, the others as they are. Only where every order ends in the same state
with the same product of the Ξ is the map behind them smooth, and that product its derivative; so it is where neither
changes what the other meets, such as two balls that land on one table. Else only derivatives in directions exist
(P. Ballard, Archive for Rational Mechanics and Analysis 154, 2000, for impacts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from daedalus.algebra.agreement import SAME, agree
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.errors import SolverError

# All orders of so many events are tried; of more each exchange of two.
MOST_PERMUTED = 4
# States and slopes agree within this share of the largest; impacts are differentiated by differences.
SAME_STATE, SAME_SLOPES = SAME, KNOWN_BY_DIFFERENCES


class Alone(NamedTuple):
    """One event alone: the row behind it, and ∂x⁺/∂(x, u, p) at a fixed time."""

    row: np.ndarray
    slopes: np.ndarray


Sizes = tuple[np.ndarray, np.ndarray]  # of the entries of a row, and of those of ∂x⁺/∂(x, u, p)
Step = Callable[[int, Sequence[int], np.ndarray], Alone | None]  # of an event, the others, which stay, and a row


def in_any_order(
    step: Step,
    events: Sequence[int],
    row: np.ndarray,
    refused: Callable[[Sequence[int]], SolverError],
    sizes: Sizes | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The row behind events and ∂x⁺/∂(x, u, p), the same in every order; an error where it is not.

    sizes: the usual ones of the row and of the slopes; 1 by default.

    Example
    -------
    Two pushes of one number: doubling and adding do not commute, adding twice does.

    >>> import numpy as np
    >>> pushes = [lambda x: (2 * x, 2.0), lambda x: (x + 1, 1.0), lambda x: (x + 3, 1.0)]
    >>> def step(event, waiting, row):
    ...     value, slope = pushes[event](row[0])
    ...     return Alone(np.array([value]), np.array([[slope]]))
    >>> def refused(events):
    ...     return SolverError(f"{len(events)} events in an order that matters.")
    >>> [part.tolist() for part in in_any_order(step, [1, 2], np.array([1.0]), refused)]
    [[5.0], [[1.0]]]
    >>> in_any_order(step, [0, 1], np.array([1.0]), refused)
    Traceback (most recent call last):
    ...
    daedalus.errors.SolverError: 2 events in an order that matters.
    """
    first: tuple[np.ndarray, np.ndarray] | None = None
    for order in orders_of(tuple(events)):
        other = _taken(step, order, row)
        if other is None:
            raise refused(events)
        if first is not None and not all(map(agree, first, other, (SAME_STATE, SAME_SLOPES), sizes or (1.0, 1.0))):
            raise refused(events)
        first = other if first is None else first
    assert first is not None
    return first


def orders_of(events: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The orders to be tried: all of few, each exchange of two of many."""
    if len(events) <= MOST_PERMUTED:
        yield from permutations(events)
        return
    yield events
    for one, other in combinations(range(len(events)), 2):
        exchanged = list(events)
        exchanged[one], exchanged[other] = events[other], events[one]
        yield tuple(exchanged)


def _taken(step: Step, order: Sequence[int], row: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The row behind all, and the product of the slopes; None where one of them does not come."""
    total: np.ndarray | None = None
    for k, event in enumerate(order):
        alone = step(event, [*order[:k], *order[k + 1 :]], row)
        if alone is None:
            return None
        row, total = alone.row, behind_each_other(total, alone.slopes)
    assert total is not None
    return row, total


def behind_each_other(first: np.ndarray | None, then: np.ndarray) -> np.ndarray:
    """∂x/∂(x, u, p) behind two transitions, u and p the same; first: None where there is none."""
    n = len(then)
    total = then[:, :n] @ (np.eye(n, then.shape[1]) if first is None else first)
    total[:, n:] += then[:, n:]
    return np.asarray(total)
