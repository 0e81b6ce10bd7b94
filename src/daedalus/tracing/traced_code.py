"""A copy of a Python function in which `np.zeros`, `math.sin`, `float` and the like also work on traced numbers.

Nothing is patched for anyone else: the copy has the same code object with other globals and cells. Functions that it
calls by name are copied too, as far as they are plain Python outside NumPy, SciPy and the standard library.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from daedalus.tracing.captured import cell_content, fingerprint, private_copy, used_attributes
from daedalus.tracing.code_names import (
    catches_errors,
    global_names,
    is_foreign,
    is_steady_module,
    plain_function,
)
from daedalus.tracing.traced_array import (
    CONSTRUCTORS,
    TracedArray,
    as_objects,
    filled,
    traced_array,
    unpacked,
    with_symbols,
)
from daedalus.tracing.traced_number import FUNCTIONS, TracedNumber, is_symbolic, less, refuse, select

_FLOATS = (np.dtype(float), np.dtype(object))
# Modules whose answers change from call to call.
_UNSTEADY = {"random", "time", "datetime", "secrets"}


def traceable_copy(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of `fun` for one traced run; it works on copies of what it captured, and writing there ends the trace."""
    function, front, named = plain_function(fun)
    if function is None:
        return fun
    copier = _Copier()
    copy = copier.copy(function)
    front = tuple(copier.swap(value, "the object it is bound to") for value in front)
    named = {name: copier.swap(value, name) for name, value in named.items()}

    def run(*args: Any, **options: Any) -> Any:
        result = copy(*front, *args, **{**named, **options})
        copier.refuse_writes()
        return result

    return run


class _Copier:
    """Copies functions with their names swapped; each function and each module's globals once."""

    def __init__(self) -> None:
        self.functions: dict[int, types.FunctionType] = {}
        self.globals: dict[int, dict[str, Any]] = {}
        self.values: dict[int, Any] = {}
        self.checks: list[tuple[str, Callable[[], Any], Any]] = []

    def copy(self, function: types.FunctionType) -> types.FunctionType:
        if id(function) in self.functions:
            return self.functions[id(function)]
        if catches_errors(function.__code__):
            refuse(f"{function.__name__} catches errors, which a formula never raises")
        # A module's functions share one copy of its globals, so that each sees the swapped names of the others.
        scope = self.globals.setdefault(id(function.__globals__), dict(function.__globals__))
        scope["__builtins__"] = _BUILTINS
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        copy = types.FunctionType(function.__code__, scope, function.__name__, None, cells or None)
        self.functions[id(function)] = copy
        copy.__defaults__ = self.swap(function.__defaults__, "a default value")
        copy.__kwdefaults__ = self.swap(function.__kwdefaults__, "a default value")
        for name, value in vars(function).items():
            setattr(copy, name, self.swap(value, name))
        self.watch(f"an attribute of {function.__name__}", lambda: tuple(map(id, vars(copy).values())))
        for name in global_names(function.__code__):
            if name in function.__globals__:
                scope[name] = self.swap_used(function.__globals__[name], name, function.__code__)
            self.watch(f"the global variable {name}", _identity(scope.get, name))
        for cell, old, name in zip(cells, function.__closure__ or (), function.__code__.co_freevars):
            if cell_content(old) is not ...:
                cell.cell_contents = self.swap_used(cell_content(old), name, function.__code__)
            self.watch(f"{name}, a variable of the function around it", _identity(cell_content, cell))
        return copy

    def swap(self, value: Any, name: str) -> Any:
        """What stands in the copy for a value of the original."""
        swapped = _SWAPS.get(id(value))
        if swapped is not None:
            return swapped
        if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] in _UNSTEADY:
            return _Door(value, {}, refused=f"it uses the module {value.__name__}, whose answers change")
        if isinstance(value, types.FunctionType):
            return value if is_foreign(value) else self.copy(value)
        inner = getattr(value, "py_func", None)
        if isinstance(inner, types.FunctionType):
            return self.copy(inner)
        if isinstance(value, (type(None), int, float, str)):
            return value
        if fingerprint(value) is None:
            refuse(f"it uses {name}, a {type(value).__name__}, and whether that changes cannot be seen")
        copied = private_copy(value, self.values)
        self.watch(name, lambda: fingerprint(copied))
        return copied

    def swap_used(self, value: Any, name: str, code: types.CodeType) -> Any:
        """The same for a name that a function uses: a module of the user's own is copied as far as it is used."""
        if not isinstance(value, types.ModuleType) or is_steady_module(value):
            return self.swap(value, name)
        used = {key: self.swap_used(vars(value)[key], f"{name}.{key}", code) for key in used_attributes(value, code)}
        door = _Door(value, {})
        door.__dict__.update(used)
        self.watch(f"a value of the module {name}", lambda: tuple(map(id, door.__dict__.values())))
        return door

    def watch(self, name: str, content: Callable[[], Any]) -> None:
        """Remember something to compare after the run."""
        self.checks.append((name, content, content()))

    def refuse_writes(self) -> None:
        """End the trace if the run changed anything outside itself: then it must really be called each time."""
        for name, content, before in self.checks:
            if content() != before:
                refuse(f"it changes {name}")


def _identity(read: Callable[[Any], Any], place: Any) -> Callable[[], int]:
    return lambda: id(read(place))


class _Door(types.ModuleType):
    """Stands in for a module: some names answer for traced numbers, the others are the module's own."""

    def __init__(self, module: types.ModuleType, answers: dict[str, Any], refused: str = "") -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _answers=answers, _refused=refused)

    def __getattr__(self, name: str) -> Any:
        if self.__dict__["_refused"] and not name.startswith("__"):
            refuse(self.__dict__["_refused"])
        answers = self.__dict__["_answers"]
        return answers[name] if name in answers else getattr(self.__dict__["_module"], name)


