"""Where an implicit run passes a place at which its equations do not determine their highest derivatives.

The matrix of the highest derivatives, ∂F_i/∂w_j^(σ_ij) with d_j - c_i = σ_ij (J. D. Pryce, BIT 41, 2001), falls into
irreducible blocks. Those that hold differentiated constraints are told of as dead centres (`singular_places`); here are
the others: ∂F/∂(x', z) of index 1. An implicit method solves for the end of a step and sees nothing of a matrix that
changes the sign of its determinant on the way, though behind that place solutions may end, or go on in several ways.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import ROUNDING
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled
from daedalus.model.expressions import concatenate
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import implicit_plant_of
from daedalus.simulation.result.recorded_run import Dense
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import NotDetermined
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.singular.rank_watch import LONGEST, constraining

# Larger blocks are not followed, nor more numbers than this along one run.
LARGEST, NUMBERS = 24, 2e6
# So many entries of blocks of one width are evaluated at a time.
TOGETHER = 32
# It passes through zero, and does not jump over it, where halving leads to so little of its largest value on the way.
PASSES, HALVINGS = 1e-3, 40
# Whether it is zero everywhere is seen beside the start: so far, in sizes of the variables.
BESIDE = 1e-3
# Places in the records of one run.
MOST_PLACES = 6

# Of one block, at some samples, (times,).
Determinant = Callable[[Samples], np.ndarray]


class LeadingBlocks(NamedTuple):
    """Blocks of one width: equations and the highest derivatives that they have to determine together."""

    width: int
    needs_inputs: bool
    names: list[tuple[tuple[str, ...], tuple[str, ...]]]  # the equations of each block, and its unknowns
    function: Compiled  # the entries of all blocks, then the sizes of their terms, of (t, row, u, p)

    def determinants(self, samples: Samples, block: Any = slice(None)) -> np.ndarray:
        """(times, blocks), with rows and columns divided by the sizes of their terms; zero within rounding errors."""
        n, u = self.width, samples._inputs if self.needs_inputs else samples._drive.constants
        values = self.function.core.evaluate_many(samples._times[:, None], samples._x, u, samples._parameters)[0]
        matrix, size = np.asarray(values).reshape(len(values), 2, -1, n, n).transpose(1, 0, 2, 4, 3)
        rows = size.max(axis=3, keepdims=True)
        with np.errstate(invalid="ignore"):  # terms without a value: so is the determinant
            columns = (size / np.where(rows > 0, rows, 1)).max(axis=2, keepdims=True)
        scaled = matrix / np.where(rows * columns > 0, rows * columns, 1)
        found = scaled[..., 0, 0] if n == 1 else np.linalg.det(scaled)
        return np.where(np.abs(found) <= n * ROUNDING, 0.0, found)[:, block]


def undetermined_places(plant: Plant, drive: Drive, p: np.ndarray, run: Any) -> tuple[Record, ...]:
    """Records of the places along a core run at which a block of the leading matrix is singular.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("valve")
    >>> x = m.state("x", start=1.0)
    >>> m.equation((1 - m.time) * m.der(x) + x, name="flow")
    >>> print(dd.simulate(m, 2.0, method="bdf").notes[-1])  # doctest: +ELLIPSIS
    flow does not determine x_dot near t = 1: the matrix before it is singular there, and solutions may ...
    """
    if not isinstance(plant, ImplicitPlant) or not run.steps:
        return ()
    groups = [blocks for blocks in once(plant.system, _blocks) if not (blocks.needs_inputs and drive.callbacks)]
    if not groups:
        return ()
    steps = Samples(plant, drive, p, *run.at_steps())

    def between(times: Any) -> Samples:
        at = np.asarray(times, dtype=float)
        return Samples(plant, drive, p, at, Dense(*run.dense()).at(at))

    found = []
    for blocks in groups:
        if len(steps._times) * blocks.width**2 > NUMBERS:
            continue
        values = blocks.determinants(steps)
        for k in np.flatnonzero(~((values > 0).all(axis=0) | (values < 0).all(axis=0))):
            place = _first_place(partial(blocks.determinants, block=k), values[:, k], steps, between)
            found += [] if place is None else [NotDetermined(*blocks.names[k], *place)]
    return tuple(found[:MOST_PLACES])


def _first_place(
    determinant: Determinant, values: np.ndarray, steps: Samples, at: Callable[[Any], Samples]
) -> tuple[float, float] | None:
    """From when to when the determinant is zero for the first time: at steps, or between two of them."""
    times = steps._times
    zeros = values == 0
    if zeros[0] and not _is_regular_beside(determinant, steps):
        return None  # singular everywhere: the index is another one than the structure shows
    for k in np.flatnonzero(zeros[:-1] | (values[1:] * values[:-1] < 0)):
        if zeros[k]:
            others = np.flatnonzero(~zeros[k:])
            return float(times[k]), float(times[k + others[0] - 1 if len(others) else -1])
        t = _passing(determinant, at, times[k : k + 2], values[k : k + 2], float(np.abs(values).max()))
        if t is not None:
            return t, t
    return (float(times[-1]), float(times[-1])) if zeros[-1] else None


def _passing(
    determinant: Determinant, at: Callable[[Any], Samples], times: np.ndarray, values: np.ndarray, usual: float
) -> float | None:
    """When the determinant passes through zero between two steps; None where it jumps over it."""
    left, right = (float(t) for t in times)
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        value = float(determinant(at([middle]))[0])
        left, right = (middle, right) if value * values[0] > 0 else (left, middle)
    return middle if abs(value) <= PASSES * usual else None


def _is_regular_beside(determinant: Determinant, steps: Samples) -> bool:
    """Whether the determinant is another than zero near the first row, or a little later."""
    system = steps._plant.system
    nominal = np.concatenate([system.nominal["x"], system.nominal["z"], system.nominal["x"]])
    size = np.maximum(np.abs(steps._x[0]), nominal)
    moved = steps._x[0] + BESIDE * size * np.random.default_rng(41).uniform(-1, 1, (3, len(size)))
    times = steps._times[0] + BESIDE * (steps._times[-1] - steps._times[0]) * np.array([0.0, 0.5, 1.0])
    beside = Samples(steps._plant, steps._drive, steps._parameters, times, moved)
    return bool(np.any(determinant(beside)))


def _blocks(system: System) -> list[LeadingBlocks]:
    """The blocks of a system that may become singular on the way of a run."""
    constrains = constraining(system)
    if constrains is None:
        return []
    structure, plant = structure_of(system), implicit_plant_of(system)
    offsets = structure.signature
    names = (system.labels["xdot"], structure.labels)
    moving = ca.vertcat(*system.symbols(("t", "xdot", "x", "z", "u")))
    alike: dict[tuple[int, bool], list[tuple[Any, ...]]] = {}
    for own in structure.blocks:
        rows, columns = own.equations.tolist(), own.unknowns.tolist()
        block = structure.jacobian[rows, columns]
        if len(rows) > LARGEST or constrains[rows].any() or not ca.depends_on(block, moving):
            continue
        both = [ca.vec(ca.densify(part)) for part in (block, _sizes(block, ca.vertcat(moving, system.symbol("p"))))]
        if ca.Function("length", [moving, system.symbol("p")], both).n_instructions() > LONGEST:
            continue
        unknowns = tuple(names[0 if offsets.d[j] and j < len(names[0]) else 1][j] for j in columns)
        equations = tuple(system.rows[i].equation for i in rows)
        kind = (len(rows), bool(ca.depends_on(block, system.symbol("u"))))
        alike.setdefault(kind, []).append(((equations, unknowns), *both))
    found = []
    for kind, blocks in alike.items():
        count = max(1, TOGETHER // kind[0] ** 2)
        for first in range(0, len(blocks), count):
            told, entries, sizes = zip(*blocks[first : first + count], strict=True)
            compiled = plant._compiled("leading", concatenate([*entries, *sizes]))
            found.append(LeadingBlocks(*kind, list(told), compiled))
    return sorted(found, key=lambda blocks: blocks.width == 1)


def _sizes(block: ca.SX, arguments: ca.SX) -> ca.SX:
    """For each entry the sum of the sizes of its terms, |entry| at least."""
    entries = ca.SX(block.nz[:])
    terms = ca.mtimes(ca.fabs(ca.jacobian(entries, arguments)), ca.fabs(arguments))
    return ca.SX(block.sparsity(), ca.fmax(ca.densify(terms), ca.fabs(entries)))
