"""dd.flow: the map of a few fixed steps as a CasADi function with exact, compiled derivatives.

x⁺ = φ(x, u, p) is what `steps` steps of length `step` make of x with u held constant. Derivatives are those of the
discrete map itself: explicit stages are differentiated one after the other, implicit ones by the implicit function
theorem with the exact Jacobians of the converged stages (see flow_explicit.hpp and flow_implicit.hpp in the core).
CasADi calls the core through symbols that the core exports, so no Python runs in an evaluation.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import InputError, SolverError
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.forking import fork_safe_lock
from daedalus.model.model import Model
from daedalus.model.plain_numbers import without_unit
from daedalus.model.system.system import System


class Flow(ca.Function):
    """The CasADi function that `dd.flow` returns, (x, u, p) -> x_next, with what it was made of.

    core: the same map outside CasADi, with first derivatives and full second-order tensors as NumPy arrays.
    system: what is stepped; for a model of higher index, its reduced form.
    labels: the names of the entries of x, u, p.

    It may be called from several threads at once. Pickling stores the system and the settings, and makes the flow
    again; the text of a CasADi function that contains a flow can be read while the flow is there, and is refused later.
    """

    def __init__(self, core: FlowCore) -> None:
        super().__init__(casadi_function(core))
        self.core = core
        self.system = core.system
        self.labels = {letter: core.system.labels[letter] for letter in ("x", "u", "p")}

    def __reduce__(self) -> tuple[Callable[..., Flow], tuple[Any, ...]]:
        core = self.core
        return flow, (core.system, core.step, core.tableau, core.steps, core.t0)

    def __copy__(self) -> Flow:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Flow:
        return self


def flow(
    model: Model | System,
    step: float,
    method: str | Tableau = "rk4",
    steps: int = 1,
    t0: float | None = None,
) -> Flow:
    """The fixed-step map x⁺ = φ(x, u, p) as a CasADi function for optimisers and other CasADi code.

    Its first derivatives, forward and reverse, and the contracted second derivative λᵀ∇²φ are compiled and are the
    exact derivatives of the discrete map. `ca.jacobian`, `ca.hessian`, `nlpsol` with an exact Hessian, and `map` (also
    with threads) work on it. x, u and p are in the order of `f.labels`.

    Parameters
    ----------
    model: an ODE or a DAE. A model of index 2 or 3 is reduced first; a projection after every step keeps its
        constraints and unit quaternions, and the derivatives include it. From redundant constraints, those that are
        best conditioned at the start values are kept, for every x.
    step: the step size, > 0; u is constant over all steps.
    method: the name of a tableau, explicit ("rk4", "dopri5") or implicit ("radau5", "gauss3", "implicit_euler"), or a
        `dd.Tableau`. Algebraic variables are solved for inside each stage.
    steps: the number of steps.
    t0: the start time, for models that depend on time. Their map differs from time to time.

    Raises an InputError for events (fixed steps cannot stop at one), for a method that is not a tableau, and for a
    model that depends on time without t0; a SolverError if more than 256 flows exist at once. If Newton's method fails
    in a step, the result is NaN and CasADi reports a failed evaluation.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("oscillator")
    >>> y, v = m.state("y", start=1.0), m.state("v")
    >>> force, k = m.input("force"), m.parameter("k", 4.0)
    >>> m.equation([m.der(y), m.der(v)], [v, force - k * y])
    >>> f = dd.flow(m, step=0.1, method="rk4")
    >>> x, u = ca.MX.sym("x", 2), ca.MX.sym("u")
    >>> end = f(x, u, 4.0)
    >>> sensitivity = ca.Function("N", [x, u], [ca.jacobian(end, u)])
    >>> sensitivity([1, 0], 0).full().round(6).ravel().tolist()
    [0.004983, 0.099333]
    """
    system = flowing_system(model)
    chosen = method if isinstance(method, Tableau) else _tableau(method)
    problems = [] if chosen.is_consistent else chosen.problems()
    if problems:
        raise InputError(
            f"The tableau {chosen.name or 'given'!r} is not consistent.", problems, remedy="correct the coefficients"
        )
    step = without_unit(step, "s", "step")
    if not isinstance(step, (int, float, np.number)) or not (math.isfinite(step) and step > 0):
        raise InputError("step must be a positive number.", f"got {step!r}", remedy="step=0.05")
    if not isinstance(steps, (int, np.integer)) or isinstance(steps, bool) or steps < 1:
        raise InputError("steps must be a whole number of at least 1.", f"got {steps!r}", remedy="steps=1")
    if system.events:
        raise InputError(
            "A flow does not support events.",
            f"the model has {', '.join(event.name for event in system.events)}",
            because="its steps are fixed, so it would miss an event.",
            remedy="dd.simulate, which stops at events, or a model without them",
        )
    core = FlowCore(system, chosen, float(step), int(steps), _start_time(t0))
    if t0 is None and core.stage.depends_on_time:
        raise InputError(
            "This model depends on time, and t0 is not given.",
            f"t appears in the equations of {system.name!r}",
            because="the map of a fixed step then differs from time to time.",
            remedy='t0=0.0; or time as a state, c = m.state("clock"), m.equation(m.der(c), 1)',
        )
    return Flow(core)


def _start_time(t0: float | None) -> float:
    if t0 is None:
        return 0.0
    if not isinstance(t0, (int, float, np.number)) or not math.isfinite(t0):
        raise InputError("t0 must be a finite number.", f"got {t0!r}", remedy="t0=0.0")
    return float(t0)


def _tableau(method: object) -> Tableau:
    if not isinstance(method, str):
        raise InputError(
            "method= is a name or a Tableau.", f"got {type(method).__name__}", remedy='method="rk4", or "radau5"'
        )
    return tableau(method)


# How a flow enters CasADi: as an external function on symbols that the core exports from a pool of numbered slots.
#
# A slot is taken by a flow for as long as some CasADi function refers to it, derivatives and functions that contain
# them included. Each flow has a mark of its own, which its CasADi function carries along: a function that is read
# from a file or a text once its flow is gone, or in another process, finds no flow of that mark and is refused.

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
