"""Constraints of a mechanism that follow from others: independent ones are chosen, the rest are watched.

The forces of the independent rows alone are those of all of them; the multipliers that are shown are the smallest with
these forces (`smallest_multipliers`). Which rows serve best changes along a motion: events end a run where the chosen
ones become a bad choice, or where a dropped one no longer follows, and `Redundancy` chooses anew there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, REDUNDANT_ON_A_MOTION
from daedalus.analysis.kept_decisions import NotADecisionError, kept_decision
from daedalus.analysis.points.motion_samples import MovingModel
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import DaedalusError, SolverError
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import column, concatenate, elements
from daedalus.model.lazy_values import cached_property
from daedalus.model.mechanics.joint_sides import joint_sides
from daedalus.model.mechanics.mechanics_part import Mechanics
from daedalus.model.model import Model
from daedalus.model.notebook import declare, note_change
from daedalus.model.reopened import as_model
from daedalus.model.system.equation_row import EquationRow, collected
from daedalus.model.system.instruction_list import read_instructions
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.model.written import WrittenEvent
from daedalus.reduction.findings import Finding, RedundantConstraints, SmallestMultipliers
from daedalus.reduction.redundancy.constraint_place import (
    MotionPlace,
    constraints_at,
    jacobian_at,
    states_nearby,
    usual_lengths,
)
from daedalus.reduction.redundancy.redundant_rows import (
    VANISHED,
    DependentRows,
    IndependentRows,
    chosen_rows,
    grouped,
    rank_of_rows,
    scaled,
)
from daedalus.reduction.rewriting import (
    ReducedModel,
    equation_rows,
    keep_rows,
    part_of,
    rewritten,
    scalar_rows,
    substituted,
    write_rows,
    written_out,
)

# A dropped constraint that is violated by more, in usual lengths of its row, no longer follows from the others.
FOLLOWS = 1e-5
# The chosen rows no longer serve where the mean square of the shares exceeds this.
BADLY_CHOSEN = 100.0
# No rows serve where one over a pivot of their scaled products exceeds this: they are parallel to 1e-3.
FLAT = 1e6
NAMES = {
    EventPurpose.NO_LONGER_REDUNDANT: "constraints_no_longer_redundant",
    EventPurpose.BADLY_CHOSEN: "constraints_badly_chosen",
    EventPurpose.RANK_LOST: "constraints_lose_rank",
}


@dataclass(eq=False)
class Redundancy:
    """Redundant constraints of a model, and its reduction for each choice of independent ones that was needed.

    rows: where each row of the constraints comes from; its multiplier has the same name. finish: turns the equations
    with independent constraints alone into a reduced model; it takes findings too.
    """

    moving: MovingModel
    written: ReducedModel
    rows: tuple[EquationRow, ...]
    first: IndependentRows
    finish: Callable[[ReducedModel, tuple[Finding, ...]], ReducedModel] | None = None
    reduced: dict[IndependentRows, ReducedModel] = field(default_factory=dict)
    nearby: list[MotionPlace] = field(default_factory=list)  # where the last choice was looked at

    @property
    def names(self) -> tuple[str, ...]:
        """The multiplier of every row, by name."""
        return tuple(row.label for row in self.rows)

    def listed(self, rows: list[int] | tuple[int, ...]) -> str:
        """Rows by name."""
        return ", ".join(collected([self.rows[k] for k in rows]))

    def model(self, choice: IndependentRows) -> ReducedModel:
        """The reduced model for a choice, made once."""
        if choice not in self.reduced:
            assert self.finish is not None
            found = self.finish(_rewritten(self, choice), self.findings(choice))
            found._know(found.reduction, self)
            self.reduced[choice] = found
        return self.reduced[choice]

    def findings(self, choice: IndependentRows) -> tuple[Finding, ...]:
        """What is to be known of a choice."""
        dependent, involved = (tuple(self.rows[k] for k in own) for own in (choice.dependent, choice.involved))
        redundant = RedundantConstraints(dependent, len(choice.independent), len(self.rows))
        return redundant, SmallestMultipliers(involved)

    @cached_property
    def usual(self) -> np.ndarray:
        """How long each row of the Jacobian usually is."""
        return usual_lengths(self.moving)

    def directions(self, place: MotionPlace) -> np.ndarray:
        """The Jacobian with each row divided by its length there: its rank does not depend on units."""
        return scaled(jacobian_at(self.moving, place), self.usual)

    def sized(self, place: MotionPlace) -> np.ndarray:
        """The Jacobian with each row divided by its usual length: what rows are chosen by."""
        return jacobian_at(self.moving, place) / self.usual[:, None]

    def choose(self, place: MotionPlace, rank: int | None = None) -> IndependentRows | None:
        """Independent rows at a place of the motion; None where all are, or where the rest do not follow nearby."""
        matrix = self.directions(place)
        rank = rank_of_rows(matrix) if rank is None else rank
        if not 0 < rank < len(matrix):
            return None
        independent, dependent, shares = chosen_rows(self.sized(place), rank)
        states = states_nearby(self.moving, place, independent, self.usual)
        if states is None:
            return None
        self.nearby = states
        # A share may vanish at one place.
        used = np.abs(shares) > REDUNDANT_ON_A_MOTION
        for state in states:
            nearby = self.directions(state)
            used |= (
                np.abs(np.linalg.lstsq(nearby[independent].T, nearby[dependent].T, rcond=None)[0].T)
                > REDUNDANT_ON_A_MOTION
            )
        return IndependentRows(tuple(independent), tuple(dependent), grouped(independent, dependent, used))


def redundancy_of(model: Model, written: ReducedModel) -> Redundancy | None:
    """The redundant constraints of a model, with independent ones chosen at its start; None where there are none."""
    try:
        moving = MovingModel(model, whole=False)
    except DaedalusError:
        return None
    if moving.mechanics is None or not moving.mechanics.multipliers or np.isnan(moving.parameters).any():
        return None
    rows = _constraint_rows(model, written)
    found = Redundancy(moving, written, rows, IndependentRows((), (), ()))
    first = kept_decision(
        "independent constraints", _decided_by(moving), partial(_first_choice, found),
        lambda choice: None if choice is None else choice.to_plain(), partial(_choice_of, len(rows)),
    )  # fmt: skip
    if first is None:
        return None
    found.first = first
    return found


def _first_choice(found: Redundancy) -> IndependentRows | None:
    """Independent rows at the start; None where all are, and where no consistent state is near the start."""
    try:
        choice = found.choose(assembled_place(found.moving))
        alone = choice is not None and _forces_alone(found.moving, found.nearby, len(choice.independent))
    except DaedalusError:
        return None
    return choice if alone else None


def _decided_by(moving: MovingModel) -> tuple[object, ...]:
    """What the first choice follows from: equations with their start, constraints, and how joints are meant."""
    assert moving.mechanics is not None
    sides = joint_sides(moving.system)
    meant = None if sides is None else read_instructions(sides.function).digest()
    return moving.system.digest, moving.mechanics.multipliers, moving.positions, moving.velocities, meant


def _choice_of(count: int, plain: Any) -> IndependentRows | None:
    """A choice among so many rows out of plain data."""
    choice = None if plain is None else IndependentRows.from_plain(plain)
    if choice is not None and sorted((*choice.independent, *choice.dependent)) != list(range(count)):
        raise NotADecisionError
    return choice


@remembered
def redundancy_at_start(system: System) -> Redundancy | None:
    """The redundant constraints of a mechanism as it was written; None where there are none.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("twice"); q = m.coordinate("q", 2, start=[1, 0]); m.kinetic_energy(ca.sumsqr(m.rate(q)))
    >>> _ = m.constraint("rod", ca.sumsqr(q) - 1); _ = m.constraint("again", ca.exp(q[0]) * (ca.sumsqr(q) - 1))
    >>> found = redundancy_at_start(m.freeze())
    >>> found.listed(found.first.dependent)
    'again'
    """
    mechanics = system.part(Mechanics)
    if mechanics is None or not isinstance(mechanics.book, Model):  # a model of equations, which may be large
        return None
    model = as_model(system)
    return redundancy_of(model, written_out(model)) if model.written.mechanics.constraints else None


def _forces_alone(moving: MovingModel, states: list[MotionPlace], rank: int) -> bool:
    """Whether the multipliers enter the equations as the forces of their constraints alone, so that these count."""
    assert moving.mechanics is not None
    system = moving.system
    places = [system.labels["z"].index(label) for label in moving.mechanics.multipliers]
    slope = structure_of(system).slopes("z")[:, places]
    function = ca.Function("forces", system.symbols(), [slope])
    zero = {letter: np.zeros(system.sizes[letter]) for letter in ("xdot", "z")}
    for state in states:
        slopes = function(state.t, zero["xdot"], state.x, zero["z"], state.u, state.p).full()
        size = max(np.abs(slopes).max(), NOT_ZERO)
        if not np.all(np.isfinite(slopes)) or rank_of_rows(slopes[np.any(slopes, axis=1)] / size) > rank:
            return False
    return not ca.depends_on(slope, system.symbol("z"))


def _constraint_rows(model: Model, written: ReducedModel) -> tuple[EquationRow, ...]:
    """Where the constraints of the mechanics come from, in the order of their multipliers."""
    return tuple(row for name in model.written.mechanics.constraints for row in written.written.equations[name].rows)


# -- writing a choice ------------------------------------------------------------------------------------------


def _rewritten(redundancy: Redundancy, choice: IndependentRows) -> ReducedModel:
    """The equations with multipliers of the independent constraints alone; all multipliers are outputs."""
    written = redundancy.written
    owners: dict[str, list[int]] = {}
    for k, row in enumerate(redundancy.rows):
        owners.setdefault(row.source.equation, []).append(k)
    touched = [name for name, rows in owners.items() if set(rows) & set(choice.involved)]
    origins, rows = equation_rows(written), scalar_rows(written)
    place = {row.level: i for i, row in enumerate(origins)}
    equation = [place[row.level] for row in redundancy.rows]
    dropped = [equation[k] for k in choice.dependent]
    n = rewritten(written, dict.fromkeys(touched))
    alone: dict[int, ca.SX] = {}
    for name in touched:
        own = [k for k in owners[name] if k not in choice.dependent]
        if own:
            symbols = declare(
                n, part_of(n, written.written.variables[name], "_alone", [owners[name].index(k) for k in own])
            )
            alone.update(zip(own, elements(column(symbols))))
    kept = [i for i in range(len(rows)) if i not in dropped]
    write_rows(n, [origins[i] for i in kept], [rows[i] for i in kept])
    old = concatenate(column(written.written.symbols[name]) for name in touched)
    order = [k for name in touched for k in owners[name]]
    forms = group_forms(_jacobian(redundancy.moving), choice, redundancy.usual)
    smallest = smallest_multipliers(forms, choice, alone)
    # Forces follow from the independent rows; what else shows a multiplier shows the smallest.
    forces = concatenate(alone.get(k, ca.SX(0)) for k in order)
    equations = {
        key: replace(e, residual=ca.densify(ca.substitute(e.residual, old, forces)))
        for key, e in n.written.equations.items()
    }
    n.written.equations = {}
    substituted(n, old, concatenate(smallest[k] for k in order))
    n.written.equations = equations
    for name in touched:
        n.written.outputs[name] = ca.reshape(
            concatenate(smallest[k] for k in owners[name]), *written.written.symbols[name].shape
        )
    for i in dropped:
        keep_rows(n, [origins[i]], [rows[i]])
    by_row = {k: rows[equation[k]] for k in choice.involved}
    guards = (_follows(forms, choice, by_row), _well_chosen(forms), _apart(forms))
    for (purpose, wanted), guard in zip(NAMES.items(), guards):
        name = n.written.free_name(wanted)
        n.written.events[name] = WrittenEvent(name, guard, -1, {}, True, purpose)
    note_change(n)
    return n


def _follows(forms: list[GroupForms], choice: IndependentRows, rows: dict[int, ca.SX]) -> ca.SX:
    """Positive while the dropped constraints are violated no more than the chosen ones explain."""
    own, others, weight = ca.SX(0), ca.SX(0), ca.SX(1)
    for form in forms:
        lengths, group = form.lengths, form.group
        own += sum((rows[k] / lengths[k]) ** 2 for k in group.independent)
        others += sum((rows[k] / form.usual[k]) ** 2 for k in group.dependent)
        weight += len(group.independent) * len(group.dependent)
    others += sum(rows[k] ** 2 for group in choice.groups if not group.independent for k in group.dependent)
    return FOLLOWS**2 + 10 * BADLY_CHOSEN * weight * own - others


def _well_chosen(forms: list[GroupForms]) -> ca.SX:
    """Positive while the shares of the chosen rows in the others are moderate."""
    return BADLY_CHOSEN * max(1, len(forms)) - sum((form.mean_share for form in forms), ca.SX(0))


def _apart(forms: list[GroupForms]) -> ca.SX:
    """Positive while the chosen rows are independent by more than a trace."""
    return FLAT - sum((form.flatness for form in forms), ca.SX(0))


def _jacobian(moving: MovingModel) -> ca.SX:
    assert moving.mechanics is not None
    t, x, u, p = moving.system.symbols(("t", "x", "u", "p"))
    other = ca.SX.zeros(len(moving.mechanics.other_labels))
    return moving.mechanics.G.call([t, x[moving.positions], x[moving.velocities], u, p, other])[0]


# The smallest multipliers with the forces of the independent ones, as formulas.
#
# With each row divided by its length and Ĝ_D = C Ĝ_I the forces Ĝ_Iᵀ μ are those of all rows for λ̂ = [I; C] y with
# (I + CᵀC) y = μ, and no other multipliers with these forces are smaller (J. García de Jalón, M. D. Gutiérrez-López,
# Multibody System Dynamics 30, 2013). C = (Ĝ_I Ĝ_Iᵀ)⁻¹ Ĝ_I Ĝ_Dᵀ, transposed; both solves are sparse LDLᵀ.


class GroupForms:
    """The shares and lengths of one group of rows that depend on each other, as expressions."""

    def __init__(self, jacobian: ca.SX, group: DependentRows, usual: np.ndarray) -> None:
        self.group = group
        rows = (*group.independent, *group.dependent)
        self.usual = {k: float(usual[k]) for k in rows}
        self.lengths = {k: ca.sqrt(ca.fmax(ca.sumsqr(jacobian[k, :]), (VANISHED * self.usual[k]) ** 2)) for k in rows}
        first, second = (
            ca.vertcat(*(jacobian[k, :] / self.lengths[k] for k in part))
            for part in (group.independent, group.dependent)
        )
        self._pivots, self.shares = _solved(ca.mtimes(first, first.T), ca.mtimes(first, second.T))
        self.shares = self.shares.T

    def smallest(self, alone: Mapping[int, ca.SX]) -> dict[int, ca.SX]:
        """The smallest multipliers by row, for multipliers of the independent rows alone."""
        own, others = self.group.independent, self.group.dependent
        forces = concatenate(self.lengths[k] * alone[k] for k in own)
        _, inner = _solved(ca.SX.eye(len(own)) + ca.mtimes(self.shares.T, self.shares), forces)
        outer = ca.mtimes(self.shares, inner)
        values = {k: inner[j] / self.lengths[k] for j, k in enumerate(own)}
        values.update({k: outer[j] / self.lengths[k] for j, k in enumerate(others)})
        return {k: ca.densify(value) for k, value in values.items()}

    @property
    def mean_share(self) -> ca.SX:
        """The mean square of the shares by usual lengths: at most about one where the rows are well chosen."""
        own, others = (
            concatenate(self.lengths[k] / self.usual[k] for k in rows)
            for rows in (self.group.independent, self.group.dependent)
        )
        return ca.sumsqr(self.shares * ca.mtimes(others, 1 / own.T)) / self.shares.numel()

    @property
    def flatness(self) -> ca.SX:
        """The mean of one over the pivots of Ĝ_I Ĝ_Iᵀ: without bound where the chosen rows become dependent."""
        return ca.sum1(1 / ca.densify(self._pivots)) / self._pivots.numel()


def group_forms(jacobian: ca.SX, choice: IndependentRows, usual: np.ndarray) -> list[GroupForms]:
    """The forms of every group of a choice with independent rows in it, by the usual lengths of rows."""
    return [GroupForms(jacobian, group, usual) for group in choice.groups if group.independent]


def smallest_multipliers(
    forms: list[GroupForms], choice: IndependentRows, alone: Mapping[int, ca.SX]
) -> dict[int, ca.SX]:
    """The smallest multipliers by row; rows outside of the groups keep theirs, rows of zeros have none."""
    values = {k: ca.SX(0) for group in choice.groups if not group.independent for k in group.dependent}
    for form in forms:
        values.update(form.smallest(alone))
    return values | {k: symbol for k, symbol in alone.items() if k not in values}


def _solved(matrix: ca.SX, right: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The pivots and the solution of a symmetric positive definite system, in order of least fill."""
    pivots, factor, order = ca.ldl(ca.sparsify(matrix))
    return pivots, ca.ldl_solve(ca.densify(right), pivots, factor, order)


