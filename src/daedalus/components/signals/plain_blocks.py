"""Plain blocks: gains, sums, bounds, lags and tables."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.assembly.component import Component, Keyword
from daedalus.model.unit_labels import quotient_unit

# The units of the signals, for blocks with an output of another unit than their inputs, and for those with the same.
UNITS = {"input_unit": Keyword(default=None, option="a unit"), "output_unit": Keyword(default=None, option="a unit")}
UNIT = {"unit": Keyword(default=None, option="a unit")}


class SignalBlock(Component):
    """A block with inputs and an output.

    In the units of its keywords, `in` and `out` are those of its signals: a gain has `out/in`.
    """

    domain: ClassVar[str] = "signals"

    def unit(self, word: str) -> str:
        """The unit of a keyword, in those of the signals."""
        own = self.keywords[word].unit
        if not own.startswith("out"):
            return own
        # Blocks with one unit for all signals have no "in".
        above = self.options.get("output_unit") or self.options.get("unit") or ""
        own = own.removeprefix("out")
        below = self.options.get("input_unit") or ""
        if own.startswith("/in"):
            above, own = quotient_unit(above, below), own.removeprefix("/in")
        return quotient_unit(above, "s") if own == "/s" else quotient_unit(above, "1/s") if own == "*s" else above


def give(m: Any, value: ca.SX, unit: str | None = None) -> None:
    """The signal that the block gives."""
    output = m.algebraic("output", unit=unit or "")
    m.equation(output, value, name="output")


class Gain(SignalBlock):
    """output = gain · input."""

    keywords = {"gain": Keyword("out/in"), **UNITS}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        give(m, q.gain * m.signal_input("input", unit=q.input_unit or ""), q.output_unit)


class Sum(SignalBlock):
    """output = ± input_1 ± input_2 ...; `signs="+-"` is a difference."""

    keywords = {"signs": Keyword(default="++", option="a text"), **UNIT}

    def _check(self) -> None:
        signs = self.options["signs"]
        if not isinstance(signs, str) or not signs or set(signs) - {"+", "-"}:
            raise ModelError(
                f"signs={signs!r} of {self.name} are not signs.",
                because="every input has a + or a -.",
                remedy='signs="+-" for input_1 - input_2',
            )

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        parts = [m.signal_input(f"input_{k}", unit=q.unit or "") for k in range(1, len(q.signs) + 1)]
        give(m, sum((part if sign == "+" else -part for sign, part in zip(q.signs, parts)), ca.SX(0)), q.unit)


def check_bounds(part: SignalBlock) -> None:
    """Refuse numbers for `lower` and `upper` that leave nothing between them."""
    low, high = part.values["lower"], part.values["upper"]
    if isinstance(low, numbers.Real) and isinstance(high, numbers.Real) and low > high:
        raise ModelError(
            f"The bounds of {part.name} are crossed.",
            f"lower {float(low):g}, upper {float(high):g}",
            because="no value is between them.",
            remedy=f"lower={float(high):g}, upper={float(low):g}",
        )


class Limiter(SignalBlock):
    """output = input between lower and upper."""

    keywords = {"lower": Keyword("out"), "upper": Keyword("out"), **UNIT}

    def _check(self) -> None:
        check_bounds(self)

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        give(m, ca.fmin(ca.fmax(m.signal_input("input", unit=q.unit or ""), q.lower), q.upper), q.unit)


class RateLimiter(SignalBlock):
    """output follows input no faster than `rate`: output' = (input − output) / time_constant between ± rate."""

    keywords = {"rate": Keyword("out/s", needs="positive"), "time_constant": Keyword("s", 1e-3, "positive"), **UNIT}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        value, output = m.signal_input("input", unit=q.unit or ""), m.state("output", unit=q.unit or "")
        m.equation(m.der(output), ca.fmin(ca.fmax((value - output) / q.time_constant, -q.rate), q.rate), name="follow")


def _signals(m: Any, q: Any) -> tuple[ca.SX, ca.SX]:
    """The input and the output, which is a state, in their units."""
    return m.signal_input("input", unit=q.input_unit or ""), m.state("output", unit=q.output_unit or "")


class Lag(SignalBlock):
    """time_constant · output' = gain · input − output."""

    keywords = {"time_constant": Keyword("s", needs="positive"), "gain": Keyword("out/in", 1.0), **UNITS}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        value, output = _signals(m, q)
        m.equation(q.time_constant * m.der(output), q.gain * value - output, name="lag")


class Integrator(SignalBlock):
    """output' = gain · input."""

    keywords = {"gain": Keyword("out/in/s", 1.0), **UNITS}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        value, output = _signals(m, q)
        m.equation(m.der(output), q.gain * value, name="integral")


class Lookup(SignalBlock):
    """A lookup table with linear interpolation and extrapolation.

    One input: `Lookup("curve", x=[...], values=[...])`, input `input`. Two: `x=, y=` and a matrix of values, one row
    per x; inputs `input_1` and `input_2`, bilinear.
    """

    keywords = {
        "x": Keyword(option="numbers"),
        "values": Keyword(option="numbers"),
        "y": Keyword(default=None, option="numbers"),
    }

    def _check(self) -> None:
        check_table(self.name, self.options["x"], self.options["y"], self.options["values"])

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        if q.y is None:
            give(m, interpolated(m.signal_input("input"), q.x, q.values))
        else:
            give(m, interpolated_2d(m.signal_input("input_1"), m.signal_input("input_2"), q.x, q.y, q.values))


def interpolated(at: ca.SX, x: np.ndarray, values: np.ndarray) -> ca.SX:
    """y_0 + s_0 (x − x_0) + Σ (s_k − s_(k−1)) max(x − x_k, 0) with the slopes s."""
    slopes = np.diff(values) / np.diff(x)
    total = values[0] + slopes[0] * (at - x[0])
    for k in range(1, len(slopes)):
        if slopes[k] != slopes[k - 1]:
            total = total + (slopes[k] - slopes[k - 1]) * ca.fmax(at - x[k], 0)
    return total


def interpolated_2d(at: ca.SX, other: ca.SX, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> ca.SX:
    """Σ z_ij φ_i(x) φ_j(y), each φ one at its own point and zero at all others."""
    rows = [interpolated(at, x, row) for row in np.eye(len(x))]
    columns = [interpolated(other, y, column) for column in np.eye(len(y))]
    total = ca.SX(0)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            if values[i, j]:
                total = total + values[i, j] * row * column
    return total


def check_table(name: str, x: Any, y: Any, values: Any) -> None:
    """Refuse points that do not increase, and values that do not fit them."""
    wanted = (x.size,) if y is None else (x.size, y.size)
    if any(points is not None and points.ndim != 1 for points in (x, y)) or values.shape != wanted or min(wanted) < 2:
        raise ModelError(
            f"The table of {name} does not fit its points.",
            f"{' × '.join(map(str, wanted))} values expected, shape {values.shape} given",
            because="every point has one value, and a line needs two points.",
            remedy="x=[0.0, 1.0], values=[0.0, 2.0]",
        )
    for points in (x, y):
        if points is not None and np.any(np.diff(points) <= 0):
            raise ModelError(
                f"The points of the table of {name} do not increase.",
                f"got {np.array2string(points, threshold=8)}",
                because="the values are interpolated.",
                remedy="sorted points, each once",
            )
