"""Equations that are solved together for algebraic variables: where their matrix is singular, these are open.

An explicit run has formulas for z. Where the matrix that these divide by is singular, z has no value or jumps over a
pole, while x' need not feel it. Along a run `daedalus.simulation.singular.leading_matrix` watches it.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import is_singular
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import CoupledBlock, explicit_form
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.singular.leading_matrix import LETTERS


def open_block(system: System, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray) -> CoupledBlock | None:
    """The first block that does not determine its unknowns at a start.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("shares")
    >>> x, z = m.state("x", start=0.0), m.algebraic("z", 2)
    >>> m.equation(m.der(x), 1.0)
    >>> m.equation(z[0] + z[1], 2.0, name="sum"); m.equation(x * (z[0] - z[1]), x, name="difference")
    >>> dd.simulate(m, 1.0)
    Traceback (most recent call last):
    daedalus.errors.SingularModelError: sum, difference cannot be solved for z[0], z[1] at the start.
      their matrix is singular at x = 0
      Because the structure of the model changes there: equations lose the unknowns they are solved for.
      Try: another value of x, or dd.analyse(m, at={"x": 0}), which says what the model is there
    """
    blocks = explicit_form(system).coupled
    if not blocks:
        return None
    function, needs_inputs = once(system, _matrices)
    u = drive.at_time(t0) if needs_inputs else drive.constants
    matrices = (part.full() for part in function.call([t0, x0, u, p]))
    return next((block for block, matrix in zip(blocks, matrices) if _is_open(matrix)), None)


def _matrices(system: System) -> tuple[ca.Function, bool]:
    """The matrices of all blocks, of (t, x, u, p), and whether the inputs matter."""
    matrices = [ca.densify(block.matrix) for block in explicit_form(system).coupled]
    u = system.symbol("u")
    function = ca.Function("matrices", system.symbols(LETTERS), matrices, {"cse": True})
    return function, any(ca.depends_on(matrix, u) for matrix in matrices)


def _is_open(matrix: np.ndarray) -> bool:
    return bool(np.isfinite(matrix).all() and is_singular(matrix))
