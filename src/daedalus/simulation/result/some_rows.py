"""Some rows of a long run: as many as a picture needs, each exactly as the run has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.simulation.result.joined_trajectory import Joined, JoinedSamples
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory


def rows_near(run: Trajectory, times: np.ndarray) -> Samples:
    """The rows of a run that lie next to times, in the order of the run, its last one among them.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> tr = dd.simulate(m, 1.0, method="rk4", step=0.01)
    >>> rows_near(tr, np.linspace(0.0, 1.0, 5)).time.round(2).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    sign = -1.0 if run.time[-1] < run.time[0] else 1.0
    wanted = np.searchsorted(sign * run.time, np.sort(sign * np.asarray(times)))
    chosen = np.unique(np.append(np.minimum(wanted, len(run.time) - 1), len(run.time) - 1))
    return rows_of(run, chosen)


def rows_of(samples: Samples, chosen: np.ndarray) -> Samples:
    """Rows `chosen` (in order) of samples, whether they are one piece or several in a row."""
    parts = _pieces(samples)
    return picked(parts, [len(part._times) for part in parts], chosen)


def _pieces(samples: Samples) -> list[Samples]:
    return [piece for part in samples._parts for piece in _pieces(part)] if isinstance(samples, Joined) else [samples]


def picked(parts: Sequence[Samples], counts: Sequence[int], chosen: np.ndarray) -> Samples:
    """Rows `chosen` (in order) of parts that follow each other, of which the first `counts` rows count."""
    ends = np.cumsum(counts)
    owner = np.searchsorted(ends, chosen, side="right")
    found = [parts[k]._some(chosen[owner == k] - (ends[k] - counts[k])) for k in np.unique(owner)]
    return in_a_row(found)


def in_a_row(parts: Sequence[Samples]) -> Samples:
    """Samples one after the other, read as one."""
    if len(parts) == 1:
        return parts[0]
    times = np.concatenate([part._times for part in parts])
    return JoinedSamples(parts, np.arange(len(times)), times)
