"""The numbers of an explicit Runge–Kutta method as a kernel takes them, for every tableau of the table and one's own.

Methods that the core has a step of its own for keep its numbers, so that lanes take the steps that it takes; others are
prepared as it prepares them: an interpolant of degree p − 1, raised from cubic Hermite by slopes on the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from daedalus import _core
from daedalus.integrators.methods import IN_CORE
from daedalus.integrators.tableaux.core_tableau import core_coefficients
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.tableau import Tableau

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Raised:
    """How an interpolant is raised to a degree: slopes at nodes of the one before, weights of what is known."""

    nodes: tuple[float, ...]
    weights: Rows  # (degree, degree): of x1 − x0, h f0, h f1, h f at the nodes


@dataclass(frozen=True)
class ExplicitNumbers:
    """An explicit method: row i < inner of `a` is a stage, row `inner` the end of a step, later ones dense output.

    error: weights of the estimate, then of a second one that bends it (dop853). `raised` or `dense` interpolate.
    """

    inner: int
    a: Rows
    c: tuple[float, ...]
    error: Rows
    control_order: int
    memory: float = 0.04
    shrink: float = 0.2
    grow: float = 10.0
    stability_edge: float = 0.0  # 0: none is known
    dense: Rows = ()
    raised: tuple[Raised, ...] = ()

    @property
    def error_needs_end(self) -> bool:
        """Whether the estimate takes in the slope at the end, which then is the first of the next step."""
        return bool(self.error) and len(self.error[0]) > self.inner and self.error[0][self.inner] != 0

    @property
    def degree(self) -> int:
        """The degree of the interpolant."""
        return 3 + len(self.raised) + len(self.dense)


@cache
def explicit_numbers(method: str | Tableau, adaptive: bool) -> ExplicitNumbers:
    """The numbers of a method by name, or of a tableau; with an error estimate where steps adapt.

    Example
    -------
    >>> explicit_numbers("tsit5", True).degree, explicit_numbers("rk4", False).inner
    (4, 4)
    """
    if adaptive and isinstance(method, str) and method in IN_CORE:
        return _of_core(method)
    return _of_tableau(tableau(method) if isinstance(method, str) else method, adaptive)


def _of_core(name: str) -> ExplicitNumbers:
    numbers = _core.method_numbers(name)
    error = [*numbers["error"], *numbers.get("second_error", [])]
    edge = numbers["stability_edge"]
    return ExplicitNumbers(
        numbers["inner"],
        _rows(numbers["a"]),
        tuple(numbers["c"]),
        _rows(error),
        numbers["control_order"],
        numbers["memory"],
        numbers["shrink"],
        numbers["grow"],
        0.0 if edge > 1e100 else edge,
        _rows(numbers["dense"]),
    )


def _of_tableau(method: Tableau, adaptive: bool) -> ExplicitNumbers:
    a, b, c, b_hat, order, error_order = core_coefficients(method)
    stages = len(b)
    # First same as last: the last stage is the slope at the end of the step.
    inner = stages - 1 if stages > 1 and c[-1] == 1 and np.array_equal(a[-1], b) else stages
    error = () if b_hat is None or not adaptive else _rows([np.asarray(b) - np.asarray(b_hat)])
    estimate = error_order if error_order > 0 else order - 1
    raised = tuple(_raised(degree) for degree in range(4, max(3, order - 1) + 1))
    rows = _rows([*np.asarray(a)[:inner], b])
    control = max(1, min(order, estimate) + 1)
    return ExplicitNumbers(inner, rows, (*map(float, c[:inner]), 1.0), error, control, raised=raised)


def _raised(degree: int) -> Raised:
    """The weights that make the coefficients of θ, θ², … from the end, and from slopes at both ends and at nodes."""
    count = degree - 3
    # Off-centre nodes, as in the core: symmetric ones make the conditions dependent for odd counts.
    nodes = [(i - 0.4) / (count + 1) for i in range(1, count + 1)]
    powers = np.arange(degree)
    conditions = [np.ones(degree), (powers == 0).astype(float), powers + 1.0]
    conditions += [(powers + 1) * node**powers for node in nodes]
    return Raised(tuple(nodes), _rows(np.linalg.inv(np.array(conditions))))


def _rows(numbers: object) -> Rows:
    return tuple(tuple(float(v) for v in row) for row in numbers)  # type: ignore[attr-defined]
