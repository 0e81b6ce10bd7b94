"""Functions of time with jumps or kinks in equations that a reduction of the index differentiates.

The derivative of a pulse is zero but for impulses, which no formula shows: a reduced model would never see the pulse.
Implicit methods take the equations as they are written.
"""

from __future__ import annotations

import casadi as ca

from daedalus.analysis.structure.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import signature
from daedalus.model.expressions import elements
from daedalus.model.system import System
from daedalus.reduction.switches import switches_of


def jumps_differentiated(system: System) -> str | None:
    """What would be lost by differentiating, in words; None where nothing would be.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("driven point")
    >>> x = m.state("x", start=0.0); force = m.algebraic("force")
    >>> m.equation(m.der(x), force); m.equation(x, ca.fmax(m.time - 1, 0), name="path")
    >>> jumps_differentiated(m.freeze())
    'path is differentiated once, and t - 1 > 0 changes there'
    """
    if "jumps differentiated" not in system.prepared:
        system.prepared["jumps differentiated"] = _found(system)
    return system.prepared["jumps differentiated"]


def _found(system: System) -> str | None:
    switches = switches_of(system)
    if switches is None or switches.clock is None:
        return None
    hidden = elements(switches.system.symbol("u"))[-switches.clock.numel_out(0) :]
    rows, columns = ca.jacobian_sparsity(switches.system.residual, ca.vertcat(*hidden)).get_triplet()
    times = signature(system.residual, DerivativeArray(system).y).c
    for row, column in zip(rows, columns):
        if times[row]:
            often = {1: "once", 2: "twice"}.get(int(times[row]), f"{int(times[row])} times")
            return (
                f"{system.equation_labels[row]} is differentiated {often}, and {switches.on_time[column]} changes there"
            )
    return None
