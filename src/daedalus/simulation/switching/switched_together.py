"""Rule of a run: where conditions on algebraic unknowns change together with others, all unknowns are solved anew.

A switch that opens forces a diode beside it to conduct at the same instant: with the one in its new state and the other
in its old one the unknowns between them lie far away, and no step is short enough to lead there. With the conditions in
the equations, instead of modes, they are solved for x' and z at the states that were reached, and the run goes on.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import newton_over_corners
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.reduction.switches import switches_of
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.records_on_the_way import SwitchedTogether
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.road import Piece

# How far behind the instant the equations are read, as a share of the rest of the run and of the time itself.
BEHIND = 1e-12
# Where the branch that a condition leads to has no solution nearby, or leads back at once.
ENDS = (Ending.INCONSISTENT, Ending.CHATTERING)
# Unknowns that move by less than this share of their size have not jumped.
MOVED = 1e-6


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
    if np.all(np.abs(solved - row[n : n + nz]) <= MOVED * np.maximum(np.abs(solved), nominal[n:])):
        return None
    return np.concatenate([row[:n], solved, rates])
