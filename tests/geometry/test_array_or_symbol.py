"""One arithmetic for numbers and symbols: reading what callers hand in, and the same values from both kinds."""

import casadi as ca
import numpy as np
import pytest
from rotation_samples import from_symbols, slope

from daedalus.errors import InputError
from daedalus.geometry import array_or_symbol as alike
from daedalus.geometry.angular_velocity import angular_velocity, compose_angular_velocities, rotation_rate
from daedalus.geometry.axis_angle import axis_angle_from_rotation, rotation_exp, rotation_from_axis_angle, rotation_log
from daedalus.geometry.euler_angles import (
    rotation_from_rpy,
    rotation_from_zyz,
    rpy_from_rotation,
    rpy_rate,
    rpy_rate_matrix,
    zyz_from_rotation,
    zyz_rate_matrix,
)
from daedalus.geometry.frames import inverse_transform, point_acceleration, point_velocity, transform, transform_point
from daedalus.geometry.inertia import change_frame, composite, cylinder, parallel_axis, sphere, tensor
from daedalus.geometry.moments import centre_of_mass, couple, moment
from daedalus.geometry.newton_euler import kinetic_energy, newton_euler, newton_euler_matrices
from daedalus.geometry.quaternions import (
    quaternion_conjugate,
    quaternion_from_rotation,
    quaternion_product,
    quaternion_rate,
    rotation_from_quaternion,
)
from daedalus.geometry.rotations import rot_x, rot_y, rot_z, skew, unskew

V, W, U = np.array([0.3, -0.4, 0.5]), np.array([1.0, 0.2, -0.7]), np.array([0.1, 0.9, 0.4])
Q, P = np.array([0.5, -0.1, 0.7, 0.2]), np.array([-0.3, 0.6, 0.1, 0.4])
R = rotation_exp(V)
M = tensor(2.0, 3.0, 4.0, 0.1, 0.2, 0.3)

