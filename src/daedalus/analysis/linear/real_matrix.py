"""Matrices as users give them: checked for shape and finite numbers, then read-only."""

from __future__ import annotations

import numpy as np

from daedalus.errors import InputError


def matrix(values: object, name: str, rows: int | None = None, columns: int | None = None) -> np.ndarray:
    """A read-only real matrix of the wanted size; a column or a row may be given as a list of numbers.

    Example
    -------
    >>> matrix([1, 2], "B", rows=2).tolist()
    [[1.0], [2.0]]
    """
    try:
        array = np.array(values.toarray() if hasattr(values, "toarray") else values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"The matrix {name} is not made of real numbers.", str(error)[:120]) from None
    if array.ndim == 0:
        array = array.reshape(1, 1)
    if array.ndim == 1:
        array = array.reshape(-1, 1) if rows != 1 and (columns == 1 or rows == len(array)) else array.reshape(1, -1)
    if array.ndim != 2 or rows not in (None, array.shape[0]) or columns not in (None, array.shape[1]):
        got = " × ".join(map(str, np.shape(np.asarray(values))))
        wanted = f"{'any' if rows is None else rows} × {'any' if columns is None else columns}"
        raise InputError(f"The matrix {name} has the wrong shape.", f"it is {got}, it should be {wanted}")
    if not np.all(np.isfinite(array)):
        row, column = (int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"The matrix {name} contains NaN or infinity.", f"{name}[{row},{column}] is {array[row, column]}"
        )
    array.setflags(write=False)
    return array
