"""CasADi's interpreter as a C function: what runs while there is no machine code, without Python in between.

CasADi's C interface keeps loaded functions in one growing list and evaluates them by their position in it, from any
thread. Loading is not made for threads, so it happens here alone, under a lock, into a list that was made long enough
beforehand: a list that moves to larger memory during another thread's evaluation would be a crash.
"""

from __future__ import annotations

import collections
import ctypes
import functools
import importlib
import os
import weakref
from typing import Any, NamedTuple

import casadi as ca

from daedalus import _core
from daedalus.model.forking import fork_safe_lock

# How many functions can be loaded before CasADi's list has to move.
_ROOM = 1024

_lock = fork_safe_lock()
# Positions in CasADi's list that nobody uses any more; the list can only shrink from its end.
_unused: collections.deque[int] = collections.deque()


class Interpreted:
    """A function loaded into CasADi's list; it may leave the list when this object dies."""

    __slots__ = ("__weakref__", "id")

    def __init__(self, id: int) -> None:
        self.id = id


class Addresses(NamedTuple):
    """The C functions by which a loaded function is evaluated and given memory of its own in each thread."""

    evaluate: int
    checkout: int
    release: int


@functools.cache
def _library() -> Any:
    """CasADi's C interface, looked up through the Python module that is loaded anyway; calls keep the GIL."""
    library = ctypes.PyDLL(importlib.import_module("casadi._casadi").__file__)
    library.casadi_c_push_file.argtypes = [ctypes.c_char_p]
    library.casadi_c_pop.restype = None
    return library


@functools.cache
def addresses() -> Addresses:
    """Where the evaluation of loaded functions is found; no child is forked while a thread is inside one."""
    library = _library()
    found = (
        ctypes.cast(getattr(library, f"casadi_c_{name}_id"), ctypes.c_void_p).value
        for name in ("eval", "checkout", "release")
    )
    return Addresses(*_core.interpreter_behind_fork_gate(*(address or 0 for address in found)))


def _push(functions: ca.Function | list[ca.Function]) -> None:
    """Load functions at the end of CasADi's list; files are the only way in."""
    import tempfile

    handle, path = tempfile.mkstemp(suffix=".casadi")
    os.close(handle)
    try:
        writer = ca.FileSerializer(path)
        writer.pack(functions)
        del writer
        if _library().casadi_c_push_file(os.fsencode(path)) != 0:
            raise RuntimeError("CasADi could not read back a function that it had written")
    finally:
        os.unlink(path)


@functools.cache
def _make_room() -> None:
    """Let the list grow once to its final length; popping leaves the memory in place."""
    x = ca.SX.sym("x")
    _push([ca.Function("room", [x], [x])] * _ROOM)
    _library().casadi_c_pop()


def interpret(f: ca.Function) -> Interpreted:
    """Load a function for evaluation by `addresses().evaluate(id, arg, res, iw, w, mem)`."""
    with _lock:
        _make_room()
        library = _library()
        _forget_unused()
        _push(f)
        loaded = Interpreted(library.casadi_c_n_loaded() - 1)
        weakref.finalize(loaded, _unused.append, loaded.id).atexit = False
        return loaded


def _forget_unused() -> None:
    """Take functions that nobody uses from the end of the list."""
    library = _library()
    idle = set(_unused)
    while idle and library.casadi_c_n_loaded() - 1 in idle:
        last = library.casadi_c_n_loaded() - 1
        idle.discard(last)
        _unused.remove(last)
        library.casadi_c_pop()
