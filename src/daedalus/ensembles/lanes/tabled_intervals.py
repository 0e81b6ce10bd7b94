"""Inputs that follow tables, as kernels read them: times where steps end, a base and a rise in each interval."""

from __future__ import annotations

import numpy as np

from daedalus.model.switching.schedule import same_instant
from daedalus.simulation.inputs.read_inputs import Drive


def tabled_inputs(drive: Drive) -> tuple[int, ...]:
    """The inputs that follow a table."""
    return tuple(slot for _, slots in drive.tables for slot in slots)


def stops_and_segments(drive: Drive, t0: float, t1: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the intervals, the last one t1, and base and rise of every tabled input in each."""
    sign, closest = (1.0 if t1 >= t0 else -1.0), same_instant(t0, t1)
    inside = {float(t) for table, _ in drive.tables for t in table.times if min(t0, t1) < t < max(t0, t1)}
    stops: list[float] = []
    # Times that differ by rounding only are one.
    for time in sorted(inside, reverse=sign < 0):
        if abs(t1 - time) > closest and abs(time - (stops[-1] if stops else t0)) > closest:
            stops.append(time)
    stops.append(t1)
    begins = np.array([t0, *stops[:-1]])
    ends = np.array(stops)
    columns = []
    for table, slots in drive.tables:
        segment = np.searchsorted(table.times, 0.5 * (begins + ends), side="right")
        left = np.clip(segment - 1, 0, len(table.times) - 1)
        moves = (table.kind == "linear") & (segment > 0) & (segment < len(table.times))
        right = np.where(moves, np.minimum(left + 1, len(table.times) - 1), left)
        width = np.where(moves, table.times[right] - table.times[left], 1.0)[:, None]
        rise = (table.values[right] - table.values[left]) / width
        base = table.values[left] + rise * np.where(moves, begins - table.times[left], 0.0)[:, None]
        for k in range(len(slots)):
            columns += [base[:, k], rise[:, k]]
    segments = np.stack(columns, axis=1) if columns else np.zeros((len(stops), 0))
    return ends, np.ascontiguousarray(segments)
