"""One arithmetic for numbers and symbols, so that a formula is written once and serves NumPy arrays and CasADi alike.

A formula here is written on components. For numbers a component is an array over the batch (the leading dimensions),
for symbols it is a scalar `SX` or `MX`:

    x, y, z = components(read_vector(value, 3, "vector"))
    build_matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])

Two traps are dealt with here. Converting a CasADi symbol to a float array gives NaN in silence, so symbols are looked
for first. And `where` evaluates both branches, in NumPy and in CasADi, so roots and quotients are only ever taken of
arguments that another `where` made safe: no NaN arises that a product with zero could carry into a derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import numpy.typing as npt

from daedalus.errors import InputError

# What a caller may hand in, and what a caller gets back: numbers give an ndarray, symbols give an SX or MX.
Given: TypeAlias = "npt.ArrayLike | ca.SX | ca.MX | ca.DM"
ArrayOrSymbol: TypeAlias = Any

SYMBOLS = (ca.SX, ca.MX)

# Squares below this are treated as zero: the square of anything smaller than 1e-150 has lost its digits.
TINY_SQUARE = 1e-300


def is_symbol(value: object) -> bool:
    """Whether a value is symbolic: a CasADi symbol, or a list or array that holds one.

    Example
    -------
    >>> import casadi
    >>> from daedalus.geometry.array_or_symbol import is_symbol
    >>> is_symbol([casadi.SX.sym("x"), 0.0]), is_symbol([1.0, 0.0])
    (True, False)
    """
    if isinstance(value, SYMBOLS):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(is_symbol(item) for item in value.flat)
    return isinstance(value, (list, tuple)) and any(is_symbol(item) for item in value)


def read_scalar(value: Given, name: str) -> ArrayOrSymbol:
    """The value as a scalar: a float array of the batch's shape, or a 1×1 symbol."""
    return _read(value, (), name)


def read_vector(value: Given, size: int, name: str) -> ArrayOrSymbol:
    """The value as a vector: a float array (..., size), or a size×1 symbol."""
    return _read(value, (size,), name)


def read_matrix(value: Given, rows: int, columns: int, name: str) -> ArrayOrSymbol:
    """The value as a matrix: a float array (..., rows, columns), or a rows×columns symbol."""
    return _read(value, (rows, columns), name)


# Units that quantities are converted to, by what they are; the name of a part may follow.
UNITS = {
    "mass": "kg", "inertia": "kg*m^2", "moment of inertia": "kg*m^2", "product of inertia": "kg*m^2",
    **dict.fromkeys(("side", "sides", "radius", "inner radius", "length", "offset", "position", "point"), "m"),
    **dict.fromkeys(("velocity", "relative velocity"), "m/s"), "angular velocity": "rad/s", "angle": "rad",
    "rpy": "rad", "zyz": "rad", "rotation vector": "rad",
    **dict.fromkeys(("acceleration", "relative acceleration"), "m/s^2"), "angular acceleration": "rad/s^2",
}  # fmt: skip


def _converted(value: Any, name: str) -> Any:
    """The number of a quantity with a unit, as Pint gives it, in the unit of what it is."""
    unit = UNITS.get(name.split(" of part")[0], "dimensionless")
    try:
        return value.m_as(unit)
    except Exception as error:
        raise InputError(
            f"The {name} is in {unit}, and is given a value in {value.units}.",
            str(error).splitlines()[0],
            because="the two are not units of the same quantity.",
            remedy=f"a value that can be converted to {unit}, or a plain number",
        ) from error


