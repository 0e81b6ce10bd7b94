"""Signals and control: blocks with inputs and the signal `output`; `m.connect(sensor.output, pid.measurement)`."""

from daedalus.components.signals.linear_blocks import StateSpace, TransferFunction
from daedalus.components.signals.pid import PID
from daedalus.components.signals.plain_blocks import Gain, Integrator, Lag, Limiter, Lookup, RateLimiter, Sum

__all__ = [
    "PID", "Gain", "Integrator", "Lag", "Limiter", "Lookup", "RateLimiter", "StateSpace", "Sum", "TransferFunction",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
