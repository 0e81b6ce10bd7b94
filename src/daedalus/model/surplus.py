"""Of a model with more equations than unknowns, those that follow from the others, set apart."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.expressions import elements
from daedalus.model.notebook import Equation, Notebook
from daedalus.model.system.equation_row import EquationRow, Role
from daedalus.model.system.freeze import freeze
from daedalus.model.system.surplus_equations import Surplus, surplus_rows


class SetApart(NamedTuple):
    """The equations that are left, those that they keep as invariants, and the names of all that was set apart."""

    equations: dict[str, Equation]
    invariants: dict[str, Equation]
    names: Surplus


def set_apart(book: Notebook) -> SetApart | None:
    """The written equations, sorted; None where they cannot all be obeyed or that is not decided: they are too many."""
    try:
        system = freeze(book, square=False)
    except ModelError:
        return None
    found = surplus_rows(system)
    if found is None:
        return None
    kept, implied = (set(rows) for rows in found)
    left, invariants, row = {}, {}, 0
    names: dict[str, list[str]] = {"kept": [], "implied": []}
    for name, equation in book._equations.items():
        parts: dict[str, list[int]] = {"left": [], "kept": [], "implied": []}
        for k in range(equation.residual.numel()):
            parts["kept" if row in kept else "implied" if row in implied else "left"].append(k)
            row += 1
        if parts["left"]:
            left[name] = _only(equation, parts["left"])
        if parts["kept"]:
            invariants[name] = _only(equation, parts["kept"], Role.INVARIANT)
        for which, told in names.items():
            told += [equation.rows[k].label for k in parts[which]]
    return SetApart(left, invariants, Surplus(tuple(names["kept"]), tuple(names["implied"])))


def without_rows(equations: dict[str, Equation], rows: Collection[EquationRow]) -> dict[str, Equation]:
    """The equations without some of their components."""
    found = {}
    for name, equation in equations.items():
        which = [k for k, row in enumerate(equation.rows) if row not in rows]
        if which:
            found[name] = _only(equation, which)
    return found


def _only(equation: Equation, which: list[int], role: Role | None = None) -> Equation:
    """Some components of an equation, which keep their names."""
    if role is None and len(which) == equation.residual.numel():
        return equation
    residual, rows = elements(equation.residual), equation.rows
    origins = tuple(rows[k] if role is None else replace(rows[k], role=role) for k in which)
    return Equation(equation.name, ca.vertcat(*(residual[k] for k in which)), origins)
