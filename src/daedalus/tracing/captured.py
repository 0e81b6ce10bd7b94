"""What a Python function reads beside its arguments: a fingerprint of those values, and private copies of them.

A trace bakes the values of globals, closures, defaults and attributes into the formula. Equal fingerprints say that
the formula may be used again; a fingerprint that a call changed says that the function has effects and must really be
called each time.
"""

from __future__ import annotations

import hashlib
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

import casadi as ca
import numpy as np

from daedalus.tracing.code_names import all_names, global_names, is_foreign, is_steady_module, plain_function

# Beyond this many values, comparing costs more than tracing again.
_MOST_VALUES = 5_000
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype)
_FIXED = (types.BuiltinFunctionType, np.ufunc, types.MethodDescriptorType, types.WrapperDescriptorType)
# NumPy's functions with array dispatch are objects of a type of their own.
_DISPATCHED = type(np.sum)
_MADE_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE


class _UnknownError(Exception):
    """A value whose content cannot be compared."""


class Identity:
    """Equal only to itself; keeps the object alive, so that its place in memory is not given to another."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def fingerprint(value: Any) -> Hashable | None:
    """A hashable summary, equal exactly when the values are; None when some value cannot be compared.

    >>> rates = {"k": 0.5}
    >>> decay = lambda t, y: rates["k"] * y
    >>> before = fingerprint(decay)
    >>> before == fingerprint(decay)
    True
    >>> rates["k"] = 0.6
    >>> before == fingerprint(decay)
    False
    """
    try:
        return _Summary().of(value)
    except (_UnknownError, RecursionError):
        return None


class _Summary:
    """Walks through values; what was met before is named by its number, so cycles end."""

    def __init__(self) -> None:
        self.met: dict[int, int] = {}
        self.kept: list[Any] = []

    def of(self, value: Any) -> Hashable:
        if isinstance(value, _PLAIN):
            return type(value), value if value == value else "nan"
        if id(value) in self.met:
            return "again", self.met[id(value)]
        self.met[id(value)] = len(self.met)
        self.kept.append(value)
        if len(self.met) > _MOST_VALUES:
            raise _UnknownError
        for kind, summary in _BY_KIND:
            if isinstance(value, kind):
                return summary(self, value)
        function, front, named = plain_function(value)
        if function is not None and not (front and front[0] is value):
            return "bound", self.of(function), self.of(front), self.of(named)
        return self.of_instance(value)

    def of_sequence(self, value: Any) -> Hashable:
        return type(value), tuple(self.of(element) for element in value), self.of_attributes(value)

    def of_dictionary(self, value: dict[Any, Any]) -> Hashable:
        entries = tuple((self.of(key), self.of(element)) for key, element in value.items())
        return type(value), entries, self.of_attributes(value)

    def of_set(self, value: Any) -> Hashable:
        return type(value), frozenset(_Summary().of(element) for element in value)

    def of_array(self, array: np.ndarray) -> Hashable:
        if array.dtype == object:
            return "array", array.shape, tuple(self.of(element) for element in array.flat)
        raw = np.ascontiguousarray(array).tobytes()
        content = raw if len(raw) < 256 else hashlib.blake2b(raw, digest_size=16).digest()
        return "array", array.shape, array.dtype.str, content

    def of_module(self, module: types.ModuleType) -> Hashable:
        # A module of the user's own is read attribute by attribute, where a function says which (of_function).
        if not is_steady_module(module):
            raise _UnknownError
        return types.ModuleType, module

    def of_class(self, kind: type) -> Hashable:
        if not kind.__flags__ & _MADE_IN_PYTHON or is_library(kind):
            return "class", weakref.ref(kind)
        own = {key: v for key, v in vars(kind).items() if not (key.startswith("__") and key != "__call__")}
        own = {key: v for key, v in own.items() if not isinstance(v, types.MemberDescriptorType)}
        return "class", weakref.ref(kind), tuple((key, self.of(v)) for key, v in own.items())

    def of_wrapper(self, value: Any) -> Hashable:
        inner = (value.fget, value.fset) if isinstance(value, property) else (value.__func__,)
        return type(value), tuple(self.of(part) for part in inner)

    def of_attributes(self, value: Any) -> Hashable:
        found = attributes_of(value)
        return self.of(found) if found else None

    def of_instance(self, value: Any) -> Hashable:
        if not is_plain_instance(value):
            raise _UnknownError
        kinds = tuple(self.of(kind) for kind in type(value).__mro__[:-1])
        return "instance", kinds, self.of_attributes(value)

    def of_function(self, function: types.FunctionType) -> Hashable:
        if is_foreign(function):
            return "foreign", Identity(function)
        scope, code = function.__globals__, function.__code__
        used = [(name, scope[name]) for name in sorted(global_names(code)) if name in scope]
        used += list(zip(code.co_freevars, map(cell_content, function.__closure__ or ())))
        return (
            code,
            self.of(function.__defaults__),
            self.of(function.__kwdefaults__),
            tuple((name, self.of_used(value, code)) for name, value in used),
            self.of_attributes(function),
        )

    def of_used(self, value: Any, code: types.CodeType) -> Hashable:
        if isinstance(value, types.ModuleType) and not is_steady_module(value):
            names = sorted(used_attributes(value, code))
            return "module", value.__name__, tuple((name, self.of_used(getattr(value, name), code)) for name in names)
        return self.of(value)


def _casadi_value(summary: _Summary, value: Any) -> Hashable:
    return Identity(value), "" if isinstance(value, ca.Function) else str(value)


_BY_KIND: list[tuple[Any, Callable[[_Summary, Any], Hashable]]] = [
    (np.ndarray, _Summary.of_array),
    ((list, tuple, deque), _Summary.of_sequence),
    (dict, _Summary.of_dictionary),
    ((set, frozenset), _Summary.of_set),
    ((range, slice), lambda summary, value: (type(value), repr(value))),
    (types.ModuleType, _Summary.of_module),
    (type, _Summary.of_class),
    (types.FunctionType, _Summary.of_function),
    ((property, staticmethod, classmethod), _Summary.of_wrapper),
    ((*_FIXED, _DISPATCHED), lambda summary, value: (type(value), Identity(value))),
    ((ca.Function, ca.SX, ca.MX, ca.DM, ca.Sparsity), _casadi_value),
]


def used_attributes(module: types.ModuleType, code: types.CodeType) -> set[str]:
    """The attributes of a module that a function's code may read."""
    return {name for name in all_names(code) if name in vars(module)}


