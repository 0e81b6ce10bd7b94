"""Refuse a start at which an equation cannot be solved for its unknown, because what stands before that is zero there.

`u x' + x = 0` is an ODE while u ≠ 0; at u = 0 a division would give an infinite x', or where a factor cancels, one of
many solutions. So it is with equations that are solved together for algebraic variables: where their matrix is singular
z has no value or jumps over a pole, while x' need not feel it. Along a run
`daedalus.simulation.singular.leading_matrix` watches the same divisors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import is_singular
from daedalus.errors import SingularModelError
from daedalus.model.expressions import symbol_key
from daedalus.model.model import Model
from daedalus.model.names import listed
from daedalus.model.printing import expression_text
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import CoupledBlock, explicit_form
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.singular.leading_matrix import LETTERS, MOST_NAMES, divisor_blocks, labels_by_symbol
from daedalus.simulation.start.singular_mass import check_start_mass


class VanishingDivisor(NamedTuple):
    """An equation that loses its unknown at the start; `of_states`: whether another state would have kept it."""

    error: SingularModelError
    of_states: bool
    unknown: str


def vanishing_divisor(
    model: Model | System, plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray
) -> VanishingDivisor | None:
    """The divisor of the formulas for x' and z that is zero at the start, or None.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("valve")
    >>> x = m.state("x", start=1.0); u = m.input("u")
    >>> m.equation(u * m.der(x) + x)
    >>> dd.simulate(m, 1.0, inputs={"u": 0}, method="tsit5")
    Traceback (most recent call last):
    daedalus.errors.SingularModelError: equation_1 cannot be solved for x_dot at the start.
      u, the factor of x_dot, is zero at u = 0
      Because the structure of the model changes there: an equation loses the unknown it is solved for.
      Try: another value of u, or dd.analyse(m, at={"u": 0}), which says what the model is there
    """
    if not isinstance(plant, ExplicitPlant):
        return None
    block = open_block(plant.system, drive, t0, x0, p)
    if block is not None:
        known = {"t": [t0], "x": x0, "u": drive.at_time(t0), "p": p}
        return _refused(plant.system, block.equations, block.unknowns, block.matrix, known)
    divisors = once(plant.system, divisor_blocks)
    if divisors is None:
        return None
    u = drive.at_time(t0) if divisors.needs_inputs else drive.constants
    vanished = np.flatnonzero(divisors.judged(divisors.function.core(np.array([t0]), x0, u, p)[0][None]).signs[0] == 0)
    if not len(vanished):
        return None
    check_start_mass(model, plant.system, t0, x0, p)
    known = {"t": [t0], "x": x0, "u": u, "p": p}
    lost = plant.form.divisors[int(vanished[0])]
    return _refused(plant.system, (lost.equation,), (lost.unknown,), lost.expression, known)


def _refused(
    system: System, equations: Sequence[str], unknowns: Sequence[str], singular: ca.SX, known: dict[str, object]
) -> VanishingDivisor:
    """A divisor that is zero, or a matrix of several equations that is singular, in words."""
    labels = labels_by_symbol(system)
    flat = np.concatenate([np.asarray(known[letter], dtype=float) for letter in LETTERS])
    values = {name: float(value) + 0.0 for name, value in zip(labels.values(), flat)}
    inside = [labels[symbol_key(symbol)] for symbol in ca.symvar(singular)][:MOST_NAMES]
    at = ", ".join(f"{name} = {values[name]:g}" for name in inside)
    point = ", ".join(f'"{name}": {values[name]:g}' for name in inside if name != "t")
    choice = f"another value of {', '.join(inside)}" if inside != ["t"] else "another time to begin at"
    names = listed(unknowns)
    if len(unknowns) == 1:
        fact = f"{expression_text(singular, labels, 80)}, the factor of {names}, is zero at {at}"
        why = "an equation loses the unknown it is solved for."
    else:
        fact, why = f"their matrix is singular at {at}", "equations lose the unknowns they are solved for."
    error = SingularModelError(
        f"{listed(equations)} cannot be solved for {names} at the start.",
        fact,
        because=f"the structure of the model changes there: {why}",
        remedy=f"{choice}, or dd.analyse(m, at={{{point}}}), which says what the model is there",
    )
    return VanishingDivisor(error, bool(ca.depends_on(singular, system.symbol("x"))), unknowns[0])


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
    function, needs_inputs = once(system, _matrices_of_blocks)
    u = drive.at_time(t0) if needs_inputs else drive.constants
    matrices = (part.full() for part in function.call([t0, x0, u, p]))
    return next((block for block, matrix in zip(blocks, matrices) if _is_open(matrix)), None)


def _matrices_of_blocks(system: System) -> tuple[ca.Function, bool]:
    """The matrices of all blocks, of (t, x, u, p), and whether the inputs matter."""
    matrices = [ca.densify(block.matrix) for block in explicit_form(system).coupled]
    u = system.symbol("u")
    function = ca.Function("matrices", system.symbols(LETTERS), matrices, {"cse": True})
    return function, any(ca.depends_on(matrix, u) for matrix in matrices)


def _is_open(matrix: np.ndarray) -> bool:
    return bool(np.isfinite(matrix).all() and is_singular(matrix))
