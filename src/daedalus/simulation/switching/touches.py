"""Guards that touch zero without passing it: no event, but something to know of.

Between steps at which a guard has one sign its smallest size is looked for on the dense output, where a parabola
through neighbouring steps leads near zero.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.model.event_purpose import EventPurpose
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.recorded_run import Dense
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
    if not watched or not run.steps or plant.guards.function.n_in() != 4:
        return ()
    t, rows = run.at_steps()
    if run.steps < FEW:
        # Long steps are looked into.
        t = np.interp(np.arange((len(t) - 1) * WITHIN + 1) / WITHIN, np.arange(len(t)), t)
        rows = _rows_at(run, t)
    if len(t) < 3:
        return ()
    fired = {float(time) for _, time, *_ in run.events}
    values = _guards(plant, drive, p, t, rows)
    found: list[Record] = []
    for column, event in enumerate(order_of(plant.system).events):
        own = values[:, column]
        largest = float(np.abs(own[np.isfinite(own)]).max(initial=0.0))
        if event not in watched or not largest:
            continue
        for k in _dips(t, own, largest)[:MOST_DIPS]:
            begin, end = float(t[k - 1]), float(t[k + 1])
            time, closest = _closest(plant, drive, p, run, (begin, end), column)
            happened = any((each - begin) * (end - each) >= 0 for each in fired)
            if closest <= TOUCHES * rtol * largest and not happened:
                found.append(Touched(plant.system.events[event].name, time))
    return tuple(found)


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


def _guards(plant: Plant, drive: Drive, p: np.ndarray, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray(plant.guards.core.evaluate_many(t[:, None], np.ascontiguousarray(rows), drive.at(t), p)[0])


def _rows_at(run: Any, times: np.ndarray) -> np.ndarray:
    return Dense(*run.dense()).at(times)


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


def _closest(
    plant: Plant, drive: Drive, p: np.ndarray, run: Any, span: tuple[float, float], column: int
) -> tuple[float, float]:
    """When between two times a guard is nearest to zero, and how near."""
    begin, end = span
    for _ in range(ROUNDS):
        times = np.linspace(begin, end, TIMES)
        sizes = np.abs(_guards(plant, drive, p, times, _rows_at(run, times))[:, column])
        best = int(np.argmin(sizes))
        begin, end = times[max(best - 1, 0)], times[min(best + 1, TIMES - 1)]
    return float(times[best]), float(sizes[best])
