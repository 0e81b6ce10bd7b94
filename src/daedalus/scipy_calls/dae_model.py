"""A traced function F(t, y, y') as a model: its index, consistent starts and machine code come as for any other.

With a mass matrix the formula is f(t, y) and F = M y' - f. A formula keeps its models: a repeated call makes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.analysis.structure.written_structure import VariableIndex
from daedalus.errors import SingularModelError
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.scipy_calls.ivp_function import Formula
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plants import implicit_plant_of


@dataclass(frozen=True, eq=False)
class DaeModel:
    """A model with the state y, the parameters p and the equation F; `given` are indices that the user knows."""

    model: Model | System
    given: np.ndarray | None = None

    @cached_property
    def system(self) -> System:
        """The model, frozen."""
        return as_system(self.model)

    @cached_property
    def structure(self) -> Signature:
        """Which derivatives stand in which equation, and what follows from that."""
        return structure_of(self.system).signature

    @cached_property
    def plant(self) -> ImplicitPlant:
        """Its machine code, as implicit methods take it."""
        own = None
        if self.given is not None:
            own = VariableIndex(self.given, equation_levels(self.given, self.structure))
        return implicit_plant_of(self.system, own)

    @cached_property
    def constant_jacobians(self) -> bool:
        """Whether ∂F/∂y and ∂F/∂y' are numbers, which nobody has to evaluate."""
        return not any(ca.symvar(matrix) for matrix in self.plant.jacobians)

    @property
    def size(self) -> int:
        """How many components y has."""
        return self.system.sizes["x"]


def ode_model(formula: Formula) -> DaeModel:
    """The model of y' = f(t, y)."""
    return _kept(formula, ("explicit",), lambda: _made(formula, None, explicit=True))


def dae_model(formula: Formula, mass: Any = None, given: np.ndarray | None = None) -> DaeModel:
    """The model of F(t, y, y') = 0, or of M y' = f(t, y) for a mass matrix; `given`: indices of the components."""
    key = ("implicit", None if given is None else given.tobytes(), *_identity(mass))
    return _kept(formula, key, lambda: _checked(_made(formula, mass), given))


def _kept(formula: Formula, key: tuple[Hashable, ...], make: Callable[[], DaeModel]) -> DaeModel:
    known = formula.kept.get(key)
    return formula.kept.setdefault(key, make()) if known is None else known


def _checked(found: DaeModel, given: np.ndarray | None) -> DaeModel:
    check_regular(found.structure)
    return found if given is None else DaeModel(found.model, given)


def _identity(mass: Any) -> tuple[bytes, ...]:
    """What tells a mass matrix, dense or sparse, from others."""
    if mass is None:
        return ()
    parts = (mass.indptr, mass.indices, mass.data) if hasattr(mass, "indptr") else (mass,)
    return tuple(part.tobytes() for part in parts)


def _made(formula: Formula, mass: Any, explicit: bool = False) -> DaeModel:
    numbers = formula.symbols[3].numel()
    n = formula.expression.numel()
    m = Model("dae")
    y = m.state("y", n)
    rate = m.der(y)
    p = m.parameter("p", np.zeros(numbers)) if numbers else ca.SX(0, 1)
    if mass is None and not explicit:
        residual = formula.function(m.time, ca.vertcat(y, rate), ca.SX(0, 1), p)
    else:
        # Zeros of a mass matrix are zeros of the structure.
        weighted = rate if mass is None else ca.mtimes(ca.sparsify(ca.DM(mass)), rate)
        residual = weighted - formula.function(m.time, y, ca.SX(0, 1), p)
    if not explicit:
        _check_unknowns(residual)
    m.equation(residual, name="F")
    return DaeModel(m)


def _check_unknowns(residual: ca.SX) -> None:
    """Refuse an equation that no unknown is left in."""
    empty = [k for k in range(residual.numel()) if residual[k].is_constant()]
    if empty:
        raise SingularModelError(
            f"F[{empty[0]}] contains no component of y or y'.",
            f"it is {float(residual[empty[0]]):g} whatever they are",
            because="its terms cancel or are multiplied by zero.",
            remedy="as many independent equations as components",
        )


def check_regular(structure: Signature) -> None:
    """Refuse equations that leave a component without one of its own."""
    if structure.regular:
        return
    loose = sorted(set(range(structure.size)) - set(structure.partner.tolist()))
    raise SingularModelError(
        "The equations do not determine all components of y.",
        f"no equation is left for {', '.join(f'y[{k}]' for k in loose[:6])}",
        because="some equations contain the same few components, or are equivalent.",
        remedy="as many independent equations as components",
    )


def equation_levels(index: np.ndarray, structure: Signature) -> np.ndarray:
    """The power of h for each equation that goes with given indices of the variables.

    With d the largest derivative order of an unknown in its equation, column j is divided by h^(k_j - 1) and an entry
    of order σ by h^σ; multiplying row i by h^(k + σ - 1) of its own unknown keeps that entry of order one.
    """
    if not structure.regular:
        return np.zeros(len(index), dtype=int)
    order = np.zeros(len(index), dtype=int)
    own = structure.partner[structure.rows] == structure.columns
    order[structure.rows[own]] = structure.orders[own]
    return np.maximum(index[structure.partner] - 1 + order, 0)
