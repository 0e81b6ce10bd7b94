"""Newton's method on show: x ← x − τ J⁻¹ f with its iterates, residuals, damping and rates.

`newton` is the textbook's loop, without the scaling, ranks and stalls that `algebra.damped_newton` takes care of;
`watch_newton` shows those searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from daedalus.algebra.newton_record import NewtonRecord, recorded
from daedalus.algebra.rank_decision import ONE_SIDED, ROUNDING, is_singular
from daedalus.errors import InputError

# Damping gives up below this share of a step.
SMALLEST_STEP = 2.0**-20


@dataclass(frozen=True, eq=False)
class NewtonHistory:
    """The result of `dd.newton`, and an entry of `dd.watch_newton`: the iterates of Newton's method.

    x: the last iterate. iterates: (k + 1, n), the start first. residuals: ‖f‖ at each. damping: the fraction of each
    step that was taken, 1 for full steps. rates: log(r₂/r₁) / log(r₁/r₀) of successive residuals, 2 for quadratic
    convergence; NaN for the first two. converged: whether ‖f‖ reached the tolerance. sentence: what happened, in words.

    Example
    -------
    >>> import daedalus as dd
    >>> n = dd.newton(lambda x: x**2 - 2, 1.0)
    >>> n.converged, round(float(n.x[0]), 9), len(n.residuals)
    (True, 1.414213562, 5)
    """

    x: np.ndarray
    iterates: np.ndarray
    residuals: np.ndarray
    damping: np.ndarray
    rates: np.ndarray
    converged: bool
    sentence: str

    def plot(self, ax: Any = None) -> Any:
        """Draw residuals over iterations, and the fraction of each step that was taken; returns the figure."""
        from daedalus.display.lectures.method_plots import plot_newton

        return plot_newton(self, ax)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.study_cards import newton_card

        return newton_card(self)

    def __str__(self) -> str:
        lines = [self.sentence, "  iteration  residual    step  rate"]
        for k, residual in enumerate(self.residuals):
            taken = f"{self.damping[k - 1]:6.3g}" if k else "      "
            rate = f"{self.rates[k]:5.2f}" if np.isfinite(self.rates[k]) else ""
            lines.append(f"  {k:9d}  {residual:8.2e}  {taken}  {rate}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__


def newton(
    f: Callable[[np.ndarray], Any],
    x0: object,
    jacobian: Callable[[np.ndarray], Any] | None = None,
    damping: bool = True,
    tolerance: float = 1e-10,
    max_iterations: int = 50,
) -> NewtonHistory:
    """Solve f(x) = 0 by Newton's method and keep every iterate.

    Parameters
    ----------
    f: a function of an array of n numbers with n values; a scalar problem may use plain numbers.
    x0: where to start.
    jacobian: a function that returns df/dx as an (n, n) array; by default finite differences.
    damping: halve a step until the residual falls (True), or always take whole steps (False), which shows divergence.
    tolerance: stop when ‖f‖ is below it.
    max_iterations: stop after this number of steps.

    If it does not converge, no error is raised: `.converged` is False and `.sentence` explains why.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> n = dd.newton(lambda x: np.arctan(x), 2.0, damping=False, max_iterations=3)
    >>> n.converged, n.sentence
    (False, 'Newton did not converge: the residual is 1.6 after 3 iterations.')
    >>> dd.newton(lambda x: np.arctan(x), 2.0).converged
    True
    """
    x = np.atleast_1d(np.array(x0, dtype=float)).ravel()
    if not np.all(np.isfinite(x)):
        raise InputError("The start of Newton's method is not finite.", f"x0 = {x0!r}"[:120], remedy="finite numbers")

    def value(at: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.atleast_1d(np.asarray(f(at), dtype=float)).ravel()

    residual = value(x)
    if residual.size != x.size:
        raise InputError(
            "Newton's method needs as many equations as unknowns.",
            f"f has {residual.size} values, x0 has {x.size}",
            because="each step solves a square system.",
            remedy="f and x0 of one length",
        )
    iterates, norms = [x], [float(np.linalg.norm(residual))]
    shares: list[float] = []
    reason = ""
    while not norms[-1] <= tolerance:
        if len(shares) >= max_iterations:
            reason = f"the residual is {norms[-1]:.2g} after {len(shares)} iterations"
            break
        step, reason = _direction(value, jacobian, x, residual)
        if reason:
            break
        share, new, norm = _taken(value, x, step, norms[-1], damping)
        if not np.isfinite(norm):
            reason = f"the residual is no longer a finite number after {len(shares) + 1} iterations"
        elif damping and share < SMALLEST_STEP:
            reason = f"no part of the step lowers the residual of {norms[-1]:.2g}"
        if reason:
            break
        x, residual = new, value(new)
        iterates.append(x)
        norms.append(norm)
        shares.append(share)
    converged = bool(norms[-1] <= tolerance)
    plural = "" if len(shares) == 1 else "s"
    text = (
        f"Newton converged in {len(shares)} iteration{plural}." if converged else f"Newton did not converge: {reason}."
    )
    return NewtonHistory(
        x, np.array(iterates), np.array(norms), np.array(shares), _rates(np.array(norms)), converged, text
    )


class NewtonWatch(Sequence[NewtonHistory]):
    """The searches recorded by `dd.watch_newton`, one `NewtonHistory` each, in the order in which they began.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank"); h = m.state("h", start=4.0); q = m.algebraic("q", start=1.0)
    >>> m.equation(m.der(h), -q); m.equation(q**2, h)
    >>> with dd.watch_newton() as searches:
    ...     rest = dd.initialise(m)
    >>> searches[-1].converged, bool(searches[-1].residuals[0] > searches[-1].residuals[-1])
    (True, True)
    """

    def __init__(self, records: list[NewtonRecord]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._seen)

    @overload
    def __getitem__(self, k: int) -> NewtonHistory: ...

    @overload
    def __getitem__(self, k: slice) -> list[NewtonHistory]: ...

    def __getitem__(self, k: int | slice) -> NewtonHistory | list[NewtonHistory]:
        return [_history(own) for own in self._seen[k]] if isinstance(k, slice) else _history(self._seen[k])

    @property
    def _seen(self) -> list[NewtonRecord]:
        return [record for record in self._records if record.iterates]

    def __str__(self) -> str:
        lines = ["  search  unknowns  iterations     first      last"]
        for k, own in enumerate(self._seen):
            count, size = len(own.iterates) - 1, len(own.iterates[0])
            lines.append(f"  {k:6d}  {size:8d}  {count:10d}  {own.left[0]:8.2e}  {own.left[-1]:8.2e}")
        return "\n".join(lines) if self._seen else "no searches"

    __repr__ = __str__


def _history(record: NewtonRecord) -> NewtonHistory:
    """What a search told, as `dd.newton` would."""
    left, count = np.array(record.left), len(record.shares)
    converged = bool(left[-1] <= record.solved * max(1.0, np.sqrt(record.iterates[0].size)))
    plural = "" if count == 1 else "s"
    what = "" if record.measure == "residual" else "; the lengths of corrections stand for residuals"
    text = f"Newton converged in {count} iteration{plural}{what}."
    if not converged:
        text = f"Newton did not converge: the {record.measure} is {left[-1]:.2g} after {count} iteration{plural}."
    iterates = np.array(record.iterates)
    return NewtonHistory(iterates[-1], iterates, left, np.array(record.shares), _rates(left), converged, text)


@contextmanager
def watch_newton() -> Iterator[NewtonWatch]:
    """Keep the history of every Newton search inside a `with` block, whichever function of Daedalus makes it.

    This covers consistent starts, equilibria, branches, boundary value problems, orbits and values after events. It
    does not cover the steps of a run: `tr.plot_steps()` counts their iterations, and `dd.step` shows one step. Iterates
    are those of the search, which may be changes from the guess in nominal sizes. Residuals are scaled by the sizes of
    the equations.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pendulum"); a = m.coordinate("a", start=0.4, rate=0.0)
    >>> m.kinetic_energy(0.5 * m.rate(a) ** 2); m.potential_energy(9.81 * (a**2 + a**4))
    >>> with dd.watch_newton() as searches:
    ...     rest = dd.equilibrium(m)
    >>> searches[0].converged, round(float(searches[0].rates[-2]), 1) > 1.5
    (True, True)
    """
    with recorded() as records:
        yield NewtonWatch(records)


def _direction(value: Any, jacobian: Any, x: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, str]:
    """−J⁻¹ f, or why there is none."""
    matrix = _differences(value, x, residual) if jacobian is None else np.asarray(jacobian(x), dtype=float)
    matrix = matrix.reshape(x.size, x.size)
    if not np.all(np.isfinite(matrix)):
        return x, "the Jacobian is not finite"
    if is_singular(matrix, ROUNDING):
        return x, "the Jacobian is singular"
    return -np.linalg.solve(matrix, residual), ""


def _differences(value: Any, x: np.ndarray, residual: np.ndarray) -> np.ndarray:
    columns = []
    for k in range(x.size):
        move = np.zeros(x.size)
        move[k] = ONE_SIDED * max(1.0, abs(x[k]))
        columns.append((value(x + move) - value(x - move)) / (2 * move[k]))
    return np.array(columns).T


def _taken(
    value: Any, x: np.ndarray, step: np.ndarray, before: float, damping: bool
) -> tuple[float, np.ndarray, float]:
    """The share of a step that is taken, where it leads, and the residual there."""
    share = 1.0
    while True:
        new = x + share * step
        norm = float(np.linalg.norm(value(new)))
        if not damping or norm < before or share < SMALLEST_STEP:
            return share, new, norm
        share /= 2


def _rates(norms: np.ndarray) -> np.ndarray:
    """The order of convergence seen in three successive residuals."""
    rates = np.full(len(norms), np.nan)
    for k in range(2, len(norms)):
        if 0 < norms[k] < norms[k - 1] < norms[k - 2]:
            rates[k] = np.log(norms[k] / norms[k - 1]) / np.log(norms[k - 1] / norms[k - 2])
    return rates
