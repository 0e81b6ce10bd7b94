"""Keep the constraints of a reduced model by solves with the matrix that gives its accelerations.

A row of A (x'; z) = b that is a differentiated constraint c reads G v' = ..., so a solve with -c in these rows and 0
elsewhere is the impulse that removes c: M d + Gᵀ m = 0, G d = -c. Positions come first and move by q' = N(q) d, then
velocities, with G at the new positions.
"""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.compilation import Compiled, compile_function
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.system.system import System
from daedalus.reduction.forms.condensed_form import condensed_form
from daedalus.reduction.forms.linear_form import LinearForm, linear_form
from daedalus.reduction.index.constraint_rows import ConstraintRows, constraint_rows
from daedalus.simulation.plant.linear_model import linear_model
from daedalus.simulation.plant.projection import projected_state


def projection_by_solves(system: System) -> SimpleNamespace | None:
    """The projection as the core takes it, as `core`; None where no invariant belongs to a differentiated equation.

    Raises a SolverError where invariants exist that neither a row of the matrix nor a small formula keeps.
    """
    rows = constraint_rows(system)
    kept = concatenate(system.invariants.values())
    if not rows.positions and not rows.velocities:
        return None
    check_states_only(system, kept)
    levels = {name: kept[[k for _, k in getattr(rows, name)]] for name in ("positions", "velocities")}
    functions: dict[str, Compiled] = {name: _compiled(system, name, level) for name, level in levels.items()}
    functions["motion"] = _motion(system, linear_form(system), levels["positions"])
    others = None
    if rows.others:
        functions["others"] = _compiled(system, "others", projected_state(system, kept[list(rows.others)]))
        others = functions["others"].core
    return SimpleNamespace(core=_core_projection(system, rows, functions, others), functions=functions)


def _core_projection(
    system: System, rows: ConstraintRows, functions: dict[str, Compiled], others: _core.Function | None
) -> _core.Projection:
    place = {equation: k for k, equation in enumerate(condensed_form(system).rows.tolist())}
    return _core.Projection(
        linear_model(system),
        functions["positions"].core,
        [place[row] for row, _ in rows.positions],
        functions["velocities"].core,
        [place[row] for row, _ in rows.velocities],
        functions["motion"].core,
        others,
        np.maximum(np.abs(system.nominal["x"]), NOT_ZERO),
    )


def _compiled(system: System, name: str, expression: ca.SX, *more: ca.SX) -> Compiled:
    arguments = [*system.symbols(("t", "x", "u", "p")), *more]
    return compile_function(ca.Function(name, arguments, [ca.densify(expression)]))


def check_states_only(system: System, kept: ca.SX) -> None:
    """Refuse invariants with derivatives or algebraic variables in them."""
    if ca.depends_on(kept, ca.vertcat(system.symbol("xdot"), system.symbol("z"))):
        raise SolverError(
            "The invariants of this model cannot be kept by projection.",
            "one of them contains an algebraic variable or a derivative",
            because="a projection moves states.",
            remedy="write the invariant in states",
        )


def _motion(system: System, form: LinearForm, positions: ca.SX) -> Compiled:
    """(t, x, u, p, d) -> N(q) d: how positions move when d is the rate of the velocities."""
    x, direction = system.symbol("x"), ca.SX.sym("d", system.sizes["x"])
    moved = sorted(set(ca.jacobian_sparsity(positions, x).get_triplet()[1]))
    rates = _rates(system, form, moved)
    change = ca.jtimes(rates, x, direction)
    full = ca.SX(system.sizes["x"], 1)
    full[moved] = change
    return _compiled(system, "motion", full, direction)


def _rates(system: System, form: LinearForm, places: list[int]) -> ca.SX:
    """x' of some states as expressions: each from an equation with no other derivative or algebraic variable in it."""
    pattern = form.matrix.sparsity()
    rows, columns = (np.array(part, dtype=int) for part in pattern.get_triplet())
    alone = np.bincount(rows, minlength=form.right.numel())[rows] == 1
    own = {int(c): (int(r), k) for k, (r, c) in enumerate(zip(rows, columns)) if alone[k]}
    absent = [system.labels["xdot"][k] for k in places if k not in own]
    if absent:
        raise SolverError(
            "The invariants of this model cannot be kept by projection.",
            f"{', '.join(absent[:6])} {'is' if len(absent) == 1 else 'are'} coupled with accelerations",
            because="positions change with the velocities.",
            remedy='dd.reduce(m, stabilise="baumgarte")',
        )
    equations = [own[k][0] for k in places]
    coefficients = form.matrix.nz[[own[k][1] for k in places]]
    return form.right[equations] / coefficients
