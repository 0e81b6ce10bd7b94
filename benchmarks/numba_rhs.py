"""The right-hand side of a problem compiled by numba, as a careful user of numba writes it."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.problem import Problem, trace
from benchmarks.written_out import Expression, Functions, written


@lru_cache(maxsize=1)
def writing(problem: Problem) -> Callable[..., None]:
    """Compiled f(t, x, u, p, out); equations made of functions that call each other are written out flat before."""
    import numba

    plain = problem.equations(np) if problem.mass is None else flat(problem)
    compiled: Callable[..., None] = numba.njit(error_model="numpy")(plain)
    return compiled


def flat(problem: Problem) -> Callable[..., None]:
    """f(t, x, u, p, out) as one function without calls, one line an operation."""
    lines: list[tuple[str, str]] = []
    sizes = {"x": problem.size, "u": len(problem.inputs), "p": len(problem.parameters)}
    x, u, p = ([Expression(f"{name}[{i}]", lines) for i in range(size)] for name, size in sizes.items())
    found = trace(problem, Functions(), Expression("t", lines), x, u, p)
    body = [f"{name} = {text}" for name, text in lines]
    body += [f"out[{i}] = {written(value)}" for i, value in enumerate(found)]
    text = "\n    ".join(["def rhs(t, x, u, p, out):", *body])
    space: dict[str, Any] = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "sqrt": np.sqrt}
    exec(text, space)
    rhs: Callable[..., None] = space["rhs"]
    return rhs


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
