"""A bridge of four piecewise linear diodes with a smoothing capacitor: its switching times against a closed form.

By symmetry v_a = (v + u)/2 and v_b = (v - u)/2 with the voltage v of the capacitor, so that two diodes of a pair turn
together, where ±u = v. Between two turns C v' is linear in v and u = U sin(ωt): v is an exponential and a sine, and the
next turn is found to rounding.
"""

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

ON, OFF, LOAD, CAPACITY, VOLTAGE, OMEGA = 0.1, 1e5, 100.0, 1e-3, 12.0, 2 * np.pi * 50
PERIODS = 100


def model() -> Any:
    """The circuit by its nodes, with an event at each turn of a pair."""
    import casadi as ca

    import daedalus as dd

    m = dd.Model("bridge")
    v, a, b, source = m.state("v", start=0.0), m.algebraic("a"), m.algebraic("b"), m.algebraic("source")
    u = VOLTAGE * ca.sin(OMEGA * m.time)

    def diode(across: Any) -> Any:
        return across * ca.if_else(across > 0, 1 / ON, 1 / OFF)

    m.equation(a - b, u)
    m.equation(source + diode(-a), diode(a - v))
    m.equation(diode(-b), source + diode(b - v))
    m.equation(CAPACITY * m.der(v), diode(a - v) + diode(b - v) - v / LOAD)
    for name, guard in (("positive", u - v), ("negative", -u - v)):
        m.event(name, guard)
    return m


def turns(end: float) -> np.ndarray:
    """The switching times by the closed form of each stretch."""
    from scipy.optimize import brentq

    t, v, found = 0.0, 0.0, []
    step = 2 * np.pi / OMEGA / 400
    conducts = True  # at the start u rises above v = 0
    while t < end:
        sign = 1.0 if np.sin(OMEGA * (t + 1e-9)) > 0 else -1.0
        near, far = (ON if conducts else OFF), OFF
        # C v' = (w - v)/(2 near) - (w + v)/(2 far) - v/LOAD with w = |u| of this half wave.
        decay = (1 / (2 * near) + 1 / (2 * far) + 1 / LOAD) / CAPACITY
        drive = sign * VOLTAGE * (1 / (2 * near) - 1 / (2 * far)) / CAPACITY
        size = drive / (decay**2 + OMEGA**2)

        def forced(s: float, size: float = size, decay: float = decay) -> float:
            return size * (decay * np.sin(OMEGA * s) - OMEGA * np.cos(OMEGA * s))

        def voltage(s: float, t: float = t, v: float = v, decay: float = decay) -> float:
            return float(np.exp(-decay * (s - t)) * (v - forced(t)) + forced(s))

        half = np.pi / OMEGA * (np.floor(t / (np.pi / OMEGA) + 1e-9) + 1)
        gap = lambda s: abs(VOLTAGE * np.sin(OMEGA * s)) - voltage(s)  # noqa: E731
        s = t + 1e-7
        while s < half and (gap(min(s + step, half)) > 0) == conducts:
            s = min(s + step, half)
        if s >= half:
            t, v = half, voltage(half)  # the other pair carries what leaks from here on
            continue
        turn = brentq(gap, s, min(s + step, half), xtol=1e-15, rtol=1e-15)
        if turn < end:
            found.append(turn)
        t, v, conducts = turn, voltage(turn), not conducts
    return np.array(found)


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """How many turns there are and were found, and the largest error of their times."""
    import daedalus as dd

    end, m = PERIODS * 2 * np.pi / OMEGA, model()
    dd.simulate(m, 0.01, rtol=options["rtol"], progress=False)
    begin = process_time()
    tr = dd.simulate(m, end, rtol=options["rtol"], atol=1e-9, progress=False)
    seconds = process_time() - begin
    wanted = turns(end)
    times = np.array([event.time for event in tr.events if event.time > 1e-6])
    # Two diodes and the event turn at one moment, which rounding may tell of twice.
    times = times[np.concatenate([[True], np.diff(times) > 1e-14])]
    error = float(np.abs(times - wanted).max()) if len(times) == len(wanted) else None
    yield {"seconds": seconds, "wanted": len(wanted), "found": len(times), "error": error}
