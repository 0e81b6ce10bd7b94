"""Elementary rotations, cross products as matrices, and the check that a matrix is a rotation."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from rotation_samples import angles, from_symbols, rotation_vectors
from scipy.spatial.transform import Rotation

from daedalus.errors import InputError
from daedalus.geometry.axis_angle import rotation_exp
from daedalus.geometry.rotations import is_rotation, nearest_rotation, read_rotation, rot_x, rot_y, rot_z, skew, unskew


@given(rotation_vectors(), rotation_vectors())
def test_skew_is_the_cross_product_and_unskew_undoes_it(u, v):
    assert np.allclose(skew(u) @ v, np.cross(u, v), rtol=0, atol=1e-14)
    assert np.array_equal(unskew(skew(u)), u)


@pytest.mark.document("002", "the skew matrix of a vector", "`dd.skew`")
def test_skew_as_printed_in_document_002():
    assert np.array_equal(skew([1, 2, 3]), [[0, -3, 2], [3, 0, -1], [-2, 1, 0]])


@pytest.mark.document("002", "elementary rotations R_x, R_y, R_z", "`dd.rot_x`")
@given(angles)
@pytest.mark.parametrize(("rot", "axis"), [(rot_x, "x"), (rot_y, "y"), (rot_z, "z")])
def test_elementary_rotations_agree_with_scipy(rot, axis, angle):
    assert np.allclose(rot(angle), Rotation.from_euler(axis, angle).as_matrix(), rtol=0, atol=1e-15)


def test_leading_dimensions_are_a_batch():
    batch = np.linspace(-3, 3, 10).reshape(2, 5)
    assert rot_y(batch).shape == (2, 5, 3, 3)
    assert np.array_equal(rot_y(batch)[1, 2], rot_y(batch[1, 2]))
    assert skew(np.ones((4, 1, 3))).shape == (4, 1, 3, 3)
    assert unskew(skew(np.ones((4, 1, 3)))).shape == (4, 1, 3)
    assert is_rotation(rot_x(batch)).shape == (2, 5)
    assert rot_x(np.zeros(0)).shape == (0, 3, 3)


@given(rotation_vectors(), rotation_vectors())
def test_change_of_frame_of_a_cross_product_matrix(u, v):
    rotation = rotation_exp(v)
    assert np.allclose(skew(rotation.T @ u), rotation.T @ skew(u) @ rotation, rtol=0, atol=1e-14)


def test_unskew_refuses_a_symmetric_part():
    with pytest.raises(InputError) as caught:
        unskew(skew([1, 2, 3]) + 0.1 * np.eye(3))
    assert str(caught.value) == (
        "The matrix is not skew-symmetric.\n"
        "  the sum of the matrix and its transpose has norm 0.346, wanted 0\n"
        "  Try: subtract the symmetric part: (S - S.T) / 2."
    )


def test_is_rotation():
    assert is_rotation(rot_x(1.0) @ rot_z(2.0)) is True
    assert is_rotation(np.diag([1, 1, -1])) is False
    assert is_rotation(2 * np.eye(3)) is False
    assert is_rotation(np.full((3, 3), np.nan)) is False
    assert is_rotation(np.eye(4)) is False
    assert is_rotation(np.eye(3) * (1 + 1e-4)) is False
    assert is_rotation(np.eye(3) * (1 + 1e-4), tolerance=1e-3) is True
    assert list(is_rotation(np.stack([np.eye(3), -np.eye(3)]))) == [True, False]


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_is_rotation_of_a_symbol_is_a_condition(kind):
    assert from_symbols(is_rotation, rot_y(0.4), kind=kind)[0] == 1
    assert from_symbols(is_rotation, -rot_y(0.4), kind=kind)[0] == 0
    assert from_symbols(is_rotation, rot_y(0.4) + 1e-3, kind=kind)[0] == 0


def test_what_is_no_rotation_is_refused_with_its_distance_and_determinant():
    with pytest.raises(InputError) as caught:
        read_rotation(np.diag([1.0, 1.0, -1.0]))
    # The nearest rotation to a reflection is two units away: the flipped axis goes from −1 to 1.
    assert str(caught.value) == (
        "The rotation is not a rotation matrix.\n"
        "  distance from SO(3) 2 (Frobenius norm), determinant -1\n"
        "  Because a rotation has orthonormal columns and determinant 1.\n"
        "  Try: dd.nearest_rotation(R) where it only lost digits."
    )
    with pytest.raises(InputError, match=r"distance from SO\(3\) 0\.173 .*determinant 1\.331"):
        read_rotation(1.1 * rot_x(0.3))


def test_the_worst_of_a_batch_is_named():
    batch = np.broadcast_to(np.eye(3), (2, 3, 3, 3)).copy()
    batch[1, 2] *= 1.2
    batch[0, 1] *= 1.1
    with pytest.raises(InputError, match=r"worst in the batch: \(1, 2\)"):
        read_rotation(batch)
    batch[0, 0, 0, 0] = np.nan
    with pytest.raises(InputError, match=r"distance from SO\(3\) inf[\s\S]*worst in the batch: \(0, 0\)"):
        read_rotation(batch)


@given(rotation_vectors())
def test_nearest_rotation_agrees_with_scipy_and_keeps_rotations(v):
    rough = rotation_exp(v) + 1e-3 * np.arange(9).reshape(3, 3)
    assert np.allclose(nearest_rotation(rough), Rotation.from_matrix(rough).as_matrix(), rtol=0, atol=1e-12)
    assert np.allclose(nearest_rotation(rotation_exp(v)), rotation_exp(v), rtol=0, atol=1e-14)


def test_nearest_rotation_of_a_batch_with_a_reflection():
    answer = nearest_rotation(np.stack([np.diag([1.0, 0.9, -0.1]), np.eye(3)]))
    assert is_rotation(answer).all()
    assert np.allclose(answer[0], np.eye(3))


def test_wrong_shapes_are_named():
    with pytest.raises(InputError, match=r"The vector has the wrong shape\.\n  found 2, wanted 3"):
        skew([1, 2])
    with pytest.raises(InputError, match="found 4×1, wanted 3×1"):
        skew(ca.SX.sym("v", 4))
    with pytest.raises(InputError, match=r"The angle is not an array of real numbers"):
        rot_x("a")
