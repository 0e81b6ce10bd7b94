"""Kernels ready to be called, made once for a model, a method and a width of lanes, and kept."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from daedalus.compilation.lanes.machine import kernel_code
from daedalus.ensembles.lanes.kernel_frame import ARGUMENTS
from daedalus.model.forking import fork_safe_lock

# So many kernels are kept, those used last.
_KEPT = 32
_POINTERS = sum(argument.startswith("ptr") for argument in ARGUMENTS)
Made = TypeVar("Made")


class Kernel(NamedTuple):
    """A kernel in machine code: called with arrays, then n, first, last and the numbers of times and stops."""

    call: Callable[..., None]
    owner: object

    def __call__(self, arrays: list[np.ndarray], *counts: int) -> None:
        """Run the cases from `first` up to `last`; other threads run meanwhile."""
        self.call(*(array.ctypes.data for array in arrays), *counts)


class KeptKernels(Generic[Made]):
    """Kernels by their key, each made once; those used last are kept."""

    def __init__(self) -> None:
        self._lock, self._known = fork_safe_lock(), OrderedDict[object, Made]()

    def of(self, key: object, make: Callable[[], Made]) -> Made:
        """The kernel of a key, made where it is not known yet."""
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            self._known.move_to_end(key)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return self._known[key]


_kernels = KeptKernels[Kernel]()


def kernel_of(key: object, text: Callable[[], str]) -> Kernel:
    """The kernel of a key, whose text is written where it is not known yet."""
    return _kernels.of(key, lambda: _made(text()))


def _made(text: str) -> Kernel:
    code = kernel_code(text)
    kinds: list[Any] = [ctypes.c_void_p] * _POINTERS + [ctypes.c_int64] * (len(ARGUMENTS) - _POINTERS)
    return Kernel(ctypes.CFUNCTYPE(None, *kinds)(code.address), code.owner)
