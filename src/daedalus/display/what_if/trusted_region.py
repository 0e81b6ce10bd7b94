"""How far sliders may go together: where predictions agree with re-runs, as boxes whose corners were all tried.

Re-runs are made on a lattice of changes: axes, faces and corners of the sliders' ranges and points between them. A
point counts where it agrees and so does every point before it, none of whose changes is larger; the sliders may go up
to it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

# Shares of the range of a slider at which re-runs are made, by the number of sliders.
SHARES = {1: (0.25, 0.5, 0.75, 1.0), 2: (0.25, 0.5, 1.0), 3: (0.5, 1.0)}
# With more sliders one by one and all together alone.
SHARES_OF_MANY = (0.5, 1.0)


def trusted_corners(agrees: Callable[[np.ndarray], bool], count: int) -> np.ndarray:
    """The far corners of the boxes that are trusted, (boxes, count), as shares of each slider's range with their sign.

    agrees: whether the prediction for a change, in shares, agrees with a re-run. A box reaches from no change to its
    corner. Without a box no change is trusted.

    Example
    -------
    >>> import numpy as np
    >>> trusted_corners(lambda change: float(np.sum(change)) <= 1.0, 2)
    array([[-1. , -1. ],
           [-1. ,  1. ],
           [ 0.5,  0.5],
           [ 1. , -1. ]])
    """
    good: list[np.ndarray] = []
    bad: list[np.ndarray] = []
    for point in _lattice(count):
        if any(_reaches(point, other) for other in bad) or not agrees(point):
            bad.append(point)
        else:
            good.append(point)
    largest = [p for p in good if not any(_reaches(q, p) and not np.array_equal(p, q) for q in good)]
    return np.array(sorted(map(tuple, largest))).reshape(-1, count)


def _lattice(count: int) -> list[np.ndarray]:
    """The changes that are tried, the small ones first."""
    if count in SHARES:
        sides = [s * share for share in SHARES[count] for s in (-1.0, 1.0)]
        points = [np.array(p) for p in product((0.0, *sides), repeat=count)]
    else:
        signs = [np.array(s) for s in product((-1.0, 1.0), repeat=count)]
        axes = [s * row for row in np.eye(count) for s in (-1.0, 1.0)]
        points = [share * way for share in SHARES_OF_MANY for way in (*axes, *signs)]
    return sorted((p for p in points if np.any(p)), key=lambda p: float(np.abs(p).sum()))


def _reaches(far: np.ndarray, near: np.ndarray) -> bool:
    """Whether a change goes as far as another one in every slider, on the same side."""
    return bool(np.all(np.abs(near) <= np.abs(far)) and np.all(near * far >= 0))
