"""What is wrong with a tableau, in words: wrong sums, stages nobody uses, digits that were dropped.

The tableaux printed in many notes have a typing mistake in one weight; where replacing a single weight mends the
method, the sentence says which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from daedalus.integrators.tableaux.coefficients import write_coefficient
from daedalus.integrators.tableaux.rooted_trees import OrderCondition
from daedalus.integrators.tableaux.stage_algebra import TOLERANCE

# Conditions missed by less than this part of their target look like coefficients typed with too few digits.
DROPPED_DIGITS = 1e-4

# A, b, c and b_hat by name as they were given, and the order of the method with other ones.
Entries = dict[str, Any]
OrderOf = Callable[[Any, Sequence[Any], Any], int]


class MethodFacts(Protocol):
    """What a tableau answers about itself."""

    A: np.ndarray
    b: np.ndarray
    b_hat: np.ndarray | None
    is_exact: bool

    @property
    def stages(self) -> int:
        """The number of stages."""

    @property
    def order(self) -> int:
        """The order of the method."""

    @property
    def reuses_last_stage(self) -> bool:
        """Whether the last stage begins the next step."""

    def order_conditions(self, order: int) -> list[OrderCondition]:
        """The conditions of one order."""


def find_problems(tableau: MethodFacts, entries: Entries, exact: bool, order_of: OrderOf) -> list[str]:
    """Sentences on what is wrong, most serious first; empty for a sound tableau.

    entries: the coefficients as they were given; exact: whether these are exact. order_of: the order with other ones.

    Example
    -------
    >>> import daedalus as dd
    >>> print(*dd.Tableau([[0, 0], ["1/2", 0]], [0, 1], [0, "2/5"]).problems())
    node c[1] is 2/5, but row 1 of A sums to 1/2: on systems that depend on t the stage is evaluated at the wrong time
    """
    found = [*_wrong_sum(entries, "b", exact, order_of), *_wrong_nodes(entries, exact)]
    if tableau.b_hat is not None:
        found += [*_wrong_sum(entries, "b_hat", exact, order_of), *_blind_estimate(tableau.b, tableau.b_hat)]
    found += _idle_stages(tableau)
    if not found:
        found += _dropped_digits(tableau)
    return found


def _differs(value: Any, target: Any, size: float, exact: bool) -> bool:
    return value != target if exact else abs(float(value) - float(target)) > TOLERANCE * size


def _wrong_sum(entries: Entries, part: str, exact: bool, order_of: OrderOf) -> list[str]:
    weights = entries[part]
    total = sum(weights)
    size = 1.0 + sum(abs(float(weight)) for weight in weights)
    if not _differs(total, 1, size, exact):
        return []
    harm = (
        "even a constant derivative is integrated wrongly, and no step size helps"
        if part == "b"
        else "the error estimate does not become small with the step"
    )
    text = f"the weights {part} sum to {write_coefficient(total)}, not 1: {harm}"
    return [text + _mending_weight(entries, part, total, order_of)]


def _mending_weight(entries: Entries, part: str, total: Any, order_of: OrderOf) -> str:
    """Which single weight, replaced so that the sum is 1, gives the method the highest order (2 at least)."""
    best, text = 1, ""
    for i, weight in enumerate(entries[part]):
        mended = list(entries[part])
        mended[i] = 1 - (total - weight)
        order = order_of(entries["A"], mended, entries["c"])
        if order > best:
            best = order
            change = f"{part}[{i}] = {write_coefficient(mended[i])} instead of {write_coefficient(weight)}"
            text = f"; with {change} the method has order {order}"
    return text


def _wrong_nodes(entries: Entries, exact: bool) -> list[str]:
    found = []
    for i, (row, node) in enumerate(zip(entries["A"], entries["c"])):
        total = sum(row)
        size = abs(float(node)) + sum(abs(float(a)) for a in row)
        if _differs(total, node, size, exact):
            found.append(
                f"node c[{i}] is {write_coefficient(node)}, but row {i} of A sums to {write_coefficient(total)}: "
                "on systems that depend on t the stage is evaluated at the wrong time"
            )
    return found


def _blind_estimate(b: np.ndarray, b_hat: np.ndarray) -> list[str]:
    if np.max(np.abs(b - b_hat)) > TOLERANCE:
        return []
    return ["b_hat equals b: the error estimate is always zero, and no step is ever refused"]


def _idle_stages(tableau: MethodFacts) -> list[str]:
    """Stages that neither solution depends on; duplicates of work, or a missing coefficient."""
    used = tableau.b != 0
    if tableau.b_hat is not None:
        used = used | (tableau.b_hat != 0)
    while True:
        more = used | np.any(tableau.A[used] != 0, axis=0)
        if np.array_equal(more, used):
            break
        used = more
    if not np.any(used):
        return []
    # The last stage of a first-same-as-last pair is not idle: it begins the next step.
    last = tableau.stages - 1 if tableau.reuses_last_stage else -1
    return [
        f"stage {i} is computed but never used: no weight and no used stage takes it"
        for i in np.flatnonzero(~used).tolist()
        if i != last
    ]


def _dropped_digits(tableau: MethodFacts) -> list[str]:
    """A floating tableau that all but satisfies one more order."""
    following = tableau.order + 1
    if tableau.is_exact or following > 8:
        return []
    missed = [condition for condition in tableau.order_conditions(following) if not condition.holds]
    worst = max(missed, key=lambda condition: abs(condition.residual) / float(condition.target))
    if abs(worst.residual) > DROPPED_DIGITS * float(worst.target):
        return []
    return [
        f"order {following} is missed by {abs(worst.residual):.1e} only ({worst.formula} should be {worst.target}): "
        "the coefficients look like they were typed with too few digits; give them as fractions or with 16 digits"
    ]
