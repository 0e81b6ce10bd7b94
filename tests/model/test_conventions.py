"""The conventions: every row of docs/conventions.md has a test here, and no test is without a row."""

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import daedalus as dd
from daedalus.geometry import inertia
from daedalus.geometry.angular_velocity import angular_velocity
from daedalus.geometry.axis_angle import axis_angle_from_rotation, rotation_exp, rotation_from_axis_angle
from daedalus.geometry.euler_angles import (
    GimbalLockWarning,
    rotation_from_rpy,
    rotation_from_zyz,
    rpy_from_rotation,
    rpy_rate,
    rpy_rate_matrix,
    zyz_from_rotation,
)
from daedalus.geometry.frames import transform
from daedalus.geometry.newton_euler import newton_euler
from daedalus.geometry.quaternions import (
    quaternion_from_rotation,
    quaternion_product,
    quaternion_rate,
    rotation_from_quaternion,
)
from daedalus.geometry.rotations import is_rotation, rot_x, rot_y, rot_z, skew

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"


def quaternion_order():
    assert np.allclose(quaternion_from_rotation(rot_x(0.6)), [np.cos(0.3), np.sin(0.3), 0, 0])
    q = np.array([0.5, -0.1, 0.7, 0.2])
    assert np.allclose(rotation_from_quaternion(q), Rotation.from_quat(q, scalar_first=True).as_matrix())


def quaternion_sign():
    assert quaternion_from_rotation(rotation_from_quaternion([-0.5, 0.1, 0.7, 0.2]))[0] > 0
    assert quaternion_from_rotation(np.diag([-1.0, 1.0, -1.0])) == pytest.approx([0, 0, 1, 0])
    q = np.array([0.5, -0.1, 0.7, 0.2])
    assert np.array_equal(rotation_from_quaternion(q), rotation_from_quaternion(-q))


def quaternion_length():
    q = np.array([0.5, -0.1, 0.7, 0.2])
    assert is_rotation(rotation_from_quaternion(3 * q), tolerance=1e-14)
    assert not is_rotation(rotation_from_quaternion(3 * q, normalise=False))
    assert q @ quaternion_rate(q, [1, 2, 3]) == pytest.approx(0, abs=1e-16)


def quaternion_product_order():
    assert np.array_equal(quaternion_product([0, 1, 0, 0], [0, 0, 1, 0]), [0, 0, 0, 1])
    p, q = (quaternion_from_rotation(r) for r in (rot_x(0.3), rot_y(0.4)))
    assert np.allclose(rotation_from_quaternion(quaternion_product(p, q)), rot_x(0.3) @ rot_y(0.4))


def rotation_maps_body_to_world():
    # A body yawed by a quarter turn: its nose, body x, points along world y.
    assert np.allclose(rotation_from_rpy([0, 0, np.pi / 2]) @ [1, 0, 0], [0, 1, 0])
    assert np.allclose(rotation_from_rpy([0.1, 0.2, 0.3])[:, 2], rotation_from_rpy([0.1, 0.2, 0.3]) @ [0, 0, 1])


def roll_pitch_yaw():
    assert np.allclose(rotation_from_rpy([0.1, 0.2, 0.3]), rot_z(0.3) @ rot_y(0.2) @ rot_x(0.1))
    assert np.allclose(rotation_from_rpy([0.1, 0.2, 0.3]), Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix())


def classical_euler_angles():
    assert np.allclose(rotation_from_zyz([0.1, 0.2, 0.3]), rot_z(0.1) @ rot_y(0.2) @ rot_z(0.3))
    assert np.allclose(rotation_from_zyz([0.1, 0.2, 0.3]), Rotation.from_euler("ZYZ", [0.1, 0.2, 0.3]).as_matrix())


def gimbal_lock():
    with pytest.warns(GimbalLockWarning):
        assert np.allclose(rpy_from_rotation(rotation_from_rpy([0.3, np.pi / 2, 0.1])), [0.2, np.pi / 2, 0])
    with pytest.warns(GimbalLockWarning):
        assert np.allclose(zyz_from_rotation(rotation_from_zyz([0.3, 0, 0.1])), [0.4, 0, 0])


def axis_and_angle():
    axis, angle = axis_angle_from_rotation(rotation_from_axis_angle([0, 0, 2], -0.3))
    assert np.allclose(axis, [0, 0, -1])
    assert angle == pytest.approx(0.3)
    assert np.array_equal(axis_angle_from_rotation(np.eye(3))[0], [1, 0, 0])


def angular_velocity_frame():
    rotation, spin = rotation_exp([0.3, -0.2, 0.5]), np.array([1.0, 2.0, 3.0])
    assert np.allclose(angular_velocity(rotation, rotation @ skew(spin)), spin)
    assert np.allclose(angular_velocity(rotation, skew(spin) @ rotation, frame="world"), spin)
    # A quaternion's rate reads ω in the body frame too: turning about body x does not care where that points.
    q = quaternion_from_rotation(rotation)
    assert np.allclose(quaternion_rate(q, [1, 0, 0]), quaternion_product(q, [0, 0.5, 0, 0]))


