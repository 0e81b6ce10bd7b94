"""Conditions that outputs alone contain: two rows share the time at which one changes, as for those of the equations.

No step ends there: outputs never change a run. What time alone decides is solved for, as in the equations. The other
times are found on the dense output, between two of its samples at which a condition differs; samples come closer until
no more changes appear. The rows on both sides of each are added to those of the steps.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.deadline import undisturbed
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.modes_put_in import JUMPING
from daedalus.reduction.switches import switches_of
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.held_values import HeldValues
from daedalus.simulation.sliding.surface import switches_in_states
from daedalus.simulation.switching.condition_times import condition_times

# Samples inside each step at first and at most, changes in a run, and halvings of the time between two samples.
WITHIN, MOST_WITHIN, MOST_CHANGES, HALVINGS = 8, 256, 10_000, 60
# Outputs with more conditions, or more operations, are left alone: to look through them would take longer than the run.
MOST_CONDITIONS, MOST_INSTRUCTIONS = 40, 4000


class RowsWithChanges(NamedTuple):
    """The rows of a run, with those at changes of conditions in outputs among them."""

    times: np.ndarray
    x: np.ndarray
    held: HeldValues | None


class _OutputConditions(NamedTuple):
    """The conditions that no equation has."""

    guards: ca.Function | None  # of those that states decide, as a function of (t, x', x, z, u, p)
    of_unknowns: np.ndarray  # which of them read z or x'
    clock: ca.Function | None  # the values of those that time alone decides, as a function of (t, p)


def with_output_switches(
    plant: Plant, drive: Drive, p: np.ndarray, run: Any, held: HeldValues | None
) -> RowsWithChanges | None:
    """The rows of a core run with two for each change of a condition in outputs alone; None where there is none."""
    with undisturbed():  # the run is there already
        own = once(plant.system, _conditions_of_outputs)
    if own is None or not run.steps:
        return None
    dense, old, x = Dense(*run.dense()), run.t, run.x
    forward = -1.0 if dense.ends[-1] < dense.starts[0] else 1.0
    found = np.zeros(0)
    with undisturbed():
        if own.guards is not None:
            found = _Look(own, plant, drive, p, dense, held).all_changes()
        if own.clock is not None:
            span = (float(dense.starts[0]), float(dense.ends[-1]))
            with suppress(SolverError):  # too many of them to be listed
                found = np.union1d(found, condition_times(plant.system, own.clock, p, span)[0][1:])
    found = found[np.argsort(forward * found)][:MOST_CHANGES]
    # Two rows for each, of which steps that end there have one or both.
    first, behind = (np.searchsorted(forward * old, forward * found, side=side) for side in ("left", "right"))
    missing = np.where(found == old[0], 0, np.maximum(2 - (behind - first), 0))
    if not missing.any():
        return None
    where, times = np.repeat(behind, missing), np.repeat(found, missing)
    rows = dense.at(times)[:, : x.shape[1]]
    if held is not None:
        shift = np.searchsorted(where, held.rows, side="right")
        held = HeldValues(held.rows + shift, held.times, held.values)
    return RowsWithChanges(np.insert(old, where, times), np.insert(x, where, rows, axis=0), held)


def _conditions_of_outputs(system: System) -> _OutputConditions | None:
    """The conditions that no equation has, in what a row of an explicit run knows where that can be."""
    if not system.outputs:
        return None
    arguments = system.symbols()
    whole = concatenate(ca.vec(value) for value in system.outputs.values())
    if not 0 < _conditions(whole) <= MOST_CONDITIONS:
        return None
    own = switches_of(system)
    known = () if own is None else (*own.conditions, *own.on_time)
    named, timed = switches_in_states(system)
    guards = [guard for text, guard in named if text not in known]
    clock = [value for text, value in timed if text not in known]
    if not guards and not clock:
        return None
    open_ = ca.vertcat(system.symbol("xdot"), system.symbol("z"))
    return _OutputConditions(
        ca.Function("guards", arguments, [ca.densify(concatenate(guards))]) if guards else None,
        np.array([bool(ca.depends_on(guard, open_)) for guard in guards], dtype=bool),
        ca.Function("clock", [arguments[0], arguments[-1]], [ca.densify(concatenate(clock))]) if clock else None,
    )


def _conditions(expression: ca.SX) -> int:
    """How many operations switch in an expression; large ones count as more than are looked at."""
    function = ca.Function("outputs", [ca.vertcat(ca.SX(0, 1), *ca.symvar(expression))], [expression])
    count = function.n_instructions()
    if count > MOST_INSTRUCTIONS:
        return MOST_CONDITIONS + 1
    return sum(function.instruction_id(k) in JUMPING for k in range(count))


class _Look:
    """The guards along the dense output of a run."""

    def __init__(
        self,
        own: _OutputConditions,
        plant: Plant,
        drive: Drive,
        p: np.ndarray,
        dense: Dense,
        held: HeldValues | None,
    ) -> None:
        assert own.guards is not None
        self._guards, self._parts = own.guards, plant.row_parts
        self._drive, self._p, self._dense, self._held = drive, p, dense, held
        # Rows of an explicit method know neither z nor x'.
        self._chosen = np.flatnonzero(~own.of_unknowns | ("z" in self._parts and "xdot" in self._parts))

    def at(self, times: np.ndarray) -> np.ndarray:
        """The guards at times, (times, guards)."""
        rows, u = self._dense.at(times).T, self._drive.at(times).T
        p = np.repeat(self._p[:, None], len(times), axis=1)
        if self._held is not None:
            held = self._held.at(times).T
            p[len(p) - len(held) :] = held
        rates, x, z = (
            rows[self._parts[letter]] if letter in self._parts else np.zeros((self._guards.size1_in(k), len(times)))
            for k, letter in ((1, "xdot"), (2, "x"), (3, "z"))
        )
        return np.asarray(self._guards.map(len(times))(times[None, :], rates, x, z, u, p).full().T)[:, self._chosen]

    def all_changes(self) -> np.ndarray:
        """The times at which guards have another sign, found with samples ever closer until no more appear."""
        starts, ends, within = self._dense.starts, self._dense.ends, WITHIN
        found, looked = np.zeros(0), False
        while len(self._chosen) and within <= MOST_WITHIN:
            part = np.arange(within) / within
            more = self.changes(np.append((starts[:, None] + part * (ends - starts)[:, None]).ravel(), ends[-1]))
            if looked and len(more) <= len(found):
                break
            found, looked, within = more, True, 2 * within
        return found

    def changes(self, times: np.ndarray) -> np.ndarray:
        """The first times at which guards have another sign, between some times."""
        values = self.at(times)
        signs = np.where(np.abs(values) > SAME * np.abs(values).max(axis=0, initial=0.0), np.sign(values), 0.0)
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
