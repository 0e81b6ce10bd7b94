"""How the linear systems of implicit steps are solved: what can be asked for, and preconditioners of one's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.errors import InputError
from daedalus.integrators.methods import METHODS
from daedalus.model.system.system import System
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant

LINEAR = ("auto", "dense", "sparse", "krylov", "matrix_free")
# Those that iterate: with the nonzeros of the matrix, and with products J v by compiled code.
ITERATING = ("krylov", "matrix_free")
# The preconditioners of iterations, and what they are called in a record.
PRECONDITIONERS = {
    "ilu": "ILU(0)",
    "block_ilu": "block ILU(0)",
    "banded": "banded factors",
    "amg": "algebraic multigrid",
}
GIVEN = "the given preconditioner"
# By which factor iterations make residuals smaller: where the next correction mends the rest, and where none does.
CORRECTED, DIRECT = 1e-6, 1e-9
# By which factor iterations make errors of corrections smaller, in units of the tolerances, where Newton's method
# measures how its corrections shrink: what iterations leave is in the rate that it sees. With 0.05, as in CVODE, error
# estimates of bdf see it too and steps are a fifth shorter; stage methods make a new Jacobian at rates above 1e-3.
CORRECTION, CORRECTION_OF_STAGES = 1e-2, 1e-4
# A preconditioner: (J, gamma) -> solve, solve(r) about (M - gamma J)^-1 r.
Preconditioner = str | Callable[[Any, float], Callable[[np.ndarray], Any]]


class LinearWay(NamedTuple):
    """A form of `LINEAR`, and for iterations what preconditions them."""

    form: str = "auto"
    preconditioner: Preconditioner | None = None

    @property
    def called(self) -> str:
        """What the preconditioner is called."""
        known = self.preconditioner or ("amg" if self.form == "auto" else "ilu")
        name = PRECONDITIONERS[known] if isinstance(known, str) else GIVEN
        return f"{name} and products by compiled code" if self.form == "matrix_free" else name


AUTO = LinearWay()
# Entries this near to the diagonal are all in the band that the core factors: the factors are exact.
WIDEST_BAND = 16
# Smaller systems are factored without a look at what that takes.
MAY_ITERATE = 5000
# From so many unknowns on, the iterations of multigrid, which hardly grow with a grid, are worth building its levels:
# measured on reactions on squares, ILU(0) takes 0.77 s of 32 by 32 cells and 8.3 of 64 by 64, multigrid 0.65 and 3.0.
MANY_UNKNOWNS = 2000


def cells_of(system: System) -> np.ndarray:
    """Which cell of a field each unknown (x, z) belongs to: elements of arrays of one size lie in the same cells.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("reaction"); u = m.state("u", 3); v = m.state("v", 3); total = m.algebraic("total")
    >>> m.equation(m.der(u), v - u); m.equation(m.der(v), u - v); m.equation(total, u[0])
    >>> cells_of(m.freeze()).tolist()
    [0, 1, 2, 0, 1, 2, 3]
    """
    n = system.sizes["x"]
    cells = np.full(n + system.sizes["z"], -1, np.int32)
    first: dict[int, int] = {}
    count = 0
    for place in system.places.values():
        if place.letter not in ("x", "z") or len(place.positions) < 2:
            continue
        own = place.positions + (n if place.letter == "z" else 0)
        if len(own) not in first:
            first[len(own)] = count
            count += len(own)
        cells[own] = first[len(own)] + np.arange(len(own))
    alone = np.flatnonzero(cells < 0)
    cells[alone] = count + np.arange(len(alone))
    return cells


def chosen_preconditioner(way: LinearWay, cells: np.ndarray, pattern: ca.Sparsity) -> LinearWay:
    """Iterations with the preconditioner that was asked for, or that fits the pattern: a band, multigrid, or ILU(0)."""
    if way.form not in ITERATING or way.preconditioner is not None:
        return way
    place = np.empty(len(cells), np.int64)
    place[np.argsort(cells, kind="stable")] = np.arange(len(cells))
    columns = np.repeat(place, np.diff(np.array(pattern.colind())))
    width = np.abs(place[np.array(pattern.row(), np.int64)] - columns).max(initial=0)
    if width <= WIDEST_BAND:
        return way._replace(preconditioner="banded")
    return way._replace(preconditioner="amg" if len(cells) >= MANY_UNKNOWNS else "ilu")


def read_linear(linear: object, preconditioner: object = None) -> LinearWay:
    """How linear systems are solved; what does not exist is refused in words."""
    if linear not in LINEAR or not isinstance(linear, str):
        raise InputError(
            "linear= is not known.",
            f"got {linear!r}"[:80],
            because=f"linear systems are solved by {', '.join(map(repr, LINEAR))}.",
            remedy='linear="auto"',
        )
    if preconditioner is None:
        return LinearWay(linear)
    if linear not in ITERATING:
        raise InputError(
            f"A preconditioner has no effect with linear={linear!r}.",
            because="only iterations have one.",
            remedy='linear="krylov", preconditioner="ilu"',
        )
    if not callable(preconditioner) and preconditioner not in PRECONDITIONERS:
        raise InputError(
            "This preconditioner does not exist.",
            f"got {preconditioner!r}"[:80],
            because=f"GMRES is preconditioned by {' or '.join(map(repr, PRECONDITIONERS))}, or by a function of yours.",
            remedy='preconditioner="ilu", or f(J, gamma), which returns a function solve(r)',
        )
    return LinearWay(linear, preconditioner)


class GivenPreconditioner:
    """A user's preconditioner as the core calls it, and the error that it raised.

    Matrices are a ∂F/∂x' + ∂F/∂(x, z) = (M - γ J) / γ with M = ∂F/∂x', J = -∂F/∂(x, z), γ = 1 / a.
    """

    def __init__(self, function: Callable[[Any, float], Callable[[np.ndarray], Any]], slopes: ca.Sparsity) -> None:
        self.function = function
        self.unknowns, self.nonzeros = int(slopes.size1()), int(slopes.nnz())
        self._pattern = np.array(slopes.row(), np.int32), np.array(slopes.colind(), np.int32)
        self._own = threading.local()
        self.error: Exception | None = None

    def prepare(self, slopes: np.ndarray, gamma: float) -> bool:
        """Ask for a solver of M - γ J; False where the function fails."""
        from scipy.sparse import csc_matrix

        rows, begins = self._pattern
        try:
            matrix = csc_matrix((-slopes, rows, begins), shape=(self.unknowns, self.unknowns))
            self._own.solve, self._own.gamma = self.function(matrix, gamma), gamma
            if not callable(self._own.solve):
                raise TypeError(f"it returned {type(self._own.solve).__name__}, not a function solve(r)")
        except Exception as error:
            self.error = error
            return False
        return True

    def apply(self, r: np.ndarray) -> np.ndarray | None:
        """γ solve(r), None where that fails."""
        try:
            found = np.ascontiguousarray(np.asarray(self._own.solve(r), dtype=float).reshape(-1))
            if found.shape != (self.unknowns,):
                raise ValueError(f"solve(r) returned {found.size} numbers, {self.unknowns} are expected")
        except Exception as error:
            self.error = error
            return None
        scaled: np.ndarray = self._own.gamma * found
        return scaled

    def check(self) -> None:
        """Raise what the function raised in a run."""
        error, self.error = self.error, None
        if error is not None:
            raise InputError(
                "The preconditioner failed.",
                f"{type(error).__name__}: {error}"[:200],
                because="f(J, gamma) returns a function solve(r) that approximates (M - gamma J)^-1 r for vectors r.",
                remedy='preconditioner="ilu", or test your function with a matrix first',
            ) from error


def core_with_linear_way(
    core: Any, plant: Plant, linear: LinearWay, unknowns: int, method: str, has_fixed_step: bool
) -> tuple[Any, LinearWay, GivenPreconditioner | None]:
    """The core's model with the way its linear systems are solved, that way as chosen, and a given preconditioner."""
    may_choose = linear.form == "auto" and unknowns >= MAY_ITERATE
    if not isinstance(core, _core.ImplicitModel) or (linear.form == "auto" and not may_choose):
        return core, linear, None
    given, cells = None, np.zeros(0, np.int32)
    if isinstance(plant, ImplicitPlant):
        cells = cells_of(plant.system)
        linear = chosen_preconditioner(linear, cells, plant.patterns[1])
    wish: Any = "amg" if may_choose else linear.preconditioner
    if callable(wish) and isinstance(plant, ImplicitPlant):
        wish = given = GivenPreconditioner(wish, plant.patterns[1])
    is_direct = method in METHODS and METHODS[method].family == "rosenbrock"
    matrix_free = linear.form == "matrix_free"
    form: Any = "best" if may_choose else "krylov" if matrix_free else linear.form
    product = plant.product.core if matrix_free and isinstance(plant, ImplicitPlant) else None
    # Fixed steps are solved to rounding, and multipliers of higher index are divided by powers of the step.
    deep = isinstance(plant, ImplicitPlant) and plant.index.largest > 1
    exact = is_direct or has_fixed_step or deep
    correction = 0.0 if exact else CORRECTION if method == "bdf" else CORRECTION_OF_STAGES
    accuracy = DIRECT if is_direct else CORRECTED
    return core.with_linear(form, wish, accuracy, cells.tolist(), product, correction), linear, given
