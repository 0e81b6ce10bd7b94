"""Where a run passes a place at which its equations do not determine their highest derivatives.

The matrix of the highest derivatives, ∂F_i/∂w_j^(σ_ij) with d_j - c_i = σ_ij (J. D. Pryce, BIT 41, 2001), falls into
irreducible blocks. Those that hold differentiated constraints are told of as dead centres (`singular_places`); here are
the others: ∂F/∂(x', z) of index 1. An implicit method solves for the end of a step and sees nothing of a matrix that
changes the sign of its determinant on the way, though behind that place solutions may end, or go on in several ways. An
explicit one divides by the same blocks in its formulas for x' and z, those of one equation among them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import ROUNDING, SYMBOLIC_SOLVE
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.printing import expression_text
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import Divisor, explicit_form
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import implicit_plant_of, plant_of
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import DivisorVanishes, NotDetermined
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.singular.rank_watch import LONGEST, constraining

# No more numbers than this are followed along one run.
NUMBERS = 2e6
# So many entries of blocks of one width are evaluated at a time.
TOGETHER = 32
# It passes through zero, and does not jump over it, where halving leads to so little of its largest value on the way.
PASSES, HALVINGS = 1e-3, 40
# Whether it is zero everywhere is seen beside the start: so far, in sizes of the variables.
BESIDE = 1e-3
# Places in the records of one run, and names in one sentence.
MOST_NAMES = 6
LETTERS = ("t", "x", "u", "p")


class Determinants(NamedTuple):
    """Signs and logarithms of determinants."""

    signs: np.ndarray
    logs: np.ndarray


# Of one block, at some samples, (times,).
Determinant = Callable[[Samples], Determinants]
# What is told of a place, by its times.
Told = Callable[[float, float], Record]


class LeadingBlocks(NamedTuple):
    """Blocks of one width: equations and the highest derivatives that they have to determine together."""

    width: int
    needs_inputs: bool
    told: list[Told]  # of each block
    function: Compiled  # the entries of all blocks, then the sizes of their terms, of (t, row, u, p)

    def determinants(self, samples: Samples, block: Any = slice(None)) -> Determinants:
        """Those of all blocks at the times of samples, (times, blocks), or of one of them, (times,)."""
        u = samples._inputs if self.needs_inputs else samples._drive.constants
        values = self.function.core.evaluate_many(samples._times[:, None], samples._x, u, samples._parameters)[0]
        return Determinants(*(part[:, block] for part in self.judged(values)))

    def judged(self, values: np.ndarray) -> Determinants:
        """The same by values of the function: zero within the rounding errors of the terms of its rows and columns."""
        n = self.width
        matrix, size = np.asarray(values).reshape(len(values), 2, -1, n, n).transpose(1, 0, 2, 4, 3)
        rows = size.max(axis=3, keepdims=True)
        with np.errstate(invalid="ignore"):  # terms without a value: so is the determinant
            rows = np.where(rows > 0, rows, 1)
            columns = (size / rows).max(axis=2, keepdims=True)
            columns = np.where(columns > 0, columns, 1)
            scaled = matrix / (rows * columns)
            found = scaled[..., 0, 0] if n == 1 else np.linalg.det(scaled)
            signs = np.where(np.abs(found) <= n * ROUNDING, 0.0, np.sign(found))
            logs = np.log(np.where(signs == 0, 0.0, np.abs(found)), out=np.full(found.shape, -np.inf), where=signs != 0)
            return Determinants(signs, logs + np.log(rows).sum(axis=(2, 3)) + np.log(columns).sum(axis=(2, 3)))


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
    if not isinstance(plant, (ImplicitPlant, ExplicitPlant)) or not run.steps:
        return ()
    every = once(plant.system, _blocks if isinstance(plant, ImplicitPlant) else _blocks_of_formulas)
    groups = [blocks for blocks in every if not (blocks.needs_inputs and drive.callbacks)]
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
        signs, logs = blocks.determinants(steps)
        for k in np.flatnonzero(~((signs > 0).all(axis=0) | (signs < 0).all(axis=0))):
            own = Determinants(signs[:, k], logs[:, k])
            place = _first_place(partial(blocks.determinants, block=k), own, steps, between)
            found += [] if place is None else [blocks.told[k](*place)]
    return tuple(found[:MOST_NAMES])


def _first_place(
    determinant: Determinant, values: Determinants, steps: Samples, at: Callable[[Any], Samples]
) -> tuple[float, float] | None:
    """From when to when the determinant is zero for the first time: at steps, or between two of them."""
    times, signs = steps._times, values.signs
    zeros = signs == 0
    if zeros[0] and not _is_regular_beside(determinant, steps):
        return None  # singular everywhere: the index is another one than the structure shows
    for k in np.flatnonzero(zeros[:-1] | (signs[1:] * signs[:-1] < 0)):
        if zeros[k]:
            others = np.flatnonzero(~zeros[k:])
            return float(times[k]), float(times[k + others[0] - 1 if len(others) else -1])
        t = _passing(determinant, at, times[k : k + 2], float(signs[k]), float(values.logs.max()))
        if t is not None:
            return t, t
    return (float(times[-1]), float(times[-1])) if zeros[-1] else None


def _passing(
    determinant: Determinant, at: Callable[[Any], Samples], times: np.ndarray, before: float, usual: float
) -> float | None:
    """When the determinant passes through zero between two steps; None where it jumps over it."""
    left, right = (float(t) for t in times)
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        (sign,), (log,) = determinant(at([middle]))
        left, right = (middle, right) if sign * before > 0 else (left, middle)
    return middle if log <= np.log(PASSES) + usual else None


def _is_regular_beside(determinant: Determinant, steps: Samples) -> bool:
    """Whether the determinant is another than zero near the first row, or a little later."""
    system = steps._plant.system
    nominal = np.concatenate([system.nominal["x"], system.nominal["z"], system.nominal["x"]])[: steps._x.shape[1]]
    size = np.maximum(np.abs(steps._x[0]), nominal)
    moved = steps._x[0] + BESIDE * size * np.random.default_rng(41).uniform(-1, 1, (3, len(size)))
    times = steps._times[0] + BESIDE * (steps._times[-1] - steps._times[0]) * np.array([0.0, 0.5, 1.0])
    beside = Samples(steps._plant, steps._drive, steps._parameters, times, moved)
    return bool(np.any(determinant(beside).signs))


def _blocks(system: System) -> list[LeadingBlocks]:
    """The blocks of a system that may become singular on the way of a run."""
    constrains = constraining(system)
    if constrains is None:
        return []
    structure = structure_of(system)
    offsets = structure.signature
    names = (system.labels["xdot"], structure.labels)
    moving = ca.vertcat(*system.symbols(("t", "xdot", "x", "z", "u")))
    chosen: list[tuple[ca.SX, Told]] = []
    for own in structure.blocks:
        rows, columns = own.equations.tolist(), own.unknowns.tolist()
        block = structure.jacobian[rows, columns]
        if len(rows) > SYMBOLIC_SOLVE or constrains[rows].any() or not ca.depends_on(block, moving):
            continue
        unknowns = tuple(names[0 if offsets.d[j] and j < len(names[0]) else 1][j] for j in columns)
        equations = tuple(system.rows[i].equation for i in rows)
        chosen.append((block, partial(NotDetermined, equations, unknowns)))
    return _grouped(implicit_plant_of(system), chosen)


def _blocks_of_formulas(system: System) -> list[LeadingBlocks]:
    """The matrices that the formulas for x' and z divide by, and what they divide by of single equations."""
    plant, moving = plant_of(system), ca.vertcat(*system.symbols(LETTERS[:-1]))
    coupled: list[tuple[ca.SX, Told]] = [
        (ca.densify(block.matrix), partial(NotDetermined, block.equations, block.unknowns))
        for block in explicit_form(system).coupled
        if ca.depends_on(block.matrix, moving)
    ]
    divisors = once(system, divisor_blocks)
    single = [] if divisors is None or not ca.depends_on(_divisors(system), moving) else [divisors]
    return [*_grouped(plant, coupled), *single]


