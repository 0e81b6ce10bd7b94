"""How the linear systems of implicit steps are solved: what can be asked for, and preconditioners of one's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.errors import InputError

LINEAR = ("auto", "dense", "sparse", "krylov")
# The preconditioners of iterations, and what they are called in a record.
PRECONDITIONERS = {"ilu": "ILU(0)", "amg": "algebraic multigrid"}
GIVEN = "the given preconditioner"
# By which factor iterations make residuals smaller: where the next correction mends the rest, and where none does.
CORRECTED, DIRECT = 1e-6, 1e-9
# A preconditioner: (J, gamma) -> solve, solve(r) about (M - gamma J)^-1 r.
Preconditioner = str | Callable[[Any, float], Callable[[np.ndarray], Any]]


class LinearWay(NamedTuple):
    """A form of `LINEAR`, and for iterations what preconditions them."""

    form: str = "auto"
    preconditioner: Preconditioner | None = None

    @property
    def called(self) -> str:
        """What the preconditioner is called."""
        known = self.preconditioner or "ilu"
        return PRECONDITIONERS[known] if isinstance(known, str) else GIVEN


AUTO = LinearWay()


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
    if linear != "krylov":
        raise InputError(
            f"A preconditioner does nothing with linear={linear!r}.",
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
                remedy='preconditioner="ilu" or "amg", or call your function with a matrix of your own first',
            ) from error
