"""Accelerations and multipliers of a constrained mechanical system, for numbers, also where constraints are redundant.

    [M −Gᵀ; G 0] (v', λ) = (f, γ)

By the null-space method: with Z a basis of the null space of G, v' = G⁺γ + Z y, Zᵀ M Z y = Zᵀ (f − M G⁺γ), and λ is the
smallest solution of Gᵀ λ = M v' − f (Benzi, Golub and Liesen, Numerical solution of saddle point problems, 2005, §6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from daedalus.algebra.rank_decision import SINGULAR, independent_rows
from daedalus.errors import SingularModelError
from daedalus.model.names import listed, split_index
from daedalus.model.system.system import System


@dataclass(frozen=True, eq=False)
class Accelerations(Mapping[str, "float | np.ndarray"]):
    """Accelerations and multipliers by name; `m.mechanics().accelerations()` gives them.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("falling ball")
    >>> m.gravity([0, 0, -9.81])
    >>> b = m.body("ball", mass=1.0, orientation=None)
    >>> found = m.mechanics().accelerations()
    >>> found["ball.velocity_dot"], found.redundant
    (array([ 0.  ,  0.  , -9.81]), ())
    """

    rates: np.ndarray
    """v', all of them"""
    multipliers: np.ndarray
    """λ, all of them"""
    redundant: tuple[str, ...]
    """elements of constraints that follow from the others"""
    contradiction: float
    """how far the constraints on the accelerations are from being fulfilled: not zero where they contradict"""
    _elements: dict[str, float] = field(repr=False)
    _shapes: dict[str, tuple[int, ...]] = field(repr=False)

    def __getitem__(self, name: str) -> float | np.ndarray:
        if name in self._elements:
            return self._elements[name]
        if name not in self._shapes:
            raise KeyError(f"{name!r}; known: {', '.join(list(self._shapes)[:8])}")
        own = [value for label, value in self._elements.items() if split_index(label)[0] == name]
        return np.array(own).reshape(self._shapes[name], order="F")

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


def solve_accelerations(
    mass: np.ndarray,
    force: np.ndarray,
    jacobian: np.ndarray,
    right: np.ndarray,
    rates: tuple[str, ...],
    multipliers: tuple[str, ...],
    system: System,
) -> Accelerations:
    """Solve M v' = f + Gᵀ λ, G v' = γ; M must be positive definite along what the constraints leave free."""
    parts = _free_motions(mass, jacobian)
    scale, rows, left, values, basis, inertia = parts
    rank = len(values)
    free = basis[rank:].T
    particular = basis[:rank].T @ ((left[:, :rank].T @ (right / rows)) / values)
    push = force * scale
    reduced = free.T @ inertia @ free
    _check_inertia(parts, rates)
    solution = particular + free @ np.linalg.solve(reduced, free.T @ (push - inertia @ particular))
    reaction = inertia @ solution - push
    lam = left[:, :rank] @ ((basis[:rank] @ reaction) / values) / rows
    found = scale * solution
    gap = float(np.max(np.abs(jacobian @ found - right) / rows, initial=0.0))
    labels = dict(zip((*rates, *multipliers), (*found.tolist(), *lam.tolist())))
    redundant = _redundant(jacobian * scale / rows[:, None], rank, multipliers)
    return Accelerations(found, lam, redundant, gap, labels, _shapes(labels, system))


def _shapes(labels: Mapping[str, float], system: System) -> dict[str, tuple[int, ...]]:
    """The shape of every whole name."""
    names = dict.fromkeys(split_index(label)[0] for label in labels)
    return {name: system.place(name).shape for name in names}


def weakest_motion(mass: np.ndarray, jacobian: np.ndarray) -> tuple[float, list[int]]:
    """The smallest inertia of a motion that the constraints allow, scaled, and the velocities that take part in it.

    Example
    -------
    >>> weakest_motion(np.diag([1.0, 0.0]), np.zeros((0, 2)))
    (0.0, [1])
    """
    return _weakest(_free_motions(mass, jacobian))


def _free_motions(mass: np.ndarray, jacobian: np.ndarray) -> tuple[np.ndarray, ...]:
    """Scales of velocities and rows, the singular value decomposition of G, cut at its rank, and M, both scaled."""
    # Velocities in units of their inertia, rows of G of length one: ranks then do not depend on units.
    size = np.sqrt(np.abs(np.diag(mass)))
    scale = 1 / np.where(size > 0, size, 1.0)
    scaled = jacobian * scale
    rows = np.linalg.norm(scaled, axis=1)
    rows = np.where(rows > 0, rows, 1.0)
    left, values, basis = np.linalg.svd(scaled / rows[:, None])
    rank = int(np.sum(values > SINGULAR * max(1.0, values.max(initial=0.0))))
    return scale, rows, left, values[:rank], basis, mass * scale[:, None] * scale


def _weakest(parts: tuple[np.ndarray, ...]) -> tuple[float, list[int]]:
    *_, values, basis, inertia = parts
    free = basis[len(values) :].T
    if not free.size:
        return np.inf, []
    moments, directions = np.linalg.eigh(free.T @ inertia @ free)
    share = np.abs(free @ directions[:, 0])
    return float(moments[0]), [int(k) for k in np.argsort(-share, kind="stable") if share[k] > 0.1 * share.max()]


def _check_inertia(parts: tuple[np.ndarray, ...], rates: tuple[str, ...]) -> None:
    moment, places = _weakest(parts)
    # Diagonal entries of M are scaled to one.
    if moment > SINGULAR:
        return
    names = [rates[k] for k in places]
    raise SingularModelError(
        "The mass matrix does not determine the accelerations here.",
        [
            f"smallest eigenvalue {moment:.3g} of the mass matrix, scaled, along what the constraints leave free",
            f"undetermined: {listed(names, 6)}",
        ],
        because="no kinetic energy belongs to a motion that the constraints allow.",
        remedy="m.kinetic_energy(...) with these rates, or a constraint that fixes them",
    )


def _redundant(scaled: np.ndarray, rank: int, multipliers: tuple[str, ...]) -> tuple[str, ...]:
    """Rows that follow from rows before them (in order of writing), at most as many as the rank lacks."""
    if rank == len(scaled):
        return ()
    kept = independent_rows(scaled)
    return tuple(name for k, name in enumerate(multipliers) if k not in kept)
