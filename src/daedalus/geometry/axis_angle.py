"""Rotations as an axis and an angle, and as the rotation vector (axis times angle) of the exponential map.

    R = cos θ I + sin θ k^× + (1 − cos θ) k kᵀ = exp(θ k^×)

Near θ = 0 the quotients sin θ/θ and θ/sin θ are series in θ², so values and derivatives stay finite there; near θ = π
everything goes through the quaternion, which is smooth there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import (
    TINY_SQUARE,
    ArrayOrSymbol,
    Given,
    atan2,
    build_matrix,
    build_vector,
    components,
    dot,
    is_symbol,
    read_scalar,
    read_vector,
    root_of_square,
    scaled,
    sin,
    sqrt,
    where,
)
from daedalus.geometry.quaternions import quaternion_from_rotation

# Taylor coefficients of sin √s / √s and atan √s / √s in s; the first term left out is below 1e-17 where they are used.
SINE_SERIES = [1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800, -1 / 1307674368000]
SINE_SERIES_BELOW = 0.25
ARC_SERIES = [1.0, -1 / 3, 1 / 5, -1 / 7, 1 / 9, -1 / 11, 1 / 13, -1 / 15, 1 / 17]
ARC_SERIES_BELOW = 0.01


def rotation_from_axis_angle(axis: Given, angle: Given) -> ArrayOrSymbol:
    """The rotation by an angle about an axis (Rodrigues' formula).

    Parameters
    ----------
    axis: (..., 3) numbers or a 3×1 symbol; a direction. Its length does not matter, but must not be zero.
    angle: (...) numbers or a scalar symbol, rad.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.rotation_from_axis_angle([0.0, 0.0, 1.0], 0.3).round(4)
    array([[ 0.9553, -0.2955,  0.    ],
           [ 0.2955,  0.9553,  0.    ],
           [ 0.    ,  0.    ,  1.    ]])
    """
    direction, turn = read_vector(axis, 3, "axis"), read_scalar(angle, "angle")
    square = dot(direction, direction)
    if not is_symbol(square) and not np.all(square > TINY_SQUARE):
        raise InputError(
            "The axis has no direction.",
            f"length {np.sqrt(np.min(square)):.3g}",
            remedy="an axis that is not zero, or dd.rotation_exp(axis times angle), which allows zero.",
        )
    k1, k2, k3 = components(scaled(1 / sqrt(square), direction))
    # 1 − cos θ without cancellation at small angles.
    s, v = sin(turn), 2 * sin(turn / 2) ** 2
    return _rodrigues(s, v, k1, k2, k3)


def _rodrigues(
    s: ArrayOrSymbol, v: ArrayOrSymbol, x: ArrayOrSymbol, y: ArrayOrSymbol, z: ArrayOrSymbol
) -> ArrayOrSymbol:
    """I + s u^× + v u^× u^× for u = (x, y, z)."""
    return build_matrix(
        [
            [1 - v * (y * y + z * z), v * x * y - s * z, v * x * z + s * y],
            [v * x * y + s * z, 1 - v * (x * x + z * z), v * y * z - s * x],
            [v * x * z - s * y, v * y * z + s * x, 1 - v * (x * x + y * y)],
        ]
    )


def axis_angle_from_rotation(rotation: Given) -> tuple[ArrayOrSymbol, ArrayOrSymbol]:
    """The axis (a unit vector) and the angle (0 to π) of a rotation.

    For the identity every axis is valid; the result is the x axis and the angle 0, with zero derivatives. At half a
    turn the axis and its negative are both valid; the result is the one whose largest component is positive.

    Parameters
    ----------
    rotation: (..., 3, 3) numbers (must be a rotation) or a 3×3 symbol.

    Example
    -------
    >>> import daedalus as dd
    >>> axis, angle = dd.axis_angle_from_rotation(dd.rot_y(-0.3))
    >>> axis.round(12) + 0.0, round(float(angle), 12)
    (array([ 0., -1.,  0.]), 0.3)
    """
    w, x, y, z = components(quaternion_from_rotation(rotation))
    square = x * x + y * y + z * z
    turned = square > TINY_SQUARE
    scale = 1 / sqrt(where(turned, square, 1.0))
    axis = build_vector([where(turned, x * scale, 1.0), where(turned, y * scale, 0.0), where(turned, z * scale, 0.0)])
    return axis, 2 * atan2(root_of_square(square), w)


def rotation_exp(rotation_vector: Given) -> ArrayOrSymbol:
    """The rotation exp(v^×) of a rotation vector v = angle · axis; smooth everywhere, zero included.

    Parameters
    ----------
    rotation_vector: (..., 3) numbers or a 3×1 symbol, rad.

    Example
    -------
    >>> import casadi, numpy as np, daedalus as dd
    >>> v = casadi.SX.sym("v", 3)
    >>> slope = casadi.Function("slope", [v], [casadi.jacobian(dd.rotation_exp(v), v)])
    >>> bool(np.isfinite(slope([0, 0, 0]).full()).all())
    True
    """
    given = read_vector(rotation_vector, 3, "rotation vector")
    square = dot(given, given)
    # (1 − cos θ)/θ² = ½ (sin(θ/2)/(θ/2))²
    whole, half = _sine_quotient(square), _sine_quotient(square / 4)
    return _rodrigues(whole, half * half / 2, *components(given))


def rotation_log(rotation: Given) -> ArrayOrSymbol:
    """The rotation vector of a rotation, of length 0 to π: rotation_exp(rotation_log(R)) = R.

    Its derivative is finite at zero. At half a turn it jumps to its negative; the value there is the one whose largest
    component is positive, and the derivative is that of the side the value belongs to.

    Parameters
    ----------
    rotation: (..., 3, 3) numbers (must be a rotation) or a 3×3 symbol.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.rotation_log(dd.rotation_exp([0.1, -0.2, 0.3])).round(12)
    array([ 0.1, -0.2,  0.3])
    """
    w, x, y, z = components(quaternion_from_rotation(rotation))
    # θ/|ε| = 2 atan(|ε|/η)/|ε|; for small angles a series in the square of the tangent |ε|/η.
    square = x * x + y * y + z * z
    small = square < ARC_SERIES_BELOW * w * w
    series = _polynomial(ARC_SERIES, where(small, square, 0.0) / where(small, w * w, 1.0)) / where(small, w, 1.0)
    length = sqrt(where(small, 1.0, square))
    factor = 2 * where(small, series, atan2(length, where(small, 1.0, w)) / length)
    return build_vector([factor * x, factor * y, factor * z])


def _sine_quotient(square: ArrayOrSymbol) -> ArrayOrSymbol:
    """sin θ/θ as a smooth function of θ²."""
    small = square < SINE_SERIES_BELOW
    root = sqrt(where(small, 1.0, square))
    return where(small, _polynomial(SINE_SERIES, where(small, square, 0.0)), sin(root) / root)


def _polynomial(coefficients: Sequence[float], x: ArrayOrSymbol) -> ArrayOrSymbol:
    """A polynomial, lowest power first, by Horner's rule."""
    value: ArrayOrSymbol = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = coefficient + x * value
    return value
