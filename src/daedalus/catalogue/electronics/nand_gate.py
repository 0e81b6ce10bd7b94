"""A NAND gate of three MOS transistors: fourteen node voltages, capacitances that depend on them, two pulsed inputs.

    C(y) y' = f(t, y)

Transistors follow the model of H. Shichman and D. A. Hodges (1968). Currents have kinks where a transistor changes its
region, and the inputs where their ramps begin and end.

Reference: the published end values, computed there by PSIDE with tolerance 1e-16. As in the published programs, the
enhancement transistors have a tenth of their transconductance for negative drain-source voltages.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

# Threshold, body effect, surface potential, transconductance forwards and backwards.
DEPLETION = (-2.43, 0.2, 1.28, 5.35e-4, 5.35e-4)
ENHANCEMENT = (0.2, 0.035, 1.01, 1.748e-3, 1.748e-4)
SUPPLY, BULK, MODULATION = 5.0, -2.5, 0.02
GATE_RESISTANCE, BULK_RESISTANCE, GATE_CAPACITANCE, LOAD = 4.0, 10.0, 0.6e-4, 0.5e-4


def build() -> KnownSystem:
    """The published run over 80 ns, two periods of the slower input.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("nand_gate")
    >>> k.index, k.span, round(float(k.reference["y"][4]), 6)
    (0, (0.0, 80.0), 4.970837)
    """
    m = Model("nand_gate")
    high = 3.62385
    y = m.state("y", 14, start=[5, 5, BULK, BULK, 5, high, 5, BULK, BULK, high, 0, high, BULK, BULK], unit="V")
    v = dict(enumerate(ca.vertsplit(y), 1))
    rate = dict(enumerate(ca.vertsplit(m.der(y)), 1))
    (first, first_slope), (second, second_slope) = _pulse(m.time, 5, 5, 20), _pulse(m.time, 15, 15, 40)
    currents = (
        drain_current(DEPLETION, v[2] - v[1], v[5] - v[1], v[3] - v[5], v[5] - v[2], v[4] - SUPPLY),
        drain_current(ENHANCEMENT, v[7] - v[6], first - v[6], v[8] - v[10], first - v[7], v[9] - v[5]),
        drain_current(ENHANCEMENT, v[12] - v[11], second - v[11], v[13], second - v[12], v[14] - v[10]),
    )
    charge = ca.SX(15, 1)  # currents into capacitors, entry 0 unused
    flow = ca.SX(15, 1)
    for node, other in ((1, 5), (2, 5)):
        charging = GATE_CAPACITANCE * (rate[node] - rate[other])
        charge[node] += charging
        charge[other] -= charging
    for node in (6, 7, 11, 12):
        charge[node] += GATE_CAPACITANCE * (rate[node] - (first_slope if node < 10 else second_slope))
    for node in (5, 10):
        charge[node] += LOAD * rate[node]
    # Diodes between the bulk and a node, or, for 0, the supply (4) or ground (13), each behind its resistor.
    for bulk, node in ((3, 5), (4, 0), (8, 10), (9, 5), (13, 0), (14, 10)):
        at_node, its_rate = (v[node], rate[node]) if node else (SUPPLY if bulk == 4 else 0.0, 0.0)
        charging = junction_capacitance(v[bulk] - at_node, 2.4e-5) * (rate[bulk] - its_rate)
        leaking = junction_current(v[bulk] - at_node, 1e-14)
        charge[bulk] += charging
        flow[bulk] += leaking - (v[bulk] - BULK) / BULK_RESISTANCE
        if node:
            charge[node] -= charging
            flow[node] -= leaking
    for a, b in ((1, 5), (5, 7), (6, 10), (10, 12)):
        through = (v[a] - v[b]) / GATE_RESISTANCE
        flow[a] -= through
        flow[b] += through
    flow[2] -= (v[2] - SUPPLY) / GATE_RESISTANCE
    flow[11] -= v[11] / GATE_RESISTANCE
    for current, source, drain in zip(currents, (1, 6, 11), (2, 7, 12)):
        flow[source] -= current
        flow[drain] += current
    m.equation(charge[1:], flow[1:], name="currents")
    return KnownSystem(
        m,
        span=(0.0, 80.0),
        stiff=True,
        reference=Reference(80.0, {"y": REFERENCE}, 12, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="M. Günther, P. Rentrop, Multirate ROW methods and latency of electric circuits (1993)",
    )


def _pulse(t: ca.SX, delay: float, width: float, period: float) -> tuple[ca.SX, ca.SX]:
    """A periodic pulse of 5 V with ramps of 5 ns, and its slope."""
    x = ca.fmod(t, period)
    up, down = ca.logic_and(x > delay, x <= delay + 5), ca.logic_and(x > delay + 5 + width, x <= delay + 10 + width)
    top = ca.logic_and(x > delay + 5, x <= delay + 5 + width)
    value = ca.if_else(up, x - delay, 0) + ca.if_else(top, 5.0, 0) + ca.if_else(down, delay + 10 + width - x, 0)
    return value, ca.if_else(up, 1.0, 0) - ca.if_else(down, 1.0, 0)


def drain_current(kind: tuple[float, ...], vds: ca.SX, vgs: ca.SX, vbs: ca.SX, vgd: ca.SX, vbd: ca.SX) -> ca.SX:
    """The drain current; a negative drain-source voltage exchanges drain and source."""
    forwards, backwards = _channel(kind, kind[3], vds, vgs, vbs), _channel(kind, kind[4], -vds, vgd, vbd)
    return ca.if_else(vds > 0, forwards, -backwards)


def _channel(kind: tuple[float, ...], gain: float, vds: ca.SX, vgs: ca.SX, vbs: ca.SX) -> ca.SX:
    threshold, body, potential = kind[:3]
    over = vgs - threshold - body * (ca.sqrt(potential - vbs) - np.sqrt(potential))
    law = ca.if_else(over <= vds, over**2, vds * (2 * over - vds))
    return ca.if_else(over <= 0, 0, -gain * law * (1 + MODULATION * vds))


def junction_current(v: ca.SX, saturation: float) -> ca.SX:
    """What a diode at the bulk lets through."""
    return ca.if_else(v <= 0, -saturation * (ca.exp(v / 25.85) - 1), 0)


def junction_capacitance(v: ca.SX, size: float) -> ca.SX:
    """That of a diode at the bulk; `size` at no voltage."""
    return size * ca.if_else(v <= 0, 1 / ca.sqrt(1 - ca.fmin(v, 0) / 0.87), 1 + v / (2 * 0.87))


REFERENCE = [
    0.4971088699385777e1,
    0.4999752103929311e1,
    -0.2499998781491227e1,
    -0.2499999999999975e1,
    0.4970837023296724e1,
    -0.2091214032073855,
    0.4970593243278363e1,
    -0.2500077409198803e1,
    -0.2499998781491227e1,
    -0.2090289583878100,
    -0.2399999999966269e-3,
    -0.2091214032073855,
    -0.2499999999999991e1,
    -0.2500077409198803e1,
]
