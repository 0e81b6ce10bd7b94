"""Keep closed gaps closed and sticking frictions at rest: each step of an explicit method ends there.

A contact that holds keeps only the second derivative of its gap at zero, or the first of its speed; along curved
surfaces the errors of the steps add up. With c = (gap, rate) of what holds and J = ∂c/∂x the correction is
Gauss–Newton's, as for invariants; rows of a contact that does not hold are zero and ask for nothing. Linear gaps and
speeds stay as they are in every step, and are left out.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.model.expressions import concatenate
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.simulation.contacts.contact_laws import contacts_of
from daedalus.simulation.plant.projection import moved_onto


def gap_projection(system: System, twin: System) -> Any:
    """The state moved onto what the contacts of a system hold; None where nothing curved is held.

    twin: the system that the core runs, which may have modes of switches behind its inputs and parameters.
    """
    return once(twin, _projection, By(system))


def _projection(twin: System, own: By[System]) -> Any:
    system = own.value
    kept, idle = _kept(system)
    if not kept:
        return None
    x, (t, _, u, p) = system.symbol("x"), twin.symbols(("t", "x", "u", "p"))
    held = concatenate(kept)
    if ca.depends_on(held, ca.vertcat(system.symbol("xdot"), system.symbol("z"))):
        return None  # its rate is no formula of the states
    state = moved_onto(held, x, system.nominal["x"] ** 2, [t, u, p], concatenate(idle), largest=len(kept))
    return compile_function(ca.Function("projection", [t, x, u, p], [ca.densify(state)]))


def _kept(system: System) -> tuple[list[ca.SX], list[ca.SX]]:
    """What contacts hold at zero while they do, and 1 in its place while they do not."""
    outputs, kept, idle = system.outputs, list[ca.SX](), list[ca.SX]()
    for contact in contacts_of(system):
        place = system.place(f"{contact.name}.mode")
        mode = system.symbol("p")[int(place.positions[0])]
        holds = 1 - mode**2 if contact.is_friction else mode
        quantity = outputs[f"{contact.name}.{'velocity' if contact.is_friction else 'gap'}"]
        own = [rate_in_states(system, quantity)]
        if not contact.is_friction:
            own.append(rate_in_states(system, outputs[f"{contact.name}.rate"]))
        if ca.jacobian(own[0], system.symbol("x")).is_constant():
            continue
        kept += [holds * value for value in own]
        idle += [1 - holds] * len(own)
    return kept, idle


def rate_in_states(system: System, expression: ca.SX) -> ca.SX:
    """An expression with x' replaced where an equation gives it as a formula of states and time alone."""
    xdot = system.symbol("xdot")
    if not ca.depends_on(expression, xdot):
        return expression
    residual, unknowns = system.residual, ca.vertcat(xdot, system.symbol("z"))
    pattern = ca.jacobian_sparsity(residual, unknowns)
    rows, columns = (np.array(part, dtype=int) for part in pattern.get_triplet())
    old, new = [], []
    for row in range(residual.numel()):
        inside = columns[rows == row]
        if len(inside) == 1 and inside[0] < xdot.numel():
            symbol = xdot[int(inside[0])]
            slope = ca.jacobian(residual[row], symbol)
            if slope.is_constant():
                old.append(symbol)
                new.append(-ca.substitute(residual[row], symbol, 0) / slope)
    return ca.SX(ca.substitute(expression, ca.vertcat(*old), ca.vertcat(*new))) if old else expression