def _maker(original: Callable[..., Any], number: float) -> Callable[..., Any]:
    def make(shape: Any, dtype: Any = float, *others: Any, **options: Any) -> Any:
        return filled(shape, number) if np.dtype(dtype) in _FLOATS else original(shape, dtype, *others, **options)

    return make


def _full(shape: Any, fill_value: Any, dtype: Any = None, *others: Any, **options: Any) -> Any:
    floats = _is_float(fill_value) if dtype is None else np.dtype(dtype) in _FLOATS
    return filled(shape, fill_value) if floats else np.full(shape, fill_value, dtype, *others, **options)


def _array_from(original: Callable[..., Any], copies: bool) -> Callable[..., Any]:
    def make(value: Any, dtype: Any = None, *others: Any, **options: Any) -> Any:
        if isinstance(value, TracedArray) and not copies and (dtype is None or np.dtype(dtype) in _FLOATS):
            return value
        if dtype is None or np.dtype(dtype) in _FLOATS:
            made = original(unpacked(value), *others, **options)
            return traced_array(as_objects(made)) if made.dtype in _FLOATS and made.ndim else made
        return original(value, dtype, *others, **options)

    return make


def _extreme(original: Callable[..., Any], beats: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`max` and `min` as Python defines them: a later value wins only if it is strictly better."""

    def extreme(*values: Any, **options: Any) -> Any:
        candidates = list(values[0]) if len(values) == 1 else list(values)
        if options or not with_symbols(candidates):
            return original(candidates, **options)
        best = candidates[0]
        for candidate in candidates[1:]:
            best = select(beats(candidate, best), candidate, best)
        return best

    return extreme


class _AnyFloat(type):
    def __call__(cls, value: Any = 0.0) -> Any:
        if isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
            value = value.item()
        return value if is_symbolic(value) else float(value)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, (float, TracedNumber))

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, float)


class _Float(float, metaclass=_AnyFloat):
    """`float` inside a traced function: leaves traced numbers as they are; NumPy reads its dtype."""

    dtype = np.dtype(float)


def _elementary(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the math module that takes traced numbers too."""

    def compute(*values: Any) -> Any:
        values = tuple(v.item() if isinstance(v, np.ndarray) and v.size == 1 else v for v in values)
        return FUNCTIONS[name](*values) if any(map(is_symbolic, values)) else original(*values)

    return compute


def _log(value: Any, base: Any = None) -> Any:
    if not with_symbols([value, base]):
        return math.log(value) if base is None else math.log(value, base)
    top = FUNCTIONS["log"](value)
    return top if base is None else top / FUNCTIONS["log"](base)


def _refusing(reason: str) -> Callable[..., Any]:
    return lambda *args, **options: refuse(reason)


def _import(name: str, *others: Any) -> Any:
    module = builtins.__import__(name, *others)
    return _Copier().swap(module, name)


# The names that differ from NumPy's; math.remainder is the IEEE one, which is not followed.
_MATH_NAMES = {
    **{"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"},
    **{"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"},
    **{name: name for name in FUNCTIONS if hasattr(math, name) and name != "remainder"},
}
_MATH = {**{name: _elementary(to, getattr(math, name)) for name, to in _MATH_NAMES.items()}, "log": _log}
_NUMPY = {
    "zeros": _maker(np.zeros, 0.0),
    "ones": _maker(np.ones, 1.0),
    "empty": _maker(np.empty, float("nan")),
    "full": _full,
    "eye": lambda *args, **options: traced_array(as_objects(np.eye(*args, **options))),
    "identity": lambda *args, **options: traced_array(as_objects(np.identity(*args, **options))),
    "diag": lambda v, k=0: np.diag(traced_array(as_objects(v)), k),
    "array": _array_from(np.array, copies=True),
    "asarray": _array_from(np.asarray, copies=False),
    "asanyarray": _array_from(np.asanyarray, copies=False),
    "ascontiguousarray": _array_from(np.ascontiguousarray, copies=False),
    **{f.__name__: (lambda a, *o, _f=f, _own=own, **k: _own(a, *o, **k) if _is_float(a) else _f(a, *o, **k))
       for f, own in CONSTRUCTORS.items()},
    "float64": _Float,
    "double": _Float,
    "isscalar": lambda value: is_symbolic(value) or np.isscalar(value),
    "random": _Door(np.random, {}, refused="it draws random numbers"),
}  # fmt: skip
_BUILTINS = {
    **vars(builtins),
    "float": _Float,
    "max": _extreme(max, lambda new, best: less(best, new)),
    "min": _extreme(min, lambda new, best: less(new, best)),
    "print": _refusing("it prints"),
    "input": _refusing("it reads from the keyboard"),
    "open": _refusing("it opens a file"),
    "__import__": _import,
}


def _is_float(prototype: Any) -> bool:
    return isinstance(prototype, TracedArray) or with_symbols(prototype) or np.asarray(prototype).dtype == float


def _swaps() -> Iterator[tuple[Any, Any]]:
    yield np, _Door(np, _NUMPY)
    yield math, _Door(math, _MATH)
    yield np.random, _NUMPY["random"]
    for module, answers in ((np, _NUMPY), (math, _MATH)):
        for name, answer in answers.items():
            yield getattr(module, name), answer


_SWAPS = {id(original): swapped for original, swapped in _swaps()}
