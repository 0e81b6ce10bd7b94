"""A junction whose exponential law Newton's method can follow from anywhere.

The law i = I_s (e^(v / v_t) − 1) is steep where it conducts and flat where it blocks. Voltage and current are written
as functions of a third variable w instead, the `drive` of the junction:

    v = V(w) ≈ w              below the critical voltage v_c: the junction blocks and w is its voltage
    i = I(w) ≈ I_c (w − v_c) / v_t    above it: the junction conducts and w counts its current

The law between v and i is exact for every w. What SPICE does to the iterates between two iterations (limiting: L. W.
Nagel, SPICE2, UCB/ERL M520, 1975, section 3.2) is done by the variable: voltages of a conducting junction move by the
logarithm of a current, and nothing overflows. With s = (w − v_c) / v_t and e = s / 2 + √(s² / 4 + 1),

    V(w) = v_c + v_t f(s),   f(s) = ln(1 + e) − 1 / e,   f → s for s → −∞,   f → ln s for s → ∞.

Breakdown is the same on the other side.

Laws that are put together from pieces (depletion layers, channels) are equal at the joints, and so are their slopes.
Their corners are rounded over a nanovolt, so that no condition is left in the equations: steps need not end there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca

# Beyond a current of 10^15 critical ones the voltage grows with it, so that every voltage has a current.
RIDGE = 1e-15
ROUNDED = 1e-9  # how far corners are rounded, in V
GUESS = 0.5  # where the search for a start begins, in V


def _voltage(drive: ca.SX, critical: Any, slope: Any) -> ca.SX:
    """V(w) = v_c + v_t f(s), written so that small voltages have small rounding errors.

    The two forms v_c + v_t (ln(1 + e) − 1/e), exact where e is large, and w + v_t (ln(1 + e) − e), exact where it is
    small, are equal; their mean with the weights e and 1/e, whose sum is 2 √(s² / 4 + 1), is exact for both.
    """
    s = (drive - critical) / slope
    root, grown, shrunk = _grown(s)
    mean = (shrunk * drive + grown * critical - 2 * slope) / (2 * root)
    return ca.SX(slope * (ca.log1p(grown) + RIDGE * s) + mean)


def _grown(s: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """√(s² / 4 + 1), e(s) = s / 2 + √(s² / 4 + 1) and 1 / e(s), without rounding errors far from zero.

    e is a = √ + s / 2 and 1 / b with b = √ − s / 2; one of them has lost its digits far from zero. Their mean with the
    weights a² and b², whose sum is s² + 2, is exact for both.
    """
    root = ca.sqrt(s**2 / 4 + 1)
    a, b = root + s / 2, root - s / 2
    weight = 1 / (s**2 + 2)
    return root, (a**3 + b) * weight, (b**3 + a) * weight


def _taken(s: ca.SX) -> ca.SX:
    """s − f(s), without rounding errors of s far below zero, where a breakdown of 1000 V does not matter."""
    _, grown, _ = _grown(s)
    return grown - ca.log1p(grown) - RIDGE * s


def critical_voltage(saturation: Any, slope: Any) -> ca.SX:
    """Where a junction passes from blocking to conducting: v_t ln(v_t / (√2 I_s)), as in SPICE."""
    return slope * ca.log(slope / (2**0.5 * saturation))


def junction_voltage(
    m: Any, name: str, voltage: Any, saturation: Any, slope: Any, breakdown: tuple[Any, Any] | None = None
) -> ca.SX:
    """The voltage across a junction as V(w), with w an unknown of the part called `name`.

    voltage: what it is by the nodes. saturation, slope: I_s and n v_t of the law. breakdown: the voltage below which
    the current grows by the same exponential backwards, and its slope.
    """
    drive = m.algebraic(name, unit="V", start=GUESS)
    m.written.assembly.junctions.add(name)
    m.written.on_request.add(name)
    critical = critical_voltage(saturation, slope)
    law = _voltage(drive, critical, slope)
    if breakdown is not None:
        far, its_slope = breakdown
        beyond = (-drive - far - critical_voltage(saturation, its_slope)) / its_slope
        law = law + its_slope * _taken(beyond)
    m.equation(voltage, law, name=name)
    return law


def smaller(a: Any, b: Any) -> ca.SX:
    """The smaller of two voltages, rounded where they are equal."""
    return ca.SX((a + b - ca.sqrt((a - b) ** 2 + ROUNDED**2)) / 2)


def larger(a: Any, b: Any) -> ca.SX:
    """The larger of two voltages, rounded where they are equal."""
    return ca.SX((a + b + ca.sqrt((a - b) ** 2 + ROUNDED**2)) / 2)


def size_and_sign(v: Any) -> tuple[ca.SX, ca.SX]:
    """|v| and v / |v|, rounded at zero."""
    size = ca.sqrt(v**2 + ROUNDED**2)
    return ca.SX(size), ca.SX(v / size)


def inner_state(m: Any, name: str) -> Any:
    """The voltage of a charge inside a part, a state; it follows from others where charges form a loop."""
    m.written.assembly.inner.add(name)
    return m.state(name, unit="V")


def exponential(saturation: Any, voltage: Any, slope: Any) -> ca.SX:
    """I_s (e^(v / v_t) − 1)."""
    return saturation * (ca.exp(voltage / slope) - 1)


def charging(m: Any, current: ca.SX, charge: Any) -> ca.SX:
    """The current into a charge Q, written as ∂Q/∂v v'; a run may take the change of the charge itself in its place."""
    m.written.assembly.charges.append((current, ca.SX(charge)))
    return current


