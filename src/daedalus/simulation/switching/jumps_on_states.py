"""Whether equations jump where a condition on states changes, as dry friction and lossy gears do.

At an index above one a jump of the equations is a jump of algebraic variables that no equation of the model itself
determines right behind it, and other conditions may depend on those. With the index reduced they follow at once.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.deadline import poll
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.reduction.switches import LETTERS, Switches, switches_of
from daedalus.simulation.sliding.surface import of_one_ratio
from daedalus.simulation.sliding.surfaces_together import MOST_TOGETHER

# Places that are looked at, corrections onto a surface, and the part of the equations that counts as a jump.
PLACES, CORRECTIONS, JUMPS = 3, 20, 1e-6


@remembered
def jumps_on_states(system: System) -> bool:
    """Whether some condition on states and time has other equations on its two sides.

    Networks with more such conditions than can be decided together are run as they are written.
    """
    found = switches_of(system)
    if found is None or not found.count:
        return False
    known = {symbol_key(s) for letter in ("t", "x", "u", "p") for s in elements(system.symbol(letter))}
    x = system.symbol("x")
    of_states = [
        k for k, guard in enumerate(found.guards)
        if ca.depends_on(guard, x) and all(symbol_key(s) in known for s in ca.symvar(guard))
    ]  # fmt: skip
    return len(of_states) <= MOST_TOGETHER and any(_jumps(found, x, k) for k in of_states)


@remembered
def switches_on_algebraics(system: System) -> bool:
    """Whether a condition asks for algebraic variables, as that of a diode does for its voltage, and all that a
    reduction would differentiate is linear, as currents are that meet in a star.

    Above index one such variables have errors of their own on a step, and a crossing may be lost among them.
    """
    found = switches_of(system)
    if found is None or not any(ca.depends_on(guard, system.symbol("z")) for guard in found.guards):
        return False
    rows = np.flatnonzero(np.asarray(structure_of(system).signature.c) > 0).tolist()
    unknowns = ca.vertcat(system.symbol("x"), system.symbol("z"), system.symbol("t"))
    return bool(rows) and bool(ca.is_linear(system.residual[rows], unknowns))


def _jumps(found: Switches, x: ca.SX, which: int) -> bool:
    """Whether the equations differ on the two sides of a condition, at places on its surface."""
    guards, twin = found.guards, found.system
    guard = guards[which]
    together = {k: _sign(guards[k], guard) for k in of_one_ratio(guards, guard)}
    sides = [twin.residual, twin.residual]
    for k, sign in together.items():
        sides = [ca.substitute(r, found.modes[k], float(sign * side > 0)) for r, side in zip(sides, (1.0, -1.0))]
    arguments = [twin.symbol(letter) for letter in LETTERS]
    function = ca.Function("sides", arguments, [*sides, guard, ca.densify(ca.jacobian(guard, x))])
    rng, at = np.random.default_rng(6), LETTERS.index("x")
    for _ in range(PLACES):
        poll("conditions that change")
        place = [rng.uniform(0.5, 1.5, int(a.numel())) for a in arguments]
        for _ in range(CORRECTIONS):
            above, below, value, slope = (part.full().ravel() for part in function(*place))
            steep = float(slope @ slope)
            if steep == 0 or abs(value[0]) <= 1e-12 * np.sqrt(steep):
                break
            place[at] = place[at] - slope * (value[0] / steep)
        with np.errstate(invalid="ignore"):
            apart = np.abs(above - below)
        if np.any(apart > JUMPS * np.maximum(1.0, np.maximum(np.abs(above), np.abs(below)))):
            return True
    return False


def _sign(guard: ca.SX, other: ca.SX) -> float:
    symbols = ca.symvar(ca.vertcat(guard, other))
    values = ca.Function("guards", symbols, [guard * other])
    return float(np.sign(float(values(*np.random.default_rng(4).uniform(0.5, 1.5, len(symbols))))))
