"""A problem as every tool gets it: one text of the equations, numbers, and the right answer.

M x'(t) = f(t, x, u, p), x(0) = start, with M the identity for an ODE and a constant singular matrix for a DAE.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

# rhs(t, x, u, p, out) writes f into out; x, u, p and out are anything that can be indexed.
Rhs = Callable[[Any, Any, Any, Any, Any], None]


@dataclass(frozen=True)
class OdeForm:
    """The same motion as an ODE x' = f(t, x, u, p), and how all unknowns of the DAE are read off its end state."""

    equations: Callable[[Any], Rhs]
    start: tuple[float, ...]
    read: Callable[[Any, Sequence[float]], Sequence[float]]


@dataclass(frozen=True)
class Problem:
    """Equations in a tool-neutral form, their numbers and a reference at the end of the span.

    `equations(m)` gives the right-hand side written with the functions of the namespace `m`: NumPy, CasADi,
    `jax.numpy`. The text may use arithmetic, indexing, loops over constants, and `m.sin`, `m.cos`, `m.sqrt`, `m.exp`.
    """

    name: str
    title: str
    equations: Callable[[Any], Rhs]
    start: tuple[float, ...]
    end: float
    reference: tuple[float, ...]
    source: str
    inputs: tuple[float, ...] = ()
    parameters: tuple[float, ...] = ()
    # Magnitude below which a component counts absolutely in the error, one for all or one each.
    scale: tuple[float, ...] | float = 1.0
    # The components that the error counts; empty for all.
    judged: tuple[int, ...] = ()
    mass: tuple[tuple[float, ...], ...] | None = None
    # Differentiation index of a DAE, and the same motion without algebraic equations where it is known.
    index: int = 1
    ode: OdeForm | None = None
    # The same mechanism in coordinates and energies: (model, values of its inputs, name of its coordinates).
    mechanics: Callable[[], tuple[Any, dict[str, Any], str]] | None = None
    # The loosest and the tightest rtol that are run.
    tolerances: tuple[float, float] = (1e-2, 1e-12)
    # atol = atol_factor * rtol
    atol_factor: float = 1.0
    # False: runs only when asked for by name.
    in_default_run: bool = True

    @property
    def size(self) -> int:
        return len(self.start)

    def error(self, end_state: Sequence[float]) -> float:
        """Largest error of a component at the end, relative to the larger of the component and its scale."""
        reference = np.asarray(self.reference, dtype=float)
        distance = np.abs(np.asarray(end_state, dtype=float) - reference)
        relative = distance / np.maximum(np.abs(reference), self.scale)
        worst: float = np.max(relative[list(self.judged)] if self.judged else relative)
        return float(worst)

    def as_ode(self) -> "Problem":
        """The problem in its ODE form; without a reference, since it is judged in the unknowns of the DAE."""
        if self.ode is None:
            raise ValueError(f"{self.name} has no ODE form")
        return replace(self, equations=self.ode.equations, start=self.ode.start, mass=None, ode=None, judged=())


def trace(problem: Problem, functions: Any, t: Any, x: Any, u: Any, p: Any) -> list[Any]:
    """The right-hand side as a list of expressions in whatever t, x, u, p are made of."""
    out: list[Any] = [0.0] * problem.size
    problem.equations(functions)(t, x, u, p, out)
    return out


def casadi_expressions(problem: Problem) -> SimpleNamespace:
    """Symbols t, x, u, p and the right-hand side f of the problem as CasADi SX."""
    import casadi

    t = casadi.SX.sym("t")
    x = casadi.SX.sym("x", problem.size)
    u = casadi.SX.sym("u", len(problem.inputs))
    p = casadi.SX.sym("p", len(problem.parameters))
    f = casadi.vertcat(*trace(problem, casadi, t, casadi.vertsplit(x), casadi.vertsplit(u), casadi.vertsplit(p)))
    return SimpleNamespace(t=t, x=x, u=u, p=p, f=f)
