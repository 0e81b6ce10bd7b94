"""Ends of runs: those that an instant is to blame for, jumps at them, and what is told of conditions at the start."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.system import System
from daedalus.model.variables import Event
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.ending import ENDINGS, Ending, Stop, time_text
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import PastAtStart
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.switching.agenda import order_of


def instant_end(run: Any, system: System, codes: Mapping[str, Any]) -> Stop:
    """The end of a run by a conflict, by events that trigger each other endlessly, or by what code raised."""
    ending, t = ENDINGS[run.status], float(run.stop_time)
    order = order_of(system).all
    first, second = (system.events[order[k]].name if 0 <= k < len(order) else "" for k in run.actors)
    when = time_text(t)
    if ending is Ending.CONFLICT:
        name = _written(run, system)
        what = f"{first!r} and {second!r} both assign {name} at {when}"
        return Stop(ending, t, what, (), ending.remedy, (name,), event=second)
    if ending is Ending.ENDLESS:
        what = f"events at {when} trigger each other endlessly, the last one {first!r}"
        return Stop(ending, t, what, (), ending.remedy, event=first)
    error = codes[first].error if first in codes else None
    told = "" if error is None else "".join(traceback.format_exception(error)).rstrip()
    kind = "an exception" if error is None else f"{type(error).__name__}: {error}"
    return Stop(ending, t, f"the code of {first!r} raised {kind} at {when}", (told,) if told else (), event=first)


def _written(run: Any, system: System) -> str:
    """The name of the entry of a row, then of the discrete variables, that the core points at."""
    width = len(run.end)
    row = [*system.labels["x"], *system.labels["z"], *system.labels["xdot"]][:width]
    names = [*row, *system.labels["p"][system.sizes["p"] - system.discrete_count :]]
    return names[run.culprit] if 0 <= run.culprit < len(names) else "a variable"


def held_at_start(
    plant: Plant, drive: Drive, run: Any, p: np.ndarray, fired: frozenset[str] | None
) -> tuple[Record, ...]:
    """Records of events with a direction whose guard is past zero when the run begins: they wait for the next time."""
    system = plant.system
    events = [system.events[k] for k in order_of(system).events]
    if fired is None or not any(e.direction for e in events) or not len(run.t) or plant.guards.function.n_in() != 4:
        return ()
    t, count = run.t[:1], system.discrete_count
    if count:  # those of the first row, whatever they are at the end
        p = np.concatenate([p[: len(p) - count], run.held[2][0, :count]])
    values = np.ravel(plant.guards.core.evaluate_many(t[:, None], run.x[:1], drive.at(t), p)[0])
    # Some become true by what clocks do there.
    at_once = {system.events[k].name for k, time, *_ in run.events if time == t[0]}
    return past_at_start(events, values, fired | at_once)


def past_at_start(events: Sequence[Event], values: np.ndarray, fired: frozenset[str]) -> tuple[Record, ...]:
    """The records for events with these values of their guards at the start; fired: what happened there."""
    return tuple(
        PastAtStart(event.name, bool(event.manner.side))
        for event, value in zip(events, values.tolist())
        if event.name not in fired and not event.manner.at_start and not event.purpose.watches_constraints
        if event.manner.contact is None
        if event.direction * value > 0 or (value == 0 and event.manner.side == 1)
    )


# -- where a run ends --------------------------------------------------------------------------------------------------
#
# A signal or a condition on time that jumps where a run ends: two rows share that time, as at every other jump.


def jumps_at_end(settings: Settings, drive: Drive, p: np.ndarray, run: Any, span: tuple[float, float]) -> bool:
    """Whether inputs, or the equations by time alone, have another value at the end of a span than just before it.

    A span that runs backwards has none: what holds at a time holds behind it.
    """
    begin, end = span
    if not drive.tables and (settings.switches is None or settings.switches.clock is None):
        return False
    if not begin < end or len(run.t) < 2 or run.t[-1] != end or run.t[-2] == end:
        return False
    near = same_instant(end)
    for table, _ in drive.tables:
        if table.kind == "hold":
            last = int(np.searchsorted(table.times, end, side="right")) - 1
            if last > 0 and table.times[last] >= end - near and np.any(table.values[last] != table.values[last - 1]):
                return True
    in_time = settings.values_in_time(p, span, end)
    if in_time is None:
        return False
    times, values = in_time
    return len(times) > 1 and bool(times[-1] >= end - near and np.any(values[-1] != values[-2]))
