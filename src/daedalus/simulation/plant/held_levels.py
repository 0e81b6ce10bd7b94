"""What the rows of an implicit run are moved onto where the model declares invariants beside constraints.

A move onto an invariant alone would leave the constraints of a model of higher index, and the next step would begin off
them. So rows are moved onto all levels together: the invariants, the written constraints and the hidden ones, which the
reduction of the index writes down.
"""

from __future__ import annotations

import casadi as ca

from daedalus.analysis.structure.written_structure import VariableIndex
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.system.conservation import has_declared
from daedalus.model.system.system import System
from daedalus.reduction.forms.no_form import NoForm
from daedalus.simulation.plant.solvable import solvable


def system_with_levels(system: System, index: VariableIndex) -> System | None:
    """The system that keeps all levels: itself up to index 1, else its reduction; None where that has other states."""
    if index.largest <= 1:
        return system
    found = solvable(system)
    same = not isinstance(found, NoForm) and all(found.labels[k] == system.labels[k] for k in ("x", "u", "p"))
    return found if same and isinstance(found, System) else None


def held_levels(system: System, index: VariableIndex) -> ca.SX:
    """Expressions of (t, x, u, p) that rows are moved onto; a SolverError where they are not known."""
    if not has_declared(system):
        return concatenate(system.invariants.values())
    found = system_with_levels(system, index)
    if found is None:
        raise SolverError(
            "The invariants of this model cannot be kept by projection.",
            f"{', '.join(list(system.invariants)[:6])}: the model has index {index.largest}, and its hidden "
            "constraints are not formulas of its states",
            because="a move onto the invariants alone would leave the constraints.",
            remedy="dd.simulate(dd.reduce(m), ...)",
        )
    letters = ("t", "x", "u", "p")
    kept = concatenate(found.invariants.values())
    return ca.substitute([kept], [found.symbol(k) for k in letters], [system.symbol(k) for k in letters])[0]
