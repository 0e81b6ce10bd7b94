"""What acts in single joints of a model: damping, dry friction, and joints that follow others; and what else acts.

    D = Σ ½ d v² + rest,      |τ| = c while it slides,      q = multiplier · q_other + offset

Robot files have words for these three alone. What they have no words for is named.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import SAME_FORMULA, WITNESSES
from daedalus.model.expressions import column, concatenate, symbol_key
from daedalus.model.mechanics.written_mechanics import Constraint
from daedalus.model.model import Model
from daedalus.model.names import listed
from daedalus.robots.robot_symbols import RobotSymbols, numbered

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # m/s², of readers of files that have no word for it


class Follower(NamedTuple):
    """A coordinate that is a multiple of another: q = multiplier · q_other + offset; `other` is its column in v."""

    other: int
    multiplier: float
    offset: float


class JointLaws(NamedTuple):
    """Laws of single coordinates by their column in v, constraints that are more, and what else acts, in words."""

    damping: dict[int, float]
    friction: dict[int, float]
    followers: dict[int, Follower]
    closures: list[str]
    others: list[str]


def joint_laws(model: Model, symbols: RobotSymbols) -> JointLaws:
    """The laws of single joints in a model, with parameters at their values."""
    mechanics = model.written.mechanics
    damping, rest = _damping(model, symbols)
    friction, slides, pushed = _frictions(model, symbols)
    followers, closures = _followers(model, symbols)
    others = [f"forces on {name}" for name in pushed]
    if not _is_zero(rest):
        others.append("dissipation other than dampers in single joints")
    if not mechanics.potential.is_constant():
        others.append("potential energies, as of springs")
    if not mechanics.kinetic.is_constant():
        others.append("kinetic energies added to those of bodies, as of rotors")
    gravity = np.array(ca.DM(symbols.tree.gravity)).ravel()
    if not np.array_equal(gravity, STANDARD_GRAVITY):
        others.append(f"gravity {[float(x) for x in gravity]}, which readers take as {list(STANDARD_GRAVITY)}")
    laws = [name for name in model.written.equations if name not in {f"{s}.law" for s in slides}]
    events = [name for name in model.written.events if name not in {f"{s}.change" for s in slides}]
    for what, names in (("equations", laws), ("events", events), ("contacts", list(mechanics.touching))):
        if names:
            others.append(f"{what} {listed(names, 6)}")
    return JointLaws(damping, friction, followers, closures, others)


def _damping(model: Model, symbols: RobotSymbols) -> tuple[dict[int, float], ca.SX]:
    """Dampers of single velocities in the dissipation, and what it has beside them."""
    (written,) = numbered(model, [ca.SX(model.written.mechanics.dissipation)])
    rest = written
    found: dict[int, float] = {}
    curvature = ca.diag(ca.hessian(written, symbols.v)[0])
    for k, speed in enumerate(ca.vertsplit(symbols.v)):
        if curvature[k].is_constant() and not curvature[k].is_zero():
            found[k] = float(curvature[k])
            rest = rest - 0.5 * found[k] * speed**2
    return found, rest


def _frictions(model: Model, symbols: RobotSymbols) -> tuple[dict[int, float], list[str], list[str]]:
    """Dry frictions of one level in single joints, their names, and positions on which other forces act."""
    written = model.written
    levels: dict[int, tuple[str, ca.SX, float]] = {}
    places = {symbol_key(s): k for k, s in enumerate(ca.vertsplit(symbols.v))}
    for event in written.events.values():
        contact = event.manner.contact
        if contact is None or contact.kind != "friction":
            continue
        force, mode = written.symbols[contact.name], written.symbols[f"{contact.name}.mode"]
        speed = written.outputs[f"{contact.name}.velocity"]
        law, one = written.equations[f"{contact.name}.law"].residual, ca.SX(1)
        # Sliding forwards the law reads force + kinetic = 0.
        level, holding = numbered(model, [ca.simplify(ca.substitute(law, ca.vertcat(force, mode), ca.vertcat(0, one))),
                                          ca.SX(written.outputs[f"{contact.name}.limit"])])  # fmt: skip
        if not speed.is_symbolic() or symbol_key(speed) not in places or not level.is_constant():
            continue
        if holding.is_constant() and float(holding) == float(level):
            levels[places[symbol_key(speed)]] = (contact.name, force, float(level))
    found: dict[int, float] = {}
    names: list[str] = []
    pushed: list[str] = []
    for position, force in written.mechanics.applied.items():
        left = ca.SX(numbered(model, [column(force)])[0])
        for row, k in enumerate(symbols.tree.positions.get(position, ())):
            if k not in levels or row >= left.numel():
                continue
            name, dry, sliding = levels[k]
            if _is_zero(ca.jacobian(left[row], dry) - 1):
                found[k] = sliding
                names.append(name)
                left[row] = ca.substitute(left[row], dry, 0)
        if not _is_zero(left):
            pushed.append(position)
    return found, names, pushed


def _followers(model: Model, symbols: RobotSymbols) -> tuple[dict[int, Follower], list[str]]:
    """Constraints by which one coordinate is a multiple of another, and those that are more."""
    places: dict[int, int] = {}
    at = 0
    scalars = ca.vertsplit(symbols.q)
    for name, columns in symbols.tree.positions.items():
        size = len(columns) + name.endswith(".quaternion")
        if size == len(columns):
            places.update({symbol_key(scalars[at + k]): c for k, c in enumerate(columns)})
        at += size
    found: dict[int, Follower] = {}
    closures: list[str] = []
    for name, constraint in model.written.mechanics.constraints.items():
        follower = _follower(model, name, constraint, places)
        if follower is None or follower[0] in found:
            closures.append(name)
        else:
            found[follower[0]] = follower[1]
    return found, closures


def _follower(model: Model, name: str, constraint: Constraint, places: dict[int, int]) -> tuple[int, Follower] | None:
    """a q + b q_other + c = 0 as one coordinate by the other; the first is that of the joint it is named after."""
    (row,) = numbered(model, [column(constraint.expression)])
    parts = ca.symvar(row)
    if constraint.kind != "holonomic" or row.numel() != 1 or len(parts) != 2:
        return None
    if any(symbol_key(s) not in places for s in parts):
        return None
    slopes = ca.jacobian(row, ca.vertcat(*parts))
    if not slopes.is_constant() or slopes.nnz() != 2:
        return None
    owner = name.rpartition(".")[0]
    if model.written.known[symbol_key(parts[1])][0].rpartition(".")[0] == owner:
        parts, slopes = parts[::-1], slopes[:, ::-1]
    offset = float(ca.substitute(row, ca.vertcat(*parts), ca.SX.zeros(2)))
    a, b = (float(slopes[k]) for k in range(2))
    one, other = (places[symbol_key(s)] for s in parts)
    return one, Follower(other, -b / a, -offset / a)


def _is_zero(expression: ca.SX) -> bool:
    """Whether an expression is zero wherever its symbols are, at points drawn at random."""
    symbols = concatenate(ca.symvar(expression))
    value = ca.Function("value", [symbols], [ca.densify(expression)])
    draw = np.random.default_rng(40)
    points = [draw.normal(size=symbols.numel()) for _ in range(WITNESSES + 1)]
    return all(np.abs(value(point).full()).max(initial=0.0) < SAME_FORMULA for point in points)
