"""From what users write (symbols, numbers, lists, NumPy arrays) to CasADi columns, with mistakes caught early."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, TypeGuard, TypeVar, cast

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.names import Shape, matrix_of_shape
from daedalus.model.system.casadi_instructions.instruction_columns import instruction_columns

Made = TypeVar("Made")
EQUATION_REMEDY = "the comma form m.equation(m.der(x), [v, -g]): left side, right side"
EXPRESSION_REMEDY = "an expression in the model's symbols, a number, or a list of these"
# From here on instructions are read all at once.
MANY_INSTRUCTIONS = 2000
# What operations do that are not smooth: they compare, combine, count in whole steps, bend; and their names.
COMPARISONS = {ca.OP_LT: "<", ca.OP_LE: "<=", ca.OP_EQ: "==", ca.OP_NE: "!="}
LOGICAL = {ca.OP_AND: "and", ca.OP_OR: "or", ca.OP_NOT: "not"}
STAIRS = {ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_FMOD: "fmod", ca.OP_REMAINDER: "remainder"}
BENDS = {ca.OP_FABS: "fabs", ca.OP_FMIN: "fmin", ca.OP_FMAX: "fmax"}
# The angle of a point, which jumps by a whole turn where the point crosses the negative x axis.
CUT = {ca.OP_ATAN2: "atan2"}
# Those with two or three values, which change where operands pass each other or zero.
CONDITIONS = frozenset((ca.OP_LT, ca.OP_LE, ca.OP_SIGN))
_NAN_CAUSE = "math.sin(x), float(x) and writing a symbol into a float array turn symbols into NaN."
_NAN_REMEDY = "np.sin or casadi.sin, and lists instead of np.zeros"


def as_expression(value: object, where: str, remedy: str = EXPRESSION_REMEDY) -> ca.SX:
    """A dense SX of what the user wrote; lists and 1-D arrays become columns.

    Raises a ModelError naming `where` for booleans (with `remedy`), texts, MX, None, NaN and what is empty.
    """
    expression = _convert(value, where, remedy)
    if expression.numel() == 0:
        raise ModelError(f"{where} is empty.", f"got {value!r}"[:200], because="it has no entries.", remedy=remedy)
    if expression.is_constant() and not ca.DM(expression).is_regular():
        raise ModelError(
            f"{where} contains NaN or infinity.",
            f"got {np.squeeze(ca.DM(expression).full()).tolist()}",
            because=_NAN_CAUSE,
            remedy=_NAN_REMEDY,
        )
    return expression


def _convert(value: object, where: str, remedy: str) -> ca.SX:
    if isinstance(value, ca.SX):
        # A copy, for somebody may write into what he passed; densify searches for the overload that fits.
        return +value if value.is_dense() else ca.densify(value)
    if isinstance(value, (bool, np.bool_)):
        raise ModelError(
            f"{where} is the Python value {bool(value)}, not an expression.",
            because="comparing a symbol with a Python list gives a plain True or False.",
            remedy=remedy,
        )
    if isinstance(value, (numbers.Real, ca.DM)):
        return ca.densify(ca.SX(value if isinstance(value, ca.DM) else float(value)))
    if isinstance(value, ca.MX):
        raise ModelError(
            f"{where} is an MX expression.",
            because="models are made of SX symbols.",
            remedy="write it with the symbols that the model returned",
        )
    if isinstance(value, np.ndarray):
        return _from_array(value, where, remedy)
    if isinstance(value, (list, tuple)):
        if value and all(type(item) in (float, int) for item in value):
            return ca.SX(ca.DM([float(item) for item in value]))
        return _from_rows(value, where, remedy)
    raise ModelError(
        f"{where} is not an expression.",
        f"got {described(value)}",
        because="only symbols and numbers can be computed with.",
        remedy=EXPRESSION_REMEDY,
    )


# Variables with three axes: NumPy arrays of symbols outside, matrices inside, since CasADi knows no more than these. A
# field u[i, j, k] has the columns j + J k, in whose order its elements stand anyway.


class SymbolArray(np.ndarray):
    """An object array of symbols that also computes with symbols beside it, such as a parameter.

    Example
    -------
    >>> import casadi as ca
    >>> u = array_of(ca.SX.sym("u", 2), (2, 1, 1))
    >>> (ca.SX.sym("k") * u / 2)[0, 0, 0]
    SX(((k*u_0)/2))
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            options["out"] = tuple(np.asarray(one) for one in options["out"])
        result = getattr(ufunc, method)(*map(_operand, inputs), **options)
        return result.view(SymbolArray) if isinstance(result, np.ndarray) else result


