"""Rotation matrices: the three elementary ones, cross products as matrices, and what makes a matrix a rotation.

A rotation R maps coordinates in the body frame to coordinates in the world frame, v_world = R v_body, and belongs to

    SO(3) = {R : Rᵀ R = I, det R = 1}

Every function takes numbers (leading dimensions are a batch) or CasADi symbols.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import (
    SYMBOLS,
    ArrayOrSymbol,
    Given,
    build_matrix,
    build_vector,
    components,
    compose,
    cos,
    entries,
    is_symbol,
    read_matrix,
    read_scalar,
    read_vector,
    sin,
    transpose,
    where,
)

# How far from SO(3), in the Frobenius norm, numbers may be and still be read as a rotation: seven printed digits pass.
ROTATION_TOLERANCE = 1e-6

# In which frame's coordinates a vector is given.
Frame = Literal["body", "world"]


def skew(vector: Given) -> ArrayOrSymbol:
    """The matrix that takes the cross product with a vector: skew(u) @ v = u × v.

    Parameters
    ----------
    vector: (..., 3) numbers, or a 3×1 symbol.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.skew([1.0, 2.0, 3.0]) @ [0.0, 0.0, 1.0]
    array([ 2., -1.,  0.])
    """
    x, y, z = components(read_vector(vector, 3, "vector"))
    return build_matrix([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def unskew(matrix: Given) -> ArrayOrSymbol:
    """The vector u of a skew-symmetric matrix: unskew(skew(u)) = u.

    Raises an InputError if the symmetric part of a numeric matrix is larger than rounding (1e-6 of the matrix);
    rounding is averaged away.

    Parameters
    ----------
    matrix: (..., 3, 3) numbers, or a 3×3 symbol, whose skew part is used.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.unskew(dd.skew([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    given = read_matrix(matrix, 3, 3, "matrix")
    if not is_symbol(given):
        symmetric = np.linalg.norm(given + np.swapaxes(given, -1, -2), axis=(-2, -1))
        allowed = ROTATION_TOLERANCE * np.maximum(1.0, np.linalg.norm(given, axis=(-2, -1)))
        if not np.all(symmetric <= allowed):
            raise InputError(
                "The matrix is not skew-symmetric.",
                f"the sum of the matrix and its transpose has norm {np.max(symmetric):.3g}, wanted 0",
                remedy="subtract the symmetric part: (S - S.T) / 2.",
            )
    m = entries(given)
    return build_vector([(m[2][1] - m[1][2]) / 2, (m[0][2] - m[2][0]) / 2, (m[1][0] - m[0][1]) / 2])


def rot_x(angle: Given) -> ArrayOrSymbol:
    """The rotation by an angle (rad) about the x axis; it turns y towards z.

    Example
    -------
    >>> import daedalus as dd
    >>> (dd.rot_x(0.5 * 3.141592653589793) @ [0.0, 1.0, 0.0]).round(12)
    array([0., 0., 1.])
    """
    angle = read_scalar(angle, "angle")
    c, s = cos(angle), sin(angle)
    return build_matrix([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rot_y(angle: Given) -> ArrayOrSymbol:
    """The rotation by an angle (rad) about the y axis; it turns z towards x.

    Example
    -------
    >>> import daedalus as dd
    >>> (dd.rot_y(0.5 * 3.141592653589793) @ [0.0, 0.0, 1.0]).round(12)
    array([1., 0., 0.])
    """
    angle = read_scalar(angle, "angle")
    c, s = cos(angle), sin(angle)
    return build_matrix([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rot_z(angle: Given) -> ArrayOrSymbol:
    """The rotation by an angle (rad) about the z axis; it turns x towards y.

    Example
    -------
    >>> import daedalus as dd
    >>> (dd.rot_z(0.5 * 3.141592653589793) @ [1.0, 0.0, 0.0]).round(12)
    array([0., 1., 0.])
    """
    angle = read_scalar(angle, "angle")
    c, s = cos(angle), sin(angle)
    return build_matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def is_rotation(matrix: Given, tolerance: float = ROTATION_TOLERANCE) -> Any:
    """Whether a matrix is a rotation: orthogonal to within the tolerance, and no reflection.

    Parameters
    ----------
    matrix: (..., 3, 3) numbers, or a 3×3 symbol. The result is False for any other shape.
    tolerance: largest ‖Rᵀ R − I‖ (Frobenius) that still passes; to first order twice the distance from SO(3).

    Returns a bool, an array of bools for a batch, or for a symbol the condition as a symbol.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> dd.is_rotation(dd.rot_x(0.3)), dd.is_rotation(np.diag([1.0, 1.0, -1.0]))
    (True, False)
    """
    if not is_symbol(matrix) and np.shape(matrix)[-2:] != (3, 3):
        return False
    given = read_matrix(matrix, 3, 3, "matrix")
    gram = entries(compose(transpose(given), given))
    square = sum((gram[i][j] - (i == j)) ** 2 for i in range(3) for j in range(3))
    answer = where(square <= tolerance**2, determinant(given) > 0, False)
    return answer if isinstance(answer, SYMBOLS) or np.ndim(answer) > 0 else bool(answer)


def determinant(value: ArrayOrSymbol) -> ArrayOrSymbol:
    """The determinant of a 3×3 matrix."""
    (a, b, c), (d, e, f), (g, h, i) = entries(value)
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def nearest_rotation(matrix: Given) -> np.ndarray:
    """The rotation nearest to a matrix of numbers, in the Frobenius norm.

    With the singular value decomposition A = U S Vᵀ it is U diag(1, 1, det(U Vᵀ)) Vᵀ (Kabsch 1978, Umeyama 1991).

    Parameters
    ----------
    matrix: (..., 3, 3) numbers, for example a rotation that was rounded in a file.

    Example
    -------
    >>> import daedalus as dd
    >>> rough = dd.rot_z(0.3).round(3)
    >>> dd.is_rotation(rough), dd.is_rotation(dd.nearest_rotation(rough))
    (False, True)
    """
    if is_symbol(matrix):
        raise InputError(
            "The nearest rotation is found for numbers only.", remedy="rotation_from_quaternion for symbols."
        )
    given = read_matrix(matrix, 3, 3, "matrix")
    if not np.all(np.isfinite(given)):
        raise InputError("The matrix has entries that are not finite.", remedy="a matrix of finite numbers.")
    left, _, right = np.linalg.svd(given)
    left[..., :, 2] *= np.linalg.det(left @ right)[..., None]
    return left @ right


def read_rotation(rotation: Given, name: str = "rotation") -> ArrayOrSymbol:
    """The value as a rotation matrix; numbers that are none are refused with their distance from SO(3)."""
    given = read_matrix(rotation, 3, 3, name)
    if is_symbol(given) or np.all(is_rotation(given)):
        return given
    # Report the worst member of the batch; one with NaN counts as worst of all.
    flat = given.reshape(-1, 3, 3)
    sound = np.isfinite(flat).all(axis=(1, 2))
    distance = np.full(len(flat), np.inf)
    distance[sound] = np.linalg.norm(flat[sound] - nearest_rotation(flat[sound]), axis=(1, 2))
    worst = int(np.argmax(distance))
    place = (
        [] if given.ndim == 2 else [f"worst in the batch: {tuple(map(int, np.unravel_index(worst, given.shape[:-2])))}"]
    )
    facts = [f"distance from SO(3) {distance[worst]:.3g} (Frobenius norm), determinant {determinant(flat[worst]):.6g}"]
    raise InputError(
        f"The {name} is not a rotation matrix.",
        facts + place,
        because="a rotation has orthonormal columns and determinant 1.",
        remedy="dd.nearest_rotation(R) where it only lost digits.",
    )


def read_frame(frame: str) -> str:
    """The frame, once it is certain that it is one of the two."""
    if frame not in ("body", "world"):
        raise InputError(f"There is no frame {frame!r}.", 'frames: "body", "world"', remedy='frame="body".')
    return frame
