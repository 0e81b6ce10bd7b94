"""Tell a model that never rests because it moves steadily: a drive that turns, two shafts that turn together.

Along a direction v that the equations do not feel, F(t, s v, x + τ v, z) = 0 may hold at a constant rate s for every τ
where F(t, 0, x, z) = 0 has no solution.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import Root
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.analysis.points.complete_point import Entry, equations_in, linked_states, scatter, usual_sizes
from daedalus.analysis.points.steady_state_search import search
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import SolverError
from daedalus.model.names import listed
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

# Of larger models directions are not sought.
MOST_UNKNOWNS = 500
# Equations that hold further along the motion, in shares of what they are off at rest.
HOLDS = 1e-6


def steady_motion(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: list[Entry], sought: list[Entry], root: Root
) -> SolverError | None:
    """The error for what does not come to rest but moves at a steady rate; None where it does not move so."""
    names = system.labels["x"]
    alone = _turning_alone(system, root, unknowns, sought)
    if alone and _moves_alone(system, vectors, unknowns, alone):
        rates, held = ([f'"{names[k]}{end}"' for k in alone] for end in ("_dot", ""))
        remedy = f"fixed=[{', '.join(held)}], solve_for=[{', '.join(rates)}], which leaves the rate open"
        return _error(system, [names[k] for k in alone], "", remedy)
    together = _moving_together(system, vectors, unknowns, root)
    if not together:
        return None
    first = next(iter(together))
    given = [f'"{names[first]}": {vectors["x"][first]:.6g}']
    given += [f'"{names[k]}_dot": {rate:.6g}' for k, rate in together.items()]
    told = listed([f"{names[k]}_dot = {rate:.6g}" for k, rate in together.items()])
    fact = f"together, at {told}" if len(together) > 1 else f"at {told}"
    return _error(system, [names[k] for k in together], fact, f"fixed={{{', '.join(given)}}}, which is that motion")


def _error(system: System, names: list[str], fact: str, remedy: str) -> SolverError:
    them = "it" if len(names) == 1 else "them"
    facts = [f"{listed(names)} would have to be at rest, and nothing stops {them}"]
    if fact:
        facts.append(f"the equations hold where {'it moves' if len(names) == 1 else 'they move'} {fact}")
    return SolverError(
        f"{system.name!r} has no equilibrium, because it moves steadily.",
        facts,
        because="with these inputs the equations hold at a constant rate, not at rest.",
        remedy=remedy,
    )


def _turning_alone(system: System, root: Root, unknowns: list[Entry], sought: list[Entry]) -> list[int]:
    """States that stand in no equation, only their derivatives do, held at zero: the angle of a drive that turns."""
    loose = [unknowns[k] for k in root.loose()] if root.null.shape[1] else []
    rates = {state for _, state in linked_states(system)}
    cyclic = np.diff(structure_of(system).pattern("x").colind()) == 0
    return [k for letter, k in loose if letter == "x" and cyclic[k] and k not in rates and ("xdot", k) not in sought]


def _moves_alone(system: System, vectors: Mapping[str, np.ndarray], unknowns: list[Entry], turning: list[int]) -> bool:
    """Whether the equations hold with the rates of some states open and these states anywhere."""
    own = {letter: values.copy() for letter, values in vectors.items()}
    rates = [("xdot", k) for k in turning]
    others = [entry for entry in unknowns if entry not in [("x", k) for k in turning]]
    root, outside, _ = search(system, own, [*others, *rates])
    return bool(root.solved and not len(outside))


def _moving_together(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: list[Entry], root: Root
) -> dict[int, float]:
    """Rates of states at which the equations hold along directions that they do not feel; none where they do not."""
    directions = _free_directions(system, vectors, unknowns, root)
    if directions is None:
        return {}
    # One state of each direction stands for it: the others move in proportion.
    pivots, shares = directions
    xdot, own = system.symbol("xdot"), {letter: np.array(values) for letter, values in vectors.items()}
    moving = [k for k in range(len(shares)) if np.any(shares[k])]
    rates = ca.SX(xdot)
    for k in moving:
        rates[k] = ca.mtimes(ca.DM(shares[k : k + 1]), xdot[pivots])
    steady = system.changed(residual=ca.substitute(system.residual, xdot, rates))
    sought = [*unknowns, *(("xdot", k) for k in pivots if ("xdot", k) not in unknowns)]
    found, outside, _ = search(steady, own, sought)
    if not found.solved or len(outside):
        return {}
    scatter(own, sought, found.values)
    speeds = shares @ own["xdot"][pivots]
    for k in moving:
        own["xdot"][k] = speeds[k]
    # It is steady where the equations still hold further on.
    residual = ca.Function("residual", system.symbols(), [system.residual])
    own["x"] = own["x"] + speeds / max(np.abs(speeds).max(), np.finfo(float).tiny)
    off = np.abs(np.array(residual(*(own[letter] for letter in ARGUMENTS)))).max()
    if not off <= HOLDS * np.abs(root.residual).max() or not np.any(speeds):
        return {}
    return {k: float(speeds[k]) for k in moving if abs(speeds[k]) > KNOWN_BY_DIFFERENCES * np.abs(speeds).max()}


def _free_directions(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: list[Entry], root: Root
) -> tuple[list[int], np.ndarray] | None:
    """States that stand for the directions that the equations do not feel, and all states in proportion to them."""
    rates = {state for _, state in linked_states(system)}
    count, size = root.null.shape[1], usual_sizes(system, vectors, unknowns)
    if not count or not system.sizes["x"] or len(unknowns) > MOST_UNKNOWNS or not np.all(np.isfinite(root.values)):
        return None
    _, matrix, _ = equations_in(system, vectors, unknowns)(root.values)
    scaled = np.asarray(matrix.todense() if hasattr(matrix, "todense") else matrix) * size
    scaled /= np.maximum(np.abs(scaled).max(axis=1, keepdims=True), np.finfo(float).tiny)
    if not np.all(np.isfinite(scaled)):
        return None
    null = np.linalg.svd(scaled)[2][-count:].T
    free = np.zeros((system.sizes["x"], count))
    for row, width, (letter, k) in zip(null, size, unknowns):
        if letter == "x" and k not in rates and vectors["xdot"][k] == 0.0:
            free[k] = width * row
    pivots: list[int] = []
    for column in range(free.shape[1]):
        pivot = int(np.argmax(np.abs(free[:, column])))
        if not abs(free[pivot, column]) > 0:
            return None
        free[:, column] /= free[pivot, column]
        for other in range(free.shape[1]):
            if other != column:
                free[:, other] -= free[pivot, other] * free[:, column]
        pivots.append(pivot)
    if not pivots or len(set(pivots)) < len(pivots):
        return None
    free[np.abs(free) < KNOWN_BY_DIFFERENCES] = 0.0
    return pivots, free
