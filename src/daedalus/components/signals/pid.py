"""A PID controller with bounds that does not wind up."""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.components.signals.plain_blocks import SignalBlock, give
from daedalus.model.assembly.component import Keyword


class PID(SignalBlock):
    """A PID controller with bounds and anti-windup; inputs `setpoint` and `measurement`.

    With e = setpoint − measurement: raw = proportional e + i + derivative d, output = raw between lower and upper,
    i' = integral e + (output − raw) / tracking, and d the derivative of e behind a lag `filter`. Where the output is at
    a bound the back-calculation (output − raw) / tracking empties the integral (Åström, Hägglund 1995).
    """

    keywords = {
        "proportional": Keyword(),
        "integral": Keyword("1/s", None, "not negative"),
        "derivative": Keyword("s", None),
        "filter": Keyword("s", None, "positive"),
        "lower": Keyword(default=None),
        "upper": Keyword(default=None),
        "tracking": Keyword("s", None, "positive"),
    }

    def _check(self) -> None:
        values = self.values
        if values["derivative"] is not None and values["filter"] is None:
            values["filter"] = 0.01
        bounded = values["lower"] is not None or values["upper"] is not None
        if bounded and values["integral"] is not None and values["tracking"] is None:
            values["tracking"] = 1.0
        if not bounded:
            values["tracking"] = None

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        error = m.signal_input("setpoint") - m.signal_input("measurement")
        raw = q.proportional * error
        integral = None
        if q.integral is not None:
            integral = m.state("integral_part")
            raw = raw + integral
        if q.derivative is not None:
            smoothed = m.state("smoothed")
            rate = (error - smoothed) / q.filter
            m.equation(m.der(smoothed), rate, name="filter")
            raw = raw + q.derivative * rate
        bounded = raw
        if q.lower is not None:
            bounded = ca.fmax(bounded, q.lower)
        if q.upper is not None:
            bounded = ca.fmin(bounded, q.upper)
        give(m, bounded)
        if integral is not None:
            growth = q.integral * error
            if q.tracking is not None:
                growth = growth + (bounded - raw) / q.tracking
            m.equation(m.der(integral), growth, name="integral")
