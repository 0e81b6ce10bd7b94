"""Sources over time as formulas: SIN, PULSE, PWL, EXP. Corners are conditions that a run locates."""

from __future__ import annotations

import casadi as ca

Wave = ca.SX | float


def sine(t: ca.SX, v: list[float]) -> Wave:
    """SIN(offset amplitude frequency delay damping phase)."""
    offset, amplitude, frequency, delay, damping, phase = (*v, *[0.0] * (6 - len(v)))
    late = t - delay
    swing = amplitude * ca.sin(2 * ca.pi * frequency * late + phase * ca.pi / 180)
    value = offset + swing * (ca.exp(-late * damping) if damping else 1)
    before = offset + amplitude * float(ca.sin(phase * ca.pi / 180))
    return value if delay == 0 else ca.if_else(t < delay, before, value)


def pulse(t: ca.SX, v: list[float], step: float) -> Wave:
    """PULSE(low high delay rise fall width period); a rise or fall of zero takes one step of .tran, as in SPICE."""
    low, high, delay, rise, fall, width, period = (*v, *[0.0] * (7 - len(v)))
    rise, fall = rise or step, fall or step
    late = t - delay
    if period:
        late = late - period * ca.floor(late / period)
    width = width or (period or 1e30)
    falling = ca.if_else(late < rise + width + fall, high + (low - high) * (late - rise - width) / fall, low)
    value = ca.if_else(
        late < rise, low + (high - low) * late / rise, ca.if_else(late < rise + width, high, falling)
    )  # fmt: skip
    return ca.if_else(t < delay, low, value)


def piecewise(t: ca.SX, v: list[float]) -> Wave:
    """PWL(t1 v1 t2 v2 ...), constant before and behind."""
    times, values = v[::2], v[1::2]
    found: Wave = values[-1]
    for k in range(len(values) - 2, -1, -1):
        slope = (values[k + 1] - values[k]) / (times[k + 1] - times[k])
        found = ca.if_else(t < times[k + 1], values[k] + slope * (t - times[k]), found)
    return ca.if_else(t < times[0], values[0], found) if times[0] > 0 else found


def exponential(t: ca.SX, v: list[float]) -> Wave:
    """EXP(low high rise-delay rise-constant fall-delay fall-constant)."""
    low, high, begin, rise, end, fall = (*v, *[0.0] * (6 - len(v)))
    up = (high - low) * (1 - ca.exp(-(t - begin) / rise))
    down = (low - high) * (1 - ca.exp(-(t - end) / fall))
    return low + ca.if_else(t < begin, 0, up) + ca.if_else(t < end, 0, down)
