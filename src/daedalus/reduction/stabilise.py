"""What is done about drift off the constraints: Baumgarte's damping, and the rate that is chosen for it.

Baumgarte (Computer Methods in Applied Mechanics and Engineering 1, 1972) replaces f^(c) = 0 by (d/dt + α)^c f = 0, that
is c'' + 2α c' + α² c = 0 for a constraint on positions, c' + α c = 0 for one on velocities: errors decay like exp(-αt).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import damped_newton, sizes_of_equations
from daedalus.algebra.rank_decision import FULL_RANK, is_singular
from daedalus.analysis.points.operating_point import read_point
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import DaedalusError, InputError
from daedalus.model.system.system import System


def damped(levels: Mapping[int, ca.SX], times: int, alpha: float | ca.SX) -> ca.SX:
    """(d/dt + α)^times f from f and its derivatives.

    Example
    -------
    >>> import casadi as ca
    >>> c, c1, c2 = (ca.SX.sym(name) for name in ("c", "c1", "c2"))
    >>> float(ca.evalf(ca.substitute(damped({0: c, 1: c1, 2: c2}, 2, 3.0), ca.vertcat(c, c1, c2), ca.DM([1, 10, 100]))))
    169.0
    """
    total = levels[times]
    for k in reversed(range(times)):
        total = total + comb(times, k) * alpha ** (times - k) * levels[k]
    return total


def chosen_alpha(system: System) -> float:
    """The rate of the fastest motion at the start: errors decay as fast as the model moves, and steps stay as long.

    It is the largest of the moduli of the eigenvalues of ∂x'/∂x and of (|x_j^(k)| / max(|x_j|, nominal))^(1/k) over the
    derivatives of the written unknowns, at the start and without stabilisation; 1 where nothing moves there.
    """
    try:
        rate = _fastest_rate(system)
    except DaedalusError:
        rate = np.nan
    if not np.isfinite(rate):
        raise InputError(
            "No damping rate could be chosen.",
            "alpha is chosen from the motion at the start, and the equations cannot be solved there",
            because="the start values do not fit, a parameter has no value, or the model is large.",
            remedy='stabilise="baumgarte", alpha=10.0: errors decay like exp(-alpha t)',
        )
    return rate if rate > 0 else 1.0


def _fastest_rate(system: System) -> float:
    n = system.sizes["x"]
    if n + system.sizes["z"] > FULL_RANK:
        return float("nan")
    point = read_point(system, None, None, None)
    x = np.where(np.isnan(point["x"]), system.default_start, point["x"])
    u = np.nan_to_num(point["u"])
    structure = structure_of(system)
    arguments = [structure.symbols(*letters) for letters in ("t", ("xdot", "z"), "x", "u", "p")]
    outputs = [system.residual, ca.densify(structure.slopes("xdot", "z")), ca.densify(structure.slopes("x"))]
    function = ca.Function("F", arguments, outputs)
    nominal = np.concatenate([system.nominal["x"], system.nominal["z"]])

    def evaluate(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        residual, slopes, _ = (part.full() for part in function(point["t"], values, x, u, point["p"]))
        return residual.ravel(), slopes, sizes_of_equations(slopes, values, nominal)

    guess = np.concatenate([np.zeros(n), np.nan_to_num(system.start["z"])])
    root = damped_newton(evaluate, guess, nominal)
    if not root.converged:
        return float("nan")
    _, by_w, by_x = (part.full() for part in function(point["t"], root.values, x, u, point["p"]))
    if not np.all(np.isfinite(by_w)) or is_singular(by_w):
        return float("nan")
    matrix = -np.linalg.solve(by_w, by_x)[:n]
    moduli = np.abs(np.linalg.eigvals(matrix)) if n else np.zeros(1)
    sizes = np.maximum(np.abs(x), system.nominal["x"])
    size = {(name, k): sizes[j] for j, (name, k, order) in enumerate(system.entries) if order == 0}
    speeds = [
        (abs(rate) / size[name, k]) ** (1 / (order + 1))
        for rate, (name, k, order) in zip(root.values[:n], system.entries)
    ]
    return float(max(moduli.max(initial=0.0), *speeds, 0.0))