def rate_matrix():
    rpy, rates = np.array([0.4, -0.2, 0.9]), np.array([0.3, -0.7, 1.1])
    step = 1e-6
    turning = (rotation_from_rpy(rpy + step * rates) - rotation_from_rpy(rpy - step * rates)) / (2 * step)
    assert np.allclose(rpy_rate_matrix(rpy) @ rates, angular_velocity(rotation_from_rpy(rpy), turning), atol=1e-8)
    assert np.allclose(rpy_rate(rpy, rpy_rate_matrix(rpy) @ rates), rates)


def transform_matrix():
    matrix = transform(rot_z(0.3), [1, 2, 3])
    assert matrix.shape == (4, 4)
    assert np.allclose(matrix @ [0.5, 0, 0, 1], [*(rot_z(0.3) @ [0.5, 0, 0] + [1, 2, 3]), 1])


def inertia_sign():
    # Mass in the corners where x and y have the same sign: the product ∫ x y dm is positive, the entry negative.
    dumbbell = inertia.composite([(1.0, np.zeros((3, 3)), [1, 1, 0]), (1.0, np.zeros((3, 3)), [-1, -1, 0])])
    assert dumbbell.inertia[0, 1] == pytest.approx(-2.0)
    assert np.allclose(dumbbell.inertia, inertia.tensor(2.0, 2.0, 4.0, xy=2.0))


def parallel_axes():
    centre, r = inertia.box(2.0, 1, 2, 3), np.array([0.3, -0.4, 0.5])
    assert np.allclose(inertia.parallel_axis(centre, 2.0, r), centre + 2.0 * (r @ r * np.eye(3) - np.outer(r, r)))


def newton_euler_frame():
    # No torque: α = −M⁻¹ (ω × M ω), all in the body frame.
    tensor, spin = inertia.tensor(1.0, 2.0, 3.0), np.array([1.0, 1.0, 1.0])
    answer = newton_euler(1.0, tensor, [0, 0, 0], [0, 0, 0], spin, [0, 0, 2.0])
    assert np.allclose(answer.angular, [-1, 1, -1 / 3])
    assert np.allclose(answer.linear, -np.cross(spin, [0, 0, 2.0]))


def multiplier_sign():
    # A mass at rest below the pivot, c = ½ (x² + y² − L²): the rod must pull upwards with m g.
    mass, gravity, length = 2.0, 9.81, 0.5
    x, y, x_rate, y_rate = 0.0, -length, 0.0, 0.0
    jacobian = np.array([[x, y]])
    # M q'' − Gᵀ λ = τ − h and G q'' = −(x'² + y'²)
    matrix = np.block([[mass * np.eye(2), -jacobian.T], [jacobian, np.zeros((1, 1))]])
    *acceleration, multiplier = np.linalg.solve(matrix, [0, -mass * gravity, -(x_rate**2 + y_rate**2)])
    assert np.allclose(acceleration, 0)
    assert np.allclose(jacobian.T @ [multiplier], [0, mass * gravity])
    m = dd.Model("rod")
    q = m.coordinate("q", 2, start=[x, y])
    m.kinetic_energy(mass / 2 * ca.sumsqr(m.rate(q)))
    m.potential_energy(mass * gravity * q[1])
    m.constraint("rod", (ca.sumsqr(q) - length**2) / 2)
    assert float(dd.initialise(m)["rod"]) == pytest.approx(multiplier)
    # Document 003: d/dt ∂L/∂q' − ∂L/∂q = 0 with L = T − V − z c gives M q'' + ∇V + Gᵀ z = 0, so z is positive here.
    z = np.linalg.lstsq(jacobian.T, np.array([0, -mass * gravity]), rcond=None)[0][0]
    assert multiplier == pytest.approx(-z)


def flattening():
    m = dd.Model("matrix")
    matrix = m.state("A", (2, 2), start=[[1.0, 2.0], [3.0, 4.0]])
    m.equation(m.der(matrix), ca.SX.zeros(2, 2))
    run = dd.prepare(m, 1.0, save_at=[1.0])
    assert run.labels["x"] == ("A[0,0]", "A[1,0]", "A[0,1]", "A[1,1]")
    assert np.array_equal(run([1.0, 3.0, 2.0, 4.0])[-1], [1, 3, 2, 4])
    assert np.array_equal(dd.simulate(m, 1.0)["A"][-1], [[1, 2], [3, 4]])


ROWS = {
    "quaternion order": quaternion_order,
    "quaternion sign": quaternion_sign,
    "quaternion length": quaternion_length,
    "quaternion product": quaternion_product_order,
    "rotation": rotation_maps_body_to_world,
    "roll-pitch-yaw": roll_pitch_yaw,
    "classical Euler angles": classical_euler_angles,
    "gimbal lock": gimbal_lock,
    "axis and angle": axis_and_angle,
    "angular velocity": angular_velocity_frame,
    "rate matrix": rate_matrix,
    "transform": transform_matrix,
    "inertia": inertia_sign,
    "parallel axes": parallel_axes,
    "Newton–Euler": newton_euler_frame,
    "multipliers": multiplier_sign,
    "flattening": flattening,
}


@pytest.mark.parametrize("row", ROWS)
def test_row(row):
    ROWS[row]()


def test_the_page_and_the_tests_have_the_same_rows():
    listed = PAGE.read_text(encoding="utf-8").split("## ")[0]
    rows = [line.split("|")[1].strip() for line in listed.splitlines() if line.startswith("|")]
    assert rows[2:] == list(ROWS)