CALLS = {
    "skew": (skew, V),
    "unskew": (unskew, skew(V)),
    "rot_x": (rot_x, 0.3),
    "rot_y": (rot_y, 0.3),
    "rot_z": (rot_z, 0.3),
    "rotation_from_rpy": (rotation_from_rpy, V),
    "rpy_from_rotation": (rpy_from_rotation, R),
    "rotation_from_zyz": (rotation_from_zyz, V),
    "zyz_from_rotation": (zyz_from_rotation, R),
    "rotation_from_axis_angle": (rotation_from_axis_angle, V, 0.3),
    "axis_angle_from_rotation": (axis_angle_from_rotation, R),
    "rotation_exp": (rotation_exp, V),
    "rotation_log": (rotation_log, R),
    "rotation_from_quaternion": (rotation_from_quaternion, Q),
    "rotation_from_quaternion polynomial": (lambda q: rotation_from_quaternion(q, normalise=False), Q),
    "quaternion_from_rotation": (quaternion_from_rotation, R),
    "quaternion_product": (quaternion_product, Q, P),
    "quaternion_conjugate": (quaternion_conjugate, Q),
    "quaternion_rate": (quaternion_rate, Q, W),
    "quaternion_rate world": (lambda q, w: quaternion_rate(q, w, frame="world"), Q, W),
    "rpy_rate_matrix": (rpy_rate_matrix, V),
    "rpy_rate_matrix world": (lambda a: rpy_rate_matrix(a, frame="world"), V),
    "rpy_rate": (rpy_rate, V, W),
    "rpy_rate world": (lambda a, w: rpy_rate(a, w, frame="world"), V, W),
    "zyz_rate_matrix": (zyz_rate_matrix, V),
    "transform": (transform, R, W),
    "inverse_transform": (inverse_transform, transform(R, W)),
    "transform_point": (transform_point, transform(R, W), V),
    "point_velocity": (point_velocity, V, W, U, V),
    "point_acceleration": (point_acceleration, V, W, U, V, W, U),
    "angular_velocity": (angular_velocity, R, R @ skew(W)),
    "rotation_rate": (rotation_rate, R, W),
    "compose_angular_velocities": (lambda r, v, w: compose_angular_velocities([r, r], [v, w]), R, V, W),
    "centre_of_mass": (lambda m, v, w: centre_of_mass([m, 2.0], [v, w]), 3.0, V, W),
    "moment": (lambda f, r: moment([f, f], [r, U], about=V), V, W),
    "couple": (lambda f, r: couple([f, -f], [r, U]), V, W),
    "parallel_axis": (parallel_axis, M, 2.0, V),
    "change_frame": (change_frame, M, R),
    "cylinder": (cylinder, 2.0, 0.3, 0.5),
    "sphere": (sphere, 2.0, 0.3, 0.1),
    "composite": (lambda m, r: composite([(m, M, r), (2.0, M, V, R)]), 3.0, W),
    "newton_euler": (newton_euler, 2.0, M, V, W, U, V),
    "newton_euler_matrices": (newton_euler_matrices, 2.0, M, U, V),
    "kinetic_energy": (kinetic_energy, 2.0, M, V, U),
}


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_and_symbols_agree(name, kind):
    function, *values = CALLS[name]
    numbers = function(*values)
    numbers = list(numbers) if isinstance(numbers, tuple) else [numbers]
    symbols = from_symbols(function, *values, kind=kind)
    assert len(numbers) == len(symbols)
    for number, symbol in zip(numbers, symbols):
        shape = np.shape(number) if np.ndim(number) == 2 else (np.size(number), 1)
        assert symbol.shape == shape
        assert np.allclose(np.reshape(number, shape), symbol, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", CALLS)
def test_a_batch_is_the_same_as_one_call_each(name):
    function, *values = CALLS[name]
    single = function(*values)
    single = list(single) if isinstance(single, tuple) else [single]
    batch = function(*(np.broadcast_to(v, (2, 1, *np.shape(v))).copy() for v in values))
    batch = list(batch) if isinstance(batch, tuple) else [batch]
    for one, many in zip(single, batch):
        assert many.shape == (2, 1, *np.shape(one))
        assert np.allclose(many, one, rtol=0, atol=1e-14)


def test_lists_with_symbols_and_columns_of_casadi_numbers_are_read():
    a = ca.SX.sym("a")
    assert ca.evalf(ca.substitute(skew([a, 2, 3]), a, 1)).full().tolist() == skew([1, 2, 3]).tolist()
    assert alike.read_matrix([[a, 0, 0], [0, a, 0], [0, 0, 1]], 3, 3, "matrix").shape == (3, 3)
    assert alike.read_vector(np.array([a, 1, 2], dtype=object), 3, "vector").shape == (3, 1)
    assert np.array_equal(skew(ca.DM([1, 2, 3])), skew([1, 2, 3]))
    assert np.array_equal(rot_x(ca.DM(0.3)), rot_x(0.3))
    assert rotation_log(ca.DM(np.eye(3))).shape == (3,)


def test_numbers_mix_with_symbols():
    angle = ca.SX.sym("angle")
    mixed = rotation_from_axis_angle([0, 0, 1], angle)
    assert np.allclose(ca.evalf(ca.substitute(mixed, angle, 0.3)), rot_z(0.3))
    assert newton_euler(2.0, M, V, ca.SX.sym("t", 3), W).angular.shape == (3, 1)


def test_a_batch_does_not_mix_with_symbols():
    for call in (
        lambda: rotation_from_axis_angle(np.ones((5, 3)), ca.SX.sym("angle")),
        lambda: point_velocity(np.ones((5, 3)), W, ca.SX.sym("r", 3)),
        lambda: newton_euler(1.0, np.ones((5, 3, 3)), V, ca.SX.sym("t", 3)),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == (
            "A batch of arrays cannot be combined with a symbol.\n"
            "  Because a symbol stands for one vector or one matrix, without leading dimensions.\n"
            "  Try: call once for each member of the batch."
        )


def test_texts_complex_numbers_and_ragged_lists_are_refused():
    for wrong in (["a", "b", "c"], [1j, 0, 0], [[1, 2], [3]], [True, False, True]):
        with pytest.raises(InputError, match=r"The vector is not an array of real numbers\."):
            skew(wrong)


def test_a_length_has_a_finite_slope_at_zero():
    length = lambda v: alike.root_of_square(alike.dot(v, v))  # noqa: E731
    assert np.array_equal(slope(length, [0.0, 0.0, 0.0]), [[0, 0, 0]])
    assert np.allclose(slope(length, [3e-140, 4e-140, 0.0]), [[0.6, 0.8, 0]])
    assert np.allclose(alike.root_of_square(np.array([0.0, 4.0])), [0, 2])
