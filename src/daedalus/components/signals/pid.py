"""A PID controller with bounds that does not wind up."""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.components.signals.plain_blocks import UNITS, SignalBlock, check_bounds, give
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Keyword
from daedalus.model.unit_labels import rate_unit


class PID(SignalBlock):
    """A PID controller with output limits and anti-windup; inputs `setpoint` and `measurement`.

    With e = setpoint − measurement: raw = proportional e + i + derivative d, output = raw between lower and upper,
    i' = integral e + (output − raw) / tracking, and d the derivative of e behind a lag `filter`. Where the output is at
    a bound the back-calculation (output − raw) / tracking empties the integral (Åström, Hägglund 1995).

    With a `period` it is sampled: a clock reads the inputs once per period and holds the output in between. The
    integral uses a forward Euler step, the lag of the derivative a backward one.

    `input_unit` and `output_unit` label the signals, and with them the gains and the bounds: with "rad/s" and "V",
    `proportional` is in V*s/rad.
    """

    keywords = {
        "proportional": Keyword("out/in"),
        "integral": Keyword("out/in/s", None, "not negative"),
        "derivative": Keyword("out/in*s", None),
        "filter": Keyword("s", None, "positive"),
        "lower": Keyword("out", None),
        "upper": Keyword("out", None),
        "tracking": Keyword("s", None, "positive"),
        "period": Keyword("s", None, "positive", option="a number"),
        **UNITS,
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
                because="tracking reduces the integral while the output is at a bound.",
                remedy="lower=-1.0, upper=1.0, or no tracking=",
            )

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        error = m.signal_input("setpoint", unit=q.input_unit or "") - m.signal_input(
            "measurement", unit=q.input_unit or ""
        )
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
        integral = m.state("integral_part", unit=q.output_unit or "")
        raw = raw + integral
    if q.derivative is not None:
        smoothed = m.state("smoothed", unit=q.input_unit or "")
        rate = (error - smoothed) / q.filter
        m.equation(m.der(smoothed), rate, name="filter")
        raw = raw + q.derivative * rate
    bounded = _bounded(q, raw)
    give(m, bounded, q.output_unit)
    if integral is not None:
        growth = q.integral * error
        if q.tracking is not None:
            growth = growth + (bounded - raw) / q.tracking
        m.equation(m.der(integral), growth, name="integral")


def _write_sampled(m: Any, q: Any, error: ca.SX) -> None:
    raw, integral = q.proportional * error, None
    assign: dict[str, Any] = {}
    if q.integral is not None:
        integral = m.discrete("integral_part", unit=q.output_unit or "")
        raw = raw + integral
    if q.derivative is not None:
        rate = m.discrete("rate", unit=rate_unit(q.input_unit or "", 1))
        before, begun = m.discrete("error_before", unit=q.input_unit or ""), m.discrete("begun")
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
    held = m.discrete("held", unit=q.output_unit or "")
    give(m, held, q.output_unit)
    m.every(q.period, {"held": bounded, **assign}, name="clock")
