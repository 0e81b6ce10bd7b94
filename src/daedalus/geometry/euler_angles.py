"""Roll-pitch-yaw and classical z-y-z Euler angles, from and to rotation matrices, and their rates.

    roll-pitch-yaw   R = R_z(yaw) R_y(pitch) R_x(roll), array order (roll, pitch, yaw)
    classical        R = R_z(ψ) R_y(θ) R_z(φ),          array order (ψ, θ, φ)

Both are read off the quaternion: in either convention two pairs of its combinations carry the half sum and the half
difference of the outer angles (Bernardes and Viollet, PLOS ONE 17(11), 2022). At gimbal lock one of the two pairs
vanishes; the other still holds all digits, so the angles always give back the rotation.
"""

from __future__ import annotations

import warnings

import numpy as np

from daedalus.geometry.array_or_symbol import (
    ArrayOrSymbol,
    Given,
    apply,
    atan2,
    build_matrix,
    build_vector,
    components,
    compose,
    cos,
    is_symbol,
    read_vector,
    root_of_square,
    sin,
    transpose,
    where,
)
from daedalus.geometry.quaternions import quaternion_from_rotation
from daedalus.geometry.rotations import Frame, read_frame, rot_x, rot_y, rot_z

# Sine of half the distance (rad) from gimbal lock below which the outer angles have fewer than six digits of their own.
LOCK = 1e-10


class GimbalLockWarning(UserWarning):
    """The outer two Euler angles rotate about the same line, so only their sum or difference is determined.

    Example
    -------
    >>> import warnings, daedalus as dd
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     angles = dd.rpy_from_rotation(dd.rot_y(0.5 * 3.141592653589793))
    >>> seen[0].category is dd.GimbalLockWarning
    True
    """


def rotation_from_rpy(rpy: Given) -> ArrayOrSymbol:
    """The rotation R_z(yaw) R_y(pitch) R_x(roll).

    Parameters
    ----------
    rpy: (..., 3) numbers or a 3×1 symbol: roll, pitch, yaw in rad.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> R = dd.rotation_from_rpy([0.1, 0.2, 0.3])
    >>> np.allclose(R, dd.rot_z(0.3) @ dd.rot_y(0.2) @ dd.rot_x(0.1))
    True
    """
    roll, pitch, yaw = components(read_vector(rpy, 3, "rpy"))
    return compose(compose(rot_z(yaw), rot_y(pitch)), rot_x(roll))


def rpy_from_rotation(rotation: Given) -> ArrayOrSymbol:
    """Roll, pitch and yaw of a rotation; roll and yaw in [−π, π], pitch in [−π/2, π/2].

    At gimbal lock (pitch ±π/2) yaw is 0 and roll contains the whole turn, with a `GimbalLockWarning` for numbers.
    Symbols follow the same rule without a warning, and their derivatives stay finite.

    Parameters
    ----------
    rotation: (..., 3, 3) numbers (must be a rotation) or a 3×3 symbol.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.rpy_from_rotation(dd.rotation_from_rpy([0.1, 0.2, 0.3])).round(12)
    array([0.1, 0.2, 0.3])
    """
    w, x, y, z = components(quaternion_from_rotation(rotation))
    yaw, middle, roll, locked = _outer_angles(w - y, x + z, w + y, z - x, sign=-1)
    _warn_where(locked, "pitch is ±π/2, so roll and yaw turn about the same line; yaw was set to 0")
    return build_vector([roll, middle - np.pi / 2, yaw])


def rotation_from_zyz(zyz: Given) -> ArrayOrSymbol:
    """The rotation R_z(ψ) R_y(θ) R_z(φ) of the classical Euler angles.

    Parameters
    ----------
    zyz: (..., 3) numbers or a 3×1 symbol: ψ, θ, φ in rad, in the order of the product.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> R = dd.rotation_from_zyz([0.1, 0.2, 0.3])
    >>> np.allclose(R, dd.rot_z(0.1) @ dd.rot_y(0.2) @ dd.rot_z(0.3))
    True
    """
    first, middle, last = components(read_vector(zyz, 3, "zyz"))
    return compose(compose(rot_z(first), rot_y(middle)), rot_z(last))


