"""Keep many invariants that share variables: the shortest way onto them by a sparse solve instead of a formula.

With invariants c(t, x) = 0, J = ∂c/∂x and W the squares of the nominal values, Gauss–Newton's correction solves

    [W⁻¹ Jᵀ; J 0] (d; m) = (0; −c)

which is what the core does for the constraints of a mechanism, with W⁻¹ in place of the masses.
"""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.compilation import compile_function
from daedalus.errors import SolverError
from daedalus.model.expressions import nonzeros
from daedalus.model.system.system import System
from daedalus.reduction.forms.linear_form import always_singular


def invariant_projection(system: System, kept: ca.SX) -> SimpleNamespace:
    """The projection onto expressions of (t, x, u, p) as the core takes it, as `core`; its code is in `functions`.

    Raises a SolverError where the invariants depend on each other everywhere: then they determine no way.
    """
    x, arguments = system.symbol("x"), system.symbols(("t", "x", "u", "p"))
    jacobian = ca.jacobian(kept, x)
    moved = sorted(set(jacobian.sparsity().get_triplet()[1]))
    resting = sorted(set(range(x.numel())) - set(moved))
    nominal = np.maximum(np.abs(system.nominal["x"]), NOT_ZERO)
    weights = ca.diag(ca.SX(ca.DM(1.0 / nominal[moved] ** 2)))
    count, states = kept.numel(), len(moved)
    steep = jacobian[:, moved]
    matrix = ca.vertcat(ca.horzcat(weights, steep.T), ca.horzcat(steep, ca.SX(count, count)))
    if always_singular(matrix):
        raise SolverError(
            "The invariants of this model cannot be kept by projection.",
            f"{count} of them depend on each other",
            because="the projection onto them is not unique.",
            remedy="leave out those that follow from the others",
        )
    nothing = [ca.SX.zeros(states + count), *([ca.SX.zeros(len(resting))] if resting else [])]
    functions = {
        "matrix": compile_function(ca.Function("matrix", arguments, [nonzeros(matrix), *nothing])),
        "invariants": compile_function(ca.Function("invariants", arguments, [ca.densify(kept)])),
    }
    pattern = matrix.sparsity()
    places = [*moved, *range(x.numel(), x.numel() + count)]
    model = _core.LinearModel(
        functions["matrix"].core, x.numel(), states + count, pattern.colind(), pattern.row(), places, resting
    )
    rows = list(range(states, states + count))
    core = _core.Projection(model, None, [], functions["invariants"].core, rows, None, None, nominal)
    return SimpleNamespace(core=core, functions=functions)
