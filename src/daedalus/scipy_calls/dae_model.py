"""A traced function F(t, y, y') as a model: its index, consistent starts and machine code come as for any other.

With a mass matrix the formula is f(t, y) and F = M y' - f. A formula keeps its models: a repeated call makes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.analysis.structure.signature import Signature, signature
from daedalus.errors import SingularModelError
from daedalus.model.model import Model
from daedalus.reduction.switches import switches_of
from daedalus.scipy_calls.ivp_function import Formula
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plants import implicit_plant_of


@dataclass(frozen=True, eq=False)
class DaeModel:
    """A model with the state y, the parameters p and the equation F, and its machine code."""

    model: Model
    plant: ImplicitPlant
    structure: Signature

    @property
    def kinked(self) -> bool:
        """Whether the equations have conditions."""
        return switches_of(self.plant.system) is not None

    @property
    def size(self) -> int:
        """How many components y has."""
        return self.plant.system.sizes["x"]


def dae_model(formula: Formula, mass: Any = None, explicit: bool = False) -> DaeModel:
    """The model of F(t, y, y') = 0, of M y' = f(t, y) for a mass matrix, or of y' = f(t, y) where `explicit`."""
    key = ("explicit" if explicit else "implicit", *_identity(mass))
    known = formula.kept.get(key)
    if known is None:
        known = formula.kept.setdefault(key, _made(formula, mass, explicit))
    return known


def _identity(mass: Any) -> tuple[bytes, ...]:
    """What tells a mass matrix, dense or sparse, from others."""
    if mass is None:
        return ()
    parts = (mass.indptr, mass.indices, mass.data) if hasattr(mass, "indptr") else (mass,)
    return tuple(part.tobytes() for part in parts)


def _made(formula: Formula, mass: Any, explicit: bool) -> DaeModel:
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
    _check_unknowns(residual)
    m.equation(residual, name="F")
    system = m.freeze()
    structure = signature(system.residual, [system.symbol("x"), system.symbol("xdot")])
    check_regular(structure)
    return DaeModel(m, implicit_plant_of(system), structure)


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
        because="some equations contain the same few components, or say the same.",
        remedy="as many independent equations as components",
    )


def core_model(found: DaeModel, index: np.ndarray | None) -> Any:
    """What the core integrates; `index` are indices of the components given by the user."""
    plant = found.plant
    if index is None:
        return plant.model
    dot, whole = (matrix.sparsity() for matrix in plant.jacobians)
    patterns = (list(dot.colind()), list(dot.row()), list(whole.colind()), list(whole.row()))
    residual, jacobian = (function.core for function in plant.functions)
    scales = ([], []) if index.max() <= 1 else (index.tolist(), equation_levels(index, found.structure).tolist())
    return _core.ImplicitModel(residual, jacobian, found.size, found.size, *patterns, *scales)


def equation_levels(index: np.ndarray, structure: Signature) -> np.ndarray:
    """The power of h for each equation that goes with given indices of the variables.

    With d the largest derivative order of an unknown in its equation, column j is divided by h^(k_j - 1) and an entry
    of order σ by h^σ; multiplying row i by h^(k + σ - 1) of its own unknown keeps that entry of order one.
    """
    if not structure.regular:
        return np.zeros(len(index), dtype=int)
    order = np.zeros(len(index), dtype=int)
    for row, column, sigma in zip(structure.rows, structure.columns, structure.orders):
        if structure.partner[row] == column:
            order[row] = sigma
    return np.maximum(index[structure.partner] - 1 + order, 0)
