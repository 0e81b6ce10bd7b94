"""An array of traced numbers that NumPy's functions accept, so that vectorised code leaves a formula behind.

A `TracedArray` is an object array; its elements are traced numbers or NumPy floats. NumPy's own code does the shapes
(slices, reshape, concatenate, dot, …); elementwise functions, selections and a few of `np.linalg` are answered here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements
from daedalus.tracing.traced_number import (
    FUNCTIONS,
    TracedNumber,
    is_symbolic,
    refuse,
    select,
    symbolic,
)

# NumPy computes these on object arrays with Python's operators, and knows their shapes best.
_NATIVE = {"add", "subtract", "multiply", "matmul", "vecdot", "matvec", "vecmat"}
# What changes the answer of an elementwise function or a reduction; the other options concern memory only.
_OPTIONS = {"axis", "keepdims", "axes", "initial"}
_NOT_GIVEN = np._NoValue
_KINDS = (np.dtype(float), np.dtype(object), np.dtype(bool))
# More points than this would make a formula longer than a look-up.
_MOST_POINTS = 100


class TracedArray(np.ndarray):
    """An object array whose elements are traced numbers and floats; made by `traced_array`."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        return apply_function(function, args, options)

    def astype(self, dtype: Any, *others: Any, **options: Any) -> Any:
        """A copy; floats stay traced, any other type of element needs the values."""
        return self.copy() if np.dtype(dtype) in (np.dtype(float), np.dtype(object)) else super().astype(dtype)

    def tobytes(self, *others: Any) -> Any:
        """Refused, as is every other way to the memory: it holds no numbers."""
        refuse("it reads the memory of an array")

    ctypes = data = __array_interface__ = __array_struct__ = property(tobytes)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_decide(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        # x[x < 0] = 0 with one value for all is a selection; other masks are decided element by element.
        is_mask = isinstance(key, np.ndarray) and key.dtype == object and key.shape == self.shape
        if is_mask and np.ndim(value) == 0:
            super().__setitem__(..., where(key, value, self))
        else:
            super().__setitem__(_decide(key), value)


def _decide(key: Any) -> Any:
    """An index with symbolic conditions made definite: each condition is a fork of the path."""
    if isinstance(key, tuple):
        return tuple(_decide(part) for part in key)
    if isinstance(key, np.ndarray) and key.dtype == object:
        if all(isinstance(element, (bool, np.bool_)) or _is_condition(element) for element in key.flat):
            return np.array([bool(element) for element in key.flat], dtype=bool).reshape(key.shape)
        refuse("it uses computed numbers as indices")
    return key


def _is_condition(element: Any) -> bool:
    return isinstance(element, TracedNumber) and element.condition


def as_objects(value: Any) -> np.ndarray:
    """Any number, list or array as a plain object array with NumPy floats where no symbol is involved."""
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray) if value.dtype == object else _boxed(value)
    if is_symbolic(value):
        box = np.empty((), dtype=object)
        box[()] = value if isinstance(value, TracedNumber) else TracedNumber(symbolic(value))
        return box
    made = np.array(unpacked(value))
    return made if made.dtype == object else _boxed(made)


def unpacked(value: Any) -> Any:
    """Nested lists with traced arrays as plain object arrays and CasADi scalars as traced numbers, for `np.array`."""
    if isinstance(value, (list, tuple)):
        return [unpacked(element) for element in value]
    if isinstance(value, TracedArray):
        return value.view(np.ndarray)
    if isinstance(value, (ca.SX, ca.DM)):
        return TracedNumber(symbolic(value)) if value.numel() == 1 else list(map(TracedNumber, elements(ca.SX(value))))
    return value


def _boxed(numbers: np.ndarray) -> np.ndarray:
    """Numbers as objects: NumPy floats, whose 1/0 is inf as in the original, or bools; complex ones are refused."""
    if np.iscomplexobj(numbers):
        refuse("it computes with complex numbers")
    if numbers.dtype.kind not in "fiub":
        refuse(f"it computes with elements of type {numbers.dtype}")
    boxed = np.empty(numbers.shape, dtype=object)
    kind = np.bool_ if numbers.dtype.kind == "b" else np.float64
    flat = boxed.reshape(-1)
    for i, number in enumerate(numbers.reshape(-1)):
        flat[i] = kind(number)
    return boxed