def zyz_from_rotation(rotation: Given) -> ArrayOrSymbol:
    """The classical Euler angles ψ, θ, φ of a rotation; ψ and φ in [−π, π], θ in [0, π].

    At gimbal lock (θ = 0 or π) φ is 0 and ψ contains the whole turn, with a `GimbalLockWarning` for numbers. Symbols
    follow the same rule without a warning, and their derivatives stay finite.

    Parameters
    ----------
    rotation: (..., 3, 3) numbers (must be a rotation) or a 3×3 symbol.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.zyz_from_rotation(dd.rotation_from_zyz([0.1, 0.2, 0.3])).round(12)
    array([0.1, 0.2, 0.3])
    """
    w, x, y, z = components(quaternion_from_rotation(rotation))
    first, middle, last, locked = _outer_angles(w, z, y, -x, sign=1)
    _warn_where(locked, "θ is 0 or π, so ψ and φ turn about the same line; φ was set to 0")
    return build_vector([first, middle, last])


def _outer_angles(
    a: ArrayOrSymbol, b: ArrayOrSymbol, c: ArrayOrSymbol, d: ArrayOrSymbol, sign: int
) -> tuple[ArrayOrSymbol, ArrayOrSymbol, ArrayOrSymbol, ArrayOrSymbol]:
    """First, middle and last angle, and where they are locked, from the two pairs.

    (a, b) is a multiple of cos(middle/2) · (cos, sin) of half the sum of first and last, (c, d) the same multiple of
    sin(middle/2) · (cos, sin) of half their difference.
    Where one pair vanishes its angle is set to `sign` times the other: 1 makes the last angle zero, −1 the first.
    """
    sum_square, difference_square = a * a + b * b, c * c + d * d
    no_sum, no_difference = sum_square < LOCK**2, difference_square < LOCK**2
    half_sum = atan2(where(no_sum, 0.0, b), where(no_sum, 1.0, a))
    half_difference = atan2(where(no_difference, 0.0, d), where(no_difference, 1.0, c))
    half_sum, half_difference = (
        where(no_sum, sign * half_difference, half_sum),
        where(no_difference, sign * half_sum, half_difference),
    )
    middle = 2 * atan2(root_of_square(difference_square), root_of_square(sum_square))
    locked = None if is_symbol(sum_square) else no_sum | no_difference
    return _wrapped(half_sum + half_difference), middle, _wrapped(half_sum - half_difference), locked


def _wrapped(angle: ArrayOrSymbol) -> ArrayOrSymbol:
    """An angle between −2π and 2π brought to [−π, π]."""
    return angle - where(angle > np.pi, 2 * np.pi, 0.0) + where(angle < -np.pi, 2 * np.pi, 0.0)


def _warn_where(locked: ArrayOrSymbol, what: str) -> None:
    """Tell the caller of the public function that gimbal lock was met."""
    if locked is not None and np.any(locked):
        count = "" if np.ndim(locked) == 0 else f" in {np.count_nonzero(locked)} of {np.size(locked)} rotations"
        warnings.warn(f"Gimbal lock{count}: {what}.", GimbalLockWarning, stacklevel=3)


