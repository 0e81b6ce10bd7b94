"""Unit quaternions (Euler parameters), scalar first: (η, ε) = (cos θ/2, k sin θ/2) for the angle θ about the axis k.

A quaternion and its negative are the same rotation. Every function takes numbers (leading dimensions are a batch) or
CasADi symbols.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import (
    ArrayOrSymbol,
    Given,
    build_matrix,
    build_vector,
    components,
    entries,
    is_symbol,
    read_vector,
    scaled,
    sqrt,
    where,
)
from daedalus.geometry.rotations import Frame, read_frame, read_rotation
from daedalus.geometry.traced_formula import traced


def rotation_from_quaternion(quaternion: Given, normalise: bool = True) -> ArrayOrSymbol:
    """The rotation matrix (body to world) of a quaternion.

    R = I + 2 (η ε^× + ε^× ε^×) / (ηη + εᵀε)

    Parameters
    ----------
    quaternion: (..., 4) numbers or a 4×1 symbol, scalar first. Its length does not matter, but must not be zero.
    normalise: divide by the squared length, so that the result is a rotation for every length. False omits the
        division, which is cheaper and only right for unit quaternions.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.rotation_from_quaternion([0.0, 1.0, 0.0, 0.0])          # half a turn about x
    array([[ 1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0., -1.]])
    """
    given = read_vector(quaternion, 4, "quaternion")
    if isinstance(given, ca.SX):
        return (_turned_unit if not normalise else _turned)(given)[0]
    return _rotation(given, normalise)


@traced
def _turned(quaternion: ca.SX) -> tuple[ca.SX, ...]:
    return (_rotation(quaternion, True),)


@traced
def _turned_unit(quaternion: ca.SX) -> tuple[ca.SX, ...]:
    return (_rotation(quaternion, False),)


def _rotation(given: ArrayOrSymbol, normalise: bool) -> ArrayOrSymbol:
    w, x, y, z = components(given)
    double: ArrayOrSymbol = 2.0
    if normalise:
        square = w * w + x * x + y * y + z * z
        if not is_symbol(given) and not np.all(square > 0):
            raise InputError(
                "The quaternion has no direction.",
                f"length {np.sqrt(np.min(square)):.3g}, wanted 1",
                because="a rotation is a quaternion up to its length, and this one is zero or not a number.",
                remedy="[1, 0, 0, 0] for no rotation.",
            )
        double = 2.0 / square
    return build_matrix(
        [
            [1 - double * (y * y + z * z), double * (x * y - w * z), double * (x * z + w * y)],
            [double * (x * y + w * z), 1 - double * (x * x + z * z), double * (y * z - w * x)],
            [double * (x * z - w * y), double * (y * z + w * x), 1 - double * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(rotation: Given) -> ArrayOrSymbol:
    """The unit quaternion of a rotation matrix, by Shepperd's method (1978); of the two, the one with η ≥ 0.

    The products z_i z_j of z = 2 (η, ε) are linear in R. The row of the largest z_i is divided by z_i, and as z_i ≥ 1
    there, values and derivatives are well conditioned on every branch. At half a turn, where η = 0, the largest
    component of ε is positive; symbols have a jump of sign there, as every choice of one quaternion must.

    Parameters
    ----------
    rotation: (..., 3, 3) numbers (must be a rotation) or a 3×3 symbol.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.quaternion_from_rotation(dd.rot_z(3.141592653589793)).round(12)
    array([0., 0., 0., 1.])
    """
    given = read_rotation(rotation)
    (r11, r12, r13), (r21, r22, r23), (r31, r32, r33) = entries(given)
    products = [
        [1 + r11 + r22 + r33, r32 - r23, r13 - r31, r21 - r12],
        [r32 - r23, 1 + r11 - r22 - r33, r21 + r12, r13 + r31],
        [r13 - r31, r21 + r12, 1 - r11 + r22 - r33, r32 + r23],
        [r21 - r12, r13 + r31, r32 + r23, 1 - r11 - r22 + r33],
    ]
    # Choose the row with the largest diagonal entry before any root is taken: no branch can then divide by zero.
    row, largest = products[0], products[0][0]
    for i in (1, 2, 3):
        better = products[i][i] > largest
        row = [where(better, new, old) for new, old in zip(products[i], row)]
        largest = where(better, products[i][i], largest)
    factor = where(row[0] < 0, -0.5, 0.5) / sqrt(largest)
    return build_vector([factor * part for part in row])


def quaternion_product(left: Given, right: Given) -> ArrayOrSymbol:
    """The product of two quaternions; as rotations, first `right`, then `left`.

    (α₁, β₁) ⊗ (α₂, β₂) = (α₁α₂ − β₁ᵀβ₂, α₁β₂ + α₂β₁ + β₁ × β₂)

    Parameters
    ----------
    left, right: (..., 4) numbers or 4×1 symbols, scalar first, of any length.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.quaternion_product([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0])         # i j = k
    array([0., 0., 0., 1.])
    """
    one, two = read_vector(left, 4, "left quaternion"), read_vector(right, 4, "right quaternion")
    if isinstance(one, ca.SX) and isinstance(two, ca.SX):
        return _multiplied(one, two)[0]
    return _product(one, two)


@traced
def _multiplied(left: ca.SX, right: ca.SX) -> tuple[ca.SX, ...]:
    return (_product(left, right),)


def _product(left: ArrayOrSymbol, right: ArrayOrSymbol) -> ArrayOrSymbol:
    a, b, c, d = components(left)
    w, x, y, z = components(right)
    return build_vector(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ]
    )


def quaternion_conjugate(quaternion: Given) -> ArrayOrSymbol:
    """The conjugate (η, −ε): for a unit quaternion the inverse rotation.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.quaternion_conjugate([0.6, 0.8, 0.0, 0.0])
    array([ 0.6, -0.8, -0. , -0. ])
    """
    w, x, y, z = components(read_vector(quaternion, 4, "quaternion"))
    return build_vector([w, -x, -y, -z])


def quaternion_rate(quaternion: Given, angular_velocity: Given, frame: Frame = "body") -> ArrayOrSymbol:
    """The time derivative of a quaternion.

    q' = ½ q ⊗ (0, ω) for ω in the body frame, q' = ½ (0, ω) ⊗ q for ω in the world frame. It is orthogonal to q: the
    length is an invariant of this differential equation.

    Parameters
    ----------
    quaternion: (..., 4) numbers or a 4×1 symbol, scalar first.
    angular_velocity: (..., 3) numbers or a 3×1 symbol, rad/s.
    frame: "body" or "world", the frame of the angular velocity's coordinates.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.quaternion_rate([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0])
    array([0., 0., 0., 1.])
    """
    given = read_vector(quaternion, 4, "quaternion")
    spin = build_vector([0.0, *components(read_vector(angular_velocity, 3, "angular velocity"))])
    double = quaternion_product(given, spin) if read_frame(frame) == "body" else quaternion_product(spin, given)
    return scaled(0.5, double)