def layer_current(m: Any, layer: Depletion, voltage: ca.SX, state: Any) -> ca.SX:
    """The current into a depletion layer, C(v) v'."""
    return charging(m, ca.SX(layer.slope(voltage) * m.der(state)), layer.charge(state))


def displacement(m: Any, charge: Callable[..., ca.SX], voltages: Sequence[ca.SX], states: Sequence[Any]) -> ca.SX:
    """The current into a charge Q(v, ...): ∂Q/∂v v' + ..., slopes at the voltages as functions of the drives.

    It is no `charging`: such charges grow by decades in a step, and some runs by their change kept short steps.
    """
    symbols = [ca.SX.sym(f"v{k}") for k in range(len(voltages))]
    slopes = ca.jacobian(ca.SX(charge(*symbols)), ca.vertcat(*symbols))
    (here,) = ca.substitute([ca.densify(slopes)], symbols, list(voltages))
    return ca.SX(sum((here[k] * m.der(state) for k, state in enumerate(states)), ca.SX(0)))


class Depletion(NamedTuple):
    """Charge and energy of a depletion layer: c0 (1 − v / potential)^(−grading), straight above share · potential."""

    capacitance: Any
    potential: Any
    grading: Any
    share: Any

    def charge(self, v: Any) -> ca.SX:
        """∫ C dv from zero, in C."""
        pb, m, edge = self.potential, self.grading, self.share * self.potential
        steep, flat = (1 - self.share) ** (1 + m), 1 - self.share * (1 + m)
        low, high = smaller(v, edge), larger(v, edge)
        beyond = (high - edge) * (flat + m / (2 * pb) * (high + edge)) / steep
        return ca.SX(self.capacitance * (pb * _power_integral(1 - low / pb, 1 - m) + beyond))

    def slope(self, v: Any) -> ca.SX:
        """C = dQ/dv in F: that at the edge grows in proportion to what lies beyond."""
        pb, m = self.potential, self.grading
        low = smaller(v, self.share * pb)
        beyond = (v - low) * (m / (pb * (1 - self.share) ** (1 + m)))
        return ca.SX(self.capacitance * (ca.exp(-m * ca.log(1 - low / pb)) + beyond))

    def energy(self, v: Any) -> ca.SX:
        """∫ v C dv from zero, in J."""
        pb, m, edge = self.potential, self.grading, self.share * self.potential
        steep, flat = (1 - self.share) ** (1 + m), 1 - self.share * (1 + m)
        low, high = smaller(v, edge), larger(v, edge)
        beyond = (flat * (high**2 - edge**2) / 2 + m / (3 * pb) * (high**3 - edge**3)) / steep
        below = pb**2 * (_power_integral(1 - low / pb, 1 - m) - _power_integral(1 - low / pb, 2 - m))
        return ca.SX(self.capacitance * (below + beyond))


def _power_integral(a: ca.SX, power: Any) -> ca.SX:
    """(1 − a^power) / power."""
    return ca.SX((1 - ca.exp(power * ca.log(a))) / power)
