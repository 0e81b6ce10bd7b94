"""Angular velocity in both frames, from rotation rates and through chains of frames."""

import numpy as np
import pytest
from hypothesis import given
from rotation_samples import rotation_vectors

from daedalus.errors import InputError
from daedalus.geometry.angular_velocity import angular_velocity, compose_angular_velocities, rotation_rate
from daedalus.geometry.axis_angle import rotation_exp
from daedalus.geometry.rotations import rot_x, rot_y, rot_z, skew


@given(rotation_vectors(), rotation_vectors())
@pytest.mark.parametrize("frame", ["body", "world"])
def test_there_and_back_in_both_frames(frame, v, w):
    rotation = rotation_exp(v)
    rate = rotation_rate(rotation, w, frame=frame)
    assert np.allclose(angular_velocity(rotation, rate, frame=frame), w, rtol=0, atol=1e-14)
    assert np.allclose(
        angular_velocity(rotation, rate, frame="world"), rotation @ angular_velocity(rotation, rate), rtol=0, atol=1e-14
    )


@given(rotation_vectors())
def test_turning_about_a_fixed_axis_is_rate_times_axis(v):
    # ω = θ' k, document 002 §6.8; here by differences of exp(θ k) and in both frames alike.
    axis, step = v / max(np.linalg.norm(v), 1e-3), 1e-5
    rate = (rotation_exp(v + step * axis) - rotation_exp(v - step * axis)) / (2 * step)
    for frame in ("body", "world"):
        assert np.allclose(angular_velocity(rotation_exp(v), rate, frame=frame), axis, rtol=0, atol=1e-9)


def test_a_rate_that_no_rotation_has_is_refused():
    with pytest.raises(InputError, match=r"The matrix is not skew-symmetric\."):
        angular_velocity(np.eye(3), np.eye(3))


def test_angular_velocities_of_a_chain_add_up():
    # Three joints in a row; the reference differentiates the product of the rotations.
    def chain(t):
        return [rot_z(0.4 + 2.0 * t), rot_y(0.3 - 1.0 * t), rot_x(-0.7 + 0.5 * t)]

    def product(t):
        a, b, c = chain(t)
        return a @ b @ c

    step = 1e-5
    rate = (product(step) - product(-step)) / (2 * step)
    spins = [[0, 0, 2.0], [0, -1.0, 0], [0.5, 0, 0]]
    for frame in ("body", "world"):
        total = compose_angular_velocities(chain(0), spins, frame=frame)
        assert np.allclose(total, angular_velocity(product(0), rate, frame=frame), rtol=0, atol=1e-9)


def test_a_chain_needs_one_of_each():
    with pytest.raises(InputError, match="2 rotations, 1 angular velocities"):
        compose_angular_velocities([np.eye(3), np.eye(3)], [[0, 0, 1]])
    with pytest.raises(InputError, match="0 rotations"):
        compose_angular_velocities([], [])


@pytest.mark.document("002", "angular velocity, and the rate of a vector seen from the world", "`dd.angular_velocity`")
def test_rate_of_a_vector_seen_from_the_world():
    # u'_world = R (u'_body + ω × u_body), document 002 §6.8.
    rotation, spin, u, u_rate = (
        rot_x(0.3),
        np.array([1.0, 2.0, 3.0]),
        np.array([0.5, -1.0, 2.0]),
        np.array([0.1, 0.2, 0.3]),
    )
    world_rate = rotation_rate(rotation, spin) @ u + rotation @ u_rate
    assert np.allclose(world_rate, rotation @ (u_rate + skew(spin) @ u))

    # By differences, of a body that turns about two axes at once: nothing of the above is used but ω.
    def turned(t):
        return rot_z(0.4 + t**2) @ rot_x(np.sin(2.0 * t))

    step, t = 1e-5, 0.3
    found = angular_velocity(turned(t), (turned(t + step) - turned(t - step)) / (2 * step))
    seen = [turned(t + k * step) @ (u + k * step * u_rate) for k in (-1, 1)]
    assert np.allclose((seen[1] - seen[0]) / (2 * step), turned(t) @ (u_rate + np.cross(found, u)), atol=1e-8)
