"""Go on without cutting steps where cutting them leads nowhere.

Steps end where a condition of the equations changes. At a kink, where both branches say the same, such as |v| where v
comes to rest, rounding turns the condition to and fro, and nothing would be gained by meeting it: a step across keeps
its error by its length. A jump that leads back to itself from both sides is another matter: see
`daedalus.simulation.run.stop_reason.sliding`.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import newton_over_corners
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.integrators.methods import METHODS
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.records_on_the_way import SwitchedTogether, SwitchesCrossed
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


# -- unknowns that are solved anew -------------------------------------------------------------------------------------
#
# A switch that opens forces a diode beside it to conduct at the same instant: with the one in its new state and the
# other in its old one the unknowns between them lie far away, and no step is short enough to lead there. With the
# conditions in the equations, instead of modes, they are solved for x' and z at the states that were reached, and the
# run goes on.

# How far behind the instant the equations are read, as a share of the rest of the run and of the time itself.
BEHIND = 1e-12
# Where the branch that a condition leads to has no solution nearby, or leads back at once.
ENDS = (Ending.INCONSISTENT, Ending.CHATTERING)


def with_unknowns_solved_anew(first: Piece, done: Trajectory) -> Piece | None:
    """The rest of a run that stopped where conditions change at once; None for other ends."""
    run, system = done._source, done.system
    if done.status not in ENDS or not hasattr(run, "turns") or not first.road.request.locate_switches:
        return None
    switches = switches_of(system) if system.sizes["z"] else None
    if switches is None or not switches.count:
        return None
    t, row = float(run.stop_time), np.array(run.end)
    if done.status is Ending.CHATTERING and not done.work.steps:
        return None  # it began here, and nothing was won
    found = _solved_anew(done, t, row, first.road.request.t1)
    if found is None:
        return None
    settings = first.continued_settings(system, done.method)
    settings = replace(settings, notes=(*settings.notes, SwitchedTogether(t, switches.conditions)))
    return first.behind(done, settings, t, found)


def _solved_anew(done: Trajectory, t: float, row: np.ndarray, t1: float) -> np.ndarray | None:
    """The row (x, z, x') behind an instant; None where nothing is found, or z does not jump."""
    system, n = done.system, done.system.sizes["x"]
    nz = system.sizes["z"]
    if len(row) != 2 * n + nz:
        return None
    structure = structure_of(system)
    arguments = [structure.symbols(*letters) for letters in (("xdot", "z"), "t", "x", "u", "p")]
    function = ca.Function("row", arguments, [system.residual, structure.slopes("xdot", "z")])
    behind = t + BEHIND * (abs(t) + abs(t1 - t)) * np.sign(t1 - t)
    given = (behind, row[:n], done._drive.at_time(behind), done._parameters)
    nominal = np.concatenate([system.nominal["x"], system.nominal["z"]])

    def equations(w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        residual, slopes = (part.full() for part in function(w, *given))
        size = np.abs(slopes) @ np.maximum(np.abs(w), nominal)
        return residual.ravel(), slopes, np.where(size > 0, size, 1.0)

    root = newton_over_corners(equations, np.concatenate([row[n + nz :], row[n : n + nz]]), nominal)
    if not root.solved:
        return None
    rates, solved = root.values[:n], root.values[n:]
    if np.all(np.abs(solved - row[n : n + nz]) <= KNOWN_BY_DIFFERENCES * np.maximum(np.abs(solved), nominal[n:])):
        return None
    return np.concatenate([row[:n], solved, rates])