def _operand(value: object) -> object:
    """What NumPy computes with: arrays as they are, columns of symbols and matrices as arrays of one and two axes."""
    if not isinstance(value, (ca.SX, ca.DM)):
        return np.asarray(value)
    shape = () if value.numel() == 1 else value.shape[:1] if value.shape[1] == 1 else value.shape
    return np.asarray(array_of(ca.densify(ca.SX(value)), shape))


def array_of(symbol: ca.SX, shape: tuple[int, ...]) -> SymbolArray:
    """The entries of a dense expression as an array; those along the first axis follow each other."""
    flat = np.empty(symbol.numel(), dtype=object)
    flat[:] = symbol.elements()
    return flat.reshape(shape, order="F").view(SymbolArray)


def as_written(symbol: ca.SX, shape: Shape) -> ca.SX:
    """The array of a symbol with three axes, which is computed with in the same way; any other symbol as it is.

    Example
    -------
    >>> import casadi as ca
    >>> as_written(ca.SX.sym("u", 2, 6), (2, 3, 2)).shape, as_written(ca.SX.sym("v", 4), (4,)).shape
    ((2, 3, 2), (4, 1))
    """
    return cast(ca.SX, array_of(symbol, shape)) if len(shape) == 3 else symbol


def has_three_axes(value: object) -> TypeGuard[np.ndarray]:
    """Whether a value is an array of three axes, of symbols or numbers."""
    return isinstance(value, np.ndarray) and value.ndim == 3


def as_matrix(value: object) -> Any:
    """An array of three axes as the matrix that stands for it inside; anything else as it is.

    Example
    -------
    >>> import numpy as np
    >>> as_matrix(np.arange(8.0).reshape(2, 2, 2)).shape, as_matrix(1.0)
    ((2, 4), 1.0)
    """
    if not isinstance(value, np.ndarray) or value.ndim != 3 or not value.size:
        return value
    flat = value.ravel(order="F")
    if value.dtype != object:
        return flat.reshape(matrix_of_shape(value.shape), order="F")
    return ca.reshape(ca.vertcat(*flat.tolist()), *matrix_of_shape(value.shape))


def sides_of_arrays(left: object, right: object, where: str) -> tuple[Any, Any]:
    """The sides of an equation with arrays of three axes as matrices; a side without axes fills the other one.

    Raises a ModelError for arrays of different shape.
    """
    shapes = [np.shape(cast(Any, side)) for side in (left, right) if side is not ...]
    if len({shape for shape in shapes if shape not in ((), (1, 1))}) > 1:
        raise ModelError(
            f"The two sides of {where[:1].lower()}{where[1:]} have different shapes.",
            f"left {shapes[0]}, right {shapes[1]}",
            because="each component of the left side equals one of the right side.",
            remedy="arrays of one shape, or a single value on one side",
        )
    return as_matrix(left), as_matrix(right)


def nonzeros(matrix: ca.SX) -> ca.SX:
    """The entries that are not zero by structure, as a column; CasADi gives a row for a matrix of one row.

    Example
    -------
    >>> import casadi as ca
    >>> nonzeros(ca.SX.sym("a", 1, 3)).shape, nonzeros(ca.SX(1, 4)).shape
    ((3, 1), (0, 1))
    """
    return ca.vec(ca.SX(matrix.nz[:]))


