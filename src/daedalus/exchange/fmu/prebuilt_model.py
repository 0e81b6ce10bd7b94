"""A model as data for the prebuilt runtime: FMUs without a C compiler.

The runtime (prebuilt.h beside this file) is a library that is built with the core, once for each platform. It reads the
model from resources/model.bin: sizes, start values, a tableau, and the functions as lists of operations.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import InputError
from daedalus.exchange.c_code.casadi_c import CFunction
from daedalus.exchange.fmu.embedded_steps import FIRST_STEP, EmbeddedSteps
from daedalus.exchange.fmu.instants import TIMES, Instants
from daedalus.exchange.fmu.model_description import PLATFORMS, own_platform
from daedalus.model.system.instruction_list import UnknownOperationError, read_instructions
from daedalus.simulation.plant.projection import CORRECTIONS

NAME = "model.bin"
MAGIC = b"DDFMU007"
# What stands behind it in a runtime that reads such files.
READ = b" is read"
# The order of the functions in the file.
FUNCTIONS = (
    *("rates", "forward", "adjoint", "outputs", "guards", "resets", "stage", "correct"),
    *("residual", "residual_forward", "residual_adjoint", "frictions", "impulses", "begin"),
)
# Numbers of the runtime for what is no arithmetic or has a large number in CasADi.
SPECIAL = {
    ca.OP_INPUT: 1000, ca.OP_CONST: 1001, ca.OP_OUTPUT: 1002, ca.OP_ERFINV: 1003, ca.OP_LOG1P: 1004,
    ca.OP_EXPM1: 1005, ca.OP_HYPOT: 1006, ca.OP_REMAINDER: 1007, ca.OP_LIFT: 0,
}  # fmt: skip
LARGEST_PLAIN = ca.OP_ATAN2


def runtimes() -> dict[str, Path]:
    """The prebuilt runtimes by platform: that of the core, and those of `make runtimes`.

    Runtimes that read other files of models are left out.
    """
    folder = Path(__file__).with_name("runtimes")
    found = {name: folder / name / f"fmu_runtime{ending}" for name, (_, ending) in PLATFORMS.items()}
    own = Path(_core.__file__).with_name("fmu_runtime.dll" if sys.platform == "win32" else "fmu_runtime.so")
    if own.is_file():
        found[own_platform()] = own
    return {name: path for name, path in found.items() if path.is_file() and MAGIC + READ in path.read_bytes()}


def model_bytes(
    sizes: dict[str, int], functions: Sequence[CFunction], core: FlowCore, start: np.ndarray, parameters: np.ndarray,
    nominal: np.ndarray, unknowns: np.ndarray, instants: Instants, token: str, steps: EmbeddedSteps,
) -> bytes:  # fmt: skip
    """The file that the runtime reads.

    sizes: NX, NZ, NU, NP, NY, NG, NK. unknowns: first values of x' and z where they are solved by iteration.
    """
    table, stage = core.tableau, core.stage
    name = token.encode() + b"\0"
    nz = stage.sizes["z"] if stage.implicit else 0
    whole = [sizes[word] for word in ("NX", "NZ", "NU", "NP", "NY", "NG")]
    whole += [table.stages, int(table.order), int(stage.implicit), int(stage.projected is not None), CORRECTIONS, nz]
    whole += [
        len(name), instants.discretes, instants.clocks, len(instants.times), len(unknowns), steps.second_order,
        len(instants.friction_modes), sizes["NK"], int(steps.several),
    ]  # fmt: skip
    guess = np.nan_to_num(np.asarray(core.system.start["z"], dtype=float)[:nz], nan=0.0)
    parts = [MAGIC, struct.pack("<21q", *whole)]
    parts += [struct.pack("<3d", steps.rtol, FIRST_STEP, steps.fixed), _padded(name)]
    for numbers in (start, parameters, nominal, table.A.ravel(), table.b, table.c, steps.errors, guess, unknowns):
        parts.append(np.asarray(numbers, dtype="<f8").tobytes())
    parts += [np.asarray(getattr(instants, word), dtype="<f8").tobytes() for word in TIMES]
    parts.append(_padded(np.array(instants.whole_numbers, dtype="<i4").tobytes()))
    by_name = {each.name.removeprefix("dd_"): each for each in functions}
    parts += [_program(by_name.get(word)) for word in FUNCTIONS]
    return b"".join(parts)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _program(each: CFunction | None) -> bytes:
    """One function: how many places of work, operations and constants; then constants and operations."""
    if each is None:
        return struct.pack("<3q", 0, 0, 0)
    try:
        rows = read_instructions(each.function)
    except UnknownOperationError as error:
        raise _refused(each, str(error)) from error
    operation, first, second, slot = (column.astype(np.int64) for column in rows.columns())
    unknown = [op for op in np.unique(operation).tolist() if op > LARGEST_PLAIN and op not in SPECIAL]
    if unknown:
        raise _refused(each, f"operation {unknown[0]}")
    special = np.isin(operation, [ca.OP_INPUT, ca.OP_CONST])
    stores = operation == ca.OP_OUTPUT
    # Operands by the place of their value; inputs, constants and outputs say themselves where they are.
    rows_of = [np.where(special | (column < 0), 0, column) for column in (first, np.where(stores, 0, second))]
    a = np.where(special, first, slot[rows_of[0]])
    b = np.where(special | stores, second, np.where(second >= 0, slot[rows_of[1]], a))
    code = np.array([SPECIAL.get(op, op) for op in operation.tolist()])
    table = np.column_stack([code, slot, a, np.where(operation == ca.OP_CONST, 0, b)]).astype("<i4")
    work = int(slot[~stores].max(initial=0)) + 1
    head = struct.pack("<3q", work, len(rows), len(rows.constants))
    return head + np.array(rows.constants, dtype="<f8").tobytes() + _padded(table.tobytes())


def _refused(each: CFunction, what: str) -> InputError:
    return InputError(
        f"The function {each.name.removeprefix('dd_')!r} of the model cannot be data.",
        what,
        because="the prebuilt runtime knows CasADi's arithmetic only.",
        remedy="a C compiler on this machine, which builds any model",
    )
