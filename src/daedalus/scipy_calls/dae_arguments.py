"""The arguments of `solve_dae` beyond those of `solve_ivp`: mass matrix, y'0, indices, Jacobians, implicit methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.integrators.methods import METHODS, is_implicit
from daedalus.scipy_calls.dae_callbacks import Differences, Jacobians, forward_differences
from daedalus.scipy_calls.ivp_errors import IvpTypeError, IvpValueError
from daedalus.scipy_calls.ivp_settings import EXPLICIT, IvpSettings, Problem, read_settings
from daedalus.simulation.run.method_choice import TIGHT

SCIPY = {"Radau": "radau5", "BDF": "bdf"}
# Choices that are left to us: Radau solves every index up to 3, with order 9 where the tolerance is tight.
AUTOMATIC = ("auto", "LSODA")
# RADAU5 and its relatives know the indices 1, 2 and 3; a few more cost nothing.
HIGHEST = 10


@dataclass(frozen=True, eq=False)
class Form:
    """What the user wrote: F(t, y, y'), or f(t, y) with a mass matrix; on numbers."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    size: int
    mass: Any  # (n, n) as a NumPy array or a sparse matrix in columns, or None
    vectorized: bool = False  # whether the function takes y, and y', of shape (n, k)

    def right_side(self, t: float, y: np.ndarray) -> np.ndarray:
        """f(t, y)."""
        return self._column(self.function(t, self._given(y), *self.args), "fun(t0, y0)")

    def residual(self, t: float, y: np.ndarray, yp: np.ndarray) -> np.ndarray:
        """F(t, y, y')."""
        if self.mass is not None:
            return self.mass @ yp - self.right_side(t, y)
        return self._column(self.function(t, self._given(y), self._given(yp), *self.args), "F(t0, y0, yp0)")

    def _given(self, values: np.ndarray) -> np.ndarray:
        """A copy, so that a function may write into it, in the shape that it takes."""
        return values[:, None].copy() if self.vectorized else values.copy()

    def _column(self, value: Any, name: str) -> np.ndarray:
        numbers = np.asarray(value)
        if np.iscomplexobj(numbers):
            raise IvpValueError(
                "`F` returns complex numbers.",
                f"{name} has the type {numbers.dtype}",
                because="the unknowns are real.",
                remedy="real and imaginary parts as equations of their own",
            )
        numbers = np.asarray(numbers, dtype=float)
        if numbers.shape == (self.size,) or (self.vectorized and numbers.shape == (self.size, 1)):
            return numbers.reshape(-1)
        raise IvpValueError(
            "`F` returns the wrong number of values.",
            f"y0 has {self.size} components, {name} has shape {numbers.shape}",
            because="a DAE needs one equation for each component of y.",
            remedy=f"an array of shape {self._shape}" + (", .ravel() at the end" if numbers.ndim > 1 else ""),
        )

    @property
    def _shape(self) -> str:
        return f"({self.size}, k) for y of that shape" if self.vectorized else f"({self.size},)"


def read_dae_settings(method: Any, problem: Problem, options: dict[str, Any]) -> IvpSettings:
    """The method as the core takes it, and tolerances; explicit methods and missing ones are refused."""
    if np.iscomplexobj(problem.y0):
        raise _complex("y0", problem.y0)
    if problem.y0.size == 0:
        raise IvpValueError("There are no unknowns.", "y0 is empty", remedy="y0=[1.0]")
    if not isinstance(method, str):
        raise IvpTypeError("`method` must be a name.", f"got {type(method).__name__}", remedy='method="Radau"')
    name = SCIPY.get(method, method)
    if method in AUTOMATIC:
        name = "radau9" if np.ndim(options["rtol"]) == 0 and options["rtol"] < TIGHT else "radau5"
    known = [*SCIPY, *AUTOMATIC, *(m for m in METHODS if is_implicit(m))]
    if not is_implicit(name):
        explicit = name in METHODS or name in EXPLICIT
        raise IvpValueError(
            f"The method {method!r} {'is explicit' if explicit else 'is not known'}.",
            f"`method` must be one of {', '.join(known)}",
            because="F(t, y, y') = 0 is not solved for y'." if explicit else "",
            remedy='method="Radau"',
        )
    if np.ndim(options["rtol"]) > 0:
        raise IvpValueError(
            "`rtol` must be one number.",
            f"got shape {np.shape(options['rtol'])}",
            remedy="atol=[...] for each component",
        )
    if not options["rtol"] > 0:
        raise IvpValueError("`rtol` must be positive.", f"got {options['rtol']!r}", remedy="rtol=1e-6")
    return read_settings(name, problem, options)


def check_method(name: str, index: int) -> None:
    """Refuse a method on an index that it cannot solve."""
    method = METHODS[name]
    if index > method.highest_index:
        raise IvpValueError(
            f"The method {name!r} does not solve a DAE of index {index}.",
            f"its highest index is {method.highest_index}",
            because="its order would be lost, or the error of each step would not shrink with it.",
            remedy='method="Radau"' if index <= METHODS["radau5"].highest_index else "a dd.Model and dd.reduce(m)",
        )


def check_size(n: int, most: int, reason: str) -> None:
    """Refuse a function that could not be traced and whose dense Jacobians would not end in reasonable time."""
    if n <= most:
        return
    raise IvpValueError(
        f"`F` has {n} unknowns and could not be traced.",
        reason,
        because=f"a function that is called has dense Jacobians, which serve up to {most} unknowns.",
        remedy="a function that can be traced (NumPy on whole arrays, no side effects), or a dd.Model",
    )


def check_constant_mass(name: str, moving: list[str]) -> None:
    """Refuse a Rosenbrock method where dF/dy' depends on something."""
    if not moving:
        return
    raise IvpValueError(
        f"The method {name!r} cannot solve this F.",
        f"dF/dyp depends on {', '.join(moving[:6])}",
        because="a Rosenbrock method needs M y' = f(t, y) with a constant M.",
        remedy='method="Radau", or components of y for the derivatives',
    )


def read_rate(yp0: Any, n: int) -> np.ndarray | None:
    """y'0 as (n,) finite numbers, or None where it is to be computed."""
    if yp0 is None:
        return None
    given = np.asarray(yp0)
    if np.iscomplexobj(given):
        raise _complex("yp0", given)
    rate = given.astype(float)
    wrong = ""
    if rate.ndim != 1:
        wrong = "`yp0` must be 1-dimensional."
    elif rate.shape != (n,):
        wrong = "`y0` and `yp0` must be of same shape."
    elif not np.all(np.isfinite(rate)):
        wrong = "All components of the initial state `yp0` must be finite."
    if wrong:
        raise IvpValueError(
            "`yp0` does not fit y0.",
            [f"got {yp0!r} for {n} components", wrong],
            remedy="yp0=None, which computes it from y0",
        )
    return rate


def _complex(name: str, values: np.ndarray) -> IvpValueError:
    # The words of others who solve DAEs, for code that looks for them.
    words = "`y0` or `yp0` is complex, but the chosen solver does not support integration in a complex domain."
    return IvpValueError(
        f"`{name}` must be real.", [f"got {values.dtype}", words], remedy="real and imaginary parts below each other"
    )


def read_mass(mass: Any, n: int) -> Any:
    """A constant mass matrix: an array, or a sparse matrix in columns where it came as one."""
    if mass is None:
        return None
    if callable(mass):
        raise IvpTypeError(
            "`mass` must be a constant matrix.",
            "got a function",
            remedy="F(t, y, yp) = M(t, y) @ yp - f(t, y), without mass=",
        )
    sparse = hasattr(mass, "tocsc")
    matrix = mass.tocsc().astype(float) if sparse else np.asarray(mass, dtype=float)
    if matrix.shape != (n, n):
        raise IvpValueError(
            "`mass` does not fit y0.", f"got shape {matrix.shape} for {n} components", remedy=f"a matrix ({n}, {n})"
        )
    if not np.all(np.isfinite(matrix.data if sparse else matrix)):
        row, column = np.argwhere(~np.isfinite(_dense(matrix)))[0]
        raise IvpValueError(
            "All entries of `mass` must be finite.", f"mass[{row}, {column}] = {matrix[row, column]}", remedy="numbers"
        )
    return matrix


def check_finite(left: np.ndarray, has_mass: bool, guessed: bool) -> None:
    """Refuse a function that gives NaN or infinity at the start, where nothing can begin."""
    wrong = np.flatnonzero(~np.isfinite(left))
    if not len(wrong):
        return
    where = "f(t0, y0)" if has_mass else "F(t0, y0, yp0 = 0)" if guessed else "F(t0, y0, yp0)"
    others = "another y0" if has_mass else "yp0=..., or another y0" if guessed else "another y0 or yp0"
    raise IvpValueError(
        f"{where} is not finite.",
        ", ".join(f"component {k} is {left[k]:g}" for k in wrong[:4]),
        because="a division by zero or a root of a negative number is likely there.",
        remedy=others,
    )


def read_index(index: Any, n: int) -> np.ndarray | None:
    """Indices of the components, at least 1; a single number stands for all."""
    if index is None:
        return None
    numbers = np.asarray(index)
    whole = numbers.dtype.kind in "iu" and numbers.shape in ((), (n,))
    if not whole or np.any(numbers < 0) or np.any(numbers > HIGHEST):
        raise IvpValueError(
            "`index` must be a whole number, or one for each component.",
            f"got {index!r} for {n} components",
            because="1 is a differential variable, 2 and 3 those that one or two differentiations determine.",
            remedy="index=None, which finds it",
        )
    return np.maximum(np.broadcast_to(numbers, (n,)), 1).astype(int)


def is_constant_jacobian(jac: Any, form: Form) -> bool:
    """Whether the user gave a Jacobian as numbers: the pair (dF/dy, dF/dy'), or df/dy beside a mass matrix."""
    if form.mass is None:
        return isinstance(jac, tuple) and len(jac) == 2
    return is_matrix(jac)


def is_matrix(jac: Any) -> bool:
    """Whether a Jacobian is a matrix of numbers, dense or sparse, and no function."""
    return isinstance(jac, (np.ndarray, list)) or hasattr(jac, "tocsc")


def read_jacobian(jac: Any, form: Form, by: Differences = forward_differences) -> Jacobians | None:
    """The user's Jacobians as (dF/dy, dF/dy') on numbers; None where there are none.

    Beside a mass matrix df/dy is found by differences where it was not given.
    """
    if is_constant_jacobian(jac, form):
        by_y, by_rate = jac if form.mass is None else (jac, form.mass)
        sign = 1.0 if form.mass is None else -1.0
        constant = sign * _matrix(by_y, form.size), _matrix(by_rate, form.size)
        return lambda t, y, yp: constant
    if jac is None:
        if form.mass is None:
            return None
        mass = _dense(form.mass)

        def differenced(t: float, y: np.ndarray, yp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            base = form.right_side(t, y)
            return -by(lambda moved: form.right_side(t, moved), y, base), mass

        return differenced
    if not callable(jac):
        raise IvpTypeError(
            "`jac` is not a function.",
            f"got {type(jac).__name__}",
            remedy="jac=None, or jac(t, y, yp) that returns (dF/dy, dF/dyp); with mass= jac(t, y) that returns df/dy",
        )

    known = None if form.mass is None else _dense(form.mass)

    def given(t: float, y: np.ndarray, yp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if known is not None:
            return -_matrix(jac(t, y.copy(), *form.args), form.size), known
        try:
            whole, dot = jac(t, y.copy(), yp.copy(), *form.args)
        except (TypeError, ValueError) as error:
            raise IvpValueError(
                "`jac` must return (dF/dy, dF/dyp).", str(error), remedy="two matrices (n, n)"
            ) from error
        return _matrix(whole, form.size), _matrix(dot, form.size)

    return given


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)


def _matrix(value: Any, n: int) -> np.ndarray:
    matrix = _dense(value)
    if matrix.shape != (n, n):
        raise IvpValueError(
            "A Jacobian has the wrong shape.", f"got {matrix.shape} for {n} components", remedy=f"({n}, {n})"
        )
    return matrix
