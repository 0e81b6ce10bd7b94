"""Joint coordinates from values of bodies: where a body is given, the joints that carry it follow.

Positions and orientations give the coordinates by damped least squares; velocities, linear in the rates, give those. A
coordinate that the given values do not determine stays open; values that no posture has are refused with the distance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import ROUNDING, SINGULAR, STILL, decide_rank
from daedalus.algebra.shortened_steps import Descent, levenberg_marquardt
from daedalus.errors import InputError
from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.model.expressions import column, concatenate
from daedalus.model.mechanics.joint_coordinates import body_formulas
from daedalus.model.mechanics.trees import Book, Tree, tree_of
from daedalus.model.names import listed

# Given values are met where what is left is below this share of them: written numbers have some nine digits.
MET = 1e-7
RESTARTS, MOST_STEPS = 8, 200
_SPEEDS = ("velocity", "angular_velocity")


class JointValues(NamedTuple):
    """Values by coordinate or velocity, None where the given values leave one open."""

    positions: dict[str, list[float | None]]
    rates: dict[str, list[float | None]]


def joint_values(book: Book, given: Mapping[str, Sequence[float | None]]) -> JointValues:
    """Coordinates and rates of joints for given values of bodies, by name."""
    tree = tree_of(book)
    _, formulas = body_formulas(book, tree)
    places = {n: v for n, v in given.items() if n.rpartition(".")[2] not in _SPEEDS}
    speeds = {n: v for n, v in given.items() if n.rpartition(".")[2] in _SPEEDS}
    names = list(tree.positions)
    symbols = concatenate(column(book.written.symbols[name]) for name in names)
    q = _guess(book, names)
    open_rows = np.ones(q.size, dtype=bool)
    if places:
        residual = _missing(book, formulas, places)
        q, open_rows = _solved(book, tree, symbols, residual, q, list(places))
    found: dict[str, list[float | None]] = {}
    at = 0
    for name in names:
        size = book.written.variables[name].size
        own = slice(at, at + size)
        found[name] = [None if free else float(x) for x, free in zip(q[own], open_rows[own])]
        at += size
    rates = _rates(book, tree, formulas, speeds, symbols, q) if speeds else {}
    return JointValues({n: v for n, v in found.items() if any(x is not None for x in v)}, rates)


def declared_joint_values(book: Book) -> JointValues:
    """Coordinates and rates of joints for the start values that bodies of trees were declared with."""
    known = book.written.mechanics.bodies
    given = {
        variable.name: (variable.name.rpartition(".")[0], variable.start)
        for variable in book.written.variables.values()
        if variable.kind == "state" and any(v is not None for v in variable.start)
        if variable.name.rpartition(".")[0] in known
    }
    if not given:
        return JointValues({}, {})
    bodies = {entry.body for entry in tree_of(book).entries}
    of_trees = {name: start for name, (owner, start) in given.items() if owner in bodies}
    return joint_values(book, of_trees) if of_trees else JointValues({}, {})


def in_joints(book: Book, system: Any, values: Mapping[str, object]) -> Mapping[str, object]:
    """Values of bodies in joint coordinates as values of the joints that carry them; all others as they are."""
    bodies = {}
    for name, value in values.items():
        variable = book.written.variables.get(name) if isinstance(name, str) and name not in system.places else None
        if variable is not None and variable.kind == "state":
            bodies[name] = [None if v is None else float(v) for v in np.ravel(np.array(value, dtype=object))]
    if not bodies:
        return values
    found = joint_values(book, bodies)
    return {**found.positions, **found.rates, **{n: v for n, v in values.items() if n not in bodies}}


def _missing(book: Book, formulas: Mapping[str, ca.SX], given: Mapping[str, Sequence[float | None]]) -> ca.SX:
    """What is zero where bodies are as given; orientations are compared as rotations."""
    rows = []
    for name, values in given.items():
        formula = column(formulas[name])
        if name.endswith(".quaternion") and all(v is not None for v in values):
            wanted = np.asarray(rotation_from_quaternion(np.array(values, dtype=float)))
            rows.append(ca.vec(rotation_from_quaternion(formula) - ca.DM(wanted)))
            continue
        if name.endswith(".angle") and values[0] is not None:
            rows += [ca.sin(formula - values[0]), 1 - ca.cos(formula - values[0])]
            continue
        rows += [formula[k] - value for k, value in enumerate(values) if value is not None]
    return concatenate(rows)


def _solved(
    book: Book, tree: Tree, symbols: ca.SX, residual: ca.SX, q: np.ndarray, names: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates that meet the given values, and which of them those leave open."""
    function = _function(book, symbols, [residual, ca.jacobian(residual, symbols)])
    lengths = [k for k, s in enumerate(ca.vertsplit(symbols)) if s.name().endswith("quaternion[0]")]
    rng = np.random.default_rng(0)
    size = 1.0 + max((abs(float(x)) for x in _numbers(residual)), default=0.0)
    best: tuple[float, np.ndarray] = (np.inf, q)
    begin = q
    for _ in range(RESTARTS):
        here = levenberg_marquardt(
            lambda values: Descent(values, *function(values)), begin,
            lambda values, step: _normalised(values + step, lengths), enough=ROUNDING, most=MOST_STEPS,
        )  # fmt: skip
        if here.size < best[0]:
            best = here.size, here.values
        if best[0] <= MET * size:
            break
        begin = _normalised(q + rng.uniform(-np.pi, np.pi, size=q.size), lengths)
    if best[0] > MET * size:
        raise InputError(
            "The joints do not allow the given poses of the bodies.",
            f"the nearest poses are {best[0]:.3g} away from {listed(names, 6)}",
            because="bodies in joint coordinates follow from the coordinates of their joints.",
            remedy=f"start={{{', '.join(f'{name!r}: ...' for name in list(tree.positions)[:3])}}}",
        )
    slopes = function(best[1])[1]
    loose = _loose(slopes)
    for k in lengths:  # the length of a quaternion is known
        loose[k : k + 4] = np.linalg.matrix_rank(slopes[:, k : k + 4], tol=SINGULAR) < 3
    return best[1], loose


