"""Equations that are solved together for algebraic variables: where their matrix is singular, these are open.

An explicit run has formulas for z. Where the matrix that these divide by is singular, at the start or on the way, z has
no value or jumps over a pole, while x' need not feel it.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import is_singular
from daedalus.model.expressions import concatenate
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import CoupledBlock, explicit_form
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import NotDetermined

LETTERS = ("t", "x", "u", "p")
# Larger systems of formulas, and more rows, are not followed along a run.
LONGEST, NUMBERS = 3000, 1e6
# It passes through zero, and does not jump over it, where it is nearer to zero at one of both rows than this, in its
# largest value along the run.
NEAR = 0.5


class _Matrices(NamedTuple):
    """The matrices of all blocks, as one function of (t, x, u, p)."""

    function: ca.Function
    needs_inputs: bool


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
    matrices = once(system, _matrices)
    u = drive.at_time(t0) if matrices.needs_inputs else drive.constants
    flat = matrices.function(t0, x0, u, p).full().ravel()
    return next(
        (block for block, matrix in zip(blocks, _separated(blocks, flat[None, :])) if _is_open(matrix[0])), None
    )


def blocks_passed(system: System, drive: Drive, times: np.ndarray, x: np.ndarray, p: np.ndarray) -> tuple[Record, ...]:
    """Records of the blocks whose determinant changes its sign between two rows of a run, or is zero there."""
    blocks = explicit_form(system).coupled
    if not blocks or len(times) < 2:
        return ()
    matrices = once(system, _matrices)
    entries = matrices.function.numel_out(0)
    moving = ca.vertcat(*system.symbols(("t", "x", "u")))
    if matrices.function.n_instructions() > LONGEST or len(times) * entries > NUMBERS:
        return ()
    if matrices.needs_inputs and drive.callbacks:
        return ()
    u = drive.at(times).T if matrices.needs_inputs else drive.constants
    flat = matrices.function(times[None, :], x.T, u, p).full().T
    found: list[Record] = []
    for block, matrix in zip(blocks, _separated(blocks, flat)):
        if not ca.depends_on(block.matrix, moving):
            continue
        size = np.abs(matrix).max(axis=(1, 2), keepdims=True)
        values = np.linalg.det(matrix / np.where(size > 0, size, 1))
        places = np.flatnonzero(values[1:] * values[:-1] <= 0)
        near = np.minimum(*np.abs([values[places], values[places + 1]])) <= NEAR * np.abs(values).max()
        if near.any():
            first = int(places[near][0])
            found.append(NotDetermined(block.equations, block.unknowns, *map(float, times[first : first + 2])))
    return tuple(found)


def _matrices(system: System) -> _Matrices:
    whole = concatenate(ca.vec(block.matrix) for block in explicit_form(system).coupled)
    function = ca.Function("matrices", system.symbols(LETTERS), [whole], {"cse": True})
    return _Matrices(function, bool(ca.depends_on(whole, system.symbol("u"))))


def _separated(blocks: tuple[CoupledBlock, ...], flat: np.ndarray) -> list[np.ndarray]:
    """The matrix of each block at each row, (rows, n, n), from columns below each other."""
    widths = [len(block.unknowns) for block in blocks]
    parts = np.split(flat, np.cumsum([n * n for n in widths])[:-1], axis=1)
    return [part.reshape(len(flat), n, n).transpose(0, 2, 1) for part, n in zip(parts, widths)]


def _is_open(matrix: np.ndarray) -> bool:
    return bool(np.isfinite(matrix).all() and is_singular(matrix))
