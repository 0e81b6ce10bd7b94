"""A two bit adding unit of 39 MOS transistors in ten gates: 175 node voltages, 159 charges; index 1.

    q' = i(t, u),   q = g(u),   0 = sum of i(t, u) over nodes whose charges sum to zero

Every transistor has four nodes of its own: source and drain behind resistors, and two bulk diodes behind theirs. The
gates are built from one depletion transistor as a load and enhancement transistors between its output and ground. The
inputs count from 0 to 31 in binary, two numbers of two bits and a carry, and the outputs are sum and inverse carry.

A node between gates or transistors without a capacitor to ground has the charge that the nodes around it lack. With a
charge for every node, as published, ∂g/∂u is singular there; here the balance of such a group is an equation.

Reference: the published values of the three output nodes. The published programs refer the last diode of a NOR gate to
a node of the next gate; its charge falls with its voltage then, and the circuit is unstable at times, which coarse
steps do not see. Here it refers to its own drain: runs at tight tolerances agree, and with what is published to six
digits. As published, the charge of a diode at the supply is that of its own voltage alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.catalogue.electronics.nand_gate import (
    BULK,
    DEPLETION,
    ENHANCEMENT,
    SUPPLY,
    drain_current,
    junction_capacitance,
    junction_current,
)
from daedalus.model.model import Model

# The transistors of `nand_gate` in other units: the load, then enhancement transistors by width.
KINDS = [(*DEPLETION[:3], 2.675, 2.675), *((*ENHANCEMENT[:3], gain, gain) for gain in (8.74, 17.48, 26.22))]
RESISTANCE, BULK_RESISTANCE, CAPACITANCE, JUNCTION, OUTPUT = 8e-4, 2e-3, 0.6, 0.24, 2.0
GROUND = 0
NODES, OUTPUTS = 175, (49, 130, 148)
# Pulses of 5 V with ramps of 5 ns: delay, width, period.
PULSES = {
    "a0": (0, 5, 20), "b0": (10, 15, 40), "a1": (30, 35, 80), "b1": (70, 75, 160), "carry": (150, 155, 320)
}  # fmt: skip
# Voltages at rest: outputs of gates, nodes between transistors in series, and what a conducting branch loses at its
# resistors.
AT_REST = {
    5: 5.0, 18: 0.204040695017748, 36: 5.0, 49: 0.204040692499482, 67: 0.204040693132870, 85: 5.0,
    98: 0.204040689312522, 116: 5.0, 130: 5.0, 148: 0.204040693096114, 27: -0.228160951881239, 58: -0.026041071738432,
    76: -0.026041071737961, 107: 4.734672533390068, 121: -0.025968303070038, 135: 4.744923533081106,
    157: 0.204040693096037, 166: -0.026017361873565, 171: -0.026017590106916,
}  # fmt: skip
LOST = 0.011817791748026


class Transistor(NamedTuple):
    """A kind, the first of its four own nodes, and what its terminals are connected to; drain None is the supply."""

    kind: int
    first: int
    drain: int | None
    gate: int | str
    source: int


def nor(at: int, a: int | str, b: int | str) -> list[Transistor]:
    """not (a or b), at the node at + 4."""
    out = at + 4
    parallel = [Transistor(1, at + 5, out, a, GROUND), Transistor(1, at + 9, out, b, GROUND)]
    return [Transistor(0, at, None, out, out), *parallel]


def and_or(at: int, a: int | str, b: int | str, c: int | str) -> list[Transistor]:
    """not (a or (b and c)), at the node at + 4."""
    out, middle = at + 4, at + 13
    series = [Transistor(2, at + 9, out, b, middle), Transistor(2, at + 14, middle, c, GROUND)]
    return [Transistor(0, at, None, out, out), Transistor(1, at + 5, out, a, GROUND), *series]


def nand(at: int, a: int | str, b: int | str) -> list[Transistor]:
    """not (a and b), at the node at + 4."""
    out, middle = at + 4, at + 9
    series = [Transistor(2, at + 5, out, a, middle), Transistor(2, at + 10, middle, b, GROUND)]
    return [Transistor(0, at, None, out, out), *series]


def or_and(at: int, a: int | str, b: int | str, c: int | str) -> list[Transistor]:
    """not (a and (b or c)), at the node at + 4."""
    return [*nand(at, a, b), Transistor(2, at + 14, at + 9, c, GROUND)]


CIRCUIT = [
    *nor(1, "a0", "b0"), *and_or(14, 5, "b0", "a0"), *nor(32, 18, "carry"), *and_or(45, 36, "carry", 18),
    *and_or(63, 5, "carry", 18), *nor(81, "a1", "b1"), *and_or(94, 85, "b1", "a1"), *nand(112, 67, 98),
    *or_and(126, 116, 67, 98), *and_or(144, 85, 5, 98),
    Transistor(3, 162, 148, 98, 166), Transistor(3, 167, 166, 18, 171), Transistor(3, 172, 171, "carry", GROUND),
]  # fmt: skip


def build() -> KnownSystem:
    """The published run over all 32 sums, 320 ns.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("two_bit_adder")
    >>> k.index, k.span, k.reference["outputs"].round(6).tolist()
    (1, (0.0, 320.0), [0.204042, 4.997238, 0.203899])
    """
    m = Model("two_bit_adder")
    rest, groups = _at_rest(), _groups()
    charged = [node for node in range(1, NODES + 1) if node not in groups]
    voltage = ca.SX.sym("u", NODES)
    charge = _charges(_named(voltage))
    charges = ca.Function("charges", [voltage], [ca.vertcat(*(charge[node] for node in charged))])
    q = m.state("charge", len(charged), start=charges(rest).full().ravel())
    u = m.algebraic("voltage", NODES, start=rest, unit="V")
    flow = _currents(m.time, _named(u))
    m.equation(m.der(q), ca.vertcat(*(flow[node] for node in charged)), name="currents")
    m.equation(q, charges(u), name="charges")
    m.equation(
        ca.vertcat(*(sum(flow[k] for k in (node, *around)) for node, around in groups.items())), 0, name="balances"
    )
    m.output("outputs", ca.vertcat(*(u[node - 1] for node in OUTPUTS)), unit="V")
    return KnownSystem(
        m,
        span=(0.0, 320.0),
        index=1,
        stiff=True,
        reference=Reference(
            320.0,
            {"outputs": [0.2040419147264534, 0.4997238455712048e1, 0.2038985905095614]},
            6,
            "Test Set for Initial Value Problem Solvers, release 2.4",
        ),
        source="M. Günther, Ladungsorientierte Rosenbrock-Wanner-Methoden zur Simulation digitaler Schaltungen (1995)",
    )


def _named(u: ca.SX) -> dict[int | None, ca.SX]:
    """Voltages by node, with ground and supply."""
    return {**dict(enumerate(ca.vertsplit(u), 1)), GROUND: ca.SX(0), None: ca.SX(SUPPLY)}


def _at_rest() -> np.ndarray:
    """Nodes of transistors that do not conduct have the voltage of their terminal; loads of low outputs conduct."""
    known: dict[int | None, float] = {GROUND: 0.0, None: SUPPLY}
    u = np.zeros(NODES + 1)
    for node, value in AT_REST.items():
        known[node] = u[node] = value
    for kind, first, drain, gate, source in CIRCUIT:
        output = source if kind == 0 else drain
        load = kind == 0 and known[output] < 1
        pulling = kind == 1 and known[output] < 1 and not isinstance(gate, str) and known[gate] > 1
        lost = LOST if load or pulling else 0.0
        u[first : first + 4] = known[source] + lost, known[drain] - lost, BULK, BULK
    return u[1:]


def _groups() -> dict[int, list[int]]:
    """Nodes with capacitors to transistors' own nodes alone, and these."""
    around: dict[int, list[int]] = {node: [] for node in AT_REST}
    for _, first, drain, gate, source in CIRCUIT:
        ends = ((first, gate), (first + 1, gate), (first + 2, source), (first + 3, drain))
        for node, other in ends:
            if isinstance(other, int) and other != GROUND:
                around[other].append(node)
    return {node: nodes for node, nodes in around.items() if node not in OUTPUTS}


