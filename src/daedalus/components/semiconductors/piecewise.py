"""The piecewise linear law of an ideal valve, by a drive s that is its current in A where it conducts and its voltage
in V where it blocks:

    v = R s, i = s   for s > 0,       v = s, i = G s   for s ≤ 0.

Its sign is known to the accuracy of the current or voltage itself. The sign of v = v_a − v_b would be lost in the
errors of two large voltages where a small on resistance leaves microvolts between them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca


class Valve(NamedTuple):
    """The drive of a valve, and by it its voltage above the threshold and its current."""

    drive: Any
    over: ca.SX
    through: ca.SX


def piecewise_valve(m: Any, on_resistance: Any, off_conductance: Any, may_conduct: Any = None) -> Valve:
    """A valve with its drive as an unknown of the part.

    may_conduct: a condition without which it blocks in both directions.
    """
    drive = m.algebraic("drive")
    m.written.on_request.add("drive")
    on = drive > 0
    over, through = ca.if_else(on, on_resistance * drive, drive), ca.if_else(on, drive, off_conductance * drive)
    if may_conduct is not None:
        over = ca.if_else(may_conduct, over, drive)
        through = ca.if_else(may_conduct, through, off_conductance * drive)
    return Valve(drive, over, through)


def valve_poles(m: Any, law: Any) -> tuple[Any, Any]:
    """Voltage and current of a part with the ports plus and minus, whose voltage is a law of its own unknowns."""
    plus, minus = m.port("plus", "electrical"), m.port("minus", "electrical")
    current = m.algebraic("current", unit="A")
    m.equation(plus.voltage - minus.voltage, law, name="voltage")
    m.equation(current, plus.current, name="current in")
    m.equation(current + minus.current, 0, name="current out")
    m.output("voltage", law, unit="V")
    return law, current
