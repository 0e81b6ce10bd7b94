"""Angular velocity: from a rotation and its rate, back again, and through a chain of frames.

(ω_world)^× = R' Rᵀ,    (ω_body)^× = Rᵀ R',    ω_world = R ω_body
"""

from __future__ import annotations

from collections.abc import Sequence

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import (
    ArrayOrSymbol,
    Given,
    added,
    apply,
    compose,
    read_matrix,
    read_vector,
    transpose,
)
from daedalus.geometry.rotations import Frame, read_frame, read_rotation, skew, unskew


def angular_velocity(rotation: Given, rotation_rate: Given, frame: Frame = "body") -> ArrayOrSymbol:
    """The angular velocity of a rotation that changes with time, in rad/s.

    Parameters
    ----------
    rotation: (..., 3, 3) numbers or a 3×3 symbol, body to world.
    rotation_rate: its time derivative, of the same shape. For numbers, Rᵀ R' must be skew-symmetric, as it is for every
        rotation.
    frame: "body" or "world", the frame of the result.

    Example
    -------
    >>> import daedalus as dd
    >>> R = dd.rot_x(0.3)
    >>> dd.angular_velocity(R, R @ dd.skew([0.0, 0.0, 2.0])).round(12) + 0.0
    array([0., 0., 2.])
    """
    given, rate = read_rotation(rotation), read_matrix(rotation_rate, 3, 3, "rotation rate")
    if read_frame(frame) == "body":
        return unskew(compose(transpose(given), rate))
    return unskew(compose(rate, transpose(given)))


def rotation_rate(rotation: Given, angular_velocity: Given, frame: Frame = "body") -> ArrayOrSymbol:
    """The time derivative R' of a rotation: R ω^× for ω in the body frame, ω^× R for ω in the world frame.

    Parameters
    ----------
    rotation: (..., 3, 3) numbers or a 3×3 symbol, body to world.
    angular_velocity: (..., 3) numbers or a 3×1 symbol, rad/s.
    frame: "body" or "world", the frame of the angular velocity.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> dd.rotation_rate(np.eye(3), [0.0, 0.0, 2.0])
    array([[ 0., -2.,  0.],
           [ 2.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    given, spin = read_rotation(rotation), skew(angular_velocity)
    return compose(given, spin) if read_frame(frame) == "body" else compose(spin, given)


def compose_angular_velocities(
    rotations: Sequence[Given], angular_velocities: Sequence[Given], frame: Frame = "body"
) -> ArrayOrSymbol:
    """The angular velocity of the last frame of a chain relative to the first: relative angular velocities add up.

    ω_ad = ω_ab + ω_bc + ω_cd, once all are written in the same frame.

    Parameters
    ----------
    rotations: one for each link of the chain; the i-th maps frame i + 1 to frame i.
    angular_velocities: one for each link, of frame i + 1 relative to frame i, in the coordinates of frame i + 1.
    frame: "body" gives the result in the last frame, "world" in the first.

    Example
    -------
    >>> import daedalus as dd
    >>> arm = [dd.rot_z(0.4), dd.rot_x(0.3)]                    # a turntable with a tilting arm on it
    >>> dd.compose_angular_velocities(arm, [[0, 0, 2.0], [0.5, 0, 0]], frame="world").round(4)
    array([0.4605, 0.1947, 2.    ])
    """
    if len(rotations) != len(angular_velocities) or len(rotations) == 0:
        raise InputError(
            "A chain needs one rotation and one angular velocity for each link.",
            f"{len(rotations)} rotations, {len(angular_velocities)} angular velocities",
            remedy="give as many of one as of the other, at least one.",
        )
    total, chain = None, None
    for rotation, spin in zip(rotations, angular_velocities):
        turn, extra = read_rotation(rotation), read_vector(spin, 3, "angular velocity")
        total = extra if total is None else added(apply(transpose(turn), total), extra)
        chain = turn if chain is None else compose(chain, turn)
    return total if read_frame(frame) == "body" else apply(chain, total)
