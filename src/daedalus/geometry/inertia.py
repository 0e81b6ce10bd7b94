"""Inertia tensors of rigid bodies: of simple shapes, of bodies put together, about other points and in other frames.

The tensor about a point is M = ∫ (rᵀr I − r rᵀ) dm, with moments on the diagonal and minus the products of inertia
beside it. Every function returns a 3×3 matrix about the centre of mass in the body frame unless it says otherwise, and
takes numbers (leading dimensions are a batch) or CasADi symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import (
    ArrayOrSymbol,
    Given,
    added,
    build_matrix,
    components,
    compose,
    dot,
    entries,
    is_symbol,
    read_matrix,
    read_scalar,
    read_vector,
    scaled,
    transpose,
)
from daedalus.geometry.frames import ZERO
from daedalus.geometry.inertia_check import check, principal
from daedalus.geometry.moments import centre_of_mass
from daedalus.geometry.rotations import read_rotation
from daedalus.geometry.solids import MassProperties, of

__all__ = [
    "Composite",
    "MassProperties",
    "Part",
    "box",
    "change_frame",
    "check",
    "composite",
    "cylinder",
    "of",
    "parallel_axis",
    "principal",
    "rod",
    "sphere",
    "tensor",
]

Axis = Literal["x", "y", "z"]


def __dir__() -> list[str]:
    return __all__


def tensor(xx: Given, yy: Given, zz: Given, xy: Given = 0.0, xz: Given = 0.0, yz: Given = 0.0) -> ArrayOrSymbol:
    """The inertia matrix with these moments and products of inertia.

    Parameters
    ----------
    xx, yy, zz: moments ∫ (y² + z²) dm and so on, kg m².
    xy, xz, yz: products ∫ x y dm and so on, kg m²; they enter the matrix with a minus sign. Some CAD programs print
        them with the minus already there.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.inertia.tensor(2.0, 3.0, 4.0, xy=0.1)
    array([[ 2. , -0.1, -0. ],
           [-0.1,  3. , -0. ],
           [-0. , -0. ,  4. ]])
    """
    a, b, c = (read_scalar(value, "moment of inertia") for value in (xx, yy, zz))
    d, e, f = (-read_scalar(value, "product of inertia") for value in (xy, xz, yz))
    return build_matrix([[a, d, e], [d, b, f], [e, f, c]])


def box(mass: Given, *sides: Given) -> ArrayOrSymbol:
    """The inertia of a solid box.

    Parameters
    ----------
    mass: kg.
    sides: lengths along x, y and z in m: three numbers, or one 3-vector.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.inertia.box(12.0, 1.0, 2.0, 3.0)
    array([[13.,  0.,  0.],
           [ 0., 10.,  0.],
           [ 0.,  0.,  5.]])
    """
    m = _positive(mass, "mass")
    if len(sides) == 1:
        sides = components(read_vector(sides[0], 3, "sides"))
    elif len(sides) != 3:
        raise InputError("A box has three sides.", f"{len(sides)} given", remedy="dd.inertia.box(mass, x, y, z).")
    a, b, c = (_positive(side, "side") for side in sides)
    return _diagonal(m * (b * b + c * c) / 12, m * (a * a + c * c) / 12, m * (a * a + b * b) / 12)


def cylinder(mass: Given, radius: Given, length: Given, axis: Axis = "z", inner_radius: Given = 0.0) -> ArrayOrSymbol:
    """The inertia of a cylinder, solid or hollow; with a small length a disc or a ring.

    Parameters
    ----------
    mass: kg.
    radius, length: m.
    axis: the body axis of its symmetry.
    inner_radius: of the hole, m; equal to the radius for a thin tube.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.inertia.cylinder(12.0, radius=1.0, length=2.0)
    array([[7., 0., 0.],
           [0., 7., 0.],
           [0., 0., 6.]])
    """
    m, r, l = _positive(mass, "mass"), _positive(radius, "radius"), _not_negative(length, "length")
    rim = r * r + _hole(inner_radius, r) ** 2
    return _round(m * (3 * rim + l * l) / 12, m * rim / 2, axis)


def sphere(mass: Given, radius: Given, inner_radius: Given = 0.0) -> ArrayOrSymbol:
    """The inertia of a sphere, solid or hollow.

    2/5 m (R⁵ − r⁵)/(R³ − r³), divided out by R − r, so that a thin shell works too.

    Parameters
    ----------
    mass: kg.
    radius: m.
    inner_radius: of the hollow, m; equal to the radius for a thin shell.

    Example
    -------
    >>> import daedalus as dd
    >>> float(dd.inertia.sphere(5.0, 1.0)[0, 0]), float(dd.inertia.sphere(3.0, 1.0, inner_radius=1.0)[0, 0])
    (2.0, 2.0)
    """
    m, r = _positive(mass, "mass"), _positive(radius, "radius")
    h = _hole(inner_radius, r)
    fifth = r**4 + r**3 * h + r * r * h * h + r * h**3 + h**4
    moment = 2 * m * fifth / (5 * (r * r + r * h + h * h))
    return _diagonal(moment, moment, moment)


def rod(mass: Given, length: Given, axis: Axis = "z", radius: Given = 0.0) -> ArrayOrSymbol:
    """The inertia of a rod.

    Parameters
    ----------
    mass: kg.
    length: m.
    axis: the body axis along the rod.
    radius: m. The default is a thin rod, which has no inertia about its own axis. That is enough in the plane; a free
        body in space needs a radius, because nothing would resist its spin.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.inertia.rod(12.0, 2.0, axis="x")
    array([[0., 0., 0.],
           [0., 4., 0.],
           [0., 0., 4.]])
    """
    m, l, r = _positive(mass, "mass"), _positive(length, "length"), _not_negative(radius, "radius")
    return _round(m * (3 * r * r + l * l) / 12, m * r * r / 2, axis)


def parallel_axis(inertia: Given, mass: Given, offset: Given) -> ArrayOrSymbol:
    """The inertia about another point than the centre of mass (Steiner): M + m (rᵀr I − r rᵀ) = M − m r^× r^×.

    Parameters
    ----------
    inertia: about the centre of mass; (..., 3, 3) numbers or a 3×3 symbol, kg m².
    mass: kg.
    offset: r between the centre of mass and the point, m; its direction does not matter.

    Example
    -------
    >>> import daedalus as dd
    >>> float(dd.parallel_axis(dd.inertia.rod(3.0, 2.0), 3.0, [0.0, 0.0, 1.0])[0, 0])         # m l²/3 about the end
    4.0
    """
    given, r = read_matrix(inertia, 3, 3, "inertia"), read_vector(offset, 3, "offset")
    m, rows, arm, square = read_scalar(mass, "mass"), entries(given), components(r), dot(r, r)
    return build_matrix(
        [[rows[i][j] + m * ((square if i == j else 0.0) - arm[i] * arm[j]) for j in range(3)] for i in range(3)]
    )


def change_frame(inertia: Given, rotation: Given) -> ArrayOrSymbol:
    """The same inertia in the coordinates of another frame: R M Rᵀ.

    Parameters
    ----------
    inertia: (..., 3, 3) numbers or a 3×3 symbol, kg m².
    rotation: maps the current frame to the new frame.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.inertia.change_frame(dd.inertia.tensor(1.0, 2.0, 3.0), dd.rot_z(0.5 * 3.141592653589793)).diagonal()
    array([2., 1., 3.])
    """
    given, turn = read_matrix(inertia, 3, 3, "inertia"), read_rotation(rotation)
    return compose(compose(turn, given), transpose(turn))


class Part(NamedTuple):
    """One part of a composite body.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.inertia.Part(mass=2.0, inertia=dd.inertia.sphere(2.0, 0.1), position=[0.0, 0.0, 1.0]).mass
    2.0
    """

    mass: Given
    """kg"""
    inertia: Given
    """about the part's own centre of mass, in the part's own frame, kg m²"""
    position: Given = ZERO
    """of the part's centre of mass in the body frame, m"""
    rotation: Given | None = None
    """maps the part's frame to the body frame; none means that they are parallel"""


