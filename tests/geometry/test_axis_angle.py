"""Axis and angle, exponential map and logarithm: against SciPy, there and back, and smooth at zero and half a turn."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from rotation_samples import angles, differences, directions, from_symbols, rotation_vectors, slope
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from daedalus.errors import InputError
from daedalus.geometry.axis_angle import axis_angle_from_rotation, rotation_exp, rotation_from_axis_angle, rotation_log
from daedalus.geometry.rotations import skew

AXIS = np.array([2.0, -1.0, 2.0]) / 3
# Angles at zero, on both sides of the change from series to formula, and up to half a turn.
LENGTHS = [
    0.0,
    1e-300,
    1e-160,
    1e-12,
    1e-8,
    1e-4,
    0.1,
    0.1993,
    0.1995,
    0.4999,
    0.5001,
    0.9999,
    1.0001,
    2.0,
    3.0,
    3.14159,
]


@given(directions(3), angles)
def test_axis_angle_agrees_with_scipy_and_with_the_matrix_exponential(axis, angle):
    rotation = rotation_from_axis_angle(axis, angle)
    assert np.allclose(rotation, Rotation.from_rotvec(axis * angle).as_matrix(), rtol=0, atol=1e-14)
    assert np.allclose(rotation, expm(angle * skew(axis)), rtol=0, atol=1e-14)


@pytest.mark.document("002", "angle and axis, the exponential map", "`dd.rotation_from_axis_angle`, `dd.rotation_exp`")
@given(directions(3), angles)
def test_axis_angle_as_printed_in_document_002(axis, angle):
    printed = np.cos(angle) * np.eye(3) + np.sin(angle) * skew(axis) + (1 - np.cos(angle)) * np.outer(axis, axis)
    rotation = rotation_from_axis_angle(axis, angle)
    assert np.allclose(rotation, printed, rtol=0, atol=1e-15)
    assert abs((np.trace(rotation) - 1) / 2 - np.cos(angle)) < 1e-15


@given(rotation_vectors())
def test_axis_and_angle_there_and_back(v):
    rotation = rotation_exp(v)
    axis, angle = axis_angle_from_rotation(rotation)
    assert abs(np.linalg.norm(axis) - 1) < 1e-15
    assert 0 <= angle <= np.pi
    assert np.allclose(rotation_from_axis_angle(axis, angle), rotation, rtol=0, atol=2e-15)


def test_without_rotation_the_axis_is_x():
    axis, angle = axis_angle_from_rotation(np.eye(3))
    assert angle == 0
    assert np.array_equal(axis, [1, 0, 0])


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, -1, 0], [0.6, 0, -0.8], [-2 / 3, 1 / 3, 2 / 3]])
def test_at_half_a_turn_the_axis_is_found_up_to_its_sign(axis):
    found, angle = axis_angle_from_rotation(2 * np.outer(axis, axis) - np.eye(3))
    assert angle == pytest.approx(np.pi, abs=1e-15)
    assert np.allclose(np.outer(found, found), np.outer(axis, axis), rtol=0, atol=1e-15)
    assert found[np.argmax(np.abs(found))] > 0


def test_an_axis_is_a_direction():
    assert np.allclose(rotation_from_axis_angle([0, 0, 5], 0.3), rotation_from_axis_angle([0, 0, 1], 0.3))
    with pytest.raises(InputError, match=r"The axis has no direction\.\n  length 0\n  Try: an axis that is not zero"):
        rotation_from_axis_angle([0, 0, 0], 0.3)


@given(rotation_vectors())
def test_exp_agrees_with_scipy(v):
    assert np.allclose(rotation_exp(v), Rotation.from_rotvec(v).as_matrix(), rtol=0, atol=1e-15)


@given(rotation_vectors())
def test_log_undoes_exp(v):
    back, angle = rotation_log(rotation_exp(v)), np.linalg.norm(v)
    # Half a turn one way is half a turn the other way.
    other = v - 2 * np.pi * v / angle if angle > 3.14 else v
    assert min(np.abs(back - v).max(), np.abs(back - other).max()) < 1e-14
    assert np.allclose(rotation_exp(back), rotation_exp(v), rtol=0, atol=2e-15)


@given(rotation_vectors())
def test_log_agrees_with_scipy(v):
    rotation = rotation_exp(v)
    expected = Rotation.from_matrix(rotation).as_rotvec()
    answer = rotation_log(rotation)
    close = np.abs(answer - expected).max() < 1e-14
    assert close or np.abs(answer + expected).max() < 1e-7 * (np.linalg.norm(v) > 3.14)


def test_small_rotations_keep_their_digits():
    v = np.array([1e-9, -2e-9, 3e-12])
    assert np.allclose(rotation_log(rotation_exp(v)), v, rtol=1e-15, atol=0)
    assert axis_angle_from_rotation(rotation_exp(v))[1] == pytest.approx(np.linalg.norm(v), rel=1e-14)


def right_jacobian(v):
    """d exp(v) = exp(v) (J dv)^×: as published (Chirikjian 2012, volume 2, p. 40), with its own series near zero."""
    angle, cross = np.linalg.norm(v), skew(v)
    if angle < 1e-3:
        return np.eye(3) - cross * (0.5 - angle**2 / 24) + cross @ cross * (1 / 6 - angle**2 / 120)
    return np.eye(3) - (1 - np.cos(angle)) / angle**2 * cross + (angle - np.sin(angle)) / angle**3 * cross @ cross


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize("length", LENGTHS)
def test_slope_of_exp_is_the_right_jacobian(length, kind):
    v = length * AXIS
    spins = right_jacobian(v)
    expected = np.stack([(rotation_exp(v) @ skew(spins[:, i])).flatten(order="F") for i in range(3)], axis=1)
    assert np.allclose(slope(rotation_exp, v, kind), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize("length", LENGTHS)
def test_slope_of_log_after_exp_is_one(length, kind):
    assert np.allclose(
        slope(lambda v: rotation_log(rotation_exp(v)), length * AXIS, kind), np.eye(3), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), AXIS, -AXIS])
def test_slopes_at_exactly_half_a_turn_are_finite_and_right(axis):
    through = lambda v: rotation_log(rotation_exp(v))  # noqa: E731
    v = np.pi * np.array(axis)
    answer = from_symbols(through, v)[0][:, 0]
    assert np.allclose(np.outer(answer, answer), np.outer(v, v), rtol=0, atol=1e-13)
    if answer @ v > 0:
        assert np.allclose(slope(through, v), np.eye(3), rtol=0, atol=1e-13)
    else:
        # On the other side v jumps to v − 2π v/|v|, whose slope is known.
        assert np.allclose(slope(through, v), np.eye(3) - 2 * (np.eye(3) - np.outer(axis, axis)), rtol=0, atol=1e-13)


def test_second_derivatives_at_zero_are_those_of_the_series():
    v = ca.SX.sym("v", 3)
    weights = ca.DM(np.arange(1.0, 10.0))
    series = ca.SX.eye(3) + ca.skew(v) + ca.mtimes(ca.skew(v), ca.skew(v)) / 2
    for function, zero in ((rotation_exp(v), [0, 0, 0]), (rotation_exp(v), [1e-170, 0, 0])):
        hessians = [ca.hessian(ca.dot(weights, ca.vec(f)), v)[0] for f in (function, series)]
        ours, expected = (ca.Function("H", [v], [h])(zero).full() for h in hessians)
        assert np.allclose(ours, expected, rtol=0, atol=1e-14)


def test_log_of_a_matrix_symbol_has_finite_slopes_at_the_identity():
    # Near the identity log R is the skew part of R.
    answer = slope(lambda r: rotation_log(ca.reshape(r, 3, 3)), np.eye(3).flatten())
    expected = np.zeros((3, 9))
    for i, (row, column) in enumerate([(2, 1), (0, 2), (1, 0)]):
        expected[i, row + 3 * column], expected[i, column + 3 * row] = 0.5, -0.5
    assert np.allclose(answer, expected, rtol=0, atol=1e-15)


HALF_TURNS = [np.diag(d) for d in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1])]


@pytest.mark.parametrize("rotation", [np.eye(3), *HALF_TURNS])
def test_no_branch_divides_by_zero_at_the_singular_places(rotation):
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        assert np.allclose(rotation_exp(rotation_log(rotation)), rotation, rtol=0, atol=1e-15)
        assert np.allclose(rotation_from_axis_angle(*axis_angle_from_rotation(rotation)), rotation, rtol=0, atol=1e-15)


@pytest.mark.parametrize("rotation", HALF_TURNS)
def test_slopes_of_a_matrix_symbol_at_exactly_half_a_turn(rotation):
    # Along R exp(h axis^×) the rotation vector grows by h axis, from the side that it is on.
    v = rotation_log(rotation)
    along = slope(lambda r: rotation_log(ca.reshape(r, 3, 3)), rotation.flatten(order="F"))
    assert np.allclose(along @ (rotation @ skew(v / np.pi)).flatten(order="F"), v / np.pi, rtol=0, atol=1e-15)


@pytest.mark.parametrize("length", [0.0, 1e-200, 1e-8, 0.5, 3.1415926, np.pi])
def test_axis_and_angle_have_finite_slopes_everywhere(length):
    both = lambda v: ca.vertcat(*axis_angle_from_rotation(rotation_exp(v)))  # noqa: E731
    answer = slope(both, length * AXIS)
    assert np.isfinite(answer).all()
    if length == 0:
        assert not answer.any()
    if 0.1 < length < 3.1415:
        numbers = lambda v: np.append(*axis_angle_from_rotation(rotation_exp(v)))  # noqa: E731
        assert np.allclose(answer, differences(numbers, length * AXIS), rtol=0, atol=1e-8)
        assert np.allclose(answer[3], AXIS, rtol=0, atol=1e-14)