# -- a place at which joints are assembled ---------------------------------------------------------------------------


# How far from the start consistent states are looked for, in nominal values, one after the other.
SPREADS = (0.0, 0.1, 0.3, 1.0, 1.0, 1.0)
# Bodies are turned until every cosine is at least so much, towards a little more.
TURNED, TOWARDS = 0.9, 0.95
# By steps of no more than this, in nominal values, and so many.
STEP, STEPS = 0.3, 60
# Of joints that turn the same bodies, or half a turn away, where no turn raises a cosine, this share says nothing.
NEARLY_LEVEL = 1e-3


def assembled_place(moving: MovingModel) -> MotionPlace:
    """A state near the start that obeys the constraints; angles that nobody gave may have to be far from zero.

    Every joint is assembled the way it is meant. Half a turn away from there its equations hold too, and some follow
    from others that do not where the mechanism moves: sin θ n of a fixed relative orientation vanishes for every axis n
    at θ = π.
    """
    u, draw = np.zeros(moving.system.sizes["u"]), np.random.default_rng(2013)
    for spread in SPREADS:
        try:
            place = MotionPlace(0.0, moving.sample(draw, spread, 0.0, u), u, moving.parameters)
        except SolverError:
            continue
        if _is_assembled(moving, place):
            return place
        away = moving.start() + max(spread, SPREADS[1]) * moving.system.nominal["x"] * draw.standard_normal(
            len(place.x)
        )
        turned = moving.onto(0.0, _turned(moving, MotionPlace(0.0, away, u, moving.parameters)), u, moving.parameters)
        if turned is not None and _is_assembled(moving, place := MotionPlace(0.0, turned, u, moving.parameters)):
            return place
    raise SolverError(
        f"No assembled state of {moving.system.name!r} was found near its start.",
        because="the start is far from the constraints, or they contradict each other.",
        remedy="start values that obey the constraints",
    )