class Composite(NamedTuple):
    """Mass, centre of mass and inertia about it of a body made of parts.

    Example
    -------
    >>> import daedalus as dd
    >>> float(dd.inertia.composite([dd.inertia.Part(1.0, dd.inertia.sphere(1.0, 0.1))]).mass)
    1.0
    """

    mass: ArrayOrSymbol
    """kg"""
    centre: ArrayOrSymbol
    """centre of mass in the body frame, m"""
    inertia: ArrayOrSymbol
    """about the centre of mass, in the body frame, kg m²"""


def composite(parts: Sequence[Part | tuple[Any, ...]]) -> Composite:
    """The mass, the centre of mass and the inertia of several rigidly connected parts.

    Parameters
    ----------
    parts: `Part`s, or tuples (mass, inertia, position) or (mass, inertia, position, rotation).

    Example
    -------
    >>> import daedalus as dd
    >>> ball = dd.inertia.sphere(1.0, 0.1)
    >>> dumbbell = dd.inertia.composite([(1.0, ball, [-0.5, 0, 0]), (1.0, ball, [0.5, 0, 0])])
    >>> float(dumbbell.mass), dumbbell.inertia.diagonal()
    (2.0, array([0.008, 0.508, 0.508]))
    """
    pieces = [Part(*part) for part in parts]
    if not pieces:
        raise InputError("A composite body needs at least one part.", "no parts given")
    masses = [_positive(piece.mass, f"mass of part {i}") for i, piece in enumerate(pieces)]
    positions = [read_vector(piece.position, 3, f"position of part {i}") for i, piece in enumerate(pieces)]
    centre = centre_of_mass(masses, positions)
    back = scaled(-1.0, centre)
    moved = []
    for mass, position, piece in zip(masses, positions, pieces):
        own = piece.inertia if piece.rotation is None else change_frame(piece.inertia, piece.rotation)
        moved.append(entries(parallel_axis(own, mass, added(position, back))))
    total = [[sum((rows[i][j] for rows in moved[1:]), start=moved[0][i][j]) for j in range(3)] for i in range(3)]
    return Composite(sum(masses[1:], start=masses[0]), centre, build_matrix(total))