def rpy_rate_matrix(rpy: Given, frame: Frame = "body") -> ArrayOrSymbol:
    """The matrix E of ω = E(rpy) · (roll', pitch', yaw'); it has no inverse at pitch ±π/2.

    Parameters
    ----------
    rpy: (..., 3) numbers or a 3×1 symbol: roll, pitch, yaw in rad.
    frame: "body" or "world", the frame of ω. Diebel (2006) calls the world form the Euler angle rates matrix.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.rpy_rate_matrix([0.0, 0.0, 0.5 * 3.141592653589793], frame="world").round(12) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    roll, pitch, yaw = components(read_vector(rpy, 3, "rpy"))
    if read_frame(frame) == "body":
        return build_matrix(
            [
                [1.0, 0.0, -sin(pitch)],
                [0.0, cos(roll), sin(roll) * cos(pitch)],
                [0.0, -sin(roll), cos(roll) * cos(pitch)],
            ]
        )
    return build_matrix(
        [
            [cos(yaw) * cos(pitch), -sin(yaw), 0.0],
            [sin(yaw) * cos(pitch), cos(yaw), 0.0],
            [-sin(pitch), 0.0, 1.0],
        ]
    )


def rpy_rate(rpy: Given, angular_velocity: Given, frame: Frame = "body") -> ArrayOrSymbol:
    """The rates (roll', pitch', yaw') of a body that turns with an angular velocity.

    At gimbal lock no rates produce the part of ω along the lost direction. That part is omitted (yaw' = 0), with a
    `GimbalLockWarning` for numbers.

    Parameters
    ----------
    rpy: (..., 3) numbers or a 3×1 symbol: roll, pitch, yaw in rad.
    angular_velocity: (..., 3) numbers or a 3×1 symbol, rad/s.
    frame: "body" or "world", the frame of the angular velocity.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.rpy_rate([0.0, 0.0, 1.0], [0.1, 0.2, 0.3])
    array([0.1, 0.2, 0.3])
    """
    given, spin = read_vector(rpy, 3, "rpy"), read_vector(angular_velocity, 3, "angular velocity")
    if read_frame(frame) == "world":
        spin = apply(transpose(rotation_from_rpy(given)), spin)
    (roll, pitch, _), (x, y, z) = components(given), components(spin)
    level = cos(pitch)
    locked = level * level < LOCK**2
    if not is_symbol(locked):
        _warn_where(locked, "pitch is ±π/2, so roll and yaw turn about the same line; yaw' was set to 0")
    yaw_rate = where(locked, 0.0, sin(roll) * y + cos(roll) * z) / where(locked, 1.0, level)
    return build_vector([x + sin(pitch) * yaw_rate, cos(roll) * y - sin(roll) * z, yaw_rate])


def zyz_rate(zyz: Given, angular_velocity: Given, frame: Frame = "body") -> ArrayOrSymbol:
    """The rates (ψ', θ', φ') of a body that turns with an angular velocity.

    At θ = 0 and θ = π no rates produce the part of ω along the lost direction. That part is omitted (ψ' = 0), with a
    `GimbalLockWarning` for numbers.

    Parameters
    ----------
    zyz: (..., 3) numbers or a 3×1 symbol: ψ, θ, φ in rad.
    angular_velocity: (..., 3) numbers or a 3×1 symbol, rad/s.
    frame: "body" or "world", the frame of the angular velocity.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> angles, rates = np.array([0.3, 0.8, -0.4]), np.array([0.1, 0.2, 0.3])
    >>> dd.zyz_rate(angles, dd.zyz_rate_matrix(angles) @ rates).round(12)
    array([0.1, 0.2, 0.3])
    """
    given, spin = read_vector(zyz, 3, "zyz"), read_vector(angular_velocity, 3, "angular velocity")
    if read_frame(frame) == "world":
        spin = apply(transpose(rotation_from_zyz(given)), spin)
    (_, middle, last), (x, y, z) = components(given), components(spin)
    level = sin(middle)
    locked = level * level < LOCK**2
    if not is_symbol(locked):
        _warn_where(locked, "θ is 0 or π, so ψ and φ turn about the same line; ψ' was set to 0")
    first_rate = where(locked, 0.0, sin(last) * y - cos(last) * x) / where(locked, 1.0, level)
    return build_vector([first_rate, sin(last) * x + cos(last) * y, z - cos(middle) * first_rate])


def zyz_rate_matrix(zyz: Given, frame: Frame = "body") -> ArrayOrSymbol:
    """The matrix E of ω = E(zyz) · (ψ', θ', φ'); it has no inverse at θ = 0 and θ = π.

    Parameters
    ----------
    zyz: (..., 3) numbers or a 3×1 symbol: ψ, θ, φ in rad.
    frame: "body" or "world", the frame of ω.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.zyz_rate_matrix([0.0, 0.5 * 3.141592653589793, 0.0], frame="world").round(12) + 0.0
    array([[0., 0., 1.],
           [0., 1., 0.],
           [1., 0., 0.]])
    """
    first, middle, last = components(read_vector(zyz, 3, "zyz"))
    if read_frame(frame) == "body":
        return build_matrix(
            [
                [-sin(middle) * cos(last), sin(last), 0.0],
                [sin(middle) * sin(last), cos(last), 0.0],
                [cos(middle), 0.0, 1.0],
            ]
        )
    return build_matrix(
        [
            [0.0, -sin(first), cos(first) * sin(middle)],
            [0.0, cos(first), sin(first) * sin(middle)],
            [1.0, 0.0, cos(middle)],
        ]
    )
