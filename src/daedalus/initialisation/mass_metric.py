"""The norm in which positions and velocities of a mechanical system move least: that of its mass matrix.

A projection in this norm is what an impulse of the constraints would do: ½ Δvᵀ M Δv is the energy of the change.
Positions whose rate is q' = N v take over the norm of v through the pseudo-inverse of N.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.initialisation.jet_equations import JetEquations
from daedalus.model.mechanics.mechanics_part import motion_or_none
from daedalus.model.mechanics.motion_functions import MotionFunctions
from daedalus.model.system.system import System

# Larger mass matrices would fill the sparse linear algebra: sizes are used there.
LARGEST = 400


@dataclass(frozen=True, eq=False)
class MassMetric:
    """Blocks of unknowns, as places in the jet, with the symmetric matrix that measures their change."""

    blocks: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def spread(self, columns: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """S with ‖S⁻¹ Δ‖ the length of a change of these unknowns: (n,) sizes, or (n, n) where mass counts."""
        where = {int(c): k for k, c in enumerate(columns)}
        spread: np.ndarray | None = None
        for own, matrix in self.blocks:
            present = [k for k, c in enumerate(own) if int(c) in where]
            if not present:
                continue
            places = [where[int(own[k])] for k in present]
            part = matrix[np.ix_(present, present)]
            # In the mean a mass counts as much as the sizes do, so that other unknowns keep their weight.
            part = part / np.mean(np.diag(part) * sizes[places] ** 2)
            spread = np.diag(sizes) if spread is None else spread
            spread[np.ix_(places, places)] = np.linalg.inv(np.linalg.cholesky(part)).T
        return sizes if spread is None else spread


def mass_metric(equations: JetEquations, vectors: Mapping[str, np.ndarray]) -> MassMetric:
    """The metric of a system's mechanics at its guess; empty where it has none, or masses that vanish."""
    system = equations.system
    if system.sizes["x"] > LARGEST:
        return MassMetric()
    # A loop that was closed for this start has other inputs than the model, and no mechanics of its own.
    found = mass_blocks(motion_or_none(system), system, vectors)
    blocks = [(np.array([equations.position("x", int(k)) for k in positions]), matrix) for positions, matrix in found]
    return MassMetric(tuple(blocks))


def mass_blocks(
    motion: MotionFunctions | None, system: System, vectors: Mapping[str, np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions in x with the mass matrix that measures their change: first coordinates, then velocities."""
    found = _of_motion(motion, system, vectors) if motion else _of_second_order(system, vectors)
    blocks = []
    for positions, matrix in found or []:
        matrix = (matrix + matrix.T) / 2
        if np.all(np.isfinite(matrix)) and np.linalg.eigvalsh(matrix)[0] > 1e-10 * np.abs(matrix).max():
            blocks.append((positions, matrix))
    return blocks


def _of_motion(
    motion: MotionFunctions, system: System, vectors: Mapping[str, np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    position = {label: k for k, label in enumerate(system.labels["x"])}
    if motion.other_labels and not all(label in position for label in motion.other_labels):
        return None
    q, v, other = (
        np.array([position[label] for label in labels], dtype=int)
        for labels in (motion.positions, motion.velocities, motion.other_labels)
    )
    x = vectors["x"]
    arguments = [vectors["t"], x[q], x[v], vectors["u"], vectors["p"], x[other]]
    mass, rates = motion.M(*arguments).full(), motion.N(*arguments).full()
    if not (np.all(np.isfinite(mass)) and np.all(np.isfinite(rates))):
        return None
    back = np.linalg.pinv(rates)
    # Directions in which no velocity moves a position, the length of a quaternion, count like the others.
    beside = np.eye(len(q)) - rates @ back
    return [(q, back.T @ mass @ back + np.mean(np.diag(mass)) * beside), (v, mass)]


def _of_second_order(system: System, vectors: Mapping[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """∂F/∂q'' of equations of second order, where it is symmetric: written in the order of the coordinates."""
    entries = [(name, k, order) for name, k, order in system._entries]
    q = [j for j, (name, k, order) in enumerate(entries) if order == 0 and system.orders[name][k] == 2]
    if not q:
        return None
    v = [entries.index((entries[j][0], entries[j][1], 1)) for j in q]
    slopes = ca.jacobian(system.residual, system.symbol("xdot")[v])
    rows = sorted(set(slopes.sparsity().row()))
    if len(rows) != len(q):
        return None
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    function = ca.Function("mass", arguments, [ca.densify(slopes[rows, :])])
    mass = function(*(vectors[letter] for letter in ("t", "xdot", "x", "z", "u", "p"))).full()
    if not np.all(np.isfinite(mass)) or np.abs(mass - mass.T).max() > 1e-9 * np.abs(mass).max():
        return None
    mass = mass if np.trace(mass) > 0 else -mass
    return [(np.array(q), mass), (np.array(v), mass)]
