"""A PID controller with bounds that does not wind up."""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.components.signals.plain_blocks import SignalBlock, check_bounds, give
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Keyword


class PID(SignalBlock):
    """A PID controller with output limits and anti-windup; inputs `setpoint` and `measurement`.

    With e = setpoint − measurement: raw = proportional e + i + derivative d, output = raw between lower and upper,
    i' = integral e + (output − raw) / tracking, and d the derivative of e behind a lag `filter`. Where the output is at
    a bound the back-calculation (output − raw) / tracking empties the integral (Åström, Hägglund 1995).

    With a `period` it is sampled: a clock reads the inputs once per period and holds the output in between. The
    integral uses a forward Euler step, the lag of the derivative a backward one.
    """

    keywords = {
        "proportional": Keyword(),
        "integral": Keyword("1/s", None, "not negative"),
        "derivative": Keyword("s", None),
        "filter": Keyword("s", None, "positive"),
        "lower": Keyword(default=None),
        "upper": Keyword(default=None),
        "tracking": Keyword("s", None, "positive"),
        "period": Keyword("s", None, "positive", option="a number"),
    }

    def _check(self) -> None:
        check_bounds(self)
        values = self.values
        if values["derivative"] is not None and values["filter"] is None:
            values["filter"] = 0.01
        bounded = values["lower"] is not None or values["upper"] is not None
        if bounded and values["integral"] is not None and values["tracking"] is None:
            values["tracking"] = 1.0
        if not bounded and values["tracking"] is not None:
            raise ModelError(
                f"The PID controller {self.name} has tracking, and no bounds.",
                f"tracking={values['tracking']}, lower=None, upper=None",
                because="tracking empties the integral where the output is at a bound.",
                remedy="lower=-1.0, upper=1.0, or no tracking=",
            )

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        error = m.signal_input("setpoint") - m.signal_input("measurement")
        if q.period is None:
            _write_continuous(m, q, error)
        else:
            _write_sampled(m, q, error)


def _bounded(q: Any, raw: ca.SX) -> ca.SX:
    """The output between its bounds."""
    if q.lower is not None:
        raw = ca.fmax(raw, q.lower)
    return raw if q.upper is None else ca.fmin(raw, q.upper)


def _write_continuous(m: Any, q: Any, error: ca.SX) -> None:
    raw, integral = q.proportional * error, None
    if q.integral is not None:
        integral = m.state("integral_part")
        raw = raw + integral
    if q.derivative is not None:
        smoothed = m.state("smoothed")
        rate = (error - smoothed) / q.filter
        m.equation(m.der(smoothed), rate, name="filter")
        raw = raw + q.derivative * rate
    bounded = _bounded(q, raw)
    give(m, bounded)
    if integral is not None:
        growth = q.integral * error
        if q.tracking is not None:
            growth = growth + (bounded - raw) / q.tracking
        m.equation(m.der(integral), growth, name="integral")


def _write_sampled(m: Any, q: Any, error: ca.SX) -> None:
    raw, integral = q.proportional * error, None
    assign: dict[str, Any] = {}
    if q.integral is not None:
        integral = m.discrete("integral_part")
        raw = raw + integral
    if q.derivative is not None:
        rate, before, begun = m.discrete("rate"), m.discrete("error_before"), m.discrete("begun")
        # Nothing is known before the first tick: no rate.
        change = ca.if_else(begun > 0, error - before, 0)
        assign |= {"rate": (q.filter * rate + change) / (q.filter + q.period), "error_before": error, "begun": 1.0}
        raw = raw + q.derivative * assign["rate"]
    bounded = _bounded(q, raw)
    if integral is not None:
        growth = q.period * q.integral * error
        if q.tracking is not None:
            growth = growth + ca.fmin(q.period / q.tracking, 1.0) * (bounded - raw)
        assign["integral_part"] = integral + growth
    held = m.discrete("held")
    give(m, held)
    m.every(q.period, {"held": bounded, **assign}, name="clock")