def traced_array(value: Any) -> Any:
    """An array of any kind as a `TracedArray`; a scalar stays a scalar."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()] if value.dtype != object else value.item()
    return value.view(TracedArray) if isinstance(value, np.ndarray) and value.dtype == object else value


def with_symbols(values: Any) -> bool:
    """Whether a symbol hides anywhere in nested lists, tuples and arrays."""
    if isinstance(values, np.ndarray):
        return values.dtype == object and any(is_symbolic(element) for element in values.flat)
    if isinstance(values, (list, tuple)):
        return any(with_symbols(element) for element in values)
    return is_symbolic(values)


def _numbers(values: Any) -> Any:
    """The same nested structure with object arrays of plain numbers turned into float arrays."""
    if isinstance(values, TracedArray):
        kind = bool if all(isinstance(element, (bool, np.bool_)) for element in values.flat) and values.size else float
        return np.array(values.view(np.ndarray), dtype=kind)
    if isinstance(values, (list, tuple)):
        return type(values)(_numbers(element) for element in values)
    return values


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a NumPy elementwise function or its reduction gives on traced arrays and numbers."""
    out = options.pop("out", None)
    kind = options.pop("dtype", None)
    if options.pop("where", True) is not True or (kind is not None and np.dtype(kind) not in _KINDS):
        refuse(f"np.{ufunc.__name__} with where= or another dtype needs numbers")
    options = {key: value for key, value in options.items() if key in _OPTIONS and value is not _NOT_GIVEN}
    if method == "at":
        return _apply_at(ufunc, inputs)
    if not any(with_symbols(value) for value in inputs):
        result = getattr(ufunc, method)(*[_numbers(value) for value in inputs], **options)
        result = _boxed(result) if isinstance(result, np.ndarray) and result.dtype.kind in "fb" else result
    else:
        result = _compute(ufunc, method, [as_objects(value) for value in inputs], options)
    if out is None:
        return traced_array(result)
    target = out[0] if isinstance(out, tuple) else out
    if target.dtype != object:
        refuse("it writes into an array of floats that was made outside the function")
    target[...] = result
    return target


def _with_python_floats(array: np.ndarray) -> np.ndarray:
    """The array with Python's floats: a NumPy float would hand its operator back to us, without end."""
    copy = np.empty(array.shape, dtype=object)
    copy.reshape(-1)[:] = [float(element) if isinstance(element, np.float64) else element for element in array.flat]
    return copy


def _compute(ufunc: np.ufunc, method: str, arrays: list[np.ndarray], options: dict[str, Any]) -> Any:
    name = ufunc.__name__
    if name in _NATIVE:
        arrays = [_with_python_floats(array) for array in arrays]
    elif name in FUNCTIONS:
        ufunc = np.frompyfunc(FUNCTIONS[name], ufunc.nin, 1)
    elif not all(set(loop) <= set("O->") for loop in ufunc.types):
        # A loop over objects only is a Python function that np.vectorize runs; anything else computes on numbers.
        refuse(f"{name} needs numbers")
    if method == "__call__":
        return ufunc(*arrays, **options)
    if method == "reduce" and name not in _NATIVE:
        # Python functions reduce one axis only; all axes at once is the same as the flat array.
        if options.get("axis", 0) is None and arrays[0].ndim > 1:
            if options.pop("keepdims", False):
                refuse(f"np.{name} over all axes with keepdims needs numbers")
            arrays, options = [arrays[0].reshape(-1)], {**options, "axis": 0}
    elif method not in ("reduce", "accumulate", "outer"):
        refuse(f"np.{name}.{method} needs numbers")
    return getattr(ufunc, method)(*arrays, **options)


