"""Where an implicit run passes a place at which its equations do not determine their highest derivatives.

The matrix of the highest derivatives, ∂F_i/∂w_j^(σ_ij) with d_j - c_i = σ_ij (J. D. Pryce, BIT 41, 2001), falls into
irreducible blocks. Those that hold differentiated constraints are told of as dead centres (`singular_places`); here are
the others: ∂F/∂(x', z) of index 1. An implicit method solves for the end of a step and sees nothing of a matrix that
changes the sign of its determinant on the way, though behind that place solutions may end, or go on in several ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import ROUNDING
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled
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
# Blocks of one equation are evaluated so many at a time.
TOGETHER = 32
# It passes through zero, and does not jump over it, where halving leads to so little of its largest value on the way.
PASSES, HALVINGS = 1e-3, 40
# Whether it is zero everywhere is seen beside the start: so far, in sizes of the variables.
BESIDE = 1e-3
# Places in the records of one run.
MOST_PLACES = 6


class LeadingBlock(NamedTuple):
    """Equations and the highest derivatives that they have to determine together."""

    equations: tuple[str, ...]
    unknowns: tuple[str, ...]
    function: Compiled  # entries, then the sizes of their terms, of (t, row, u, p)
    needs_inputs: bool
    is_diagonal: bool = False  # many blocks of one equation each, evaluated together
    place: int | None = None  # which of them, of one taken out

    @property
    def width(self) -> int:
        """How many equations determine their unknowns together."""
        return 1 if self.is_diagonal else len(self.equations)

    def each(self, steps: Samples) -> Iterator[tuple[LeadingBlock, np.ndarray]]:
        """Blocks with their determinants at all steps; of many equations each alone, where it might be zero."""
        if not self.is_diagonal:
            yield self, self.determinants(steps)
            return
        values = self._of_each(steps)
        for k in np.flatnonzero(~((values > 0).all(axis=0) | (values < 0).all(axis=0))):
            yield (
                self._replace(equations=self.equations[k : k + 1], unknowns=self.unknowns[k : k + 1], place=int(k)),
                values[:, k],
            )

    def _values(self, samples: Samples) -> np.ndarray:
        u = samples._inputs if self.needs_inputs else samples._drive.constants
        found = self.function.core.evaluate_many(samples._times[:, None], samples._x, u, samples._parameters)[0]
        return np.asarray(found)

    def _of_each(self, samples: Samples) -> np.ndarray:
        """Determinants of blocks of one equation, (times, blocks): entries over the sizes of their terms."""
        entries, size = np.split(self._values(samples), 2, axis=1)
        found = entries / np.where(size > 0, size, 1)
        return np.where(np.abs(found) <= ROUNDING, 0.0, found)

    def determinants(self, samples: Samples) -> np.ndarray:
        """The determinant with rows and columns divided by the sizes of their terms; zero within its rounding error."""
        if self.place is not None:
            return self._of_each(samples)[:, self.place]
        n, values = len(self.equations), self._values(samples)
        matrix, size = values.reshape(len(values), 2, n, n).transpose(1, 0, 3, 2)
        rows = size.max(axis=2, keepdims=True)
        with np.errstate(invalid="ignore"):  # terms without a value: so is the determinant
            columns = (size / np.where(rows > 0, rows, 1)).max(axis=1, keepdims=True)
        scales = rows * columns
        found = np.linalg.det(matrix / np.where(scales > 0, scales, 1))
        return np.where(np.abs(found) <= n * ROUNDING, 0.0, found)


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
    blocks = [block for block in once(plant.system, _blocks) if not (block.needs_inputs and drive.callbacks)]
    if not blocks:
        return ()
    steps = Samples(plant, drive, p, *run.at_steps())

    def between(times: Any) -> Samples:
        at = np.asarray(times, dtype=float)
        return Samples(plant, drive, p, at, Dense(*run.dense()).at(at))

    found = []
    for block in blocks:
        if len(steps._times) * block.width**2 <= NUMBERS:
            for own, values in block.each(steps):
                place = _first_place(own, values, steps, between)
                found += [] if place is None else [NotDetermined(own.equations, own.unknowns, *place)]
    return tuple(found[:MOST_PLACES])


def _first_place(
    block: LeadingBlock, values: np.ndarray, steps: Samples, at: Callable[[Any], Samples]
) -> tuple[float, float] | None:
    """From when to when the determinant is zero for the first time: at steps, or between two of them."""
    times = steps._times
    zeros = values == 0
    if zeros[0] and not _is_regular_beside(block, steps):
        return None  # singular everywhere: the index is another one than the structure shows
    for k in np.flatnonzero(zeros[:-1] | (values[1:] * values[:-1] < 0)):
        if zeros[k]:
            others = np.flatnonzero(~zeros[k:])
            return float(times[k]), float(times[k + others[0] - 1 if len(others) else -1])
        t = _passing(block, at, times[k : k + 2], values[k : k + 2], float(np.abs(values).max()))
        if t is not None:
            return t, t
    return (float(times[-1]), float(times[-1])) if zeros[-1] else None


def _passing(
    block: LeadingBlock, at: Callable[[Any], Samples], times: np.ndarray, values: np.ndarray, usual: float
) -> float | None:
    """When the determinant passes through zero between two steps; None where it jumps over it."""
    left, right = (float(t) for t in times)
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        value = float(block.determinants(at([middle]))[0])
        left, right = (middle, right) if value * values[0] > 0 else (left, middle)
    return middle if abs(value) <= PASSES * usual else None


def _is_regular_beside(block: LeadingBlock, steps: Samples) -> bool:
    """Whether the determinant is another than zero near the first row."""
    system = steps._plant.system
    nominal = np.concatenate([system.nominal["x"], system.nominal["z"], system.nominal["x"]])
    size = np.maximum(np.abs(steps._x[0]), nominal)
    moved = steps._x[0] + BESIDE * size * np.random.default_rng(41).uniform(-1, 1, (3, len(size)))
    beside = Samples(steps._plant, steps._drive, steps._parameters, np.repeat(steps._times[:1], 3), moved)
    return bool(np.any(block.determinants(beside)))


def _blocks(system: System) -> list[LeadingBlock]:
    """The blocks of a system that may become singular on the way of a run."""
    constrains = constraining(system)
    if constrains is None:
        return []
    structure, plant = structure_of(system), implicit_plant_of(system)
    offsets = structure.signature
    names = (system.labels["xdot"], structure.labels)
    moving = ca.vertcat(*(system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u")))
    found, single = list[LeadingBlock](), list[tuple[ca.SX, ca.SX, str, str]]()
    for own in structure.blocks:
        rows, columns = own.equations.tolist(), own.unknowns.tolist()
        block = structure.jacobian[rows, columns]
        if len(rows) > LARGEST or constrains[rows].any() or not ca.depends_on(block, moving):
            continue
        sizes = _sizes(block, ca.vertcat(moving, system.symbol("p")))
        both = ca.vertcat(ca.vec(ca.densify(block)), ca.vec(ca.densify(sizes)))
        if ca.Function("length", [moving, system.symbol("p")], [both]).n_instructions() > LONGEST:
            continue
        unknowns = tuple(names[0 if offsets.d[j] and j < len(names[0]) else 1][j] for j in columns)
        equations = tuple(system.rows[i].equation for i in rows)
        if len(rows) == 1:
            single.append((ca.densify(block), ca.densify(sizes), *equations, *unknowns))
            continue
        needs_inputs = bool(ca.depends_on(block, system.symbol("u")))
        found.append(LeadingBlock(equations, unknowns, plant._compiled("leading", both), needs_inputs))
    for first in range(0, len(single), TOGETHER):
        entries, sizes_of, equations, unknowns = zip(*single[first : first + TOGETHER], strict=True)
        needs_inputs = bool(ca.depends_on(ca.vertcat(*entries), system.symbol("u")))
        compiled = plant._compiled("leading", ca.vertcat(*entries, *sizes_of))
        found.append(LeadingBlock(equations, unknowns, compiled, needs_inputs, is_diagonal=True))
    return found


def _sizes(block: ca.SX, arguments: ca.SX) -> ca.SX:
    """For each entry the sum of the sizes of its terms, |entry| at least."""
    entries = ca.SX(block.nz[:])
    terms = ca.mtimes(ca.fabs(ca.jacobian(entries, arguments)), ca.fabs(arguments))
    return ca.SX(block.sparsity(), ca.fmax(ca.densify(terms), ca.fabs(entries)))