def _positive(value: Given, name: str) -> ArrayOrSymbol:
    given = read_scalar(value, name)
    if not is_symbol(given) and not np.all(given > 0):
        raise InputError(f"The {name} is not positive.", f"{name} {np.min(given):.6g}", remedy=f"a positive {name}.")
    return given


def _not_negative(value: Given, name: str) -> ArrayOrSymbol:
    given = read_scalar(value, name)
    if not is_symbol(given) and not np.all(given >= 0):
        raise InputError(f"The {name} is negative.", f"{name} {np.min(given):.6g}", remedy=f"a {name} of zero or more.")
    return given


def _hole(inner_radius: Given, radius: ArrayOrSymbol) -> ArrayOrSymbol:
    inner = _not_negative(inner_radius, "inner radius")
    if not is_symbol(inner) and not is_symbol(radius) and np.any(inner > radius):
        raise InputError(
            "The hole is larger than the body.",
            f"inner radius {np.max(inner):.6g} m, radius {np.min(radius):.6g} m",
            remedy="an inner radius up to the radius.",
        )
    return inner


def _diagonal(x: ArrayOrSymbol, y: ArrayOrSymbol, z: ArrayOrSymbol) -> ArrayOrSymbol:
    return build_matrix([[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]])


def _round(across: ArrayOrSymbol, along: ArrayOrSymbol, axis: str) -> ArrayOrSymbol:
    """The tensor of a body that is round about one axis."""
    if axis not in ("x", "y", "z"):
        raise InputError(f"There is no axis {axis!r}.", 'axes: "x", "y", "z"', remedy='axis="z".')
    return _diagonal(*(along if name == axis else across for name in "xyz"))