def _rates(
    book: Book,
    tree: Tree,
    formulas: Mapping[str, ca.SX],
    given: Mapping[str, Sequence[float | None]],
    symbols: ca.SX,
    q: np.ndarray,
) -> dict[str, list[float | None]]:
    """Velocities of joints for given velocities of bodies at q."""
    rows, wanted = [], []
    for name, values in given.items():
        for k, value in enumerate(values):
            if value is not None:
                rows.append(column(formulas[name])[k])
                wanted.append(float(value))
    slopes = _function(book, symbols, [ca.jacobian(concatenate(rows), tree.v)])(q)[0]
    target = np.array(wanted)
    v, *_ = np.linalg.lstsq(slopes, target, rcond=SINGULAR)
    missing = float(np.linalg.norm(slopes @ v - target))
    if missing > MET * np.abs(target).max(initial=0.0):
        raise InputError(
            "The joints do not allow the given velocities of the bodies.",
            f"the nearest velocities are {missing:.3g} away from {listed(list(given), 6)}",
            because="bodies in joint coordinates move as their joints do.",
            remedy="velocities of the joints",
        )
    loose = _loose(slopes)
    found: dict[str, list[float | None]] = {}
    for name, columns in tree.positions.items():
        entries = [None if loose[c] else float(v[c]) for c in columns]
        if any(entry is not None for entry in entries):
            velocity = book.written.mechanics.velocities.get(name)
            found[f"{name}_dot" if velocity is None else velocity.velocity] = entries
    return found


def _loose(slopes: np.ndarray) -> np.ndarray:
    """Which coordinates the given values leave open; slopes are lengths per angle or length, and need no balancing."""
    _, values, basis = np.linalg.svd(slopes)
    decision = decide_rank(values, slopes.shape, float(values.max(initial=0.0)), SINGULAR, "given values")
    is_loose: np.ndarray = np.abs(basis[decision.rank :]).max(axis=0, initial=0.0) > STILL
    return is_loose


def _guess(book: Book, names: list[str]) -> np.ndarray:
    values: list[float] = []
    for name in names:
        variable = book.written.variables[name]
        for k in range(variable.size):
            known = variable.start[k]
            values.append(float(known if known is not None else variable.guess[k] if variable.guess else 0.0))
    return np.array(values)


def _function(book: Book, symbols: ca.SX, expressions: list[ca.SX]) -> Any:
    """A function of coordinates alone: parameters have their values, velocities are zero."""
    free = [s for e in expressions for s in ca.symvar(e)]
    inside = {s.element_hash() for s in ca.vertsplit(symbols)}
    other = {s.element_hash(): s for s in free if s.element_hash() not in inside}
    values = []
    for key in other:
        name, k, order = book.written.known[key]
        variable = book.written.variables.get(name)
        known = variable.start[k] if variable is not None and variable.kind == "parameter" and not order else 0.0
        values.append(0.0 if known is None else float(known))
    rest = concatenate(other.values()) if other else ca.SX(0, 1)
    compiled = ca.Function("places", [symbols, rest], [ca.densify(e) for e in expressions])

    def call(q: np.ndarray) -> list[np.ndarray]:
        found = compiled.call([ca.DM(q), ca.DM(values) if values else ca.DM(0, 1)])
        return [x.full().ravel() if k == 0 and len(found) > 1 else x.full() for k, x in enumerate(found)]

    return call


def _normalised(q: np.ndarray, lengths: list[int]) -> np.ndarray:
    q = q.copy()
    for k in lengths:
        q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
    return q


def _numbers(expression: ca.SX) -> list[float]:
    """The constants of an expression's rows where all else is zero: the sizes of what was given."""
    symbols = ca.symvar(expression)
    if not symbols:
        return [float(x) for x in ca.DM(expression).full().ravel()]
    try:
        value = ca.Function("size", symbols, [expression]).call([ca.DM(0)] * len(symbols))[0].full().ravel()
    except RuntimeError:
        return []
    return [float(x) for x in value if np.isfinite(x)]
