"""A charge pump: two capacitors behind an n-channel MOS transistor whose gate is driven by pulses; index 2.

    Qg' = -i,   Qs1' + Qs2' = 0,   Qd1' + Qd2' = 0                         charges and the gate current
    Ug = V(t),  Qg = q_g(U),  Qs1 = C_s Us,  Qs2 = q_s(U),  Qd1 = C_d Ud,  Qd2 = q_s(U)

The charge model has kinks where the transistor changes its region, several of them at one time: while it is off, source
and drain have the same voltage, and both leave their thresholds together.

Reference: at the end the transistor is off and V = 0, so Qg has a closed form; it agrees with the published end value
to all its digits. The gate current has one as well, but jumps to zero just there, where the last ramp ends.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

# Threshold, body effect, surface potential, oxide capacitance; capacitors at drain and source.
THRESHOLD, BODY, POTENTIAL, OXIDE = 0.2, 0.035, 1.01, 4e-12
DRAIN, SOURCE = 0.4e-12, 1.6e-12
FLAT_BAND = THRESHOLD - BODY * np.sqrt(POTENTIAL) - POTENTIAL
AT_REST = OXIDE * BODY * (np.sqrt((BODY / 2) ** 2 - FLAT_BAND) - BODY / 2)


def build() -> KnownSystem:
    """The published run over ten pulses.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("charge_pump")
    >>> k.index, k.span, float(k.reference["gate"])
    (2, (0.0, 1.2e-06), 1.2628004298767594e-13)
    """
    m = Model("charge_pump")
    gate = m.state("gate", start=AT_REST, unit="C", nominal=1e-12)
    source, drain = (m.state(name, 2, start=[0.0, 0.0], unit="C", nominal=1e-12) for name in ("source", "drain"))
    u = m.algebraic("voltage", 3, unit="V")
    current = m.algebraic("current", unit="A", nominal=1e-3)
    q_gate, q_channel = _charges(u[0], u[0] - u[1], u[0] - u[2])
    m.equation(m.der(gate), -current, name="gate_current")
    m.equation(m.der(source[0]) + m.der(source[1]), 0, name="source_node")
    m.equation(m.der(drain[0]) + m.der(drain[1]), 0, name="drain_node")
    m.equation(u[0], _pulse(m.time), name="drive")
    m.equation(gate, q_gate, name="gate_charge")
    m.equation(source, [SOURCE * u[1], q_channel], name="source_charge")
    m.equation(drain, [DRAIN * u[2], q_channel], name="drain_charge")
    return KnownSystem(
        m,
        span=(0.0, 1200e-9),
        index=2,
        stiff=True,
        reference=Reference(1200e-9, {"gate": AT_REST}, 14, "closed form; Test Set for Initial Value Problem Solvers"),
        source="M. Günther, G. Denk, U. Feldmann, How models for MOS transistors reflect charge distribution (1995)",
    )


def _pulse(t: ca.SX) -> ca.SX:
    """0 V for 50 ns, up to 20 V in 10 ns, held for 50 ns, down in 10 ns."""
    x = ca.fmod(t, 120e-9)
    down = ca.if_else(x < 110e-9, 20.0, (120e-9 - x) * 2e9)
    return ca.if_else(x < 50e-9, 0.0, ca.if_else(x < 60e-9, (x - 50e-9) * 2e9, down))


def _charges(bulk: ca.SX, source: ca.SX, drain: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The charges of gate and channel half from the voltages of the gate over bulk, source and drain."""
    swapped = source - drain <= 0
    low, high = ca.if_else(swapped, drain, source), ca.if_else(swapped, source, drain)
    root = ca.sqrt(POTENTIAL - (low - bulk))
    threshold = THRESHOLD + BODY * (root - np.sqrt(POTENTIAL))
    over, beyond = low - threshold, ca.if_else(high > threshold, high - threshold, 0)
    channel = over + beyond - over * beyond / (over + beyond)
    depleted = OXIDE * BODY * (ca.sqrt((BODY / 2) ** 2 + bulk - FLAT_BAND) - BODY / 2)
    inverted = OXIDE * (2 / 3 * channel + BODY * root)
    off = low <= threshold
    gate = ca.if_else(bulk <= FLAT_BAND, OXIDE * (bulk - FLAT_BAND), ca.if_else(off, depleted, inverted))
    return gate, ca.if_else(ca.logic_or(bulk <= FLAT_BAND, off), 0, -OXIDE / 3 * channel)
