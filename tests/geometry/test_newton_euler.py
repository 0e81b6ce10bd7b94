"""Newton–Euler: against momentum in the world frame, the compact matrix form, and what a free body conserves."""

import numpy as np
import pytest
from hypothesis import given
from rotation_samples import rotation_vectors
from scipy.integrate import solve_ivp

from daedalus.errors import InputError
from daedalus.geometry import inertia
from daedalus.geometry.axis_angle import rotation_exp
from daedalus.geometry.newton_euler import kinetic_energy, newton_euler, newton_euler_matrices
from daedalus.geometry.quaternions import quaternion_rate, rotation_from_quaternion

MASS = 2.0
TENSOR = inertia.tensor(2.0, 3.0, 4.0, 0.1, -0.2, 0.3)


@given(rotation_vectors(), rotation_vectors(), rotation_vectors(), rotation_vectors())
def test_accelerations_solve_the_compact_form(force, torque, spin, velocity):
    for speed in (velocity, np.zeros(3)):
        answer = newton_euler(MASS, TENSOR, force, torque, spin, speed)
        mass_matrix, bias = newton_euler_matrices(MASS, TENSOR, spin, speed)
        assert np.allclose(mass_matrix @ np.concatenate(answer) + bias, [*force, *torque], rtol=0, atol=1e-13)


@pytest.mark.document("002", "Newton–Euler in compact matrix form", "`dd.newton_euler_matrices`")
def test_the_compact_form_as_printed_in_document_002():
    spin, speed = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.4])
    mass_matrix, bias = newton_euler_matrices(MASS, TENSOR, spin, speed)
    assert np.array_equal(mass_matrix, np.block([[MASS * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), TENSOR]]))
    assert np.allclose(bias, [*(MASS * np.cross(spin, speed)), *np.cross(spin, TENSOR @ spin)])


@given(rotation_vectors(), rotation_vectors(), rotation_vectors(), rotation_vectors())
def test_torque_is_the_rate_of_angular_momentum_in_the_world(v, spin, torque, force):
    # T = d/dt (R M ω): differences along R(t) = R exp(ω t), ω(t) = ω + α t.
    rotation, alpha = rotation_exp(v), newton_euler(MASS, TENSOR, force, torque, spin).angular
    step = 1e-5
    ahead, behind = (rotation @ rotation_exp(h * spin) @ TENSOR @ (spin + h * alpha) for h in (step, -step))
    assert np.allclose((ahead - behind) / (2 * step), rotation @ torque, rtol=0, atol=1e-6)


def test_a_free_body_keeps_energy_and_angular_momentum():
    def motion(_t, y):
        q, w, v = y[:4], y[4:7], y[7:]
        rates = newton_euler(MASS, TENSOR, [0, 0, 0], [0, 0, 0], w, v)
        return np.concatenate([quaternion_rate(q, w), rates.angular, rates.linear])

    start = np.array([1.0, 0, 0, 0, 0.5, 2.0, -0.3, 1.0, 2.0, 3.0])
    end = solve_ivp(motion, (0, 5), start, rtol=1e-10, atol=1e-12).y[:, -1]

    def conserved(y):
        rotation = rotation_from_quaternion(y[:4])
        return [*(rotation @ TENSOR @ y[4:7]), *(rotation @ y[7:]), kinetic_energy(MASS, TENSOR, y[7:], y[4:7])]

    assert np.allclose(conserved(end), conserved(start), rtol=0, atol=1e-7)
    assert not np.allclose(end[4:7], start[4:7], atol=0.1)


def test_kinetic_energy_is_the_sum_over_particles():
    points = np.array([[1.0, 0.2, 0.3], [-0.4, 0.5, -0.1], [-0.6, -0.7, -0.2]])
    masses = np.array([1.0, 1.0, 1.0])
    points -= points.mean(axis=0)
    tensor = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points))
    velocity, spin = np.array([0.3, -0.2, 0.7]), np.array([1.0, 2.0, -0.5])
    speeds = velocity + np.cross(spin, points)
    assert kinetic_energy(3.0, tensor, velocity, spin) == pytest.approx(
        0.5 * np.sum(masses[:, None] * speeds**2), rel=1e-14
    )


def test_wrong_shapes_are_named():
    with pytest.raises(InputError, match=r"The torque has the wrong shape\.\n  found 2, wanted 3"):
        newton_euler(1.0, np.eye(3), [0, 0, 0], [0, 0])
