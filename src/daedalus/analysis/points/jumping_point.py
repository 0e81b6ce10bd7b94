"""Points at which equations jump: on a condition, such as sign(v) at v = 0, a linear system is that of neither side."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.analysis.points.partial_derivatives import Vectors, partial_derivatives
from daedalus.deadline import poll
from daedalus.errors import SolverError
from daedalus.model.expressions import CONDITIONS, CUT, contains
from daedalus.model.names import listed
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System

# What has two or more values, which change at once.
DECIDING = CONDITIONS | CUT.keys() | {ca.OP_COPYSIGN}
# Equations are looked at on both sides of a point, so far away in nominal values, in so many directions. Across a jump
# they differ by the same at both distances, elsewhere by a hundredth nearer by.
FAR, NEAR, DIRECTIONS = 1e-7, 1e-9, 3
# A jump is at least this share of what changes of the variables by their nominal values make of an equation.
SHARE = 1e-5


def refuse_jump(system: System, point: OperatingPoint) -> None:
    """Raise a SolverError where equations jump at a point."""
    found = jumping_equations(system, point.vectors)
    if not found:
        return
    raise SolverError(
        f"The equations of {system.name!r} jump at this point.",
        f"{listed(found)} has other values on both sides of a condition that is just met",
        because="a linear system describes small deviations, and those lead to one side or the other.",
        remedy="a point beside it, or m.friction with modes={...} for what sticks or slides",
    )


def jumping_equations(system: System, at: Vectors) -> list[str]:
    """The labels of the equations that jump at a point.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("brake")
    >>> v = m.state("v", start=1.0)
    >>> m.equation(m.der(v), -ca.sign(v), name="braking")
    >>> at = {"t": [0.0], "xdot": [0.0], "x": [0.0], "z": [], "u": [], "p": []}
    >>> jumping_equations(m.freeze(), at), jumping_equations(m.freeze(), {**at, "x": [0.5]})
    (['braking'], [])
    """
    if not decides(system):
        return []
    derivatives, draw = partial_derivatives(system), np.random.default_rng(3)
    sizes = {letter: np.asarray(system.nominal[letter], dtype=float) for letter in ("x", "z")}
    slopes = derivatives.equations(at)[1]
    usual = sum(np.abs(slopes[a]) @ sizes[b] for a, b in (("x", "x"), ("z", "z"), ("xdot", "x")))
    jumps = np.zeros(len(usual), dtype=bool)
    for _ in range(DIRECTIONS):
        poll("an operating point")
        ways = {letter: size * draw.standard_normal(len(size)) for letter, size in sizes.items()}
        gaps = []
        for distance in (FAR, NEAR):
            sides = [
                {**at, **{letter: np.asarray(at[letter]) + sign * distance * way for letter, way in ways.items()}}
                for sign in (1, -1)
            ]
            gaps.append(np.abs(derivatives.equations(sides[0])[0] - derivatives.equations(sides[1])[0]))
        jumps |= (gaps[1] > 0.5 * gaps[0]) & (gaps[1] > SHARE * usual)
    return [system.equation_labels[k] for k in np.flatnonzero(jumps)]


@remembered
def decides(system: System) -> bool:
    """Whether conditions are part of the equations."""
    function = ca.Function("F", system.symbols(), [system.residual])
    return contains(function, DECIDING)