def cell_content(cell: types.CellType) -> Any:
    """What a closure's variable holds; `...` when it has not been given a value yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return ...


def is_library(kind: type) -> bool:
    """Whether a class comes from the standard library or from one that is used as it is."""
    root = (kind.__module__ or "").split(".")[0]
    return root in {"numpy", "casadi"} or root in sys.stdlib_module_names - {"__main__"}


def is_plain_instance(value: Any) -> bool:
    """Whether an object is nothing but its attributes: a SimpleNamespace, or made by classes written in Python."""
    if type(value) is types.SimpleNamespace:
        return True
    return all(part.__flags__ & _MADE_IN_PYTHON and not is_library(part) for part in type(value).__mro__[:-1])


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes stored in an object itself, in its dictionary and its slots."""
    found = dict(getattr(value, "__dict__", {}))
    for part in type(value).__mro__[:-1]:
        for name, member in vars(part).items():
            if isinstance(member, types.MemberDescriptorType) and part.__flags__ & _MADE_IN_PYTHON:
                found.update({name: getattr(value, name)} if hasattr(value, name) else {})
    return found


def private_copy(value: Any, copies: dict[int, Any]) -> Any:
    """Lists, dictionaries, arrays and plain objects copied through and through; everything else shared."""
    if id(value) in copies:
        return copies[id(value)]
    copy: Any = value
    if type(value) is np.ndarray:
        copy = copies[id(value)] = value.copy()
    elif isinstance(value, (list, dict, set, deque)):
        copy = copies[id(value)] = value.copy()
        if not isinstance(value, set):
            places = list(value) if isinstance(value, dict) else range(len(value))
            for place in places:
                copy[place] = private_copy(value[place], copies)
    elif type(value) is tuple:
        copy = tuple(private_copy(element, copies) for element in value)
    elif isinstance(value, tuple) and hasattr(value, "_make"):
        copy = value._make(private_copy(element, copies) for element in value)
    elif not isinstance(value, (type, types.FunctionType, *_PLAIN)) and is_plain_instance(value):
        is_namespace = type(value) is types.SimpleNamespace
        copy = copies[id(value)] = types.SimpleNamespace() if is_namespace else object.__new__(type(value))
        for name, element in attributes_of(value).items():
            object.__setattr__(copy, name, private_copy(element, copies))
    return copy
