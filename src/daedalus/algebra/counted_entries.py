"""Which entries of a matrix of slopes count: those that are more than what rounding of the values makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from daedalus.algebra.rank_decision import KNOWN, WITNESSES

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


def counted(slopes: Callable[[np.ndarray], csc_matrix], values: np.ndarray, sizes: np.ndarray) -> csc_matrix:
    """A sparse matrix of slopes at some values, without entries that are nothing but rounding.

    An entry counts where it is larger than what it changes by between these values and others that may be the true
    ones as well, which differ by a share of their sizes; size zero belongs to what is known exactly. However small it
    is, a constant counts then.

    Example
    -------
    >>> import numpy as np
    >>> from scipy.sparse import csc_matrix
    >>> counted(lambda v: csc_matrix([[1e-15, 1.0], [1.0, np.sin(v[0])]]), np.array([np.pi]), np.ones(1)).toarray()
    array([[1.e-15, 1.e+00],
           [1.e+00, 0.e+00]])
    """
    found = slopes(values)
    found.data[:] = counted_entries(lambda own: found.data.copy() if own is values else slopes(own).data, values, sizes)
    return found


def counted_entries(slopes: Callable[[np.ndarray], np.ndarray], values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The same of an array of slopes.

    Example
    -------
    >>> import numpy as np
    >>> counted_entries(lambda v: np.array([1e-15, np.sin(v[0])]), np.array([np.pi]), np.ones(1))
    array([1.e-15, 0.e+00])
    """
    here, draw = slopes(values), np.random.default_rng(2001)
    found = here.copy()
    for _ in range(WITNESSES):
        nearby = values + KNOWN * sizes * draw.choice([-1.0, 1.0], len(values))
        found[np.abs(slopes(nearby) - here) > np.abs(here)] = 0.0
    return found
