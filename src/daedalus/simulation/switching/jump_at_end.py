"""A signal or a condition on time that jumps where a run ends: two rows share that time, as at every other jump."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.model.switching.schedule import same_instant
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.run.settings import Settings


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
