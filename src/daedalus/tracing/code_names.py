"""Which function stands behind a callable, and which names its code uses."""

from __future__ import annotations

import dis
import functools
import sys
import types
from typing import Any

# Used as they are (pytest rewrites assertions and leaves its own names in a function).
_LIBRARIES = {"numpy", "scipy", "casadi", "_pytest"}


@functools.lru_cache(maxsize=256)
def global_names(code: types.CodeType) -> frozenset[str]:
    """The global names that a code object and the functions inside it read or write.

    >>> sorted(global_names((lambda x: abs(x) + [len(v) for v in x][0]).__code__))
    ['abs', 'len']
    """
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= global_names(constant)
    return frozenset(names)


@functools.lru_cache(maxsize=256)
def all_names(code: types.CodeType) -> frozenset[str]:
    """Every global and attribute name in a code object and the functions inside it.

    >>> sorted(all_names((lambda x: x.shape + (lambda y: y.size)(x)).__code__))
    ['shape', 'size']
    """
    inner = (all_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return frozenset(code.co_names).union(*inner)


@functools.lru_cache(maxsize=256)
def catches_errors(code: types.CodeType) -> bool:
    """Whether a code object, or a function inside it, handles errors (`try`; a `with` alone does not count).

    >>> def careful(x):
    ...     try:
    ...         return 1 / x
    ...     except ZeroDivisionError:
    ...         return 0.0
    >>> catches_errors(careful.__code__), catches_errors((lambda x: 1 / x).__code__)
    (True, False)
    """
    names = [instruction.opname for instruction in dis.get_instructions(code)]
    if names.count("PUSH_EXC_INFO") > names.count("WITH_EXCEPT_START"):
        return True
    return any(catches_errors(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))


def plain_function(fun: Any) -> tuple[types.FunctionType | None, tuple[Any, ...], dict[str, Any]]:
    """The Python function behind a callable, with the arguments that are bound to it in front and by name.

    >>> import functools
    >>> def decay(k, t, y): return -k * y
    >>> plain_function(functools.partial(decay, 2.0))[1]
    (2.0,)
    """
    if isinstance(fun, types.FunctionType):
        return fun, (), {}
    if isinstance(fun, types.MethodType):
        inner, front, named = plain_function(fun.__func__)
        return inner, (fun.__self__, *front), named
    if isinstance(fun, functools.partial):
        inner, front, named = plain_function(fun.func)
        return inner, (*front, *fun.args), {**named, **fun.keywords}
    # A just-in-time compiled function carries its Python source as py_func.
    if isinstance(getattr(fun, "py_func", None), types.FunctionType):
        return fun.py_func, (), {}
    call = type(fun).__call__ if callable(fun) else None
    if isinstance(call, types.FunctionType):
        return call, (fun,), {}
    return None, (), {}


def is_foreign(function: types.FunctionType) -> bool:
    """Whether a function belongs to a library that is used as it is: NumPy, SciPy, CasADi, the standard library."""
    root = (function.__module__ or "").split(".")[0]
    return root in _LIBRARIES or root in sys.stdlib_module_names - {"__main__"}


def is_steady_module(module: types.ModuleType) -> bool:
    """Whether a module's contents can be taken as fixed (a library, not one of the user's own)."""
    root = module.__name__.split(".")[0]
    return root in _LIBRARIES or root == "daedalus" or root in sys.stdlib_module_names