def described(value: object) -> str:
    """A wrong value in a few words; expressions inside it are not shown in CasADi's own names."""
    text = repr(value)
    kind = type(value).__name__
    return kind if any(mark in text for mark in ("SX(", "MX(")) else f"{kind}: {text}"[:120]


def _from_array(value: np.ndarray, where: str, remedy: str) -> ca.SX:
    if value.ndim > 2:
        raise ModelError(
            f"{where} is an array with {value.ndim} axes.",
            f"its shape is {value.shape}",
            because="only equations, der and resets of states take three axes; others are columns and matrices.",
            remedy="one slice, or a single number such as np.sum(...)",
        )
    if value.dtype != object:
        if not np.issubdtype(value.dtype, np.number) or np.iscomplexobj(value):
            raise ModelError(
                f"{where} is an array of {value.dtype}, not of real numbers.",
                because="only symbols and real numbers can be computed with.",
                remedy=remedy,
            )
        return ca.densify(ca.SX(ca.DM(value.astype(float))))
    if value.ndim == 2 and value.size:
        return ca.horzcat(*(_from_rows(list(entries), where, remedy) for entries in value.T))
    return _from_rows(list(value.reshape(-1)), where, remedy)


def _from_rows(rows: Sequence[object], where: str, remedy: str) -> ca.SX:
    parts = [as_expression(row, where, remedy) for row in rows]
    if not parts:
        return ca.SX(0, 1)
    # A list of lists of scalars is a matrix, row by row.
    if all(isinstance(row, (list, tuple)) for row in rows):
        if len({part.shape for part in parts}) != 1:
            raise ModelError(
                f"{where} has rows of different length.",
                f"the rows have {', '.join(str(part.numel()) for part in parts[:8])} entries",
                because="a list of lists is a matrix, row by row.",
                remedy="rows of one length, or one flat list",
            )
        return ca.densify(ca.vertcat(*(part.T for part in parts)))
    if any(part.shape[1] != 1 for part in parts):
        raise ModelError(
            f"{where} mixes columns and matrices in one list.",
            f"the parts have the shapes {', '.join(str(part.shape) for part in parts[:8])}",
            because="a list stacks columns.",
            remedy="casadi.vec(R), which stacks the columns of R, or one call each",
        )
    return ca.densify(ca.vertcat(*parts))


def elements(expression: ca.SX) -> list[ca.SX]:
    """The scalar entries of a dense expression, column-major."""
    return list(expression.elements())  # type: ignore[arg-type]


def column(expression: ca.SX) -> ca.SX:
    """The entries below each other, column by column."""
    return expression if expression.is_column() and expression.is_dense() else ca.densify(ca.vec(expression))


def dense(expression: ca.SX) -> ca.SX:
    """The expression without gaps; itself where it has none, which is quick to see."""
    return expression if expression.is_dense() else ca.densify(expression)


def symbol_key(scalar: ca.SX) -> int:
    """What identifies a scalar symbol while it is alive (CasADi vectors are not hashable)."""
    return int(scalar.element_hash())


def combined(operation: int, left: ca.SX, right: ca.SX) -> ca.SX:
    """Two scalars under an operation such as `ca.OP_ADD`: for loops over thousands of them.

    Operators search for the overload of CasADi that fits, which takes seven times as long as the operation.
    """
    return ca.SX.binary(operation, left, right)


def concatenate(parts: Iterable[ca.SX]) -> ca.SX:
    """All entries of all parts in one dense column; an empty column when there are none."""
    flat = list(parts)
    if len(flat) == 1 and isinstance(flat[0], ca.SX):
        return column(+flat[0])
    return dense(ca.veccat(*flat)) if flat else ca.SX(0, 1)


def folded(expression: ca.SX, known: dict[int, Made], make: Callable[[ca.SX, list[ca.SX]], Made]) -> Made:
    """What `make` gives for a scalar expression and its operands: operands first and every node once, in no recursion.

    known: what was made before, by `symbol_key`; keys are valid while their nodes live.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> depth: dict[int, int] = {}
    >>> folded(ca.sin(x) + x, depth, lambda node, parts: 1 + max((depth[symbol_key(p)] for p in parts), default=0))
    3
    """
    waiting = [expression]
    while waiting:
        node = waiting[-1]
        if symbol_key(node) in known:
            waiting.pop()
            continue
        operands = [node.dep(k) for k in range(node.n_dep())]
        missing = [operand for operand in operands if symbol_key(operand) not in known]
        if missing:
            waiting += missing
        else:
            known[symbol_key(node)] = make(node, operands)
    return known[symbol_key(expression)]


