"""Whether a real body can have an inertia tensor: symmetric, positive definite, moments that form a triangle."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import ArrayOrSymbol, Given, is_symbol, read_matrix


def principal(inertia: Given) -> tuple[np.ndarray, np.ndarray]:
    """The principal moments, smallest first, and the rotation from the principal frame to the body frame; numbers only.

    Parameters
    ----------
    inertia: (..., 3, 3) symmetric numbers, kg m².

    Example
    -------
    >>> import daedalus as dd
    >>> moments, axes = dd.inertia.principal(dd.inertia.tensor(2.0, 2.0, 5.0, xy=0.5))
    >>> moments.round(12), dd.is_rotation(axes)
    (array([1.5, 2.5, 5. ]), True)
    """
    if is_symbol(inertia):
        raise InputError("Principal moments are found for numbers only.", remedy="a matrix of numbers.")
    moments, axes = np.linalg.eigh(read_matrix(inertia, 3, 3, "inertia"))
    axes[..., :, 2] *= np.linalg.det(axes)[..., None]
    return moments, axes


def check(inertia: Given, part: str = "the body", spins: bool = True) -> ArrayOrSymbol:
    """Return the inertia as a 3×3 matrix, after checking that a rigid body can have it.

    A real body has a symmetric tensor with positive principal moments, the largest at most the sum of the other two.

    Parameters
    ----------
    inertia: 3×3 numbers or symbol. Symbols without a value are checked for their shape only.
    part: the name to use in errors.
    spins: False allows principal moments of zero, as of a thin rod or a point mass, for a body that cannot turn freely.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.inertia.check(dd.inertia.tensor(1.0, 1.0, 3.0), "nacelle")
    Traceback (most recent call last):
    daedalus.errors.InputError: The inertia of nacelle is not that of a real body.
      principal moments 1, 1, 3 kg m²: 3 is more than 1 + 1
      Because every mass element adds at least as much to two of the moments together as to the third.
      Try: the tensor about the centre of mass, all entries in the same unit.
    """
    given = read_matrix(inertia, 3, 3, f"inertia of {part}")
    if is_symbol(given):
        if not given.is_constant():
            return given
        numbers = ca.evalf(given).full()
    else:
        numbers = given
    _check_symmetry(numbers, part)
    moments = np.linalg.eigvalsh(numbers).reshape(-1, 3)
    worst = int(np.argmax(moments[:, 2] - moments[:, 0] - moments[:, 1]))
    lowest = int(np.argmin(moments[:, 0]))
    # Rounding in the eigenvalues is of the size of the largest one.
    slack = 1e-9 * np.abs(moments).max()
    if moments[lowest, 0] <= slack if spins else moments[lowest, 0] < -slack:
        zero = abs(moments[lowest, 0]) <= slack
        raise InputError(
            f"The inertia of {part} is not positive definite.",
            f"principal moments {_list(moments[lowest], slack)} kg m²",
            because="nothing would resist the spin about one axis."
            if zero
            else "a moment of inertia is a sum of squares.",
            remedy="dd.inertia.rod(..., radius=...) gives a rod a thickness."
            if zero
            else "check the signs of the products.",
        )
    if moments[worst, 2] - moments[worst, 0] - moments[worst, 1] > slack:
        a, b, c = moments[worst]
        raise InputError(
            f"The inertia of {part} is not that of a real body.",
            f"principal moments {_list(moments[worst], slack)} kg m²: {c:.6g} is more than {a:.6g} + {b:.6g}",
            because="every mass element adds at least as much to two of the moments together as to the third.",
            remedy="the tensor about the centre of mass, all entries in the same unit.",
        )
    return given


def _check_symmetry(numbers: np.ndarray, part: str) -> None:
    """Refuse tensors that are not finite or not symmetric."""
    if not np.all(np.isfinite(numbers)):
        raise InputError(f"The inertia of {part} has entries that are not finite.", remedy="finite numbers, kg m².")
    defect = np.abs(numbers - np.swapaxes(numbers, -1, -2))
    if np.any(defect > 1e-9 * np.abs(numbers).max()):
        _, i, j = np.unravel_index(int(np.argmax(defect.reshape(-1, 3, 3))), (defect.size // 9, 3, 3))
        raise InputError(
            f"The inertia of {part} is not symmetric.",
            f"entries ({min(i, j)}, {max(i, j)}) and ({max(i, j)}, {min(i, j)}) differ by {defect.max():.3g} kg m²",
            remedy="dd.inertia.tensor(xx, yy, zz, xy, xz, yz).",
        )


def _list(moments: np.ndarray, slack: float) -> str:
    return ", ".join(f"{0.0 if abs(moment) <= slack else moment:.6g}" for moment in moments)
