"""The step of a flow as functions that a program maps: value, Jacobian and contracted Hessian, called in the core."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.flow.flow import Flow
from daedalus.optimisation.program.mapped_functions import MappedFunctions, RunningCost
from daedalus.optimisation.program.program import joined, table

LETTERS = ("x", "u", "p")


@functools.cache
def _exported() -> Any:
    return ctypes.CDLL(_core.__file__)


def _part(flow: Flow, prefix: str, sizes_in: list[int], sizes_out: list[int]) -> _core.Function:
    """One function of a flow behind its exported symbol."""
    name = prefix + flow.name()
    address = ctypes.cast(getattr(_exported(), name), ctypes.c_void_p).value or 0
    core = _core.Function(name, sizes_in, sizes_out, len(sizes_in), len(sizes_out), 0, 0)
    core.set_machine_code(address, flow)
    return core


def flow_functions(
    flow: Flow, of_parameters: bool = True, exact: bool = True, running: RunningCost | None = None
) -> MappedFunctions:
    """x⁺ = φ(x, u, p) with its derivatives by v = (x, u, p), or by (x, u) alone where no parameter is free.

    exact: with its second derivative; else Gauss and Newton's of a cost along the way, where there is one.
    """
    shapes = flow.core.shapes()
    value_in = [pattern.nnz() for pattern in shapes[0][0]]
    offsets = dict(zip(LETTERS, np.concatenate([[0], np.cumsum(value_in)[:-1]]).astype(int)))
    first_rows, first_columns = [], []
    letters = LETTERS if of_parameters else LETTERS[:2]
    wanted = tuple(int(k % 5 < len(letters) and k // 5 < len(letters)) for k in range(15))
    for letter, pattern in zip(letters, shapes[1][1]):
        rows, columns = np.array(pattern.get_triplet())
        first_rows.append(rows)
        first_columns.append(columns + offsets[letter])
    second_rows, second_columns = [], []
    for k, pattern in enumerate(shapes[3][1]):
        if wanted[k] and exact:
            rows, columns = np.array(pattern.get_triplet())
            second_rows.append(rows + offsets[LETTERS[k // 5]])
            second_columns.append(columns + offsets[LETTERS[k % 5]])
    value, first, second = (
        _part(flow, prefix, [p.nnz() for p in shapes[k][0]], [p.nnz() for p in shapes[k][1]])
        for prefix, k in (("", 0), ("jac_", 1), ("jac_adj1_", 3))
    )
    if running is not None:
        lower = np.tril_indices(running.states + running.inputs)
        second_rows, second_columns = [lower[0]], [lower[1]]
    return MappedFunctions(
        value,
        first,
        second if exact else None,
        table(joined(first_rows)),
        table(joined(first_columns)),
        table(joined(second_rows)),
        table(joined(second_columns)),
        first_wanted=(1, 1, int(of_parameters)),
        second_wanted=wanted,
        multiplier_input=4,
        running=running,
    )
