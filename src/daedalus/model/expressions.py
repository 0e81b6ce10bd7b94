"""From what users write (symbols, numbers, lists, NumPy arrays) to CasADi columns, with mistakes caught early."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca
import numpy as np

from daedalus.errors import ModelError

BOOL_REMEDY = 'the comma form m.equation(m.der(x), [v, -g]): left side, right side'


def as_expression(value: object, where: str) -> ca.SX:
    """A dense SX of what the user wrote; lists and 1-D arrays become columns.

    Raises a ModelError naming `where` for booleans, texts, MX, None and NaN.
    """
    if isinstance(value, ca.SX):
        return _no_nan(ca.densify(value), where)
    if isinstance(value, (bool, np.bool_)):
        raise ModelError(
            f"{where} is the Python value {bool(value)}, not an expression.",
            because="comparing a symbol with a Python list gives a plain True or False.",
            remedy=BOOL_REMEDY,
        )
    if isinstance(value, (int, float, np.integer, np.floating, ca.DM)):
        return _no_nan(ca.densify(ca.SX(value)), where)
    if isinstance(value, ca.MX):
        raise ModelError(
            f"{where} is an MX expression.",
            because="models are made of SX symbols.",
            remedy="write it with the symbols that the model returned",
        )
    if isinstance(value, np.ndarray):
        return _from_array(value, where)
    if isinstance(value, (list, tuple)):
        return _from_rows(value, where)
    raise ModelError(
        f"{where} is no expression.",
        f"got {type(value).__name__}: {value!r}"[:200],
        remedy="an expression in the model's symbols, a number, or a list of these",
    )


def _from_array(value: np.ndarray, where: str) -> ca.SX:
    if value.dtype != object:
        if not np.issubdtype(value.dtype, np.number):
            raise ModelError(f"{where} is an array of {value.dtype}, not of numbers.", remedy=BOOL_REMEDY)
        return _no_nan(ca.densify(ca.SX(ca.DM(value.astype(float)))), where)
    if value.ndim == 2:
        return ca.horzcat(*(_from_rows(list(column), where) for column in value.T))
    return _from_rows(list(value.reshape(-1)), where)


def _from_rows(rows: Iterable[object], where: str) -> ca.SX:
    parts = [as_expression(row, where) for row in rows]
    if not parts:
        raise ModelError(f"{where} is an empty list.")
    # A list of lists of scalars is a matrix, row by row.
    if all(isinstance(row, (list, tuple)) for row in rows) and len({part.shape for part in parts}) == 1:
        return ca.densify(ca.vertcat(*(part.T for part in parts)))
    if any(part.shape[1] != 1 for part in parts):
        raise ModelError(f"{where} mixes columns and matrices in one list.", remedy="flatten the matrices first")
    return ca.densify(ca.vertcat(*parts))


def _no_nan(expression: ca.SX, where: str) -> ca.SX:
    if expression.is_constant() and not ca.DM(expression).is_regular():
        raise ModelError(
            f"{where} contains NaN or infinity.",
            f"got {np.squeeze(ca.DM(expression).full()).tolist()}",
            because="math.sin(x), float(x) and writing a symbol into a float array turn symbols into NaN.",
            remedy="np.sin or casadi.sin, and lists instead of np.zeros",
        )
    return expression


def elements(expression: ca.SX) -> list[ca.SX]:
    """The scalar entries of a dense expression, column-major."""
    return list(expression.elements())


def column(expression: ca.SX) -> ca.SX:
    """The entries below each other, column by column."""
    return ca.densify(ca.vec(expression))


def symbol_key(scalar: ca.SX) -> int:
    """What identifies a scalar symbol while it is alive (CasADi vectors are not hashable)."""
    return int(scalar.element_hash())


def concatenate(parts: Iterable[ca.SX]) -> ca.SX:
    """All entries of all parts in one dense column; an empty column when there are none."""
    flat = [column(part) for part in parts]
    return ca.vertcat(*flat) if flat else ca.SX(0, 1)


def split_equalities(expression: ca.SX) -> tuple[list[ca.SX], bool]:
    """Turn each `a == b` entry into `a - b`; other entries stay. Also says whether any equality was found."""
    residuals, found = [], False
    for entry in elements(expression):
        if not entry.is_constant() and not entry.is_symbolic() and entry.op() == ca.OP_EQ:
            residuals.append(entry.dep(0) - entry.dep(1))
            found = True
        else:
            residuals.append(entry)
    return residuals, found


def is_inequality(entry: ca.SX) -> bool:
    """Whether an entry is the outcome of <, <= or != rather than a quantity."""
    return not entry.is_constant() and not entry.is_symbolic() and entry.op() in (ca.OP_LT, ca.OP_LE, ca.OP_NE)


def nan_constants(expression: ca.SX) -> list[int]:
    """The rows of a column in which the number NaN stands somewhere inside."""
    symbols = ca.vertcat(*ca.symvar(expression))
    function = ca.Function("probe", [symbols], [expression])
    # A NaN constant makes the value NaN almost everywhere: only such rows are worth a look at every constant.
    suspects = np.flatnonzero(np.isnan(function(0.7).full().ravel()))
    return [int(row) for row in suspects if _contains_nan(expression[int(row)])]


def _contains_nan(entry: ca.SX) -> bool:
    function = ca.Function("probe", [ca.vertcat(*ca.symvar(entry))], [entry])
    return any(
        function.instruction_id(k) == ca.OP_CONST and np.isnan(function.instruction_constant(k))
        for k in range(function.n_instructions())
    )
