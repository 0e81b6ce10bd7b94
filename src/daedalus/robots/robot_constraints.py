"""What loops, joints that follow others and joints in body coordinates keep at zero, as functions of a robot's q.

Loops of hinges in space hold more than they must: of five rows that close a planar four-bar, three follow from the rest
wherever it is closed. Accelerations need rows that are independent there: they are chosen at postures that keep all of
them, found by Gauss–Newton from random ones.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.newton_steps import full_newton, largest_entry
from daedalus.algebra.rank_decision import KNOWN, KNOWN_BY_DIFFERENCES, independent_rows
from daedalus.errors import ModelError
from daedalus.model.expressions import concatenate, symbol_key
from daedalus.model.mechanics.joint_coordinates import body_formulas, replacements, with_exact_zeros
from daedalus.model.model import Model
from daedalus.model.names import listed
from daedalus.robots.robot_symbols import RobotSymbols

POSTURES, MOST_CLOSING = 3, 100  # postures at which rows are judged; steps to each
# Random postures that loops are closed from, by judgement.
MOST_TRIES = 20


def kept_by_joints(model: Model, symbols: RobotSymbols) -> ca.SX | None:
    """All constraints as functions of q; None without any. Refuses those that hold more than positions."""
    constraints = model.written.mechanics.constraints
    if not constraints:
        return None
    _, formulas = body_formulas(model, symbols.tree)
    bodies, values = replacements(model, formulas) if formulas else (ca.SX(0, 1), ca.SX(0, 1))
    written = [ca.vec(c.expression) for c in constraints.values()]
    found = [with_exact_zeros(x) for x in symbols.numbered(ca.substitute(written, [bodies], [values]))]
    known = {symbol_key(x) for x in ca.vertsplit(symbols.q)}
    wrong = [
        name for (name, c), x in zip(constraints.items(), found)
        if c.kind != "holonomic" or any(symbol_key(y) not in known for y in ca.symvar(x))
    ]  # fmt: skip
    if wrong:
        raise ModelError(
            "The accelerations of this robot are not a function of q, v and tau alone.",
            f"constraints: {listed(wrong, 6)}",
            because="the constraints involve more than joint positions.",
            remedy="m.mechanics().accelerations(...), or dd.simulate(m, ...)",
        )
    return concatenate(found)


def independent_constraints(model: Model, symbols: RobotSymbols, kept: ca.SX) -> ca.SX:
    """Rows of the constraints that are independent where all of them hold, and from which the others follow there."""
    slopes = ca.jacobian(kept, symbols.q) @ ca.jacobian(symbols.rate, symbols.v)
    at = ca.Function("at", [symbols.q], [ca.densify(kept), ca.densify(slopes)])
    rate = ca.Function("rate", [symbols.q, symbols.v], [symbols.rate])
    start, draw = _as_drawn(model, symbols), np.random.default_rng(0)
    best: list[int] = []
    found = 0
    for attempt in range(MOST_TRIES):
        wide = 0.1 if attempt % 2 == 0 else 1.0
        matrix = _closed(start + wide * draw.normal(size=start.shape), symbols, at, rate)
        if matrix is None:
            continue
        found += 1
        rows = independent_rows(matrix, KNOWN_BY_DIFFERENCES)
        if len(rows) > len(best):
            best = rows
        if found == POSTURES:
            break
    if not found:
        raise ModelError(
            f"No posture of {model.name!r} keeps all constraints.",
            f"constraints: {listed(list(model.written.mechanics.constraints), 6)}",
            because=f"they did not close from {MOST_TRIES} random postures.",
            remedy="lengths and positions with which the loops close, or a start near a posture where they do",
        )
    return kept[sorted(best), :] if len(best) < kept.numel() else kept


def _closed(q: np.ndarray, symbols: RobotSymbols, at: ca.Function, rate: ca.Function) -> np.ndarray | None:
    """The slopes of the constraints at a posture near q that keeps them; None where none was found."""

    def correction(q: np.ndarray) -> np.ndarray | None:
        away, slopes = (x.full() for x in at(q))
        if not np.all(np.isfinite(slopes)):
            return None
        step = -np.linalg.lstsq(slopes, away.ravel(), rcond=KNOWN)[0]
        return np.asarray(step * min(1.0, 0.5 / max(np.abs(step).max(initial=0.0), 1e-9)))

    def moved(q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return unit_quaternions(symbols, q + rate(q, step).full().ravel())

    closed = full_newton(
        correction, unit_quaternions(symbols, q), largest_entry, most=MOST_CLOSING, tolerance=KNOWN**1.2, moved=moved
    )
    if not closed.converged:
        return None
    residual, slopes = (x.full() for x in at(closed.values))
    return slopes if np.abs(residual).max(initial=0.0) < KNOWN else None


def unit_quaternions(symbols: RobotSymbols, q: np.ndarray) -> np.ndarray:
    """Positions with quaternions of length one."""
    q, at = np.array(q, dtype=float), 0
    for name, columns in symbols.tree.positions.items():
        turns = name.endswith(".quaternion")
        size = len(columns) + turns
        if turns:
            q[at : at + size] /= np.linalg.norm(q[at : at + size])
        at += size
    return q


def _as_drawn(model: Model, symbols: RobotSymbols) -> np.ndarray:
    """Start values of the positions, guesses where none are given."""
    values: list[float] = []
    for name, columns in symbols.tree.positions.items():
        variable = model.written.variables[name]
        turns = name.endswith(".quaternion")
        usual = (1.0, 0.0, 0.0, 0.0) if turns else (0.0,) * len(columns)
        given = variable.start if all(x is not None for x in variable.start) else variable.guess
        values += [u if x is None else float(x) for x, u in zip(given or usual, usual)]
    return np.array(values)
