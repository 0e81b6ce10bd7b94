"""Guards that touch zero without passing it: no event, but something to know of.

Between steps at which a guard has one sign its smallest size is looked for on the dense output, where a parabola
through neighbouring steps leads near zero. Derivatives are told the same: where a guard hardly misses zero, a small
change makes an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.model.event_purpose import EventPurpose
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.linear_plant import AfterSolve, LinearPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import Touched
from daedalus.simulation.switching.agenda import order_of
from daedalus.simulation.switching.guard_times import timed_guards

# A guard touches zero within so many tolerances of its largest size; a parabola leads as near as this share of it.
TOUCHES, LEADS = 10.0, 0.05
# So many dips of a guard are looked into, in so many rounds of so many times.
MOST_DIPS, ROUNDS, TIMES = 20, 6, 17
# With fewer steps, so many times in each are looked at too.
FEW, WITHIN = 400, 8


def touches(plant: Plant, drive: Drive, p: np.ndarray, run: Any, rtol: float) -> tuple[Record, ...]:
    """Records of the events whose guards only touch zero in a core run."""
    watched = once(plant.system, _smooth)
    if not watched or not run.steps:
        return ()
    fired = {float(time) for _, time, *_ in run.events}

    def guards(times: np.ndarray) -> np.ndarray:
        rows = steps[1] if times is steps[0] else Dense(*run.dense()).at(times)
        return guard_values(plant, drive, p, times, rows)

    steps = run.at_steps()
    columns = [(k, event) for k, event in enumerate(order_of(plant.system).events) if event in watched]
    found = near_zero_between(steps[0], guards, [k for k, _ in columns], rtol)
    return tuple(
        Touched(plant.system.events[event].name, dip.time, dip.closest)
        for (_, event), dips in zip(columns, found)
        for dip in dips
        if not any((each - dip.begin) * (dip.end - each) >= 0 for each in fired)
    )


class Dip(NamedTuple):
    """A guard turns back near zero: when, how near, and the times between which that was seen."""

    time: float
    closest: float
    begin: float
    end: float


def near_zero_between(
    t: np.ndarray, guards: Callable[[np.ndarray], np.ndarray], columns: Sequence[int], rtol: float
) -> list[list[Dip]]:
    """Where each of some guards turns back at zero to the tolerance of a run; guards: times -> (times, guards)."""
    if len(t) <= FEW:  # long steps are looked into
        t = np.interp(np.arange((len(t) - 1) * WITHIN + 1) / WITHIN, np.arange(len(t)), t)
    if len(t) < 3 or not columns:
        return [[] for _ in columns]
    values = guards(t)
    return [list(_near_zero(t, values[:, k], partial(_one_of, guards, k), rtol)) for k in columns]


def _one_of(guards: Callable[[np.ndarray], np.ndarray], column: int, times: np.ndarray) -> np.ndarray:
    return np.asarray(guards(times)[:, column])


def _near_zero(
    t: np.ndarray, values: np.ndarray, guard: Callable[[np.ndarray], np.ndarray], rtol: float
) -> Iterator[Dip]:
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if not largest:
        return
    for k in _dips(t, values, largest)[:MOST_DIPS]:
        begin, end = float(t[k - 1]), float(t[k + 1])
        time, closest = _closest(guard, begin, end)
        if closest <= TOUCHES * rtol * largest:
            yield Dip(time, closest, begin, end)


def _smooth(system: System) -> frozenset[int]:
    """Events whose guards follow from states: not from time alone, and not from discrete variables."""
    first = system.sizes["p"] - system.discrete_count
    held = system.symbol("p")[first:]
    timed = set(timed_guards(system))
    return frozenset(
        k
        for k, event in enumerate(system.events)
        if not event.is_clock and event.purpose is EventPurpose.MODEL and k not in timed and not event.manner.contact
        if not ca.depends_on(system.guards[k], held)
    )


def guard_values(plant: Plant, drive: Drive, p: np.ndarray, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The guards of the events of a plant at rows of a run, (times, guards)."""
    guards: Any = plant.guards
    if isinstance(plant, LinearPlant) and guards.function.n_in() == 5:
        guards = AfterSolve(plant.model, guards)
    return np.asarray(guards.core.evaluate_many(t[:, None], np.ascontiguousarray(rows), drive.at(t), p)[0])


def _dips(t: np.ndarray, values: np.ndarray, largest: float) -> np.ndarray:
    """Steps at which a guard is nearest to zero, where a parabola through their neighbours leads there."""
    a, b, c = (values[k : len(values) - 2 + k] for k in range(3))
    low = (a * c > 0) & (a * b >= 0) & (np.abs(b) <= np.abs(a)) & (np.abs(b) <= np.abs(c)) & (np.diff(t)[:-1] != 0)
    middle = np.flatnonzero(low & (np.diff(t)[1:] != 0)) + 1
    slopes = [np.diff(np.abs(values))[middle - side] / np.diff(t)[middle - side] for side in (1, 0)]
    bend = (slopes[1] - slopes[0]) / (t[middle + 1] - t[middle - 1])
    slope = slopes[0] + bend * (t[middle] - t[middle - 1])
    way_down = np.divide(slope**2, 4 * bend, out=np.zeros_like(bend), where=bend > 0)
    return np.asarray(middle[np.abs(values[middle]) - way_down <= LEADS * largest])


def _closest(guard: Callable[[np.ndarray], np.ndarray], begin: float, end: float) -> tuple[float, float]:
    """When between two times a guard is nearest to zero, and how near."""
    for _ in range(ROUNDS):
        times = np.linspace(begin, end, TIMES)
        sizes = np.abs(guard(times))
        best = int(np.argmin(sizes))
        begin, end = times[max(best - 1, 0)], times[min(best + 1, TIMES - 1)]
    return float(times[best]), float(sizes[best])
