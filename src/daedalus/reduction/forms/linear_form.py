"""Write 0 = F(t, x', x, z, u, p) as a sparse linear system for x' and z, where the equations are linear in them.

    A(t, x, u, p) (x'; z) = b(t, x, u, p)

It is solved by numbers at every evaluation: nothing grows but the number of equations, where a symbolic solve of many
coupled ones would (`explicit_form`).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_MATRIX, is_singular
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import SingularModelError, SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.names import listed
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.reduction.forms.linearity import is_linear, may_step
from daedalus.reduction.forms.no_form import FormObstacle, NoForm


@dataclass(frozen=True)
class LinearForm:
    """A (x'; z) = b with a sparse A; row i is equation i of the system."""

    matrix: ca.SX
    right: ca.SX


def linear_form(system: System) -> LinearForm:
    """The linear form of a system; kept with it, so that the second call costs nothing.

    Raises a SolverError where an equation is not linear in x' and z, and a SingularModelError where A is singular
    whatever the values are.
    """
    found = find_linear_form(system)
    if isinstance(found, NoForm):
        raise found.error
    return found


@remembered
def find_linear_form(system: System) -> LinearForm | NoForm:
    """The linear form of a system, or why there is none."""
    structure = structure_of(system)
    w, matrix = structure.symbols("xdot", "z"), structure.slopes("xdot", "z")
    if not is_linear(system.residual, w, matrix, may_step(system)):
        error = SolverError(
            "This model has no linear form A (x'; z) = b.",
            f"nonlinear in derivatives or algebraic variables: {_nonlinear_rows(system, matrix, w)}",
            because="explicit methods need every derivative and algebraic variable from a linear solve.",
            remedy="solve the equation by hand for the unknown",
        )
        return NoForm(error, FormObstacle.NONLINEAR)
    if always_singular(matrix):
        loose = SingularModelError(
            "The equations do not determine all derivatives and algebraic variables.",
            "their matrix is singular for all values",
            because="the model is a DAE of higher index, or two equations are equivalent.",
            remedy="dd.analyse(m), which names hidden constraints",
        )
        return NoForm(loose, FormObstacle.SINGULAR)
    return LinearForm(matrix, ca.densify(-ca.substitute(system.residual, w, ca.SX.zeros(w.shape))))


def _nonlinear_rows(system: System, matrix: ca.SX, w: ca.SX) -> str:
    """The equations whose coefficients depend on the unknowns, or that jump with them."""
    pattern = ca.jacobian_sparsity(ca.SX(matrix.sparsity(), 1) * matrix, w) if matrix.nnz() else ca.Sparsity(0, 0)
    size = system.residual.numel()
    rows = sorted({k % size for k in pattern.row()})
    names = [system.equation_labels[r] for r in rows] or ["an equation that jumps with them"]
    return listed(names, 6)


def always_singular(matrix: ca.SX) -> bool:
    """Whether a matrix is singular at three points drawn at random, hence everywhere but for bad luck."""
    function = ca.Function("matrix", [concatenate(ca.symvar(matrix))], [matrix])
    draw = np.random.default_rng(1978)
    for _ in range(3):
        sample = function(draw.uniform(0.5, 1.5, function.size1_in(0)))
        # Where it is not finite, nothing is known of it.
        if not is_singular(sample.full() if sample.size1() <= FULL_MATRIX else sample.sparse()):
            return False
    return True
