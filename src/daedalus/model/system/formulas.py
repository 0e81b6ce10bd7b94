"""Expressions as plain data: what files and pickles hold of them, from which nothing but arithmetic can be read.

Values are numbered: first the elements of the inputs (each by columns), then the constants, then one value for each
operation, which takes one or two values with smaller numbers. An output is a shape and the numbers of its elements.
Operations go by the words of a closed list, constants by hexadecimal digits, so that every bit comes back; shared parts
of expressions stay shared. Functions inside functions, which may stand for any code, have no place in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import elements
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError, read_instructions
from daedalus.model.system.plain_record import PlainRecord

# Of what is written; other versions are refused.
VERSION = 1

_ONE_OPERAND = (
    "assign", "neg", "sq", "twice", "inv", "sqrt", "fabs", "floor", "ceil", "not", "sign",
    "exp", "log", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfinv",
)  # fmt: skip
_TWO_OPERANDS = (
    "add", "sub", "mul", "div", "pow", "constpow", "fmod", "remainder", "atan2", "hypot", "copysign", "fmin", "fmax",
    "lt", "le", "eq", "ne", "and", "or", "if_else_zero", "lift",
)  # fmt: skip
# The closed list: the word of each operation with CasADi's number for it and its number of operands.
OPERATIONS: dict[str, tuple[int, int]] = {
    **{word: (getattr(ca, f"OP_{word.upper()}"), 1) for word in _ONE_OPERAND},
    **{word: (getattr(ca, f"OP_{word.upper()}"), 2) for word in _TWO_OPERANDS},
}
_WORDS = {number: word for word, (number, _) in OPERATIONS.items()}


def formulas_of(inputs: Sequence[ca.SX], expressions: Sequence[ca.SX]) -> dict[str, Any]:
    """Expressions in the symbols `inputs` as plain data; `expressions_of` is the inverse.

    Raises InputError, with its name, for an operation that is more than arithmetic.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> record = formulas_of([x], [ca.sin(x[0]) * 0.5])
    >>> record["words"], record["constants"], record["first"], record["second"]
    (['mul', 'sin'], ['0x1.0000000000000p-1'], [0, 2], [-1, 3])
    >>> y = ca.SX.sym("y", 2)
    >>> expressions_of(record, [y])
    [SX((0.5*sin(y_0)))]
    """
    dense = [ca.densify(expression) for expression in expressions]
    return formulas_of_function(ca.Function("formulas", list(inputs), dense), [e.shape for e in dense])


def formulas_of_function(f: ca.Function, shapes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """The nonzeros of the outputs of an SX function as plain data, laid out in `shapes`."""
    try:
        rows = read_instructions(f)
        unknown = sorted({number for number in set(rows.operation) if number not in _WORDS} - _ENDS)
        if unknown:
            raise UnknownOperationError.named(unknown)
    except UnknownOperationError as error:
        what = f"it contains {', '.join(error.operations)}" if error.operations else f"it is a {f.class_name()}"
        raise InputError(
            "A formula cannot be saved.",
            what,
            because="files and pickles contain arithmetic only; a function inside a formula could run any code.",
            remedy="write it with the operations of casadi.SX, without calls of other functions",
        ) from error
    return _numbered(rows, shapes)


_ENDS = {ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT}


def _numbered(rows: Instructions, shapes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """The rows of an instruction list with values numbered as the head of this file says."""
    columns = (rows.operation, rows.first, rows.second, rows.slot)
    operation, first, second, slot = (np.array(column, dtype=np.int64) for column in columns)
    offsets = np.concatenate([[0], np.cumsum(rows.size_in)]).astype(np.int64)
    is_input, is_constant = operation == ca.OP_INPUT, operation == ca.OP_CONST
    is_output = operation == ca.OP_OUTPUT
    inner = ~(is_input | is_constant | is_output)
    value = np.full(len(rows), -1, dtype=np.int64)
    value[is_input] = offsets[first[is_input]] + second[is_input]
    value[is_constant] = offsets[-1] + first[is_constant]
    value[inner] = offsets[-1] + len(rows.constants) + np.arange(np.count_nonzero(inner))
    numbers, place = np.unique(operation[inner], return_inverse=True)
    ends = [np.zeros(size, dtype=np.int64) for size in rows.size_out]
    for output, nonzero, source in zip(second[is_output], slot[is_output], first[is_output]):
        ends[output][nonzero] = value[source]
    return {
        "version": VERSION,
        "inputs": list(rows.size_in),
        "constants": [constant.hex() for constant in rows.constants],
        "words": [_WORDS[int(number)] for number in numbers],
        "operation": place.tolist(),
        "first": value[first[inner]].tolist(),
        "second": np.where(second[inner] >= 0, value[second[inner]], -1).tolist(),
        "outputs": [{"shape": list(shape), "values": end.tolist()} for shape, end in zip(shapes, ends)],
    }


def expressions_of(record: Mapping[str, Any], inputs: Sequence[ca.SX]) -> list[ca.SX]:
    """The expressions of `formulas_of` in other symbols; InputError where the record does not hold together."""
    return read_expressions(PlainRecord(record, "formulas"), inputs)


def read_expressions(record: PlainRecord, inputs: Sequence[ca.SX]) -> list[ca.SX]:
    """The expressions of a record that comes from outside, every number in it checked before it is used."""
    if record.integer("version", 1, 2**31) != VERSION:
        raise record.misfit("version", str(VERSION), record.entry("version"))
    record.only(("version", "inputs", "constants", "words", "operation", "first", "second", "outputs"))
    sizes = [symbol.numel() for symbol in inputs]
    if record.integers("inputs", len(sizes)).tolist() != sizes:
        raise record.misfit("inputs", f"the sizes {sizes}"[:80], record.entry("inputs"))
    constants = _read_constants(record)
    rows = _read_operations(record, sum(sizes) + len(constants))
    values = [element for symbol in inputs for element in elements(symbol)]
    values += [ca.SX(constant) for constant in constants]
    total = len(values) + len(rows)
    shapes = [_read_shape(output) for output in record.parts("outputs")]
    ends = [
        output.integers("values", shape[0] * shape[1], below=total)
        for output, shape in zip(record.parts("outputs"), shapes)
    ]
    one, two = ca.SX.unary, ca.SX.binary
    for number, first, second in rows:
        values.append(one(number, values[first]) if second < 0 else two(number, values[first], values[second]))
    return [_laid_out([values[k] for k in end], shape) for end, shape in zip(ends, shapes)]


def _read_constants(record: PlainRecord) -> list[float]:
    try:
        return [float.fromhex(digits) for digits in record.texts("constants")]
    except (ValueError, OverflowError) as error:
        raise record.misfit("constants", "numbers in hexadecimal digits", str(error)) from error


def _read_operations(record: PlainRecord, given: int) -> list[tuple[int, int, int]]:
    """(CasADi's number, first operand, second operand or -1) of every operation, behind `given` values."""
    words = record.texts("words", distinct=True)
    for word in words:
        if word not in OPERATIONS:
            raise record.misfit("words", "operations of arithmetic", word)
    place = record.integers("operation", below=len(words))
    count = len(place)
    first = record.integers("first", count, below=given + count)
    second = record.integers("second", count, lowest=-1, below=given + count)
    numbers, operands = np.array([OPERATIONS[word] for word in words], dtype=np.int64).reshape(-1, 2)[place].T
    late = (np.maximum(first, second) >= given + np.arange(count)) | ((second >= 0) != (operands == 2))
    if late.any():
        k = int(np.flatnonzero(late)[0])
        raise record.misfit(
            f"operation[{k}]",
            f"{words[place[k]]} of {int(operands[k])} earlier values",
            [int(first[k]), int(second[k])],
        )
    return list(zip(numbers.tolist(), first.tolist(), second.tolist()))


def _read_shape(output: PlainRecord) -> tuple[int, int]:
    rows, columns = output.only(("shape", "values")).integers("shape", 2).tolist()
    return rows, columns


def _laid_out(values: list[ca.SX], shape: tuple[int, int]) -> ca.SX:
    return ca.reshape(ca.vertcat(*values), *shape) if values else ca.SX(*shape)