def divisor_blocks(system: System) -> LeadingBlocks | None:
    """What the formulas for x' and z divide by of single equations; None where that is numbers alone."""
    divisors = explicit_form(system).divisors
    if not divisors:
        return None
    every = _divisors(system)
    sizes = _sizes(every, ca.vertcat(*system.symbols(LETTERS)))
    told = [partial(_divisor_vanishes, system, divisor) for divisor in divisors]
    function = plant_of(system)._compiled("divisors", concatenate([every, sizes]))
    return LeadingBlocks(1, bool(ca.depends_on(every, system.symbol("u"))), list[Told](told), function)


def _divisors(system: System) -> ca.SX:
    return ca.densify(concatenate(divisor.expression for divisor in explicit_form(system).divisors))


def _divisor_vanishes(system: System, divisor: Divisor, begin: float, end: float) -> DivisorVanishes:
    text = expression_text(divisor.expression, labels_by_symbol(system), 80)
    return DivisorVanishes(text, divisor.unknown, divisor.equation, begin, end)


def labels_by_symbol(system: System) -> dict[int, str]:
    """The names of the symbols that formulas consist of."""
    names = {letter: ("t",) if letter == "t" else system.labels[letter] for letter in LETTERS}
    return {
        symbol_key(s): name for letter in LETTERS for name, s in zip(names[letter], elements(system.symbol(letter)))
    }


def _grouped(plant: Plant, chosen: list[tuple[ca.SX, Told]]) -> list[LeadingBlocks]:
    """Blocks of one width together; those that are large or long are left out."""
    system, arguments = plant.system, ca.vertcat(*plant.system.symbols())
    alike: dict[tuple[int, bool], list[tuple[Any, ...]]] = {}
    for block, told in chosen:
        if block.shape[0] > SYMBOLIC_SOLVE:
            continue
        both = [ca.vec(ca.densify(part)) for part in (block, _sizes(block, arguments))]
        if ca.Function("length", [arguments], both).n_instructions() <= LONGEST:
            kind = (block.shape[0], bool(ca.depends_on(block, system.symbol("u"))))
            alike.setdefault(kind, []).append((told, *both))
    found = []
    for kind, blocks in alike.items():
        count = max(1, TOGETHER // kind[0] ** 2)
        for first in range(0, len(blocks), count):
            records, entries, sizes = zip(*blocks[first : first + count], strict=True)
            compiled = plant._compiled("leading", concatenate([*entries, *sizes]))
            found.append(LeadingBlocks(*kind, list(records), compiled))
    return sorted(found, key=lambda blocks: blocks.width == 1)


def _sizes(block: ca.SX, arguments: ca.SX) -> ca.SX:
    """For each entry the sum of the sizes of its terms, |entry| at least."""
    entries = ca.SX(block.nz[:])
    terms = ca.mtimes(ca.fabs(ca.jacobian(entries, arguments)), ca.fabs(arguments))
    return ca.SX(block.sparsity(), ca.fmax(ca.densify(terms), ca.fabs(entries)))