def _read(value: Given, shape: tuple[int, ...], name: str) -> ArrayOrSymbol:
    if hasattr(value, "m_as"):
        value = _converted(value, name)
    if is_symbol(value):
        symbol = _as_symbol(value)
        wanted = (*shape, 1, 1)[:2]
        if symbol.shape != wanted:
            raise _wrong_shape(name, symbol.shape, wanted)
        return symbol
    # A column of CasADi numbers is a vector here, as a column of symbols is.
    if isinstance(value, ca.DM):
        value = np.squeeze(value.full(), axis=tuple(i for i in range(len(shape), 2) if value.shape[i] == 1))
    try:
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "iuf":
            raise ValueError(f"it holds {numbers.dtype.name} values")
    except ValueError as reason:
        raise InputError(
            f"The {name} is not an array of real numbers.",
            f"got {value!r}"[:120],
            because=f"{reason}.",
            remedy="numbers, or a CasADi symbol.",
        ) from None
    if len(shape) > 0 and numbers.shape[-len(shape) :] != shape:
        raise _wrong_shape(name, numbers.shape, shape)
    return numbers.astype(float)[()]


def _as_symbol(value: Any) -> ArrayOrSymbol:
    if isinstance(value, SYMBOLS):
        return value
    if any(isinstance(row, (list, tuple)) or (isinstance(row, np.ndarray) and row.ndim > 0) for row in value):
        return ca.vertcat(*(ca.horzcat(*row) for row in value))
    return ca.vertcat(*value)


def _wrong_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> InputError:
    return InputError(
        f"The {name} has the wrong shape.",
        f"found {_times(found)}, wanted {_times(wanted)} (arrays of numbers may have more dimensions in front)",
        because="its entries are numbered by place.",
        remedy=f"give the {name} as {_times(wanted)}.",
    )


def _times(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) if shape else "one number"


def components(value: ArrayOrSymbol) -> tuple[ArrayOrSymbol, ...]:
    """The components of a vector, each a scalar symbol or an array over the batch."""
    if isinstance(value, SYMBOLS):
        return tuple(value[i] for i in range(value.shape[0]))
    return tuple(value[..., i] for i in range(value.shape[-1]))


def entries(value: ArrayOrSymbol) -> tuple[tuple[ArrayOrSymbol, ...], ...]:
    """The entries of a matrix, row by row, each a scalar symbol or an array over the batch."""
    if isinstance(value, SYMBOLS):
        return tuple(tuple(value[i, j] for j in range(value.shape[1])) for i in range(value.shape[0]))
    return tuple(tuple(value[..., i, j] for j in range(value.shape[-1])) for i in range(value.shape[-2]))


def build_vector(parts: Sequence[ArrayOrSymbol]) -> ArrayOrSymbol:
    """The vector with these components: (..., n) for numbers, a column for symbols."""
    if any(isinstance(part, SYMBOLS) for part in parts):
        return ca.vertcat(*(scalar(part) for part in parts))
    return np.stack(np.broadcast_arrays(*parts), axis=-1)


def build_matrix(rows: Sequence[Sequence[ArrayOrSymbol]]) -> ArrayOrSymbol:
    """The matrix with these rows of entries: (..., rows, columns) for numbers, a matrix for symbols."""
    flat = [part for row in rows for part in row]
    if any(isinstance(part, SYMBOLS) for part in flat):
        return ca.vertcat(*(ca.horzcat(*(scalar(part) for part in row)) for row in rows))
    stacked = np.stack(np.broadcast_arrays(*flat), axis=-1)
    return stacked.reshape((*stacked.shape[:-1], len(rows), len(rows[0])))


def scalar(value: ArrayOrSymbol) -> ArrayOrSymbol:
    """The value itself, once it is certain that no batch of numbers was mixed with a symbol."""
    if (isinstance(value, SYMBOLS) and value.shape != (1, 1)) or (
        not isinstance(value, SYMBOLS) and np.ndim(value) > 0
    ):
        raise InputError(
            "A batch of arrays cannot be combined with a symbol.",
            because="a symbol stands for one vector or one matrix, without leading dimensions.",
            remedy="call once for each member of the batch.",
        )
    return value


def sin(angle: ArrayOrSymbol) -> ArrayOrSymbol:
    """The sine."""
    return ca.sin(angle) if isinstance(angle, SYMBOLS) else np.sin(angle)


