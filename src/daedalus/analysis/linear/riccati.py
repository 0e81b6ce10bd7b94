"""Optimal gains of linear systems from Riccati's equation, by SciPy: feedback of states (LQR) and observers (Kalman).

A descriptor system is reduced first. With its unknowns x = R s + T u in terms of the reduced states s and the inputs,
weights on x become weights on s and u with a mixed term:

    xᵀQx + uᵀRu = sᵀ(RᵀQR)s + 2 sᵀ(RᵀQT)u + uᵀ(R + TᵀQT)u.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.analysis.linear.axis_names import Names, positions
from daedalus.analysis.linear.system_text import by_real_part
from daedalus.errors import InputError, SolverError
from daedalus.model.names import counted


@dataclass(frozen=True, eq=False)
class Regulator:
    """u = -K s that minimises ∫ xᵀQx + uᵀRu dt (or the sum over samples): what `lin.lqr(Q, R)` returns.

    Attributes
    ----------
    K: (nu, n). states, inputs: the names of its columns and rows.
    P: (n, n), the cost from s is sᵀPs. poles: of the closed loop.

    Example
    -------
    >>> import daedalus as dd
    >>> best = dd.LTI([[0, 1], [0, 0]], [0, 1], states=["x", "v"]).lqr(Q={"x": 1.0}, R=1.0)
    >>> best.K.round(6).tolist(), best.states
    ([[1.0, 1.414214]], ('x', 'v'))
    """

    K: np.ndarray
    P: np.ndarray
    poles: np.ndarray
    states: Names
    inputs: Names

    def __repr__(self) -> str:
        return f"Regulator({counted(len(self.states), 'state')}, {counted(len(self.inputs), 'input')})"

    def to_c(self, folder: str | Path, name: str = "regulator") -> Any:
        """Write u = -K s as self-contained C99, `NAME_inputs(s, u)`, with a Makefile and a test to 1e-12.

        Returns what `dd.exchange.c` returns.

        Example
        -------
        >>> import daedalus as dd, tempfile
        >>> best = dd.LTI([[1.0]], [[1.0]]).lqr(Q=3.0, R=1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     best.to_c(folder).files
        ('regulator.h', 'regulator.c', 'test_regulator.c', 'Makefile')
        """
        from daedalus.exchange.c_code.export_linear import export_regulator

        return export_regulator(self, folder, name)


@dataclass(frozen=True, eq=False)
class Observer:
    """ŝ' = A ŝ + B u + L (y - C ŝ - D u) with the least variance: what `lin.kalman(...)` returns.

    Attributes
    ----------
    L: (n, ny). states, outputs: the names of its rows and columns.
    P: (n, n), the covariance of the error once settled. poles: of the error.

    Example
    -------
    >>> import daedalus as dd
    >>> seen = dd.LTI([[0.0]], [[1.0]]).kalman(process_noise=4.0, measurement_noise=1.0)
    >>> seen.L.round(6).tolist(), seen.P.round(6).tolist()
    ([[2.0]], [[2.0]])
    """

    L: np.ndarray
    P: np.ndarray
    poles: np.ndarray
    states: Names
    outputs: Names

    def __repr__(self) -> str:
        return f"Observer({counted(len(self.states), 'state')}, {counted(len(self.outputs), 'output')})"


Space = Any  # A, B, C, D with names: an LTI or a DiscreteLTI


class OptimalGains:
    """What every linear system can be asked: the best feedback, and the best observer."""

    def _for_gains(self, names: Names) -> tuple[Space, np.ndarray, np.ndarray, float]:
        """A state space, C and D that read the named unknowns from it, and its step (0 in continuous time)."""
        space: Any = self
        rows = [space.states.index(name) for name in names]
        n, step = len(space.states), getattr(space, "step", 0.0)
        return space, np.eye(n)[rows], np.zeros((len(rows), space.B.shape[1])), step

    def lqr(self, Q: object = 1.0, R: object = 1.0) -> Regulator:
        """The linear-quadratic regulator u = -K s, which minimises ∫ xᵀQx + uᵀRu dt (a sum for a discrete system).

        Parameters
        ----------
        Q: weights of the states (of a descriptor system: of all unknowns), a number, a diagonal, a matrix, or numbers
            by name. R: the same for the inputs.

        For a descriptor system, s are the states of `reduced()`. Raises a SolverError if no feedback stabilises all
        modes.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[1.0]], [[1.0]]).lqr(Q=3.0, R=1.0).K.round(6).tolist()
        [[3.0]]
        """
        me: Any = self
        Q_all, R_all = weights(Q, me.states, "state"), weights(R, me.inputs, "input")
        used = np.flatnonzero(np.any(Q_all != 0, axis=1))
        space, C, D, step = self._for_gains(tuple(me.states[k] for k in used))
        own = Q_all[np.ix_(used, used)]
        return regulator(space, C.T @ own @ C, R_all + D.T @ own @ D, C.T @ own @ D, step)

    def kalman(self, process_noise: object = 1.0, measurement_noise: object = 1.0) -> Observer:
        """The steady-state Kalman filter: the observer with the least error variance (Kalman and Bucy).

        Parameters
        ----------
        process_noise: spectral density of white noise in the equations of the states (of `reduced()` for a descriptor
            system), for a discrete system its covariance; a number, a diagonal, a matrix, or numbers by name.
        measurement_noise: the same for the outputs, positive.

        Example
        -------
        >>> import daedalus as dd
        >>> cart = dd.LTI([[0, 1], [0, 0]], [0, 1], [1, 0], states=["x", "v"])
        >>> cart.kalman(process_noise={"v": 4.0}, measurement_noise=1.0).L.round(6).tolist()
        [[2.0], [2.0]]
        """
        space, *_, step = self._for_gains(())
        W = weights(process_noise, space.states, "state")
        return observer(space, W, weights(measurement_noise, space.outputs, "output"), step)


def regulator(space: Space, Q: np.ndarray, R: np.ndarray, mixed: np.ndarray, step: float = 0.0) -> Regulator:
    """The optimal feedback of a state space; step > 0 for one of discrete time."""
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    solve: Callable[..., Any] = solve_discrete_are if step else solve_continuous_are
    A, B = space.A, space.B
    P = _solved(lambda: solve(A, B, Q, R, s=mixed), "feedback", "the inputs reach every mode that does not die out")
    if step:
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A + mixed.T)
    else:
        K = np.linalg.solve(R, B.T @ P + mixed.T)
    poles = by_real_part(np.linalg.eigvals(A - B @ K))
    _check_stable(poles, step, "feedback")
    return Regulator(K, P, poles, space.states, space.inputs)


def observer(space: Space, W: np.ndarray, V: np.ndarray, step: float = 0.0) -> Observer:
    """The Kalman gain of a state space; step > 0 for one of discrete time, where it corrects the prediction."""
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    solve: Callable[..., Any] = solve_discrete_are if step else solve_continuous_are
    A, C = space.A, space.C
    P = _solved(lambda: solve(A.T, C.T, W, V), "observer", "the outputs see every mode that does not die out")
    L = np.linalg.solve(V + C @ P @ C.T, C @ P @ A.T).T if step else np.linalg.solve(V, C @ P).T
    poles = by_real_part(np.linalg.eigvals(A - L @ C))
    _check_stable(poles, step, "observer")
    return Observer(L, P, poles, space.states, space.outputs)


def _solved(solve: Callable[[], Any], what: str, condition: str) -> np.ndarray:
    try:
        return np.asarray(solve())
    except (np.linalg.LinAlgError, ValueError) as error:
        raise SolverError(
            f"There is no optimal {what}.",
            str(error).splitlines()[0][:160],
            because=f"Riccati's equation has a stabilising solution only where {condition}.",
            remedy="space.controllability() and space.observability() name the modes; positive weights on R and V",
        ) from None


def _check_stable(poles: np.ndarray, step: float, what: str) -> None:
    if np.any(np.abs(poles) >= 1) if step else np.any(poles.real >= 0):
        raise SolverError(
            f"The optimal {what} leaves a mode that does not decay.",
            f"poles {', '.join(f'{pole:.4g}' for pole in poles[-3:])}",
            because="no weight includes this mode.",
            remedy="a weight on every state that does not decay by itself",
        )


def weights(given: object, names: Names, word: str) -> np.ndarray:
    """A symmetric matrix of weights: a number for all, a diagonal, a matrix, or numbers by name (zero elsewhere)."""
    n = len(names)
    if isinstance(given, Mapping):
        diagonal = np.zeros(n)
        for name, value in given.items():
            diagonal[positions(names, name, word)] = value
        return np.diag(diagonal)
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape == (n,):
        array = np.diag(array)
    symmetric = array.shape == (n, n) and np.allclose(array, array.T, rtol=1e-12, atol=1e-300)
    if not symmetric or not np.all(np.isfinite(array)):
        raise InputError(
            f"The weights of the {word}s do not fit.",
            f"got shape {array.shape} for {counted(n, word)}",
            because="they are a symmetric matrix, its diagonal, one number for all, or numbers by name.",
            remedy=f'{{"{names[0]}": 1.0}}' if names else "no weights",
        )
    return array
