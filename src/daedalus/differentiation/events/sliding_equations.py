"""The equations of a run that slides along surfaces of conditions, with the unknowns that it has beside them.

Between the residual r of one side of a surface g = 0 and r + d of the other a run slides with r + s d = 0, ġ = 0 and a
share s (sliding_system.py of the simulation has the sources). Here the share is eliminated: with a row j in which d is
not zero

    s = -r_j / d_j,      0 = r_i + s d_i for i ≠ j,      0 = ġ in the place of row j

so that x, z and x' keep their places along the whole run. On several surfaces whose jumps add up, r + D s = 0, the
same holds with as many rows j.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import SolverError
from daedalus.model.system.system import System
from daedalus.reduction.switches import LETTERS
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.sliding.sliding_system import MOST_SURFACES, difference_of, vanishes
from daedalus.simulation.sliding.surface import MOST_UNKNOWNS, rate_of


class Sides(NamedTuple):
    """What the residual and outputs with conditions are: on one side of all surfaces, across each, across all."""

    base: ca.SX
    across: tuple[ca.SX, ...]
    all: ca.SX


def jumps_across(system: System, sides: Sides, text: str) -> ca.SX:
    """D: what the residual jumps by across each surface; refused where jumps do not add up. system: of the base."""
    columns = [difference_of(system, other, sides.base) for other in sides.across]
    if len(columns) > MOST_SURFACES:
        raise no_sliding(system, text, f"more than {MOST_SURFACES} conditions switch to and fro together")
    if len(columns) > 1 and not vanishes(system, sides.all - sides.base - sum(columns, ca.SX(0))):
        raise no_sliding(system, text, "two conditions switch to and fro together, and one changes the other's jump")
    return ca.densify(ca.horzcat(*columns))


def rate_along(system: System, guard: ca.SX, text: str, law_jumps: ca.SX) -> ca.SX:
    """ġ along the equations of one side, of a guard that is one of states. law_jumps: what the residual jumps by."""
    plant = find_plant(system)
    if isinstance(plant, ExplicitPlant):
        guard = plant.form.applied(system, guard)
    if ca.depends_on(guard, system.symbol("xdot")):
        raise no_sliding(system, text, "the condition is one of derivatives")
    if ca.depends_on(guard, system.symbol("z")):
        rows = structure_of(system).rows_without("xdot")
        if not 0 < len(rows) == system.sizes["z"] <= MOST_UNKNOWNS or law_jumps[rows, :].nnz():
            raise no_sliding(system, text, "the condition is one of algebraic variables that jump with it")
    return rate_of(system, guard)


def slid_residual(base: ca.SX, D: ca.SX, rates: Sequence[ca.SX], pivots: Sequence[int]) -> tuple[ca.SX, ca.SX]:
    """The residual along the surfaces, and the shares."""
    own = list(pivots)
    shares = -ca.solve(ca.densify(D[own, :]), ca.densify(base[own]))
    residual = ca.SX(base + ca.mtimes(ca.sparsify(D), shares))
    for row, rate in zip(own, rates):
        residual[row] = rate
    return residual, shares


def pivots_at(system: System, D: ca.SX, point: Sequence[np.ndarray | float]) -> tuple[int, ...]:
    """The rows in which D is largest at a point (t, x', x, z, u, p), one a surface."""
    left = ca.Function("D", [system.symbol(letter) for letter in LETTERS], [D])(*point).full()
    found: list[int] = []
    for _ in range(left.shape[1]):
        row, column = np.unravel_index(int(np.argmax(np.abs(left))), left.shape)
        if not left[row, column]:
            break
        found.append(int(row))
        left = left - np.outer(left[:, column], left[row]) / left[row, column]
    return tuple(sorted(found))


def no_sliding(system: System, text: str, why: str) -> SolverError:
    """Refuse derivatives along a condition in words."""
    return SolverError(
        f"The derivatives of {system.name!r} do not go on along {text}.",
        f"both branches lead back to it, and {why}",
        because="which motion along it is meant, and its derivative with it, is not determined there.",
        remedy="m.friction for what sticks, or a smooth law such as tanh(v/0.001) for sign(v)",
    )
