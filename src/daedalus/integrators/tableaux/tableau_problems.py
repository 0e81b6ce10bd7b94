"""What is wrong with a tableau, in words: wrong sums, stages nobody uses, digits that were dropped.

The tableaux printed in many notes have a typing mistake in one weight; where replacing a single weight mends the
method, the sentence says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.integrators.tableaux.coefficients import write_coefficient
from daedalus.integrators.tableaux.stage_algebra import TOLERANCE

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau

# Conditions missed by less than this part of their target look like coefficients typed with too few digits.
DROPPED_DIGITS = 1e-4


def find_problems(tableau: Tableau) -> list[str]:
    """Sentences on what is wrong, most serious first; empty for a sound tableau.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.integrators.tableaux.tableau_problems import find_problems
    >>> print(*find_problems(dd.Tableau([[0, 0], ["1/2", 0]], [0, 1], [0, "2/5"])))
    node c[1] is 2/5, but row 1 of A sums to 1/2: on systems that depend on t the stage is evaluated at the wrong time
    """
    found = [*_wrong_sum(tableau, "b"), *_wrong_nodes(tableau)]
    if tableau.b_hat is not None:
        found += [*_wrong_sum(tableau, "b_hat"), *_blind_estimate(tableau)]
    found += _idle_stages(tableau)
    if not found:
        found += _dropped_digits(tableau)
    return found


def _differs(value: Any, target: Any, size: float, exact: bool) -> bool:
    return value != target if exact else abs(float(value) - float(target)) > TOLERANCE * size


def _wrong_sum(tableau: Tableau, part: str) -> list[str]:
    weights = tableau._entries[part]
    total = sum(weights)
    size = 1.0 + sum(abs(float(weight)) for weight in weights)
    if not _differs(total, 1, size, tableau.is_exact and tableau._form is None):
        return []
    harm = (
        "even a constant derivative is integrated wrongly, and no step size helps"
        if part == "b"
        else "the error estimate does not become small with the step"
    )
    text = f"the weights {part} sum to {write_coefficient(total)}, not 1: {harm}"
    return [text + _mending_weight(tableau, part, total)]


def _mending_weight(tableau: Tableau, part: str, total: Any) -> str:
    """Which single weight, replaced so that the sum is 1, gives the method the highest order (2 at least)."""
    entries = tableau._entries
    best, text = 1, ""
    for i, weight in enumerate(entries[part]):
        mended = list(entries[part])
        mended[i] = 1 - (total - weight)
        order = type(tableau)(entries["A"], mended, entries["c"]).order
        if order > best:
            best = order
            change = f"{part}[{i}] = {write_coefficient(mended[i])} instead of {write_coefficient(weight)}"
            text = f"; with {change} the method has order {order}"
    return text


def _wrong_nodes(tableau: Tableau) -> list[str]:
    found = []
    for i, (row, node) in enumerate(zip(tableau._entries["A"], tableau._entries["c"])):
        total = sum(row)
        size = abs(float(node)) + sum(abs(float(a)) for a in row)
        if _differs(total, node, size, tableau.is_exact and tableau._form is None):
            found.append(
                f"node c[{i}] is {write_coefficient(node)}, but row {i} of A sums to {write_coefficient(total)}: "
                "on systems that depend on t the stage is evaluated at the wrong time"
            )
    return found


def _blind_estimate(tableau: Tableau) -> list[str]:
    assert tableau.b_hat is not None
    if np.max(np.abs(tableau.b - tableau.b_hat)) > TOLERANCE:
        return []
    return ["b_hat equals b: the error estimate is always zero, and no step is ever refused"]


def _idle_stages(tableau: Tableau) -> list[str]:
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


def _dropped_digits(tableau: Tableau) -> list[str]:
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
