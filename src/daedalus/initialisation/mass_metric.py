"""The norm in which positions and velocities of a mechanical system move least: that of its mass matrix.

A projection in this norm is what an impulse of the constraints would do: ½ Δvᵀ M Δv is the energy of the change.
Positions whose rate is q' = N v take over the norm of v through the pseudo-inverse of N.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_RANK, SINGULAR
from daedalus.analysis.structure.jets.jet_equations import JetEquations
from daedalus.analysis.structure.jets.jet_search import MassMetric, Search
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.initialisation.start_in_form import standing_for
from daedalus.initialisation.written_states import first_written
from daedalus.model.expressions import concatenate, elements
from daedalus.model.mechanics.mechanics_part import motion_or_none
from daedalus.model.mechanics.motion_functions import MotionFunctions
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System


def mass_metric(equations: JetEquations, vectors: Mapping[str, np.ndarray]) -> MassMetric:
    """The metric of a system's mechanics at its guess; empty where it has none, or masses that vanish."""
    system = equations.system
    if system.sizes["x"] > FULL_RANK:
        return MassMetric()
    found = mass_blocks(motion_or_none(system) or motion_or_none(first_written(system)), system, vectors)
    return MassMetric(tuple((equations.places["x"][positions], matrix) for positions, matrix in found))


def search_from(equations: JetEquations, time: float, p: np.ndarray, u: np.ndarray, guess: np.ndarray) -> Search:
    """The search from a guess, with inputs and their derivatives (orders, nu); a change counts by the masses there."""
    vectors = {**equations.by_letter(guess), "t": np.array([time]), "u": u[0], "p": p}
    return Search(equations, time, p, u.ravel(), guess, equations.sizes, mass_metric(equations, vectors))


def mass_blocks(
    motion: MotionFunctions | None, system: System, vectors: Mapping[str, np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions in x with the mass matrix that measures their change: first coordinates, then velocities."""
    found = _of_motion(motion, system, vectors) if motion else _of_second_order(system, vectors)
    blocks = []
    for positions, matrix in found or []:
        matrix = (matrix + matrix.T) / 2
        if np.all(np.isfinite(matrix)) and is_mass(matrix).all():
            blocks.append((positions, matrix))
    return blocks


def is_mass(matrix: np.ndarray) -> np.ndarray:
    """Which of a stack of symmetric matrices are positive definite beside their largest entry."""
    return np.asarray(np.linalg.eigvalsh(matrix)[..., 0] > SINGULAR * np.abs(matrix).max(axis=(-2, -1)))


def _of_motion(
    motion: MotionFunctions, system: System, vectors: Mapping[str, np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    position = {label: k for k, label in enumerate(system.labels["x"])}
    if not all(label in position for label in (*motion.positions, *motion.velocities, *motion.other_labels)):
        return None
    q, v, other = (
        np.array([position[label] for label in labels], dtype=int)
        for labels in (motion.positions, motion.velocities, motion.other_labels)
    )
    x = vectors["x"]
    # A system that was reduced, or whose loops were closed, may have other inputs and parameters than its mechanics.
    u, p = (_by_label(motion.system, system, letter, vectors[letter]) for letter in "up")
    arguments = [vectors["t"], x[q], x[v], u, p, x[other]]
    mass, rates = motion.M(*arguments).full(), motion.N(*arguments).full()
    if not (np.all(np.isfinite(mass)) and np.all(np.isfinite(rates))):
        return None
    return [(q, of_positions(mass, rates)), (v, mass)]


def of_positions(mass: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The norm that positions take over from velocities, with q' = N v; of stacks too."""
    back = np.linalg.pinv(rates)
    # Directions in which no velocity moves a position, the length of a quaternion, count like the others.
    beside = np.eye(rates.shape[-2]) - rates @ back
    usual = np.mean(np.diagonal(mass, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    return np.asarray(np.swapaxes(back, -1, -2) @ mass @ back + usual * beside)


def _by_label(wanted: System, system: System, letter: str, values: np.ndarray) -> np.ndarray:
    """Values in the order of another system; zero for what this one does not have."""
    if wanted.labels[letter] == system.labels[letter]:
        return values
    own = dict(zip(system.labels[letter], values.tolist()))
    return np.array([own.get(label, 0.0) for label in wanted.labels[letter]])


@dataclass(frozen=True, eq=False)
class VelocityMass:
    """The mass matrix of velocities as an expression of a system's symbols; places: the velocities in x."""

    system: System
    places: np.ndarray
    expression: ca.SX

    def at(
        self, symbols: tuple[ca.SX, ...], point: tuple[Any, ...], pick: list[int], change: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """M of some velocities at a jet, the last of the symbols, and ∂(M change)/∂jet with the change held."""
        part = self.expression[pick, pick]
        turned = ca.jacobian(ca.mtimes(part, ca.DM(change)), symbols[-1])
        parts = ca.Function("mass", list(symbols), [ca.densify(part), turned]).call(list(point))
        return parts[0].full(), parts[1].full()


@remembered
def velocity_mass(system: System) -> VelocityMass | None:
    """The mass matrix of a system's mechanics, None where it has none."""
    motion = motion_or_none(system) or motion_or_none(first_written(system))
    if motion is None:
        found = _second_order_mass(system)
        return None if found is None else VelocityMass(system, np.array(found[1]), found[2])
    position = {label: k for k, label in enumerate(system.labels["x"])}
    for k, label in enumerate(system.labels["xdot"]):
        # In first order another state stands for a velocity, q_rate for q_dot.
        state = None if label in position or label not in motion.velocities else standing_for(system, k)
        if state is not None:
            position[label] = state
    labels = (motion.positions, motion.velocities, motion.other_labels)
    if not all(label in position for own in labels for label in own):
        return None
    x = system.symbol("x")
    q, v, other = (x[[position[label] for label in own]] if own else ca.SX(0, 1) for own in labels)
    given = {letter: dict(zip(system.labels[letter], elements(system.symbol(letter)))) for letter in "up"}
    u, p = (
        concatenate(given[letter].get(label, ca.SX(0)) for label in motion.system.labels[letter]) for letter in "up"
    )
    expression = motion.M(system.symbol("t"), q, v, u, p, other)
    return VelocityMass(system, np.array([position[label] for label in motion.velocities]), ca.SX(expression))


def _second_order_mass(system: System) -> tuple[list[int], list[int], ca.SX] | None:
    """Coordinates and velocities of equations of second order, and ∂F/∂q''."""
    entries = [(name, k, order) for name, k, order in system.entries]
    q = [j for j, (name, k, order) in enumerate(entries) if order == 0 and system.orders[name][k] == 2]
    if not q:
        return None
    v = [entries.index((entries[j][0], entries[j][1], 1)) for j in q]
    slopes = structure_of(system).slopes("xdot")[:, v]
    rows = sorted(set(slopes.sparsity().row()))
    return (q, v, ca.densify(slopes[rows, :])) if len(rows) == len(q) else None


def _of_second_order(system: System, vectors: Mapping[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """∂F/∂q'' of equations of second order, where it is symmetric: written in the order of the coordinates."""
    found = _second_order_mass(system)
    if found is None:
        return None
    q, v, expression = found
    arguments = system.symbols()
    function = ca.Function("mass", arguments, [expression])
    mass = function(*(vectors[letter] for letter in ("t", "xdot", "x", "z", "u", "p"))).full()
    if not np.all(np.isfinite(mass)) or np.abs(mass - mass.T).max() > 1e-9 * np.abs(mass).max():
        return None
    mass = mass if np.trace(mass) > 0 else -mass
    return [(np.array(q), mass), (np.array(v), mass)]
