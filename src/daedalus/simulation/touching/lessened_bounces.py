"""Bounces that return as much of their speed as keeps contacts from giving energy.

Newton's restitution beside friction can do so (T. R. Kane, D. A. Levinson, Dynamics, 1985, section 5.8), and so can a
bounce whose normal turns in a step. What impulses P do where velocities go from u⁻ to u⁺ is the work

    W = ½ Σ P · (u⁻ + u⁺)

over the contacts of bodies that touch each other, with surfaces that move (conveyors) in u. Without restitution it is
never more than zero. Where it is with the whole restitution, the largest share is taken with which it is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

# Looks for a share, at most: a bracket of one becomes 12 digits small by halving alone.
LOOKS = 40


class Answered(NamedTuple):
    """Velocities behind impulses; the work of each contact, and its size without regard to signs."""

    twists: np.ndarray
    work: np.ndarray
    size: np.ndarray


def groups_of(bodies: np.ndarray, together: bool) -> np.ndarray:
    """Which contacts belong together, by their pairs of bodies: those of bodies that hang together by contacts.

    together: all of them, where joints pass pushes on. The ground, -1, joins none.

    >>> groups_of(np.array([[0, -1], [1, 2], [3, -1], [2, 3]]), False)
    array([0, 1, 1, 1], dtype=int32)
    """
    if together or not len(bodies):
        return np.zeros(len(bodies), dtype=np.int32)
    own = np.where(bodies[:, 1] >= 0, bodies[:, 1], bodies[:, 0])
    other = np.where(bodies[:, 0] >= 0, bodies[:, 0], own)
    count = int(bodies.max()) + 1
    graph = coo_array((np.ones(len(own)), (own, other)), shape=(count, count))
    found: np.ndarray = np.unique(connected_components(graph, directed=False)[1][own], return_inverse=True)[1]
    return found.astype(np.int32)


def lessened(
    act: Callable[[np.ndarray], Answered], whole: Answered, groups: np.ndarray, close: float
) -> tuple[np.ndarray, np.ndarray]:
    """The velocities behind bounces that give no energy, and the share of its restitution that each contact keeps.

    act: the answer to shares of the contacts; whole: that to shares of one. close: what a work is known to, as a share
    of its size. The last answer of `act` is the one that is returned.
    """
    count = int(groups.max(initial=-1)) + 1

    def gain(found: Answered) -> np.ndarray:
        """The work of each group, zero where it is not known from that."""
        work, size = (np.bincount(groups, values, count) for values in (found.work, found.size))
        return np.where(np.abs(work) > close * size, work, 0.0)

    first = gain(whole)
    if not (first > 0).any():
        return whole.twists, np.ones(len(groups))
    low, high = np.where(first > 0, 0.0, 1.0), np.ones(count)
    found, last = act(low[groups]), low
    loss = np.where(first > 0, gain(found), 0.0)  # at the lower shares
    at_low, at_high, side = loss.copy(), first, np.zeros(count)
    for _ in range(LOOKS):
        open_ = loss < 0
        if not open_.any():
            break
        # False position with halved weights (M. Dowell, P. Jarratt, BIT 11, 1971).
        share = np.where(open_, (low * at_high - high * at_low) / np.where(open_, at_high - at_low, 1.0), low)
        share = np.where(open_ & ~((share > low) & (share < high)), 0.5 * (low + high), share)
        found, last = act(share[groups]), share
        now = gain(found)
        above, below = open_ & (now > 0), open_ & (now <= 0)
        at_low = np.where(above & (side > 0), 0.5 * at_low, np.where(below, now, at_low))
        at_high = np.where(below & (side < 0), 0.5 * at_high, np.where(above, now, at_high))
        high, low, loss = np.where(above, share, high), np.where(below, share, low), np.where(below, now, loss)
        side = np.where(above, 1.0, np.where(below, -1.0, side))
    if not np.array_equal(last, low):
        found = act(low[groups])
    return found.twists, low[groups]
