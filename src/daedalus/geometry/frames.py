"""Frames in space: homogeneous transforms, and the velocity and acceleration of a point in a moving frame.

A transform maps coordinates in frame b to coordinates in frame a. It is a 4×4 matrix,

    T = [R  r; 0ᵀ 1],   R ∈ SO(3),   r = origin of b seen from a,      T⁻¹ = [Rᵀ  −Rᵀr; 0ᵀ 1]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import (
    ArrayOrSymbol,
    Given,
    added,
    apply,
    build_matrix,
    build_vector,
    components,
    cross,
    entries,
    is_symbol,
    read_matrix,
    read_vector,
    scaled,
    transpose,
)
from daedalus.geometry.rotations import ROTATION_TOLERANCE, read_rotation

ZERO = (0.0, 0.0, 0.0)


def transform(rotation: Given, position: Given = ZERO) -> ArrayOrSymbol:
    """The 4×4 transform of a frame with this rotation and this origin: transform(R, r) @ (v, 1) = (R v + r, 1).

    Parameters
    ----------
    rotation: (..., 3, 3) numbers (must be a rotation) or a 3×3 symbol.
    position: (..., 3) numbers or a 3×1 symbol: the frame's origin.

    Example
    -------
    >>> import daedalus as dd
    >>> (dd.transform(dd.rot_z(0.5 * 3.141592653589793), [1.0, 2.0, 3.0]) @ [1.0, 0.0, 0.0, 1.0]).round(12)
    array([1., 3., 3., 1.])
    """
    rows, origin = entries(read_rotation(rotation)), components(read_vector(position, 3, "position"))
    return build_matrix([*([*row, r] for row, r in zip(rows, origin)), [0.0, 0.0, 0.0, 1.0]])


def inverse_transform(transform: Given) -> ArrayOrSymbol:
    """The inverse of a transform: [Rᵀ  −Rᵀ r; 0ᵀ 1].

    Parameters
    ----------
    transform: (..., 4, 4) numbers with a valid rotation part and last row, or a 4×4 symbol.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> T = dd.transform(dd.rot_x(0.3), [1.0, 2.0, 3.0])
    >>> np.allclose(T @ dd.inverse_transform(T), np.eye(4))
    True
    """
    rotation, position = split_transform(transform)
    back = transpose(rotation)
    rows, origin = entries(back), components(apply(back, position))
    return build_matrix([*([*row, -r] for row, r in zip(rows, origin)), [0.0, 0.0, 0.0, 1.0]])


def split_transform(transform: Given) -> tuple[ArrayOrSymbol, ArrayOrSymbol]:
    """The rotation and the position inside a transform.

    Example
    -------
    >>> import daedalus as dd
    >>> rotation, position = dd.split_transform(dd.transform(dd.rot_x(0.3), [1.0, 2.0, 3.0]))
    >>> position
    array([1., 2., 3.])
    """
    given = read_matrix(transform, 4, 4, "transform")
    if not is_symbol(given):
        last = given[..., 3, :].reshape(-1, 4)
        wrong = ~(np.abs(last - [0.0, 0.0, 0.0, 1.0]) <= ROTATION_TOLERANCE).all(axis=1)
        if wrong.any():
            raise InputError(
                "The matrix is not a transform.",
                f"its last row is {np.array2string(last[wrong][0], precision=6)}, wanted [0 0 0 1]",
                remedy="dd.transform(rotation, position); this one may be transposed.",
            )
    rows = entries(given)
    rotation = read_rotation(build_matrix([row[:3] for row in rows[:3]]), "rotation in the transform")
    return rotation, build_vector([row[3] for row in rows[:3]])


def transform_point(transform: Given, point: Given) -> ArrayOrSymbol:
    """A point seen from the other frame: R v + r.

    Parameters
    ----------
    transform: (..., 4, 4) numbers or a 4×4 symbol.
    point: (..., 3) numbers or a 3×1 symbol.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> dd.transform_point(dd.transform(np.eye(3), [1.0, 2.0, 3.0]), [1.0, 0.0, 0.0])
    array([2., 2., 3.])
    """
    rotation, position = split_transform(transform)
    return added(apply(rotation, read_vector(point, 3, "point")), position)


def point_velocity(
    velocity: Given, angular_velocity: Given, offset: Given, relative_velocity: Given = ZERO
) -> ArrayOrSymbol:
    """The velocity of a point in a moving frame: v + r' + ω × r.

    All vectors must be in the same frame, which can be any.

    Parameters
    ----------
    velocity: of the moving frame's origin; (..., 3) numbers or a 3×1 symbol, as all of these.
    angular_velocity: ω of the moving frame, rad/s.
    offset: r from the origin to the point.
    relative_velocity: r' as an observer in the moving frame sees it; zero for a point fixed to a body.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.point_velocity([1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.5, 0.0, 0.0])
    array([1., 1., 0.])
    """
    origin, moved = read_vector(velocity, 3, "velocity"), read_vector(relative_velocity, 3, "relative velocity")
    spin, arm = read_vector(angular_velocity, 3, "angular velocity"), read_vector(offset, 3, "offset")
    return added(origin, moved, cross(spin, arm))


class PointAcceleration(NamedTuple):
    """The acceleration of a point in a moving frame, term by term.

    Example
    -------
    >>> import daedalus as dd
    >>> a = dd.point_acceleration_terms([0, 0, 0], [0, 0, 2.0], [0, 0, 0], [0.5, 0, 0], [1.0, 0, 0])
    >>> a.coriolis, a.centripetal
    (array([0., 4., 0.]), array([-2.,  0.,  0.]))
    """

    origin: ArrayOrSymbol
    """a, of the moving frame's origin"""
    relative: ArrayOrSymbol
    """r'', as an observer in the moving frame sees it"""
    coriolis: ArrayOrSymbol
    """2 ω × r'"""
    transversal: ArrayOrSymbol
    """α × r"""
    centripetal: ArrayOrSymbol
    """ω × (ω × r)"""

    @property
    def total(self) -> ArrayOrSymbol:
        """The sum of the five terms."""
        return added(*self)


