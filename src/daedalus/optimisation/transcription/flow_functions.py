"""The step of a flow as functions that a program maps: value, Jacobian and contracted Hessian, called in the core."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.flow.flow import Flow
from daedalus.optimisation.program.mapped_functions import MappedFunctions

LETTERS = ("x", "u", "p")
# Of the fifteen outputs of the second derivative those by x, u and p; behind each row come two that are not needed.
SECOND = (1, 1, 1, 0, 0) * 3


@dataclass(frozen=True)
class FlowPart:
    """One function of a flow behind its exported symbol."""

    core: Any


@functools.cache
def _exported() -> Any:
    return ctypes.CDLL(_core.__file__)


def _part(flow: Flow, prefix: str, sizes_in: list[int], sizes_out: list[int]) -> FlowPart:
    name = prefix + flow.name()
    address = ctypes.cast(getattr(_exported(), name), ctypes.c_void_p).value or 0
    core = _core.Function(name, sizes_in, sizes_out, len(sizes_in), len(sizes_out), 0, 0)
    core.set_machine_code(address, flow)
    return FlowPart(core)


def flow_functions(flow: Flow) -> MappedFunctions:
    """x⁺ = φ(x, u, p) with its derivatives by v = (x, u, p)."""
    shapes = flow.core.shapes()
    value_in = [pattern.nnz() for pattern in shapes[0][0]]
    offsets = dict(zip(LETTERS, np.concatenate([[0], np.cumsum(value_in)[:-1]]).astype(int)))
    first_rows, first_columns = [], []
    for letter, pattern in zip(LETTERS, shapes[1][1]):
        rows, columns = pattern.get_triplet()
        first_rows.append(np.array(rows, dtype=np.int32))
        first_columns.append(np.array(columns, dtype=np.int32) + offsets[letter])
    second_rows, second_columns = [], []
    for k, pattern in enumerate(shapes[3][1]):
        if SECOND[k]:
            rows, columns = pattern.get_triplet()
            second_rows.append(np.array(rows, dtype=np.int32) + offsets[LETTERS[k // 5]])
            second_columns.append(np.array(columns, dtype=np.int32) + offsets[LETTERS[k % 5]])
    value, first, second = (
        _part(flow, prefix, [p.nnz() for p in shapes[k][0]], [p.nnz() for p in shapes[k][1]])
        for prefix, k in (("", 0), ("jac_", 1), ("jac_adj1_", 3))
    )
    return MappedFunctions(
        value,
        first,
        second,
        np.concatenate(first_rows).astype(np.int32),
        np.concatenate(first_columns).astype(np.int32),
        np.concatenate(second_rows).astype(np.int32),
        np.concatenate(second_columns).astype(np.int32),
        first_wanted=(1, 1, 1),
        second_wanted=SECOND,
        multiplier_input=4,
    )
