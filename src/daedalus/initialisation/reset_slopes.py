"""How values behind a reset change with what lies before it, by the implicit function theorem.

With w the values that were held, h their slopes, and v all others, the equations F(t, v, w, u, p) = 0 give
F_v v' = -(F_w h + F_t + F_u + F_p). Where velocities moved in the metric M of the masses, v is a point of least change,

    M (v - g) + F_vᵀ λ = 0,    F = 0           g: the velocities that were written, or those of before

and these equations are differentiated instead.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, SINGULAR
from daedalus.analysis.structure.jets.jet_equations import JetEquations
from daedalus.errors import SolverError
from daedalus.initialisation.behind_reset import Behind
from daedalus.initialisation.mass_metric import velocity_mass
from daedalus.model.system.once import remembered


def reset_slopes(behind: Behind, assigned: list[int], written: np.ndarray) -> np.ndarray:
    """∂x⁺/∂(t, x, u, p), (n, 1 + n + nu + np).

    assigned: the states that the reset writes. written: ∂r/∂(t, x, u, p) of the states that it gives, (n, ...).
    """
    eq = behind.search.equations
    n, columns = eq.system.sizes["x"], written.shape[1]
    place = eq.places["x"]
    known = np.zeros((len(eq.unknowns), columns))
    known[place, 1 + np.arange(n)] = 1.0
    known[place[assigned]] = written[assigned]
    slopes = known.copy()
    held = behind.held
    J, outside = _derivatives(behind)
    right = -(J[:, held] @ known[held] + outside)
    free = np.flatnonzero(~held)
    moved = np.flatnonzero(behind.by_mass)
    if len(moved):
        slopes[free] = _least_change(behind, J, right, known, free, moved)
    else:
        slopes[free] = _solved(J[:, free], right)
    return slopes[place]


def _derivatives(behind: Behind) -> tuple[np.ndarray, np.ndarray]:
    """∂F/∂jet, and ∂F/∂(t, x, u, p) where t, u and p stand in F themselves."""
    search = behind.search
    system = search.equations.system
    parts = [part.full() for part in _functions(search.equations)(search.time, search.p, search.u, behind.values)]
    nothing = np.zeros((len(parts[0]), system.sizes["x"]))
    return parts[0], np.hstack([parts[1], nothing, parts[2][:, : system.sizes["u"]], parts[3]])


@remembered
def _functions(eq: JetEquations) -> ca.Function:
    t, p, u, jet = eq.symbols
    slopes = [ca.jacobian(eq.stack, by) for by in (jet, t, u, p)]
    return ca.Function("slopes", [t, p, u, jet], slopes)


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest solution; directions that leave the constraints have none, and are of no use to anybody."""
    scale = 1 / np.maximum(np.abs(matrix).max(axis=1, initial=0.0), NOT_ZERO)[:, None]
    return np.linalg.lstsq(scale * matrix, scale * right, rcond=SINGULAR)[0]


def _least_change(
    behind: Behind, J: np.ndarray, right: np.ndarray, known: np.ndarray, free: np.ndarray, moved: np.ndarray
) -> np.ndarray:
    """The derivative of a point of least change."""
    search = behind.search
    eq, rows = search.equations, J.shape[0]
    mass = velocity_mass(eq.system)
    own = {int(k): i for i, k in enumerate(eq.places["x"][mass.places])} if mass is not None else {}
    if mass is None or any(int(k) not in own for k in moved):
        raise SolverError(
            "The values after a reset have no derivative.",
            "the reset leaves the constraints, and positions move back in the metric of the masses",
            because="derivatives are offered of velocities that move so.",
            remedy="a reset of positions that obeys the constraints",
        )
    pick = [own[int(k)] for k in moved]
    change = behind.values[moved] - search.guess[moved]
    point = (search.time, search.p, search.u, behind.values)
    M, bends = mass.at(eq.symbols, point, pick, change)
    among = np.searchsorted(free, moved)
    pull = np.zeros(len(free))
    pull[among] = M @ change
    multipliers = np.linalg.lstsq(J[:, free].T, -pull, rcond=SINGULAR)[0]
    t, p, u, jet = eq.symbols
    weights = ca.SX.sym("weights", rows)
    turned = ca.Function("turned", [t, p, u, jet, weights], [
        ca.jacobian(ca.jtimes(eq.stack, jet, weights, True)[free.tolist()], by) for by in (jet, t, u, p)
    ])  # fmt: skip
    by_jet, *others = (part.full() for part in turned(*point, multipliers))
    n, nu = eq.system.sizes["x"], eq.system.sizes["u"]
    outside = np.hstack([others[0], np.zeros((len(free), n)), others[1][:, :nu], others[2]])
    by_jet[among] += bends
    top = by_jet[:, free].copy()
    top[np.ix_(among, among)] += M
    held = behind.held
    right_top = -(by_jet[:, held] @ known[held] + outside)
    right_top[among] += M @ known[moved]
    whole = np.block([[top, J[:, free].T], [J[:, free], np.zeros((rows, rows))]])
    return _solved(whole, np.vstack([right_top, right]))[: len(free)]
