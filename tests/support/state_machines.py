"""Random state machines with a known number of states: clocks, schedules, conditions and events over moving states."""

from __future__ import annotations

import casadi as ca
import numpy as np

import daedalus as dd

PERIODS = (0.1, 0.15, 0.07, 0.3)


def machine(seed: int) -> dd.Model:
    """A model with a ramp, an oscillation, a tank and counters that everything which happens counts up."""
    rng = np.random.default_rng(seed)
    m = dd.Model(f"machine {seed}")
    t = m.time
    x, y, v = m.state("x", start=0.0), m.state("y", start=float(rng.uniform(0.3, 1.0))), m.state("v", start=0.0)
    h = m.state("h", start=float(rng.uniform(0.1, 0.9)))
    mode, since, count = m.discrete("mode", start=0), m.discrete("since"), m.discrete("count", 8)
    w = float(rng.uniform(2.0, 9.0))
    m.equation(m.der(x), 1.0 + 0.3 * mode)
    m.equation(m.der(y), v)
    m.equation(m.der(v), -(w**2) * y)
    m.equation(m.der(h), ca.if_else(mode == 0, 1.0, -1.5))
    m.when(dd.all_of(mode == 0, h > 1), {"mode": 1, "since": t, "count[0]": count[0] + 1}, name="full")
    m.when(dd.all_of(mode == 1, h < 0), {"mode": 0, "since": t, "count[1]": count[1] + 1}, name="empty")
    kind = rng.integers(0, 4, 3)
    if kind[0] == 0:
        m.when(dd.any_of(y > 0.2, x > 1.5), {"count[2]": count[2] + 1}, name="any")
    elif kind[0] == 1:
        m.when(dd.negate(dd.all_of(y > 0.1, v < 0.5)), {"count[2]": count[2] + 1}, name="not")
    elif kind[0] == 2:
        m.when(y > 0.1, {"count[2]": count[2] + 1, "x": x - 0.01}, name="over")
    else:
        m.event("cross", y, reset={"count[2]": count[2] + 1})
    if kind[1] < 2:
        m.when(dd.all_of(mode == 1, t - since > 0.2), {"count[3]": count[3] + 1, "mode": 0}, name="late", at_start=True)
    else:
        m.event("knock", h - 0.5, direction=-1, reset={"h": h + 0.2, "count[3]": count[3] + 1})
    m.every(float(rng.choice(PERIODS)), {"count[4]": count[4] + 1 + 0.1 * mode}, name="clock")
    if kind[2] < 2:
        m.every(float(rng.choice(PERIODS)), {"count[5]": count[5] + count[4]}, after="clock", name="second")
    m.schedule([float(rng.uniform(0.2, 1.8)), 0.9], {"count[6]": count[6] + 1}, name="given")
    if kind[2] % 2:
        m.when(dd.all_of(x > 0.4, x < 1.1), {"count[7]": count[7] + 1}, name="band", at_start=True)
    return m


def instants(run: dd.Trajectory) -> list[float]:
    """The times at which something happens in a run: events, ticks, changes of discrete variables."""
    found = {event.time for event in run.events}
    for event in run.system.events:
        if event.manner.schedule is not None:
            found |= set(event.manner.schedule.ticks(*sorted((run.time[0], run.time[-1]))).tolist())
    return sorted(found)


def told(run: dd.Trajectory) -> np.ndarray:
    """Everything a machine has at its end."""
    end = run.end
    return np.concatenate([np.ravel(end[name]) for name in ("count", "mode", "x", "y", "v", "h")])
