"""Constraints of a mechanism that follow from others: independent ones are chosen, the rest are watched.

With the Jacobian split into independent and dependent rows, each divided by its length, Ĝ_D = C Ĝ_I on the constraint
manifold. The forces of the independent rows alone, Ĝ_Iᵀ μ, are those of all of them, and among all multipliers that
give these forces the smallest are λ̂ = [I; C] (I + CᵀC)⁻¹ μ (J. García de Jalón, M. D. Gutiérrez-López, Multibody
System Dynamics 30, 2013). The rows are chosen by QR with column pivoting at a consistent start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.analysis.motion_samples import MovingModel
from daedalus.errors import DaedalusError
from daedalus.model.expressions import column, concatenate, elements
from daedalus.model.model import Model
from daedalus.model.notebook import WrittenEvent
from daedalus.model.variables import Variable
from daedalus.reduction.rewriting import (
    ReducedModel,
    collected,
    rewritten,
    row_labels,
    scalar_rows,
    substituted,
    write_rows,
)

# Singular values of the scaled Jacobian below this count as zero.
RANK = 1e-7
# States that are looked at beside the start, how far from it, in nominal values, and how well they obey constraints.
SAMPLES, SPREAD, CONSISTENT, ITERATIONS = 4, 0.03, 1e-11, 40
# The multipliers of more rows that depend on each other are not solved for as one formula.
LARGEST = 24
# A dropped constraint that is violated by more, in the units it is written in, no longer follows from the others.
FOLLOWS = 1e-5
EVENT = "constraints_no_longer_redundant"


@dataclass(frozen=True, eq=False)
class Choice:
    """Which rows are independent, which depend on them, and which are involved in a dependence."""

    independent: list[int]
    dependent: list[int]
    involved: list[int]


def without_redundant(model: Model, written: ReducedModel) -> tuple[ReducedModel, tuple[str, ...]] | None:
    """The written equations with independent constraints alone, and notes; None where that is not what is wrong."""
    try:
        moving = MovingModel(model)
        if moving.mechanics is None or not moving.mechanics.multipliers or np.isnan(moving.parameters).any():
            return None
        start = moving.sample(np.random.default_rng(2013), 0.0, 0.0, np.zeros(moving.system.sizes["u"]))
        choice = _choice(moving, start)
        states = None if choice is None else _states_nearby(moving, start, choice)
        if choice is None or states is None or not _forces_alone(moving, states, choice):
            return None
    except DaedalusError:  # no consistent state near the start
        return None
    names = moving.mechanics.multipliers
    dropped = collected([names[k] for k in choice.dependent])
    touched = collected([names[k] for k in choice.involved])
    notes = (
        f"redundant constraints: {', '.join(dropped)} {'follows' if len(dropped) == 1 else 'follow'} from the others "
        f"({len(choice.independent)} of {len(names)} are independent)",
        f"the multipliers {', '.join(touched)} are not unique: the smallest that give the same forces are shown, each "
        "counted in the length of its row",
    )
    return _rewritten(moving, written, choice), notes


def _states_nearby(moving: MovingModel, start: np.ndarray, choice: Choice) -> list[np.ndarray] | None:
    """The start and states that obey the independent constraints; None where the others do not follow from these."""
    draw, u = np.random.default_rng(2013), np.zeros(moving.system.sizes["u"])
    states = [start]
    for _ in range(SAMPLES):
        x = start + SPREAD * moving.system.nominal["x"] * draw.standard_normal(len(start))
        for _ in range(ITERATIONS):
            place, slope = (part.full() for part in moving._constraints(0.0, x, u, moving.parameters)[:2])
            held = [k for k in range(len(place)) if k not in choice.dependent]
            if np.abs(place[held]).max(initial=0.0) <= CONSISTENT:
                break
            x[moving._q] -= np.linalg.lstsq(slope[held], place[held, 0], rcond=1e-12)[0]
        matrix = _scaled_jacobian(moving, x)
        follows = np.abs(place).max(initial=0.0) <= 1e3 * CONSISTENT
        if not follows or not _rank(matrix) == _rank(matrix[choice.independent]) == len(choice.independent):
            return None
        states.append(x)
    return states


def _scaled_jacobian(moving: MovingModel, x: np.ndarray) -> np.ndarray:
    assert moving.mechanics is not None
    rows = moving.mechanics.G(*moving._arguments(0.0, x, np.zeros(moving.system.sizes["u"]))).full()
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def _rank(matrix: np.ndarray) -> int:
    return int(np.sum(np.linalg.svd(matrix, compute_uv=False) > RANK)) if matrix.size else 0


def _choice(moving: MovingModel, start: np.ndarray) -> Choice | None:
    """Independent rows by pivoted QR at the start; None where all of them are, or too many depend on each other."""
    from scipy.linalg import qr

    matrix = _scaled_jacobian(moving, start)
    count, rank = len(matrix), _rank(matrix)
    if not 0 < rank < count:
        return None
    _, _, order = qr(matrix.T, pivoting=True)
    independent, dependent = sorted(order[:rank].tolist()), sorted(order[rank:].tolist())
    share = np.linalg.lstsq(matrix[independent].T, matrix[dependent].T, rcond=None)[0]
    used = np.abs(share).max(axis=1) > RANK
    involved = sorted([*dependent, *(k for k, flag in zip(independent, used) if flag)])
    return Choice(independent, dependent, involved) if len(involved) <= LARGEST else None


def _forces_alone(moving: MovingModel, states: list[np.ndarray], choice: Choice) -> bool:
    """Whether the multipliers enter the equations as the forces of their constraints alone, so that these count."""
    assert moving.mechanics is not None
    system = moving.system
    z, letters = system.symbol("z"), ("t", "xdot", "x", "z", "u", "p")
    places = [system.labels["z"].index(label) for label in moving.mechanics.multipliers]
    function = ca.Function("forces", [system.symbol(k) for k in letters], [ca.jacobian(system.residual, z[places])])
    zero = {letter: np.zeros(system.sizes[letter]) for letter in ("xdot", "z", "u")}
    for x in states:
        slopes = function(0.0, zero["xdot"], x, zero["z"], zero["u"], moving.parameters).full()
        if not np.all(np.isfinite(slopes)) or _rank(slopes / max(np.abs(slopes).max(), 1e-300)) > len(
            choice.independent
        ):
            return False
    return not ca.depends_on(ca.jacobian(system.residual, z[places]), z)


def _rewritten(moving: MovingModel, written: ReducedModel, choice: Choice) -> ReducedModel:
    """The equations with multipliers of the independent constraints alone; all multipliers are outputs."""
    assert moving.mechanics is not None
    names = moving.mechanics.multipliers
    owners = {
        name: [names.index(v.label(k)) for k in range(v.size)] for name, v in _multipliers(written, names).items()
    }
    touched = [name for name, rows in owners.items() if set(rows) & set(choice.involved)]
    labels, rows = row_labels(written), scalar_rows(written)
    dropped = [labels.index(names[k]) for k in choice.dependent]
    n = rewritten(written, dict.fromkeys(touched))
    alone: dict[int, ca.SX] = {}
    for name in touched:
        own = [k for k in owners[name] if k not in choice.dependent]
        if own:
            symbols = n._declare(_part(n, written._variables[name], [owners[name].index(k) for k in own]))
            alone.update(zip(own, elements(column(symbols))))
    kept = [i for i in range(len(rows)) if i not in dropped]
    write_rows(n, [labels[i] for i in kept], [rows[i] for i in kept])
    old = concatenate(column(written._symbols[name]) for name in touched)
    order = [k for name in touched for k in owners[name]]
    smallest = _smallest(moving, choice, alone)
    shown = concatenate(smallest[k] for k in order)
    # Forces follow from the independent rows; what else shows a multiplier shows the smallest.
    n._equations = {
        key: replace(
            e, residual=ca.densify(ca.substitute(e.residual, old, concatenate(alone.get(k, ca.SX(0)) for k in order)))
        )
        for key, e in n._equations.items()
    }
    equations, n._equations = n._equations, {}
    substituted(n, old, shown)
    n._equations = equations
    for name in touched:
        n._outputs[name] = ca.reshape(concatenate(smallest[k] for k in owners[name]), *written._symbols[name].shape)
    for i in dropped:
        n._kept[labels[i]] = rows[i]
    off = concatenate(rows[i] for i in dropped)
    n._events[EVENT] = WrittenEvent(EVENT, FOLLOWS**2 - ca.sumsqr(off), -1, {}, True)
    n._changed()
    return n


def _multipliers(book: Model, names: tuple[str, ...]) -> dict[str, Variable]:
    own = {name.partition("[")[0] for name in names}
    return {name: v for name, v in book._variables.items() if name in own}


def _part(n: Model, v: Variable, chosen: list[int]) -> Variable:
    """A variable for the multipliers of some rows of a constraint."""
    name = f"{v.name}_alone"
    while name in n._variables or name in n._outputs or name in n._events:
        name += "_"
    return replace(
        v,
        name=name,
        shape=v.shape if len(chosen) == v.size else (len(chosen),),
        start=tuple(v.start[k] for k in chosen),
        nominal=tuple(v.nominal[k] for k in chosen),
        lower=tuple(v.lower[k] for k in chosen),
        upper=tuple(v.upper[k] for k in chosen),
        rate=(None,) * len(chosen),
        guess=(),
    )


def _smallest(moving: MovingModel, choice: Choice, alone: dict[int, ca.SX]) -> dict[int, ca.SX]:
    """The smallest multipliers with the forces of the independent ones, by row."""
    assert moving.mechanics is not None
    system = moving.system
    t, x, u, p = (system.symbol(letter) for letter in "txup")
    arguments = [t, x[moving._q], x[moving._v], u, p, ca.SX(0, 1)]
    jacobian = ca.densify(moving.mechanics.G.call(arguments)[0])
    lengths = {k: ca.sqrt(ca.sumsqr(jacobian[k, :])) for k in choice.involved}
    own = [k for k in choice.involved if k in alone]
    scaled = {k: jacobian[k, :] / lengths[k] for k in choice.involved}
    first = ca.vertcat(*(scaled[k] for k in own))
    second = ca.vertcat(*(scaled[k] for k in choice.dependent))
    share = ca.solve(ca.mtimes(first, first.T), ca.mtimes(first, second.T)).T
    forces = concatenate(lengths[k] * alone[k] for k in own)
    inner = ca.solve(ca.SX.eye(len(own)) + ca.mtimes(share.T, share), forces)
    values = {k: inner[j] / lengths[k] for j, k in enumerate(own)}
    outer = ca.mtimes(share, inner)
    values.update({k: outer[j] / lengths[k] for j, k in enumerate(choice.dependent)})
    return {k: ca.densify(value) for k, value in values.items()} | {
        k: symbol for k, symbol in alone.items() if k not in values
    }
