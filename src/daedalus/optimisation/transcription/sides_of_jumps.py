"""Which side of a jump an instant belongs to: inside an interval time is that of the interval, its ends from within.

A wind that jumps at a node has two values there. The interval before the node sees the value before, also at the point
that lies on its end, and the interval behind sees the value behind, also at its start. So all transcriptions read time
at τ of the interval from σ_k on as

    σ = σ_k + δ + (Δσ_k − 2 δ) τ,      0 <= τ <= 1,      δ = ε Δσ_k + r

with r a few times the rounding of times, as a share of the duration, which leaves its ends out. This holds for tables,
functions, and formulas of time with `if_else` or `floor` alike, as none of them is asked for anything but its value.
Smooth ones change by δ times their slope, in opposite directions at both ends.
"""

from __future__ import annotations

from typing import Any

# Far above what tables and nodes differ by that mean the same time, and far below the accuracy of any plan.
EDGE = 1e-9


def seen_from_inside(begin: Any, width: Any, tau: Any, rounding: float = 0.0) -> Any:
    """The share of the duration at τ of an interval, which its ends see from within; of numbers and of symbols.

    Example
    -------
    >>> seen_from_inside(0.5, 0.25, 1.0) < 0.75 < seen_from_inside(0.75, 0.25, 0.0)
    True
    """
    edge = EDGE * width + rounding
    return begin + edge + (width - 2.0 * edge) * tau
