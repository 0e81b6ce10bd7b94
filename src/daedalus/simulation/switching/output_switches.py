"""Conditions that outputs alone contain: two rows share the time at which one changes, as for those of the equations.

No step ends there: outputs never change a run. The time is found on the dense output, between two of its samples at
which the condition differs, and the rows on both sides of it are added to those of the steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.deadline import undisturbed
from daedalus.model.expressions import concatenate
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.switches import LETTERS, SWITCHING, switches_of
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.held_values import HeldValues
from daedalus.simulation.result.recorded_run import Dense
from daedalus.simulation.sliding.surface import switches_in_states

# Samples inside each step, changes in a run, and halvings of the time between two samples.
WITHIN, MOST_CHANGES, HALVINGS = 8, 1000, 60
# Outputs with more conditions, or more operations, are left alone: to look through them would take longer than the run.
MOST_CONDITIONS, MOST_INSTRUCTIONS = 40, 4000
# Guards smaller than this part of their largest value have no sign: something rests there.
RESTS = 1e-9


class RowsWithChanges(NamedTuple):
    """The rows of a run, with those at changes of conditions in outputs among them."""

    times: np.ndarray
    x: np.ndarray
    held: HeldValues | None


def with_output_switches(
    plant: Plant, drive: Drive, p: np.ndarray, run: Any, held: HeldValues | None
) -> RowsWithChanges | None:
    """The rows of a core run with two for each change of a condition in outputs alone; None where there is none."""
    with undisturbed():  # the run is there already
        guards = once(plant.system, _guards_of_outputs)
    if guards is None or not run.steps:
        return None
    dense, old, x = Dense(*run.dense()), run.t, run.x
    look = _Look(guards, plant, drive, p, dense, held)
    part = np.arange(WITHIN) / WITHIN
    times = np.append((dense.starts[:, None] + part * (dense.ends - dense.starts)[:, None]).ravel(), dense.ends[-1])
    found = look.changes(times)
    forward = -1.0 if dense.ends[-1] < dense.starts[0] else 1.0
    found = found[~np.isin(found, old)][:MOST_CHANGES]
    if not len(found):
        return None
    places = np.searchsorted(forward * old, forward * found, side="right")
    where, rows = np.repeat(places, 2), np.repeat(dense.at(found), 2, axis=0)
    if held is not None:
        shift = 2 * np.searchsorted(places, held.rows, side="right")
        held = HeldValues(held.rows + shift, held.times, held.values)
    return RowsWithChanges(
        np.insert(old, where, np.repeat(found, 2)), np.insert(x, where, rows[:, : x.shape[1]], axis=0), held
    )


def _guards_of_outputs(system: System) -> ca.Function | None:
    """The guards of conditions that no equation has, in what a row of an explicit run knows."""
    if not system.outputs:
        return None
    arguments = [system.symbol(letter) for letter in LETTERS]
    whole = concatenate(ca.vec(value) for value in system.outputs.values())
    if not 0 < _conditions(whole) <= MOST_CONDITIONS:
        return None
    own = switches_of(system)
    known = () if own is None else (*own.conditions, *own.on_time)
    named, clock = switches_in_states(system)
    guards = [guard for text, guard in named if text not in known]
    guards += [value - 0.5 for text, value in clock if text not in known]
    open_ = ca.vertcat(system.symbol("xdot"), system.symbol("z"))
    guards = [guard for guard in guards if not ca.depends_on(guard, open_)]
    return ca.Function("guards", arguments, [ca.densify(concatenate(guards))]) if guards else None


def _conditions(expression: ca.SX) -> int:
    """How many operations switch in an expression; large ones count as more than are looked at."""
    function = ca.Function("outputs", [ca.vertcat(ca.SX(0, 1), *ca.symvar(expression))], [expression])
    count = function.n_instructions()
    if count > MOST_INSTRUCTIONS:
        return MOST_CONDITIONS + 1
    return sum(function.instruction_id(k) in SWITCHING for k in range(count))


class _Look:
    """The guards along the dense output of a run."""

    def __init__(
        self, guards: ca.Function, plant: Plant, drive: Drive, p: np.ndarray, dense: Dense, held: HeldValues | None
    ) -> None:
        self._guards, self._states = guards, plant.row_parts["x"]
        self._drive, self._p, self._dense, self._held = drive, p, dense, held

    def at(self, times: np.ndarray) -> np.ndarray:
        """The guards at times, (times, guards)."""
        x, u = self._dense.at(times)[:, self._states].T, self._drive.at(times).T
        p = np.repeat(self._p[:, None], len(times), axis=1)
        if self._held is not None:
            held = self._held.at(times).T
            p[len(p) - len(held) :] = held
        zeros = [np.zeros((self._guards.size1_in(k), len(times))) for k in (1, 3)]
        return np.asarray(self._guards.map(len(times))(times[None, :], zeros[0], x, zeros[1], u, p).full().T)

    def changes(self, times: np.ndarray) -> np.ndarray:
        """The first times at which guards have another sign, between some times."""
        values = self.at(times)
        signs = np.where(np.abs(values) > RESTS * np.abs(values).max(axis=0, initial=0.0), np.sign(values), 0.0)
        # At zero a sign is what it was.
        last = np.maximum.accumulate(np.where(signs != 0, np.arange(len(times))[:, None], 0), axis=0)
        signs = np.take_along_axis(signs, last, axis=0)
        step, which = np.nonzero(signs[1:] * signs[:-1] < 0)
        step, which = step[:MOST_CHANGES], which[:MOST_CHANGES]
        low, high = times[step].copy(), times[step + 1].copy()
        before = signs[step, which]
        for _ in range(HALVINGS if len(step) else 0):
            middle = 0.5 * (low + high)
            same = np.sign(self.at(middle)[np.arange(len(step)), which]) == before
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return np.unique(high)