def _apply_at(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> None:
    target, index, *values = inputs
    if not isinstance(target, TracedArray) or ufunc.__name__ not in _NATIVE:
        refuse(f"np.{ufunc.__name__}.at needs numbers")
    ufunc.at(target.view(np.ndarray), index, *[as_objects(value) for value in values])


def apply_function(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What any other NumPy function gives: our own answer, or NumPy's code run on object arrays."""
    if function in CONSTRUCTORS:
        return CONSTRUCTORS[function](*args, **options)
    if function.__name__.startswith("nan"):
        refuse(f"np.{function.__name__} looks for NaN, which a formula cannot")
    if not with_symbols([*args, *options.values()]):
        result = function(*_numbers(args), **{key: _numbers(value) for key, value in options.items()})
        return _boxed(result).view(TracedArray) if isinstance(result, np.ndarray) and result.dtype == float else result
    if function in ARRAY_FUNCTIONS:
        return ARRAY_FUNCTIONS[function](*args, **options)
    args = tuple(_liftable(value) for value in args)
    options = {key: _liftable(value) for key, value in options.items()}
    try:
        result = np.ndarray.__array_function__(np.empty(0).view(TracedArray), function, (TracedArray,), args, options)
    except TypeError:
        result = NotImplemented
    if result is NotImplemented:
        refuse(f"np.{function.__name__} needs numbers")
    return traced_array(result)


def _liftable(value: Any) -> Any:
    if isinstance(value, TracedNumber):
        return as_objects(value).view(TracedArray)
    if isinstance(value, list) and any(isinstance(element, TracedNumber) for element in value):
        return as_objects(value).view(TracedArray)
    return value


def where(condition: Any, *branches: Any) -> Any:
    """`np.where`: elementwise selection; with the condition alone the answer's shape would depend on values."""
    if len(branches) != 2:
        refuse("np.where with the condition alone needs numbers")
    chosen = np.frompyfunc(select, 3, 1)(as_objects(condition), *[as_objects(branch) for branch in branches])
    return traced_array(np.asarray(chosen, dtype=object)) if isinstance(chosen, np.ndarray) else chosen


def _select_cases(conditions: Any, choices: Any, default: Any = 0.0) -> Any:
    result = default
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        result = where(condition, choice, result)
    return result


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = traced_array(as_objects(x))
    if axis is None:
        if x.ndim > 1 and ord not in (None, "fro"):
            refuse("np.linalg.norm of a matrix in this norm needs numbers")
        x, axis = x.reshape(-1), 0
        if keepdims:
            refuse("np.linalg.norm with keepdims needs an axis")
    if ord in (None, 2, "fro"):
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    refuse(f"np.linalg.norm with ord={ord} needs numbers")


def _matrix(value: Any) -> ca.SX:
    """A two-dimensional array of traced numbers as an SX matrix."""
    objects = as_objects(value)
    if objects.ndim != 2:
        refuse("stacks of matrices need numbers")
    rows, columns = objects.shape
    entries = [symbolic(objects[i, j]) for j in range(columns) for i in range(rows)]
    return ca.reshape(ca.vertcat(*entries), rows, columns)


def _from_matrix(matrix: ca.SX) -> TracedArray:
    matrix = ca.densify(matrix)
    rows, columns = matrix.shape
    result = np.empty((rows, columns), dtype=object)
    for k, entry in enumerate(elements(matrix)):
        result[k % rows, k // rows] = TracedNumber(entry)
    return result.view(TracedArray)


def _solve(a: Any, b: Any) -> Any:
    """`np.linalg.solve`: a constant matrix is inverted in numbers, a symbolic one by CasADi's QR."""
    if not with_symbols(a):
        return np.linalg.inv(_numbers(traced_array(as_objects(a)))) @ b
    right = as_objects(b)
    solution = _from_matrix(ca.solve(_matrix(a), _matrix(right.reshape(right.shape[0], -1))))
    return solution.reshape(right.shape)


def _interpolate(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """`np.interp` between constant points: a tree of selections over straight lines."""
    if with_symbols([xp, period]) or period is not None or len(xp) > _MOST_POINTS:
        refuse(f"np.interp is followed only between at most {_MOST_POINTS} constant points")
    points, values = [float(point) for point in xp], list(as_objects(fp))
    last = len(points) - 1
    lines = [values[0] if left is None else left]
    for j in range(last):
        slope = (values[j + 1] - values[j]) / (points[j + 1] - points[j])
        lines.append((slope, points[j], values[j]))
    lines.append(values[last] if right is None else right)

    def at(number: Any) -> Any:
        def between(low: int, high: int) -> Any:
            # The line of the piece `low`, if it is the only one left; else ask which side of the middle point.
            if low == high:
                line = lines[low]
                return line[0] * (number - line[1]) + line[2] if isinstance(line, tuple) else line
            middle = (low + high + 1) // 2
            return select(
                FUNCTIONS["less"](number, points[middle - 1]), between(low, middle - 1), between(middle, high)
            )

        return select(FUNCTIONS["equal"](number, points[last]), values[last], between(0, last + 1))

    return traced_array(np.asarray(np.frompyfunc(at, 1, 1)(as_objects(x)), dtype=object))


def _filled_like(number: float) -> Callable[..., Any]:
    def like(prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
        if dtype is not None and np.dtype(dtype) not in (np.dtype(float), np.dtype(object)):
            return np.full(np.shape(prototype) if shape is None else shape, number, dtype=dtype)
        return filled(np.shape(prototype) if shape is None else shape, number)

    return like


def _full_like(prototype: Any, value: Any, *others: Any, **options: Any) -> TracedArray:
    return filled(np.shape(prototype), value)


def filled(shape: Any, value: Any) -> TracedArray:
    """An array of floats that also takes traced numbers, each element the given value."""
    result = np.empty(shape, dtype=object)
    result[...] = as_objects(value)
    return result.view(TracedArray)


ARRAY_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.where: where,
    np.select: _select_cases,
    np.interp: _interpolate,
    np.linalg.norm: _norm,
    np.linalg.solve: _solve,
    np.linalg.inv: lambda a: _from_matrix(ca.inv(_matrix(a))),
    np.linalg.det: lambda a: TracedNumber(ca.det(_matrix(a))),
}

CONSTRUCTORS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.zeros_like: _filled_like(0.0),
    np.ones_like: _filled_like(1.0),
    # An element that is never written shows up as NaN, and the trace is dropped.
    np.empty_like: _filled_like(float("nan")),
    np.full_like: _full_like,
}

# A lone number is an array without axes to NumPy.
TracedNumber.answer_ufunc = staticmethod(apply_ufunc)
TracedNumber.answer_function = staticmethod(apply_function)