def _is_assembled(moving: MovingModel, place: MotionPlace) -> bool:
    """Whether no joint is half a turn away from how it is meant."""
    sides = joint_sides(moving.system)
    return sides is None or not np.any(sides.function(place.t, place.x, place.u, place.p).full() < 0)


def _turned(moving: MovingModel, place: MotionPlace) -> np.ndarray:
    """The positions with bodies turned towards where the joints are meant to be, wherever that leaves the others."""
    sides = joint_sides(moving.system)
    assert sides is not None
    assert moving.mechanics is not None
    arguments = moving.system.symbols(("t", "x", "u", "p"))
    values = sides.function.call(arguments)[0]
    function = ca.Function("turned", arguments, [values, ca.densify(ca.jacobian(values, arguments[1]))])
    x, nominal, constraints = place.x.copy(), moving.system.nominal["x"], len(moving.mechanics.multipliers)
    own = np.array(moving.positions)
    for _ in range(STEPS):
        now, slope = (part.full() for part in function(place.t, x, place.u, place.p))
        low = now[:, 0] < TURNED
        if not low.any():
            break
        kept, kept_slope = constraints_at(moving, MotionPlace(place.t, x, place.u, place.p))
        left = np.concatenate((TOWARDS - now[low, 0], -kept[constraints:]))
        rows = np.vstack((slope[low][:, own], kept_slope[constraints:])) * nominal[own]
        way = np.linalg.lstsq(rows, left, rcond=NEARLY_LEVEL)[0]
        x[own] += nominal[own] * way * min(1.0, STEP / max(np.abs(way).max(), STEP))
    return x