def cos(angle: ArrayOrSymbol) -> ArrayOrSymbol:
    """The cosine."""
    return ca.cos(angle) if isinstance(angle, SYMBOLS) else np.cos(angle)


def sqrt(value: ArrayOrSymbol) -> ArrayOrSymbol:
    """The square root; for an argument that may be zero see `root_of_square`."""
    return ca.sqrt(value) if isinstance(value, SYMBOLS) else np.sqrt(value)


def atan2(y: ArrayOrSymbol, x: ArrayOrSymbol) -> ArrayOrSymbol:
    """The angle of the point (x, y)."""
    if isinstance(y, SYMBOLS) or isinstance(x, SYMBOLS):
        return ca.atan2(y, x)
    return np.arctan2(y, x)


def where(condition: ArrayOrSymbol, yes: ArrayOrSymbol, no: ArrayOrSymbol) -> ArrayOrSymbol:
    """`yes` where the condition holds, else `no`; both are evaluated, so both need finite values and derivatives."""
    if isinstance(condition, SYMBOLS):
        return ca.if_else(condition, yes, no)
    if isinstance(yes, SYMBOLS) or isinstance(no, SYMBOLS):
        return yes if scalar(condition) else no
    chosen: Any = np.where(condition, yes, no)
    return chosen[()]


def root_of_square(square: ArrayOrSymbol) -> ArrayOrSymbol:
    """A length from its square; at zero the value is 0 and the derivative 0, one of the slopes of the kink there."""
    positive = square > TINY_SQUARE
    return where(positive, sqrt(where(positive, square, 1.0)), 0.0)


def dot(a: ArrayOrSymbol, b: ArrayOrSymbol) -> ArrayOrSymbol:
    """The inner product of two vectors."""
    return sum((x * y for x, y in zip(components(a), components(b))), start=0.0)


def cross(a: ArrayOrSymbol, b: ArrayOrSymbol) -> ArrayOrSymbol:
    """The vector product of two 3-vectors."""
    (a1, a2, a3), (b1, b2, b3) = components(a), components(b)
    return build_vector([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1])


def added(*values: ArrayOrSymbol) -> ArrayOrSymbol:
    """The sum of vectors, batch by batch."""
    return build_vector([sum(parts[1:], start=parts[0]) for parts in zip(*map(components, values))])


def scaled(factor: ArrayOrSymbol, value: ArrayOrSymbol) -> ArrayOrSymbol:
    """A scalar times a vector, batch by batch."""
    return build_vector([factor * part for part in components(value)])


def apply(operator: ArrayOrSymbol, value: ArrayOrSymbol) -> ArrayOrSymbol:
    """A matrix times a vector, batch by batch."""
    return build_vector([sum((a * b for a, b in zip(row, components(value))), start=0.0) for row in entries(operator)])


def compose(left: ArrayOrSymbol, right: ArrayOrSymbol) -> ArrayOrSymbol:
    """A matrix times a matrix, batch by batch."""
    if isinstance(left, SYMBOLS) or isinstance(right, SYMBOLS):
        columns = tuple(zip(*entries(right)))
        return build_matrix(
            [[sum((a * b for a, b in zip(row, column)), start=0.0) for column in columns] for row in entries(left)]
        )
    return left @ right


def transpose(value: ArrayOrSymbol) -> ArrayOrSymbol:
    """A matrix turned over its diagonal."""
    return value.T if isinstance(value, SYMBOLS) else np.swapaxes(value, -1, -2)


def solve(operator: ArrayOrSymbol, value: ArrayOrSymbol) -> ArrayOrSymbol:
    """The vector that the matrix maps to this one."""
    if isinstance(operator, SYMBOLS) or isinstance(value, SYMBOLS):
        for side, dimensions in ((operator, 2), (value, 1)):
            if not isinstance(side, SYMBOLS) and side.ndim > dimensions:
                scalar(side)
        kind: Any = type(operator) if isinstance(operator, SYMBOLS) else type(value)
        return ca.solve(kind(operator), kind(value))
    return np.linalg.solve(operator, value[..., None])[..., 0]
