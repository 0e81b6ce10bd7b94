"""Sums over particles and forces: the centre of mass, the moment about a point, and the torque of a couple."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import (
    ArrayOrSymbol,
    Given,
    added,
    components,
    cross,
    is_symbol,
    read_scalar,
    read_vector,
    scaled,
)
from daedalus.geometry.frames import ZERO

# How far from zero the resultant of a couple may be, relative to the largest force.
COUPLE_TOLERANCE = 1e-9


def centre_of_mass(masses: Sequence[Given], positions: Sequence[Given]) -> ArrayOrSymbol:
    """The centre of mass Σ mᵢ rᵢ / Σ mᵢ.

    With velocities or accelerations in place of the positions it gives those of the centre of mass.

    Parameters
    ----------
    masses: one for each part, kg.
    positions: one 3-vector for each part; an array (n, 3), or a list of vectors, numbers or symbols.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.centre_of_mass([1.0, 3.0], [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    array([3., 0., 0.])
    """
    _one_each(masses, positions, "masses", "positions")
    weights = [read_scalar(mass, "mass") for mass in masses]
    total = sum(weights[1:], start=weights[0])
    if not is_symbol(total) and not np.all(total > 0):
        raise InputError(
            "The masses have no centre.", f"total mass {np.min(total):.6g}", remedy="a positive total mass."
        )
    weighted = [scaled(m / total, read_vector(r, 3, "position")) for m, r in zip(weights, positions)]
    return added(*weighted)


def moment(forces: Sequence[Given], points: Sequence[Given], about: Given = ZERO) -> ArrayOrSymbol:
    """The moment Σ (rᵢ − P) × Fᵢ of a set of forces about a point P, in N m.

    Parameters
    ----------
    forces: one 3-vector for each force, N.
    points: for each force any point of its line of action.
    about: the point P.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.moment([[0.0, 2.0, 0.0]], [[3.0, 0.0, 0.0]], about=[1.0, 0.0, 0.0])
    array([0., 0., 4.])
    """
    _one_each(forces, points, "forces", "points")
    back = scaled(-1.0, read_vector(about, 3, "point"))
    arms = [added(read_vector(point, 3, "point"), back) for point in points]
    turning = [cross(arm, read_vector(force, 3, "force")) for arm, force in zip(arms, forces)]
    return added(*turning)


def couple(forces: Sequence[Given], points: Sequence[Given]) -> ArrayOrSymbol:
    """The torque of a couple: forces without resultant, whose moment is the same about every point.

    Parameters
    ----------
    forces: one 3-vector for each force, N. Numbers must add up to zero; symbols are not checked.
    points: for each force any point of its line of action.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.couple([[0.0, 2.0, 0.0], [0.0, -2.0, 0.0]], [[3.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    array([0., 0., 4.])
    """
    torque = moment(forces, points)
    pushes = [read_vector(force, 3, "force") for force in forces]
    resultant = added(*pushes)
    if not is_symbol(resultant):
        largest = max(np.max(np.abs(push), initial=0.0) for push in pushes)
        if not np.all(np.abs(resultant) <= COUPLE_TOLERANCE * largest):
            worst = [max(part.min(), part.max(), key=abs) for part in map(np.asarray, components(resultant))]
            raise InputError(
                "The forces are not a couple.",
                f"their resultant is [{worst[0]:.6g}, {worst[1]:.6g}, {worst[2]:.6g}] N, wanted zero",
                because="the moment of forces with a resultant depends on the point it is taken about.",
                remedy="dd.moment(forces, points, about=...).",
            )
    return torque


def _one_each(first: Sequence[Given], second: Sequence[Given], first_name: str, second_name: str) -> None:
    """Refuse lists of different lengths, and empty ones."""
    for given, name in ((first, first_name), (second, second_name)):
        if is_symbol(given) and not isinstance(given, (list, tuple)):
            raise InputError(f"The {name} are one symbol.", remedy=f"give the {name} as a list with one entry each.")
    if len(first) != len(second) or len(first) == 0:
        raise InputError(
            f"There must be as many {first_name} as {second_name}, at least one.",
            f"{len(first)} {first_name}, {len(second)} {second_name}",
        )
