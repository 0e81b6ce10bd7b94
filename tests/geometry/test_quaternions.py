"""Quaternions: against SciPy, there and back, Shepperd's method on every branch with its derivatives, and rates."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from rotation_samples import from_symbols, rotation_vectors, slope, unit_quaternions
from scipy.spatial.transform import Rotation

from daedalus.errors import InputError
from daedalus.geometry.axis_angle import rotation_exp
from daedalus.geometry.quaternions import (
    quaternion_conjugate,
    quaternion_from_rotation,
    quaternion_product,
    quaternion_rate,
    rotation_from_quaternion,
)
from daedalus.geometry.rotations import is_rotation, rot_x, skew

# One quaternion inside each branch of Shepperd's method, the exact half turns, and the ties between branches.
BRANCHES = [
    [0.9, 0.1, -0.3, 0.2],
    [0.1, -0.9, 0.3, 0.2],
    [0.1, 0.3, -0.9, 0.2],
    [0.1, 0.3, 0.2, -0.9],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
    [0.0, 0.0, 0.0, 1.0],
    [1.0, 0.0, 0.0, 0.0],
    [0.5, 0.5, 0.5, 0.5],
    [0.5, -0.5, 0.5, -0.5],
    [1.0, 1.0, 0.0, 0.0],
    [0.0, 1.0, 1.0, 0.0],
    [0.0, 1.0, -1.0, 1.0],
    [1e-9, 0.6, 0.0, 0.8],
    [1e-17, 0.6, 0.0, -0.8],
]


def units(values):
    return [np.array(v) / np.linalg.norm(v) for v in values]


@given(unit_quaternions)
def test_rotation_from_quaternion_agrees_with_scipy(q):
    expected = Rotation.from_quat(q, scalar_first=True).as_matrix()
    assert np.allclose(rotation_from_quaternion(q), expected, rtol=0, atol=1e-15)
    assert np.allclose(rotation_from_quaternion(q, normalise=False), expected, rtol=0, atol=1e-14)


@pytest.mark.document("002", "Euler parameters and the rotation matrix", "`dd.rotation_from_quaternion`")
def test_document_002_writes_the_same_rotation():
    q = np.array([0.5, 0.1, -0.7, np.sqrt(0.25)])
    q /= np.linalg.norm(q)
    cross = skew(q[1:])
    assert np.allclose(rotation_from_quaternion(q), np.eye(3) + 2 * q[0] * cross + 2 * cross @ cross, atol=1e-15)


@given(unit_quaternions)
def test_the_length_of_a_quaternion_has_no_meaning(q):
    for length in (1e-6, 3.0, 1e6):
        assert is_rotation(rotation_from_quaternion(length * q), tolerance=1e-13)
        assert np.allclose(rotation_from_quaternion(length * q), rotation_from_quaternion(q), atol=1e-14)


def test_a_quaternion_without_direction_is_refused():
    with pytest.raises(InputError) as caught:
        rotation_from_quaternion([0, 0, 0, 0])
    assert str(caught.value) == (
        "The quaternion has no direction.\n"
        "  length 0, wanted 1\n"
        "  Because a rotation is a quaternion up to its length, and this one is zero or not a number.\n"
        "  Try: [1, 0, 0, 0] for no rotation."
    )


@given(unit_quaternions)
def test_there_and_back(q):
    back = quaternion_from_rotation(rotation_from_quaternion(q))
    assert back[0] >= 0
    assert abs(np.linalg.norm(back) - 1) < 1e-14
    assert min(np.abs(back - q).max(), np.abs(back + q).max()) < 1e-14


@given(rotation_vectors())
def test_shepperd_agrees_with_scipy(v):
    rotation = rotation_exp(v)
    q, expected = quaternion_from_rotation(rotation), Rotation.from_matrix(rotation).as_quat(scalar_first=True)
    assert min(np.abs(q - expected).max(), np.abs(q + expected).max()) < 1e-14


@pytest.mark.document("002", "Shepperd's method", "`dd.quaternion_from_rotation`")
@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize("q", units(BRANCHES))
def test_shepperd_on_every_branch_with_derivatives(q, kind):
    # The slope of q → R → q is the projection on the tangent of the unit sphere, with the sign of the answer.
    through = lambda q: quaternion_from_rotation(rotation_from_quaternion(q))  # noqa: E731
    answer = through(q)
    assert np.allclose(from_symbols(through, q, kind=kind)[0][:, 0], answer, rtol=0, atol=1e-15)
    sign = np.sign(answer @ q)
    assert np.allclose(slope(through, q, kind), sign * (np.eye(4) - np.outer(q, q)), rtol=0, atol=1e-14)


def test_at_half_a_turn_the_largest_component_is_positive():
    for axis in ([1, 0, 0], [-1, 0, 0], [0.6, 0, -0.8], [0, -1, 0]):
        half_turn = 2 * np.outer(axis, axis) - np.eye(3)
        q = quaternion_from_rotation(half_turn)
        assert q[0] == 0
        assert q[np.argmax(np.abs(q))] > 0


@given(unit_quaternions, unit_quaternions)
def test_the_product_composes_rotations(p, q):
    composed = rotation_from_quaternion(quaternion_product(p, q))
    assert np.allclose(composed, rotation_from_quaternion(p) @ rotation_from_quaternion(q), rtol=0, atol=1e-14)
    assert np.allclose(quaternion_product(q, quaternion_conjugate(q)), [1, 0, 0, 0], rtol=0, atol=1e-15)


@pytest.mark.document("002", "the product of quaternions", "`dd.quaternion_product`")
def test_the_product_as_printed_in_document_002():
    p, q = np.array([0.3, 1.0, -2.0, 0.5]), np.array([-1.2, 0.4, 0.7, 2.0])
    vector = p[0] * q[1:] + q[0] * p[1:] + skew(p[1:]) @ q[1:]
    assert np.allclose(quaternion_product(p, q), [p[0] * q[0] - p[1:] @ q[1:], *vector])


@pytest.mark.document("002", "the kinematic differential equation of the quaternion", "`dd.quaternion_rate`")
@given(unit_quaternions, rotation_vectors())
def test_the_rate_turns_the_rotation(q, w):
    # R' = R ω^× with ω in the body frame, ω^× R in the world frame: the rate carried through the derivative of R(q).
    slope_of_rotation = slope(rotation_from_quaternion, q)
    rotation = rotation_from_quaternion(q)
    for frame, expected in (("body", rotation @ skew(w)), ("world", skew(w) @ rotation)):
        rate = quaternion_rate(q, w, frame=frame)
        assert abs(rate @ q) < 1e-15
        assert np.allclose((slope_of_rotation @ rate).reshape(3, 3, order="F"), expected, rtol=0, atol=1e-13)


def test_an_unknown_frame_is_named():
    with pytest.raises(InputError, match=r"There is no frame 'earth'\.\n  frames: \"body\", \"world\""):
        quaternion_rate([1, 0, 0, 0], [0, 0, 1], frame="earth")


def test_not_a_rotation_is_refused():
    with pytest.raises(InputError, match="determinant -1"):
        quaternion_from_rotation(-rot_x(0.3))
