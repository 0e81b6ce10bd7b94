"""Starts of an FMU: states that the model leaves open follow what an importer sets, as in `dd.simulate`.

The corrections are Gauss–Newton's, x − W Jᵀ (J W Jᵀ)⁻¹ c, as in `simulation/plant/projection.py`; given states do not
move.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.exchange.c_code.casadi_c import CFunction, c_function
from daedalus.model.expressions import column, concatenate
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm
from daedalus.simulation.plant.projection import correction

# Of given states, velocities for example, a constraint may hold already what another one asks for.
DAMPING = 1e-10


def fitting_start(system: System, form: ExplicitForm, own: list[tuple[str, ca.SX]]) -> list[CFunction]:
    """States nearer to what constraints keep zero, and that; own: t, x, u, p by letter. Nothing without constraints."""
    if not system.constrains_start:
        return []
    kept = form.applied(system, concatenate([*system.invariants.values(), *system.watched.values()]))
    x, is_open = system.symbol("x"), np.isnan(system.start["x"])
    slopes = ca.jacobian(kept, x)[:, np.flatnonzero(is_open).tolist()]
    rows = sorted(set(slopes.sparsity().row()))
    nearer = x
    if rows:
        weights = np.where(is_open, system.nominal["x"] ** 2, 0.0)
        nearer = column(x - correction(kept[rows], x, weights, damping=DAMPING))
    return [
        c_function("dd_begin", own, [("next", nearer), ("kept", kept)], "states nearer to the constraints, and these")
    ]