def point_acceleration_terms(
    acceleration: Given,
    angular_velocity: Given,
    angular_acceleration: Given,
    offset: Given,
    relative_velocity: Given = ZERO,
    relative_acceleration: Given = ZERO,
) -> PointAcceleration:
    """The terms of `point_acceleration` by name: origin, relative, coriolis, transversal, centripetal.

    Parameters are those of `point_acceleration`.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.point_acceleration_terms([0, 0, 0], [0, 0, 0], [0, 0, 3.0], [0.5, 0, 0]).transversal
    array([0. , 1.5, 0. ])
    """
    spin, arm = read_vector(angular_velocity, 3, "angular velocity"), read_vector(offset, 3, "offset")
    moved = read_vector(relative_velocity, 3, "relative velocity")
    return PointAcceleration(
        origin=read_vector(acceleration, 3, "acceleration"),
        relative=read_vector(relative_acceleration, 3, "relative acceleration"),
        coriolis=scaled(2.0, cross(spin, moved)),
        transversal=cross(read_vector(angular_acceleration, 3, "angular acceleration"), arm),
        centripetal=cross(spin, cross(spin, arm)),
    )


def point_acceleration(
    acceleration: Given,
    angular_velocity: Given,
    angular_acceleration: Given,
    offset: Given,
    relative_velocity: Given = ZERO,
    relative_acceleration: Given = ZERO,
) -> ArrayOrSymbol:
    """The acceleration of a point in a moving frame: a + r'' + 2 ω × r' + α × r + ω × (ω × r).

    All vectors must be in the same frame, which can be any. The last three terms are the Coriolis, transversal and
    centripetal accelerations; `point_acceleration_terms` returns them separately.

    Parameters
    ----------
    acceleration: of the moving frame's origin; (..., 3) numbers or a 3×1 symbol, as all of these.
    angular_velocity: ω of the moving frame, rad/s.
    angular_acceleration: α of the moving frame, rad/s².
    offset: r from the origin to the point.
    relative_velocity, relative_acceleration: r' and r'' as an observer in the moving frame sees them.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.point_acceleration([0, 0, -9.81], [0, 0, 2.0], [0, 0, 3.0], [0.5, 0, 0])
    array([-2.  ,  1.5 , -9.81])
    """
    return point_acceleration_terms(
        acceleration, angular_velocity, angular_acceleration, offset, relative_velocity, relative_acceleration
    ).total
