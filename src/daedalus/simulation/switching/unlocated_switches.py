"""Go on without cutting steps where cutting them leads nowhere.

Steps end where a condition of the equations changes. At a kink, where both branches say the same, such as |v| where v
comes to rest, rounding turns the condition to and fro, and nothing would be gained by meeting it: a step across keeps
its error by its length. A jump that leads back to itself from both sides is another matter: see
`daedalus.simulation.run.stop_reason.sliding`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daedalus.integrators.methods import METHODS
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.records_on_the_way import SwitchesCrossed
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.road import Piece
from daedalus.simulation.run.settings import settings_for
from daedalus.simulation.switching.jumps_on_conditions import jumps_near


def piece_without_cuts(first: Piece, done: Trajectory) -> Piece | None:
    """The rest of a run that stopped at a switch, by the same method without locating them; None for other ends."""
    request, run = first.road.request, done._source
    if not request.locate_switches:
        return None
    # A piece over a dead centre has no core run behind it.
    if not hasattr(run, "turns") or done.method not in METHODS:
        return None
    switches = switches_of(done.system)
    if switches is None or switches.count == 0 or any(isinstance(record, SwitchesCrossed) for record in done.records):
        return None
    agree = done.status is Ending.CHATTERING and run.last_turned >= 0 and is_kink(done, switches, run.last_turned)
    if not agree and not done.status.may_be_stalled_switch:
        return None
    last = switches.conditions[run.last_turned] if run.last_turned >= 0 else None
    # An explicit method that "auto" chose still gives way where stability holds it back.
    method = done.method if done._plant.is_implicit else request.method
    settings = settings_for(request.with_options(locate_switches=False), done.system, method)
    notes = (*settings.notes, SwitchesCrossed(float(done.end.time), last, agree))
    # What time alone decides is still known.
    settings = replace(settings, stops=switches.clock, notes=notes)
    return first.behind(done, settings, run.stop_time, np.array(run.end))


def is_kink(done: Trajectory, switches: Switches, which: int) -> bool:
    """Whether the equations say the same on both sides of a condition at the end of a piece.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> from daedalus.reduction.switches import switches_of
    >>> m = dd.Model("valve")
    >>> x = m.state("x", start=0.0)
    >>> m.equation(m.der(x), ca.fabs(x) - ca.sign(x))
    >>> tr = dd.simulate(m, 1.0)
    >>> found = switches_of(tr.system)
    >>> found.conditions, [is_kink(tr, found, k) for k in range(found.count)]
    (('x > 0', 'x < 0'), [False, False])
    """
    end, labels = done.end, done.system.labels
    u = np.array([float(end[name]) for name in labels["u"]])
    if switches.clock is not None:
        u = np.concatenate([u, switches.clock(float(end.time), done._parameters).full().ravel()])
    values = [np.array([float(end[name]) for name in labels[letter]]) for letter in ARGUMENTS[1:4]]
    place = np.concatenate([[float(end.time)], *values, u, done._parameters, np.zeros(switches.count)])
    return not jumps_near(switches, which, place)
