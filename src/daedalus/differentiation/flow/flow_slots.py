"""How a flow enters CasADi: as an external function on symbols that the core exports from a pool of numbered slots.

A slot is taken by a flow for as long as some CasADi function refers to it, derivatives and functions that contain them
included. Each flow has a mark of its own, which its CasADi function carries along: a function that is read from a file
or a text once its flow is gone, or in another process, finds no flow of that mark and is refused.
"""

from __future__ import annotations

import secrets
from typing import Any

import casadi as ca

from daedalus import _core
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import SolverError
from daedalus.model.forking import fork_safe_lock

_lock = fork_safe_lock()


def casadi_function(core: FlowCore) -> ca.Function:
    """The CasADi function (x, u, p) -> x_next of a flow."""
    for part, (inputs, outputs, names_in, names_out) in enumerate(core.shapes()):
        patterns = [[pattern.compress() for pattern in side] for side in (inputs, outputs)]
        core.core.set_shape(part, *patterns, names_in, names_out)
    # Until CasADi holds the slot nobody else may look for an empty one.
    mark = secrets.token_hex(16)
    with _lock:
        slot = _core.reserve_flow_slot(core.core, mark)
        if slot < 0:
            raise _all_taken()
        # More than one reverse direction at a time is cheaper by the Jacobian.
        options: Any = {"jac_penalty": 1.5 / max(1, core.stage.sizes["x"]), "config_args": [mark]}
        return ca.external(f"daedalus_flow_{slot:02x}", _core.__file__, options)


def _all_taken() -> SolverError:
    return SolverError(
        f"There are {_core.flow_slot_count} flows already.",
        f"{_core.flow_slots_in_use()} of {_core.flow_slot_count} places are held by CasADi functions",
        because="each flow takes one of the places that the core exports to CasADi.",
        remedy="del the flows that are no longer needed, or one flow with the step as a parameter of the model",
    )
