"""Whether expressions are linear in some unknowns, steps included: `z + sign(z)` has the slope 1 and is not linear."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation.foreign_calls import calls_foreign_code
from daedalus.model.expressions import BENDS, COMPARISONS, LOGICAL, STAIRS, concatenate, contains, elements, symbol_key
from daedalus.model.system.instruction_list import LONG, UnknownOperationError, read_instructions
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System

# Operations that jump, or switch at a jump: their derivative says nothing of the step.
_STEPS = frozenset((*COMPARISONS, *LOGICAL, *STAIRS, ca.OP_SIGN, ca.OP_COPYSIGN))


def is_linear(expressions: ca.SX, unknowns: ca.SX, slopes: ca.SX, steps: bool = True) -> bool:
    """Whether `expressions`, whose derivatives by the unknowns are `slopes`, are linear in the unknowns.

    steps: whether a step may stand in them at all (`has_steps`), asked once for many expressions.
    """
    return not ca.depends_on(slopes, unknowns) and not (steps and steps_with(expressions, unknowns))


def has_steps(expressions: ca.SX) -> bool:
    """Whether a step stands anywhere in some expressions."""
    return contains(ca.Function("steps", [concatenate(ca.symvar(expressions))], [expressions]), _STEPS)


class Operations(NamedTuple):
    """Which operations stand in the equations of a system, and whether one of their constants is not a number.

    A reduced system keeps those of the equations that it was derived from, if these are smooth: so are derivatives.
    """

    kinds: frozenset[int]
    has_nan: bool


@remembered
def operations_of(system: System) -> Operations | None:
    """The operations of many equations, read once; None for few equations and for those that call other code."""
    told = system.part(Operations)
    if told is not None:
        return told
    function = system.function
    if function.n_instructions() < LONG or calls_foreign_code(function):
        return None
    try:
        rows = read_instructions(function, placed=False)
    except UnknownOperationError:
        return None
    constants = np.frombuffer(rows.constants, float) if len(rows.constants) else np.zeros(0)
    return Operations(frozenset(np.unique(rows.columns()[0]).tolist()), bool(np.isnan(constants).any()))


def smooth_operations(system: System) -> tuple[Operations, ...]:
    """The operations of many equations that are smooth, for systems that are derived from them; else nothing."""
    found = operations_of(system)
    smooth = found is not None and not found.has_nan and found.kinds.isdisjoint(_STEPS | BENDS.keys())
    return (found,) if found is not None and smooth else ()


def may_step(system: System) -> bool:
    """Whether a step may stand in the equations."""
    found = operations_of(system)
    return found is None or not _STEPS.isdisjoint(found.kinds)


def surely_without(system: System, kinds: Collection[int]) -> bool:
    """Whether many equations have none of some operations, and no constant that is not a number."""
    found = operations_of(system)
    return found is not None and not found.has_nan and found.kinds.isdisjoint(kinds)


def steps_with(expressions: ca.SX, unknowns: ca.SX, kinks: bool = False) -> bool:
    """Whether a step anywhere inside depends on an unknown; with `kinks` a kink counts too."""
    sharp = _STEPS | BENDS.keys() if kinks else _STEPS
    own = {symbol_key(s) for s in elements(unknowns)}
    others = [s for s in ca.symvar(expressions) if symbol_key(s) not in own]
    function = ca.Function("steps", [unknowns, concatenate(others)], [expressions])
    if not contains(function, sharp):
        return False
    # Follow the unknowns through the instructions, from work slot to work slot.
    touched: dict[int, bool] = {}
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation == ca.OP_OUTPUT:
            continue
        sources = function.instruction_input(k)
        if operation == ca.OP_INPUT:
            depends = sources[0] == 0
        else:
            depends = operation != ca.OP_CONST and any(touched[slot] for slot in sources)
        if depends and operation in sharp:
            return True
        touched[function.instruction_output(k)[0]] = depends
    return False
