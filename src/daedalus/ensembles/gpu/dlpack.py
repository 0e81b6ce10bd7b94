"""DLPack by ctypes: arrays handed to CuPy, JAX or PyTorch and taken from them as they are, without a copy.

A capsule named "dltensor" holds a DLManagedTensor (dmlc/dlpack, version 0.x of its structure, which all readers take).
Whoever reads it renames it and calls its deleter in the end; one that nobody read calls the deleter when it dies.
"""

from __future__ import annotations

import ctypes as c
import math
from typing import Any, NamedTuple

_NAME = b"dltensor"
# Codes of double precision in DLPack's own header.
FLOAT, BITS = 2, 64


class _Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p), ("device_kind", c.c_int32), ("device_number", c.c_int32), ("ndim", c.c_int32),
        ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64),
    ]  # fmt: skip


class _Managed(c.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c.c_void_p), ("deleter", c.c_void_p)]


# Functions of Python that take a capsule by its address: while it dies nothing may refer to it.
_new = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(("PyCapsule_New", c.pythonapi))
_is_valid = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)(("PyCapsule_IsValid", c.pythonapi))
_pointer = c.PYFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(("PyCapsule_GetPointer", c.pythonapi))

# What tensors that were handed out refer to, by their address, until their deleter is called.
_handed_out: dict[int, tuple[Any, ...]] = {}


def _forget(address: int) -> None:
    _handed_out.pop(address, None)


def _forget_unused(capsule: int) -> None:
    if _is_valid(capsule, _NAME):
        _forget(_pointer(capsule, _NAME))


_delete = c.CFUNCTYPE(None, c.c_void_p)(_forget)
_capsule_dies = c.CFUNCTYPE(None, c.c_void_p)(_forget_unused)


class TensorView(NamedTuple):
    """What a capsule says: where numbers lie, and what has to live as long as they are used."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    device: tuple[int, int]
    is_double: bool
    owner: Any


def capsule_of(view: TensorView) -> Any:
    """A capsule of numbers; their owner lives until its reader lets go of it."""
    ndim = len(view.shape)
    shape, strides = (c.c_int64 * ndim)(*view.shape), (c.c_int64 * ndim)(*(stride // 8 for stride in view.strides))
    tensor = _Tensor(view.address, *view.device, ndim, FLOAT, BITS, 1, shape, strides, 0)
    managed = _Managed(tensor, None, c.cast(_delete, c.c_void_p))
    address = c.addressof(managed)
    _handed_out[address] = (managed, shape, strides, view.owner)
    return _new(address, _NAME, c.cast(_capsule_dies, c.c_void_p))


def view_of(capsule: Any) -> TensorView:
    """What a capsule of another library holds; the capsule stays whole, and lives as long as the numbers are used."""
    found = _Managed.from_address(_pointer(id(capsule), _NAME)).tensor
    shape = tuple(found.shape[k] for k in range(found.ndim))
    if found.strides:
        strides = tuple(8 * found.strides[k] for k in range(found.ndim))
    else:
        strides = row_major(shape)
    is_double = (found.code, found.bits, found.lanes) == (FLOAT, BITS, 1)
    device = (found.device_kind, found.device_number)
    return TensorView((found.data or 0) + found.byte_offset, shape, strides, device, is_double, capsule)


def row_major(shape: tuple[int, ...], step: int = 8) -> tuple[int, ...]:
    """The strides in bytes of entries a step apart, doubles that follow each other, the last dimension fastest."""
    return tuple(step * math.prod(shape[k + 1 :]) for k in range(len(shape)))
