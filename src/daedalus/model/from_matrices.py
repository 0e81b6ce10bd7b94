"""A model out of matrices: E x' = A x + B u, y = C x + D u, with E singular where it is a DAE."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError


def write_matrices(model: Any, E: object, A: object, B: object, C: object, D: object, start: object) -> None:
    """Declare x, u and y in an empty model and write the equations."""
    a = _matrix(A, "A")
    rows, columns = a.shape
    e = np.eye(rows, columns) if E is None else _matrix(E, "E", (rows, columns))
    x = model.state("x", columns if columns > 1 else (), start=start)
    right, b = ca.DM(a) @ x, None
    if B is not None:
        b = _matrix(B, "B", (rows, None))
        u = model.input("u", b.shape[1] if b.shape[1] > 1 else ())
        right = right + ca.DM(b) @ u
    model.equation(ca.DM(e) @ model.der(x), right, name="dynamics")
    if C is None and D is None:
        return
    c = np.eye(columns) if C is None else _matrix(C, "C", (None, columns))
    reading = ca.DM(c) @ x
    if D is not None:
        if b is None:
            raise _misfit("D", "there is no B, and so no input")
        reading = reading + ca.DM(_matrix(D, "D", (len(c), b.shape[1]))) @ u
    model.output("y", reading)


def _matrix(given: Any, name: str, shape: tuple[int | None, int | None] = (None, None)) -> np.ndarray:
    try:
        values = np.array(given.toarray() if hasattr(given, "toarray") else given, dtype=float)
    except (TypeError, ValueError):
        raise _misfit(name, "it is not made of real numbers") from None
    if values.ndim == 0:
        values = values.reshape(1, 1)
    if values.ndim == 1:
        # A list is a column where the height is known, and a row otherwise.
        values = values.reshape(-1, 1) if shape[0] not in (None, 1) else values.reshape(1, -1)
    fits = values.ndim == 2 and all(want in (None, got) for want, got in zip(shape, values.shape))
    if not fits:
        wanted = " × ".join("any" if n is None else str(n) for n in shape)
        raise _misfit(name, f"it is {' × '.join(map(str, values.shape))}, it should be {wanted}")
    if not np.all(np.isfinite(values)):
        raise _misfit(name, "it contains NaN or infinity")
    return values


def _misfit(name: str, fact: str) -> ModelError:
    return ModelError(
        f"The matrix {name} does not fit.",
        fact,
        because="E and A have a row for each equation and a column for each state, B a row for each equation, C a "
        "column for each state.",
        remedy="dd.Model.from_matrices(E, A, B, C, D) with E, A (n, n), B (n, nu), C (ny, n), D (ny, nu)",
    )
