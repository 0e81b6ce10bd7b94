"""The same fixed-step maps in CasADi's own terms: explicit ones unrolled in SX, implicit ones by a rootfinder."""

import casadi as ca
import numpy as np

from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import explicit_form


def unrolled(system: System, tableau: Tableau, step: float, steps: int, t0: float = 0.0, project=None) -> ca.Function:
    """x⁺ as one SX function of (x, u, p)."""
    t, x, u, p = (system.symbol(letter) for letter in "txup")
    f = ca.Function("f", [t, x, u, p], [explicit_form(system).xdot])
    end = x
    for number in range(steps):
        slopes: list[ca.SX] = []
        for i in range(tableau.stages):
            stage = end + step * sum((tableau.A[i, j] * k for j, k in enumerate(slopes)), ca.SX.zeros(x.shape))
            slopes.append(f(t0 + (number + tableau.c[i]) * step, stage, u, p))
        end = end + step * sum(b * k for b, k in zip(tableau.b, slopes))
        if project is not None:
            end = project(t0 + (number + 1) * step, end, u, p)
    return ca.Function("phi", [x, u, p], [end])


def by_rootfinder(system: System, tableau: Tableau, step: float, steps: int) -> ca.Function:
    """x⁺ as an MX function of (x, u, p), all stages of a step solved together from the written residual."""
    n, m, s = system.sizes["x"], system.sizes["x"] + system.sizes["z"], tableau.stages
    x, u, p = (system.symbol(letter) for letter in "xup")
    w = ca.SX.sym("w", m * s)
    parts = [(w[i * m : i * m + n], w[i * m + n : (i + 1) * m]) for i in range(s)]
    residual = []
    for i, (k, z) in enumerate(parts):
        stage = x + step * sum(a * parts[j][0] for j, a in enumerate(tableau.A[i]))
        residual.append(system.function(tableau.c[i] * step, k, stage, z, u, p))
    solver = ca.rootfinder(
        "stages",
        "newton",
        ca.Function("residual", [w, x, u, p], [ca.vertcat(*residual)]),
        {"abstol": 1e-13, "max_iter": 200},
    )
    guess = ca.repmat(ca.DM(np.r_[np.zeros(n), np.nan_to_num(system.start["z"])]), s)
    x, u, p = (ca.MX.sym(letter, system.sizes[letter]) for letter in "xup")
    end = x
    for _ in range(steps):
        found = solver(guess, end, u, p)
        end = end + step * sum(b * found[i * m : i * m + n] for i, b in enumerate(tableau.b))
    return ca.Function("phi", [x, u, p], [end])


def derivatives(function: ca.Function, x, u, p, weights) -> dict[str, np.ndarray]:
    """Value, Jacobian, reverse and contracted second derivative by w = (x, u, p), as CasADi users get them."""
    n, nu, size = len(x), len(u), len(x) + len(u) + len(p)
    w, multipliers = ca.MX.sym("w", size), ca.MX.sym("l", n)
    end = function(w[:n], w[n : n + nu], w[n + nu :])
    reverse = ca.jtimes(end, w, multipliers, True)
    evaluate = ca.Function(
        "all", [w, multipliers],
        [end, ca.jacobian(end, w), reverse, ca.hessian(ca.dot(multipliers, end), w)[0]],
    )  # fmt: skip
    names = ("value", "jacobian", "reverse", "hessian")
    return dict(zip(names, (part.full() for part in evaluate(np.r_[x, u, p], weights))))
