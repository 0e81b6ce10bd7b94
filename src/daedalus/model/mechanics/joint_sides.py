"""Joints that are assembled half a turn away from where they are meant to be: their equations hold there too.

The relative rotation of a fixed joint enters as sin θ, which vanishes at θ = π as at θ = 0; likewise axes of a hinge
that point against each other have no components across each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.errors import InconsistentStartError
from daedalus.model.mechanics.mechanics_part import Mechanics
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System


@dataclass(frozen=True, eq=False)
class JointSides:
    """The names of joints with another side, and a function of (t, x, u, p) that is positive on the right one."""

    names: tuple[str, ...]
    function: ca.Function


@remembered
def joint_sides(system: System) -> JointSides | None:
    """The joints of a system that have another side; None where there are none. Made once."""
    mechanics = system.part(Mechanics)
    sides = {} if mechanics is None or mechanics.book is None else mechanics.book.written.mechanics.sides
    if not sides:
        return None
    arguments = system.symbols(("t", "x", "u", "p"))
    return JointSides(tuple(sides), ca.Function("sides", arguments, [ca.vertcat(*sides.values())]))


def check_joint_sides(system: System, t: float, states: Mapping[str, float], u: np.ndarray, p: np.ndarray) -> None:
    """Refuse a start at which a joint is half a turn away from how it is meant; `states` by the name of the element."""
    found = joint_sides(system)
    if found is None or any(label not in states for label in system.labels["x"]):
        return
    x = np.array([states[label] for label in system.labels["x"]])
    if len(u) != system.sizes["u"] or len(p) != system.sizes["p"]:
        u, p = np.zeros(system.sizes["u"]), np.nan_to_num(system.start["p"])
    values = found.function(t, x, u, p).full().ravel()
    wrong = [name for name, value in zip(found.names, values) if value < 0]
    if wrong:
        raise InconsistentStartError(
            f"Joint {wrong[0]!r} is half a turn away from how it is meant to be assembled.",
            f"so are {', '.join(wrong[1:6])}" if len(wrong) > 1 else (),
            because="its equations hold there, too, but the joint is assembled the wrong way round.",
            remedy="rotation= of the bodies, or of the joint, such that they fit",
        )
