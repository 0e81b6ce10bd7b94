"""Highest derivatives and algebraic variables as formulas, block by block, each as one solves it by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.dense_values import DenseValues
from daedalus.algebra.rank_decision import is_singular
from daedalus.analysis.structure.block_form import triangular_blocks
from daedalus.derivations.formula.linear_solve import solve_by_hand
from daedalus.derivations.reading import Reading
from daedalus.derivations.usual_values import drawn_near
from daedalus.errors import DaedalusError
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import find_explicit_form
from daedalus.reduction.forms.linearity import is_linear
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.reduce import reduce


@dataclass(frozen=True, eq=False)
class SolvedBlock:
    """Equations that were solved together, what for, and the formulas."""

    equations: tuple[str, ...]
    unknowns: tuple[str, ...]
    symbols: ca.SX
    residual: ca.SX
    values: ca.SX | None  # None: nonlinear, or too long to be read
    linear: bool
    successive: ca.SX | None = None  # each in terms of those found before it
    order: tuple[int, ...] = ()  # in which they were found


def solvable(model: Model) -> tuple[Model, bool]:
    """The model whose equations determine its highest derivatives: itself, or its reduction; and whether it was."""
    system = model.freeze()
    found = find_explicit_form(system)
    if not isinstance(found, NoForm):
        return model, False
    try:
        reduced = reduce(model)
    except DaedalusError:
        return model, False
    return (reduced, True) if reduced.reduction.levels else (model, False)


def solved_blocks(model: Model, read: Reading) -> list[SolvedBlock]:
    """All unknowns of a model in the order in which they follow from each other."""
    system = model.freeze()
    unknowns = concatenate([system.symbol("xdot"), system.symbol("z")])
    labels = [*system.labels["xdot"], *system.labels["z"]]
    residual = system.residual
    constants = {symbol_key(s) for part in read.constants for s in elements(part)}
    for symbol, label in zip(elements(unknowns), labels):
        read.labels.setdefault(symbol_key(symbol), label)
    found: list[SolvedBlock] = []
    old: list[ca.SX] = []
    new: list[ca.SX] = []
    entries, equations = elements(unknowns), elements(residual)
    for own_rows, own in triangular_blocks(ca.jacobian_sparsity(residual, unknowns)):
        block = concatenate(equations[i] for i in own_rows)
        if old:
            block = ca.densify(ca.substitute(block, concatenate(old), concatenate(new)))
        symbols = concatenate(entries[j] for j in own)
        matrix = ca.jacobian(block, symbols)
        solved = None
        linear = is_linear(block, symbols, matrix)
        if linear:
            right = -ca.densify(ca.substitute(block, symbols, ca.SX.zeros(symbols.shape)))
            solved = solve_by_hand(matrix, right, symbols, read.short, constants)
        values = None if solved is None else solved.values
        found.append(
            SolvedBlock(
                tuple(system.equation_labels[i] for i in own_rows), tuple(labels[j] for j in own), symbols,
                concatenate(equations[i] for i in own_rows), values, linear,
                None if solved is None else solved.successive, () if solved is None else solved.order,
            )
        )  # fmt: skip
        if values is not None:
            old.append(symbols)
            new.append(values)
    return found


def has_dependent_rows(block: SolvedBlock) -> bool:
    """Whether linear equations depend on each other, at random values of what else stands in them."""
    slopes = ca.jacobian(block.residual, block.symbols)
    symbols = ca.symvar(slopes)
    function = ca.Function("slopes", [ca.vertcat(*symbols)], [slopes])
    values = np.random.default_rng(1788).uniform(0.2, 1.6, len(symbols))
    matrix = function(values).full()
    return bool(np.all(np.isfinite(matrix))) and is_singular(matrix)


def left_over(system: System, blocks: list[SolvedBlock], usual: Mapping[int, float]) -> float:
    """What is left of the equations at random points when the formulas are put in, relative to their parts.

    usual: values near which points are drawn where the formulas are defined nowhere else.
    """
    known = [block for block in blocks if block.values is not None]
    if not known:
        return 0.0
    old = concatenate(block.symbols for block in known)
    new = concatenate(block.values for block in known if block.values is not None)
    labels = [label for block in known for label in block.equations]
    places = [system.equation_labels.index(label) for label in labels]
    residual = ca.densify(system.residual[places])
    zero = ca.densify(ca.substitute(residual, old, new))
    symbols = ca.symvar(ca.vertcat(zero, residual))
    # What cancels when the formulas are put in: the terms with the unknowns, and those without.
    slopes = ca.fabs(ca.jacobian(residual, old))
    moved = ca.sum2(slopes) + slopes @ ca.fabs(new)
    size = ca.densify(ca.substitute(moved, old, new)) + ca.fabs(ca.substitute(residual, old, ca.SX.zeros(old.shape)))
    look = DenseValues(ca.Function("left", [ca.vertcat(*symbols)], [zero, size]))
    draw, worst, count = np.random.default_rng(1788), 0.0, 0
    for k in range(60):
        if k >= 40 and count:
            break
        values = draw.uniform(0.2, 1.6, len(symbols)) if k < 40 else drawn_near(draw, symbols, usual)
        if k < 20:
            values *= draw.choice([-1.0, 1.0], len(symbols))
        rest, scale = (part.ravel() for part in look(values))
        if np.all(np.isfinite(rest)):
            count += 1
            worst = max(worst, float(np.max(np.abs(rest) / np.maximum(1.0, scale))))
        if count == 6:
            break
    return worst if count else float("nan")
