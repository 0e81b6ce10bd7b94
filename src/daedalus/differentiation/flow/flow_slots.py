"""How a flow enters CasADi: as an external function on symbols that the core exports from a pool of numbered slots.

A slot is taken by a flow for as long as some CasADi function refers to it, derivatives and functions that contain them
included. The pool begins at a place of its own in each process, so that a function carried to another process finds an
empty slot rather than another flow.
"""

from __future__ import annotations

import random
import threading

import casadi as ca

from daedalus import _core
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import SolverError

_lock = threading.Lock()
_first = random.SystemRandom().randrange(_core.flow_slot_count)


def casadi_function(core: FlowCore) -> ca.Function:
    """The CasADi function (x, u, p) -> x_next of a flow."""
    for part, (inputs, outputs, names_in, names_out) in enumerate(core.shapes()):
        patterns = [[pattern.compress() for pattern in side] for side in (inputs, outputs)]
        core.core.set_shape(part, *patterns, names_in, names_out)
    # Until CasADi holds the slot nobody else may look for an empty one.
    with _lock:
        slot = _core.reserve_flow_slot(core.core, _first)
        if slot < 0:
            raise _all_taken()
        # More than one reverse direction at a time is cheaper by the Jacobian.
        options = {"jac_penalty": 1.5 / max(1, core.stage.sizes["x"])}
        return ca.external(f"daedalus_flow_{slot:02x}", _core.__file__, options)


def _all_taken() -> SolverError:
    return SolverError(
        f"There are {_core.flow_slot_count} flows already.",
        f"{_core.flow_slots_in_use()} of {_core.flow_slot_count} places are held by CasADi functions",
        because="each flow takes one of the places that the core exports to CasADi.",
        remedy="del the flows that are no longer needed, or one flow with the step as a parameter of the model",
    )