def _currents(t: ca.SX, u: Mapping[int | None, ca.SX]) -> dict[int, ca.SX]:
    """The currents into the nodes."""
    flow = {node: ca.SX(0) for node in range(NODES + 1)}
    pulses = {name: _pulse(t, *shape) for name, shape in PULSES.items()}
    for kind, first, drain, gate, source in CIRCUIT:
        own_source, own_drain, bulk_source, bulk_drain = range(first, first + 4)
        at_gate, slope = pulses[gate] if isinstance(gate, str) else (u[gate], 0)
        current = drain_current(
            KINDS[kind], u[own_drain] - u[own_source], at_gate - u[own_source], u[bulk_source] - u[source],
            at_gate - u[own_drain], u[bulk_drain] - u[drain],
        )  # fmt: skip
        for node, bulk, terminal, sign in ((own_source, bulk_source, source, -1), (own_drain, bulk_drain, drain, 1)):
            through, leaking = (u[node] - u[terminal]) / RESISTANCE, junction_current(u[bulk] - u[terminal], 5e-11)
            flow[node] += sign * current - through + CAPACITANCE * slope
            flow[bulk] += leaking - (u[bulk] - BULK) / BULK_RESISTANCE
            if terminal is not None:
                flow[terminal] += through - leaking
    return flow


def _charges(u: Mapping[int | None, ca.SX]) -> dict[int, ca.SX]:
    """The charges at the nodes; what inputs add is in the currents."""
    charge = {node: ca.SX(0) for node in range(NODES + 1)}
    for _, first, drain, gate, source in CIRCUIT:
        for node, bulk, terminal in ((first, first + 2, source), (first + 1, first + 3, drain)):
            gated = CAPACITANCE * (u[node] - (0 if isinstance(gate, str) else u[gate]))
            charge[node] += gated
            if not isinstance(gate, str):
                charge[gate] -= gated
            size = junction_capacitance(u[bulk] - u[terminal], JUNCTION)
            charge[bulk] += size * (u[bulk] - (0 if terminal is None else u[terminal]))
            if terminal is not None:
                charge[terminal] -= size * (u[bulk] - u[terminal])
    for node in OUTPUTS:
        charge[node] += OUTPUT * u[node]
    return charge


def _pulse(t: ca.SX, delay: float, width: float, period: float) -> tuple[ca.SX, ca.SX]:
    """A periodic pulse, and its slope."""
    x = ca.fmod(t, period) - delay
    up, top = ca.logic_and(x > 0, x <= 5), ca.logic_and(x > 5, x <= 5 + width)
    down = ca.logic_and(x > 5 + width, x <= 10 + width)
    value = ca.if_else(up, x, 0) + ca.if_else(top, SUPPLY, 0) + ca.if_else(down, 10 + width - x, 0)
    return value, ca.if_else(up, 1.0, 0) - ca.if_else(down, 1.0, 0)
