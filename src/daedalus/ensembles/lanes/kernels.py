"""Kernels ready to be called, made once for a model, a method and a width of lanes, and kept."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from daedalus.compilation.lanes.machine import kernel_code
from daedalus.ensembles.lanes.kernel_frame import ARGUMENTS

# So many kernels are kept, those used last.
_KEPT = 32
_POINTERS = sum(argument.startswith("ptr") for argument in ARGUMENTS)
_lock = Lock()
_kernels: OrderedDict[object, Kernel] = OrderedDict()


class Kernel(NamedTuple):
    """A kernel in machine code: called with arrays, then n, first, last and the numbers of times and stops."""

    call: Callable[..., None]
    owner: object

    def __call__(self, arrays: list[np.ndarray], *counts: int) -> None:
        """Run the cases from `first` up to `last`; other threads run meanwhile."""
        self.call(*(array.ctypes.data for array in arrays), *counts)


def kernel_of(key: object, text: Callable[[], str]) -> Kernel:
    """The kernel of a key, whose text is written where it is not known yet."""
    with _lock:
        known = _kernels.get(key)
        if known is None:
            code = kernel_code(text())
            kinds: list[Any] = [ctypes.c_void_p] * _POINTERS + [ctypes.c_int64] * (len(ARGUMENTS) - _POINTERS)
            known = _kernels[key] = Kernel(ctypes.CFUNCTYPE(None, *kinds)(code.address), code.owner)
        _kernels.move_to_end(key)
        while len(_kernels) > _KEPT:
            _kernels.popitem(last=False)
        return known
