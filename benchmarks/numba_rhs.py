"""The right-hand side of a problem compiled by numba, as a careful user of numba writes it."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.problem import Problem


@lru_cache(maxsize=1)
def writing(problem: Problem) -> Callable[..., None]:
    """Compiled f(t, x, u, p, out)."""
    import numba

    compiled: Callable[..., None] = numba.njit(error_model="numpy")(problem.equations(np))
    return compiled


@lru_cache(maxsize=1)
def returning(problem: Problem) -> Callable[..., Any]:
    """Compiled f(t, x, u, p) that returns a new array."""
    import numba

    write, size = writing(problem), problem.size

    @numba.njit(error_model="numpy")
    def rhs(t: float, x: Any, u: Any, p: Any) -> Any:
        out = np.empty(size)
        write(t, x, u, p, out)
        return out

    compiled: Callable[..., Any] = rhs
    return compiled


def numbers(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start, inputs and parameters as arrays."""
    start, inputs, parameters = (np.array(v, dtype=float) for v in (problem.start, problem.inputs, problem.parameters))
    return start, inputs, parameters
