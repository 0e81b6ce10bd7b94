"""Resets of a mechanism as the runtime applies them: velocities behind them obey the constraints.

What a reset assigns stays, and the other velocities move by the smallest impulse in the metric of the masses,
v ← v − W Gᵀ (G W Gᵀ)⁻¹ c with W = M⁻¹ of those that move; what is assigned against a constraint that no other velocity
enters is met by the impulse of that constraint. It is the rule of `initialisation/behind_reset.py`, as a formula.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from daedalus.errors import InputError
from daedalus.initialisation.mass_metric import VelocityMass, velocity_mass
from daedalus.model.expressions import concatenate
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm


def consistent_resets(system: System, form: ExplicitForm) -> ca.SX:
    """The states behind each event, one row each, on the constraints."""
    if not system.has_invariants or not system.events:
        return system.resets
    kept = form.applied(system, concatenate(system.invariants.values()))
    held = set(ca.jacobian(kept, system.symbol("x")).sparsity().get_triplet()[1])
    rows = []
    for k, event in enumerate(system.events):
        places = [system.place(name) for name in event.resets]
        assigned = {int(j) for place in places for s, j in zip(place.letters, place.positions) if s == "x"}
        row = system.resets[k, :]
        if assigned & held:
            mass = velocity_mass(system)
            if mass is None or not assigned & held <= set(mass.places.tolist()):
                raise _refused(system, event.name, sorted(assigned & held))
            row = _behind(system, kept, mass, sorted(assigned), row)
        rows.append(row)
    return ca.vertcat(*rows)


def _behind(system: System, kept: ca.SX, mass: VelocityMass, assigned: Sequence[int], row: ca.SX) -> ca.SX:
    x = system.symbol("x")
    others = [k for k, place in enumerate(mass.places) if int(place) not in assigned]
    moved = _by_impulse(x, kept, mass, others)
    # Then all velocities, which changes nothing where the constraints hold.
    for stage in (moved, _by_impulse(x, kept, mass, range(len(mass.places)))):
        # Both laws are formulas of the states: those behind the stage before are put in.
        row = ca.substitute(stage, x, row.T).T
    return row


def _by_impulse(x: ca.SX, kept: ca.SX, mass: VelocityMass, free: Sequence[int]) -> ca.SX:
    """x with some velocities moved onto the constraints that they enter."""
    free = list(free)
    if not free:
        return x
    places = mass.places[free].tolist()
    slopes = ca.jacobian(kept, x)[:, places]
    rows = sorted(set(slopes.sparsity().row()))
    if not rows:
        return x
    G, own = ca.densify(slopes[rows, :]), ca.densify(mass.expression[free, free])
    lighter = ca.solve(own, G.T)
    step = ca.mtimes(lighter, ca.solve(ca.mtimes(G, lighter), kept[rows]))
    behind = ca.SX(x)
    behind[places] -= step
    return behind


def _refused(system: System, event: str, states: Sequence[int]) -> InputError:
    names = [system.labels["x"][k] for k in states]
    return InputError(
        f"The model {system.name!r} cannot be an FMU.",
        f"{event} assigns {', '.join(names[:4])}, on which constraints depend",
        because="the library inside makes velocities of mechanisms consistent behind a reset, and no other states.",
        remedy="a reset of velocities, or minimal coordinates",
    )