def divided(column: ca.SX, like: Iterable[ca.SX]) -> list[ca.SX]:
    """Expressions in the shapes of others from one column of all their entries, as `concatenate` makes it."""
    shapes = [expression.shape for expression in like]
    ends = np.cumsum([0, *(rows * columns for rows, columns in shapes)]).tolist()
    return [ca.reshape(column[a:b], *shape) for shape, a, b in zip(shapes, ends, ends[1:])]


def plain_shape(expression: ca.SX) -> tuple[int, ...]:
    """The shape of an expression as users write it: () of a scalar, one number of a column."""
    rows, columns = expression.shape
    return () if rows == columns == 1 else (rows,) if columns == 1 else (rows, columns)


def contains(function: ca.Function, operations: Container[int]) -> bool:
    """Whether one of some operations stands in the expressions of a function."""
    count = function.n_instructions()
    columns = instruction_columns(function) if count >= MANY_INSTRUCTIONS else None
    if columns is not None:
        return any(map(operations.__contains__, np.unique(columns[0]).tolist()))
    return any(map(operations.__contains__, map(function.instruction_id, range(count))))


def at_values(expression: ca.SX, value_of: Callable[[ca.SX], float]) -> ca.DM:
    """An expression in numbers, with a value for each of its symbols."""
    symbols = ca.symvar(expression)
    function = ca.Function("numbers", [concatenate(symbols)], [expression])
    return ca.DM(function(np.array([value_of(symbol) for symbol in symbols])))


def split_equalities(expression: ca.SX) -> tuple[list[ca.SX], bool]:
    """Turn each `a == b` entry into `a - b`; other entries stay. Also says whether any equality was found."""
    residuals, found = elements(expression), False
    for k, entry in enumerate(residuals):
        if entry.is_op(ca.OP_EQ):
            residuals[k] = combined(ca.OP_SUB, entry.dep(0), entry.dep(1))
            found = True
    return residuals, found


def operation(entry: ca.SX) -> int | None:
    """The operation at the root of an entry, or None for symbols and numbers."""
    return int(entry.op()) if entry.n_dep() else None


def is_inequality(entry: ca.SX) -> bool:
    """Whether an entry is the outcome of <, <= or != rather than a quantity."""
    return operation(entry) in (ca.OP_LT, ca.OP_LE, ca.OP_NE)


def is_logical(entry: ca.SX) -> bool:
    """Whether an entry is the outcome of and, or, not."""
    return operation(entry) in LOGICAL


def has_nan(expression: ca.SX) -> bool:
    """Whether the number NaN stands somewhere inside, also where a run would not meet it at once."""
    if expression.is_valid_input():
        return False  # symbols only
    if expression.is_scalar():
        parts = [expression.dep(k) for k in range(expression.n_dep())]
        if not any(part.n_dep() for part in parts):
            return any(part.is_constant() and np.isnan(float(part)) for part in parts or [expression])
    function = ca.Function("probe", [concatenate(ca.symvar(expression))], [expression])
    count = function.n_instructions()
    columns = instruction_columns(function) if count >= MANY_INSTRUCTIONS else None
    if columns is not None:
        return bool(np.isnan(columns[4][columns[0] == ca.OP_CONST]).any())
    return any(
        function.instruction_id(k) == ca.OP_CONST and np.isnan(function.instruction_constant(k)) for k in range(count)
    )


def nan_inside(where: str) -> ModelError:
    """The error for an expression in which a NaN stands."""
    return ModelError(f"{where} contains the constant NaN.", because=_NAN_CAUSE, remedy=_NAN_REMEDY)
