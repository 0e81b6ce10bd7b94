"""Transforms between frames, and velocities and accelerations of points in moving frames."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from rotation_samples import rotation_vectors

from daedalus.errors import InputError
from daedalus.geometry.axis_angle import rotation_exp
from daedalus.geometry.frames import (
    inverse_transform,
    point_acceleration,
    point_acceleration_terms,
    point_velocity,
    split_transform,
    transform,
    transform_point,
)
from daedalus.geometry.rotations import rot_x, rot_z


@pytest.mark.document(
    "002",
    "SE(3), homogeneous transformations and their inverse",
    "`dd.transform`, `dd.inverse_transform`",
)
@given(rotation_vectors(), rotation_vectors(), rotation_vectors())
def test_transforms_are_a_group_of_4x4_matrices(v, r, p):
    # Document 002 prints R^{3×3} for SE(3); its own block matrix [R r; 0 1] is 4×4, and only that one has this product.
    a, b = transform(rotation_exp(v), r), transform(rotation_exp(r), p)
    assert a.shape == (4, 4)
    assert np.allclose(inverse_transform(a) @ a, np.eye(4), rtol=0, atol=1e-14)
    assert np.allclose(inverse_transform(a), np.linalg.inv(a), rtol=0, atol=1e-13)
    assert np.allclose(transform_point(a @ b, p), transform_point(a, transform_point(b, p)), rtol=0, atol=1e-13)
    assert np.allclose((a @ [*p, 1.0])[:3], rotation_exp(v) @ p + r, rtol=0, atol=1e-14)


def test_a_3x3_matrix_is_no_transform():
    with pytest.raises(InputError, match=r"The transform has the wrong shape\.\n  found 3×3, wanted 4×4"):
        inverse_transform(np.eye(3))


def test_the_origin_of_the_inverse_is_the_old_origin_seen_from_the_new_frame():
    rotation, origin = rot_x(0.3) @ rot_z(1.0), np.array([1.0, 2.0, 3.0])
    back_rotation, back_origin = split_transform(inverse_transform(transform(rotation, origin)))
    assert np.allclose(back_rotation, rotation.T)
    assert np.allclose(back_origin, -rotation.T @ origin)


def test_wrong_transforms_are_refused():
    sideways = transform(rot_x(0.3), [1, 2, 3]).T
    with pytest.raises(InputError) as caught:
        inverse_transform(sideways)
    assert str(caught.value) == (
        "The matrix is not a transform.\n"
        "  its last row is [1. 2. 3. 1.], wanted [0 0 0 1]\n"
        "  Try: dd.transform(rotation, position); this one may be transposed."
    )
    stretched = transform(rot_x(0.3), [1, 2, 3])
    stretched[:3, :3] *= 2
    with pytest.raises(InputError, match="The rotation in the transform is not a rotation matrix"):
        inverse_transform(stretched)
    with pytest.raises(InputError, match="determinant 8"):
        transform(2 * np.eye(3))


def test_the_batch_member_with_the_wrong_last_row_is_shown():
    batch = np.stack([np.eye(4), np.eye(4)])
    batch[1, 3, 0] = 5.0
    with pytest.raises(InputError, match=r"its last row is \[5\. 0\. 0\. 1\.\]"):
        split_transform(batch)


def moving_point():
    """A point that moves in a frame that moves: world position by CasADi, and everything the formulas ask for."""
    t = ca.SX.sym("t")
    spin_vector = ca.vertcat(ca.sin(t), 0.3 * t, ca.cos(2 * t))
    rotation = rotation_exp(spin_vector)
    origin = ca.vertcat(t**2, ca.sin(3 * t), 1 - t)
    offset = ca.vertcat(1 + t, ca.cos(t), t**3)

    def rate(e):
        return ca.jacobian(ca.vec(e), t)

    position = origin + rotation @ offset
    turning = rotation.T @ ca.reshape(rate(rotation), 3, 3)
    spin = ca.vertcat(turning[2, 1], turning[0, 2], turning[1, 0])
    wanted = [rate(position), rate(rate(position))]
    given_ = [
        origin,
        rate(origin),
        rate(rate(origin)),
        rotation,
        spin,
        rate(spin),
        offset,
        rate(offset),
        rate(rate(offset)),
    ]
    return [value.full() for value in ca.Function("f", [t], [*wanted, *given_])(0.7)]


def test_velocity_and_acceleration_agree_with_differentiating_the_position():
    velocity, acceleration, _, v, a, rotation, spin, spin_rate, r, r_rate, r_rate_rate = (
        value if value.shape == (3, 3) else value[:, 0] for value in moving_point()
    )
    # All in the body frame; the derivative of ω is the same vector in both frames.
    v, a = rotation.T @ v, rotation.T @ a
    assert np.allclose(rotation @ point_velocity(v, spin, r, r_rate), velocity, rtol=0, atol=1e-13)
    assert np.allclose(
        rotation @ point_acceleration(a, spin, spin_rate, r, r_rate, r_rate_rate), acceleration, rtol=0, atol=1e-12
    )


@pytest.mark.document("002", "Coriolis, transversal and centripetal acceleration", "`dd.point_acceleration`")
def test_the_three_named_terms():
    # A turntable at ω with angular acceleration α; an ant walks outwards at speed s.
    terms = point_acceleration_terms([0, 0, 0], [0, 0, 2.0], [0, 0, 0.5], [3.0, 0, 0], [0.1, 0, 0], [0, 0, 0])
    assert np.allclose(terms.coriolis, [0, 2 * 2.0 * 0.1, 0])
    assert np.allclose(terms.transversal, [0, 0.5 * 3.0, 0])
    assert np.allclose(terms.centripetal, [-(2.0**2) * 3.0, 0, 0])
    assert np.allclose(terms.total, [-12.0, 0.4 + 1.5, 0])


def test_an_acceleration_seen_in_the_rotating_frame():
    # a_o = (v_o)'_body + ω × v_o: a body that flies straight while it spins has body coordinates that turn.
    spin, speed, angle = np.array([0, 0, 2.0]), np.array([1.0, 0, 0]), 0.6
    body_velocity = rot_z(angle).T @ speed
    step = 1e-6
    body_rate = (rot_z(angle + 2 * step).T @ speed - rot_z(angle - 2 * step).T @ speed) / (2 * step)
    assert np.allclose(body_rate + np.cross(spin, body_velocity), 0, atol=1e-9)
