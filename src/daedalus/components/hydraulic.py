"""Hydraulic parts: ports share a pressure, volume flows (m³/s) balance. Two-pole parts have `pressure_drop` (a − b) and
`flow` (into a). Pressures are measured against that of the air.
"""

from __future__ import annotations

from typing import Any, ClassVar

import casadi as ca

from daedalus.components.poles import HEAT, Gauge, Meter, losses, two_pole
from daedalus.model.assembly.component import Component, Keyword

__all__ = [
    "Cylinder", "FlowSensor", "FlowSource", "Line", "PressureSensor", "PressureSource", "Pump", "ReliefValve",
    "Resistance", "Restriction", "ServoValve", "Tank", "Valve", "Volume",
]  # fmt: skip

CRITICAL_FLOW_NUMBER = 800.0
EDGES = {"sharp": 0.61, "rounded": 0.85, "ideal": 1.0}  # document 002: 0.60–0.65, 0.8–0.9, 1 where nothing is lost
OIL_VISCOSITY = 30e-6  # kinematic viscosity of hydraulic oil in m²/s, document 002


def __dir__() -> list[str]:
    return sorted(__all__)


_DENSITY = Keyword("kg/m^3", 870.0, "positive")
_LEAK = Keyword(default=1e-6, needs="between 0 and 1", option="a number")  # a millionth is less than one can close
_BULK = Keyword("Pa", 1.4e9, "positive")


class _Hydraulic(Component):
    domain: ClassVar[str] = "hydraulic"
    end: ClassVar[str] = "a"


class PressureSource(_Hydraulic):
    """Holds a pressure at its port `a`; `pressure=0.0` is the open air."""

    ideal = True
    keywords = {"pressure": Keyword("Pa", nominal=1e5)}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        port = m.port("a", "hydraulic")
        m.equation(port.pressure, q.pressure, name="fixed")
        m.further_name("flow", "a.flow")


class FlowSource(_Hydraulic):
    """Delivers a flow out of its port `a`."""

    ideal = True
    keywords = {"flow": Keyword("m^3/s", nominal=1e-3)}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        m.equation(m.port("a", "hydraulic").flow + q.flow, 0, name="flow")
        m.further_name("pressure", "a.pressure")


class Resistance(_Hydraulic):
    """A laminar resistance: flow = pressure_drop / resistance."""

    keywords = {"resistance": Keyword("Pa*s/m^3", needs="positive"), "heat": HEAT}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        drop, _, flow = two_pole(m, "hydraulic")
        m.equation(flow, drop / q.resistance, name="law")
        losses(m, drop * flow, q.heat)


class Restriction(_Hydraulic):
    """An orifice: turbulent, laminar and between (see `orifice`), in both directions.

    `discharge` is C_d; without it `edge` gives it: "sharp" 0.61, "rounded" 0.85, "ideal" 1. Without `diameter` the
    opening is round. Output `reynolds` is D flow / (A ν).
    """

    keywords = {
        "area": Keyword("m^2", needs="positive"),
        "discharge": Keyword(default=None, needs="positive"),
        "edge": Keyword(default="sharp", option="a word", words=tuple(EDGES)),
        "diameter": Keyword("m", None, "positive"),
        "density": _DENSITY,
        "viscosity": Keyword("m^2/s", OIL_VISCOSITY, "positive"),
        "heat": HEAT,
    }

    def _check(self) -> None:
        if self.values["discharge"] is None:
            self.values["discharge"] = EDGES[self.options["edge"]]

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        drop, _, flow = two_pole(m, "hydraulic")
        diameter = ca.sqrt(4 * q.area / ca.pi) if q.diameter is None else q.diameter
        m.equation(
            flow, restricted_flow(drop, q.discharge, q.area, diameter, q.density, q.viscosity), name="law"
        )  # fmt: skip
        m.output("reynolds", diameter * flow / (q.area * q.viscosity))
        losses(m, drop * flow, q.heat)


class Valve(_Hydraulic):
    """A turbulent valve: flow = discharge · opening · area √(2 Δp / density), in both directions.

    The signal input `opening` is 1 if it is not connected, and is limited to `leak` to 1. The valve is never perfectly
    closed, so a line before it keeps a defined pressure and the index stays the same. Below a drop of 1 Pa the square
    root is replaced by a straight line.
    """

    keywords = {
        "discharge": Keyword(default=0.61, needs="positive"),
        "area": Keyword("m^2", needs="positive"),
        "density": _DENSITY,
        "leak": _LEAK,
        "heat": HEAT,
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        opening = m.signal_input("opening", default=1.0)
        drop, _, flow = two_pole(m, "hydraulic")
        share = ca.fmin(ca.fmax(opening, q.leak), 1)
        m.equation(flow, share * turbulent_flow(drop, q.discharge, q.area, q.density), name="law")
        losses(m, drop * flow, q.heat)


class ServoValve(_Hydraulic):
    """A four-way valve: the signal `opening` from −1 to 1 connects supply to a and b to tank, or the reverse.

    Ports supply, tank, a, b. Four sharp edges that open with the signal, no overlap.
    """

    keywords = {
        "discharge": Keyword(default=0.61, needs="positive"),
        "area": Keyword("m^2", needs="positive"),
        "density": _DENSITY,
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        opening = m.signal_input("opening")
        ports = {name: m.port(name, "hydraulic") for name in ("supply", "tank", "a", "b")}
        forward, back = ca.fmax(opening, 0), ca.fmax(-opening, 0)

        def edge(name: str, start: str, end: str, share: ca.SX) -> ca.SX:
            flow = m.algebraic(name, unit="m^3/s", nominal=1e-3)
            drop = ports[start].pressure - ports[end].pressure
            m.equation(flow, share * turbulent_flow(drop, q.discharge, q.area, q.density), name=name)
            return flow

        supply_a, supply_b = edge("supply_to_a", "supply", "a", forward), edge("supply_to_b", "supply", "b", back)
        a_tank, b_tank = edge("a_to_tank", "a", "tank", back), edge("b_to_tank", "b", "tank", forward)
        m.equation(ports["supply"].flow, supply_a + supply_b, name="at supply")
        m.equation(ports["tank"].flow, -a_tank - b_tank, name="at tank")
        m.equation(ports["a"].flow, a_tank - supply_a, name="at a")
        m.equation(ports["b"].flow, b_tank - supply_b, name="at b")
        m.lost(ca.sum1(ca.vertcat(*(port.pressure * port.flow for port in ports.values()))))


class Pump(_Hydraulic):
    """A displacement pump or motor between a (inlet) and b (outlet), driven by its shaft.

    flow through = displacement · speed − leakage · (p_b − p_a), torque = displacement (p_b − p_a) + damping · speed;
    displacement in m³ per rad.
    """

    keywords = {
        "displacement": Keyword("m^3/rad", needs="positive"),
        "leakage": Keyword("m^3/(s*Pa)", 0.0, "not negative", nominal=1e-12),
        "damping": Keyword("N*m*s/rad", 0.0, "not negative"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        inlet, outlet = m.port("a", "hydraulic"), m.port("b", "hydraulic")
        shaft = m.port("shaft", "rotational")
        rise = outlet.pressure - inlet.pressure
        flow = m.algebraic("flow", unit="m^3/s", nominal=1e-3)
        m.equation(flow, q.displacement * shaft.speed - q.leakage * rise, name="displaced")
        m.equation(flow, inlet.flow, name="flow in")
        m.equation(flow + outlet.flow, 0, name="flow out")
        m.equation(shaft.torque, q.displacement * rise + q.damping * shaft.speed, name="torque")
        m.lost(q.leakage * rise**2 + q.damping * shaft.speed**2)


class ReliefValve(_Hydraulic):
    """Opens above a pressure drop: flow = conductance · (pressure_drop − pressure) there, and none below.

    A fraction `leak` of its conductance is always open, so it is never perfectly closed.
    """

    keywords = {
        "pressure": Keyword("Pa", needs="positive"),
        "conductance": Keyword("m^3/(s*Pa)", 1e-8, "positive"),
        "leak": _LEAK,
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        drop, _, flow = two_pole(m, "hydraulic")
        m.equation(flow, q.conductance * (ca.fmax(drop - q.pressure, 0) + q.leak * drop), name="law")
        m.lost(drop * flow)


class Tank(_Hydraulic):
    """An open tank: area · level' = flow in, pressure = density · gravity · level. Port `outlet`; state `level`.

    `volume` is area · level.
    """

    keywords = {
        "area": Keyword("m^2", needs="positive"),
        "density": Keyword("kg/m^3", 1000.0, "positive"),
        "gravity": Keyword("m/s^2", 9.80665, "positive"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        level = m.state("level", unit="m")
        outlet = m.port("outlet", "hydraulic")
        m.equation(outlet.flow, q.area * m.der(level), name="balance")
        m.equation(outlet.pressure, q.density * q.gravity * level, name="pressure")
        m.further_name("flow", "outlet.flow")
        m.stored(0.5 * q.density * q.gravity * q.area * level**2)
        m.quantity("volume", q.area * level, "m^3")


class Volume(_Hydraulic):
    """A closed volume of compressible fluid: volume / bulk_modulus · pressure' = flow. Port `a`; state `pressure`.

    `stored_volume` is what has flowed in since the pressure was zero: volume / bulk_modulus · pressure.
    """

    keywords = {"volume": Keyword("m^3", needs="positive"), "bulk_modulus": _BULK}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        pressure = m.state("pressure", unit="Pa", nominal=1e5)
        port = m.port("a", "hydraulic")
        m.equation(pressure, port.pressure, name="pressure")
        m.equation(port.flow, q.volume / q.bulk_modulus * m.der(pressure), name="compression")
        m.stored(0.5 * q.volume / q.bulk_modulus * pressure**2)
        m.quantity("stored_volume", q.volume / q.bulk_modulus * pressure, "m^3")


class Line(_Hydraulic):
    """A line with inertance density · length / area: inertance · flow' = pressure_drop − resistance · flow.

    The state is `flow`; `momentum` is the pressure momentum inertance · flow.
    """

    keywords = {
        "length": Keyword("m", needs="positive"),
        "area": Keyword("m^2", needs="positive"),
        "density": _DENSITY,
        "resistance": Keyword("Pa*s/m^3", 0.0, "not negative", nominal=1e7),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        drop, _, flow = two_pole(m, "hydraulic", through="state")
        inertance = q.density * q.length / q.area
        m.equation(inertance * m.der(flow), drop - q.resistance * flow, name="momentum")
        m.stored(0.5 * inertance * flow**2)
        m.quantity("momentum", inertance * flow, "Pa*s")
        m.lost(q.resistance * flow**2)


class Cylinder(_Hydraulic):
    """A cylinder with compressible fluid on both sides of its piston and a fixed housing.

    Ports a and b, and `flange` of the rod. Fluid into a moves the rod in the positive direction:
    V_a / bulk_modulus · p_a' = q_a − area_a · velocity, likewise for b, and force = area_a p_a − area_b p_b on the rod.
    V_a = dead_volume + area_a · position, V_b = dead_volume + area_b (stroke − position). States pressure_a, _b;
    `volume_a` and `volume_b` are the volumes of the chambers.
    The compression energy that the fluid carries along, p² area velocity / (2 bulk_modulus), counts as lost.
    """

    keywords = {
        "area_a": Keyword("m^2", needs="positive"),
        "area_b": Keyword("m^2", None, "positive"),
        "stroke": Keyword("m", needs="positive"),
        "dead_volume": Keyword("m^3", 1e-5, "positive"),
        "bulk_modulus": _BULK,
        "damping": Keyword("N*s/m", 0.0, "not negative"),
        "leakage": Keyword("m^3/(s*Pa)", 0.0, "not negative", nominal=1e-12),
    }

    def _check(self) -> None:
        if self.values["area_b"] is None:
            self.values["area_b"] = self.values["area_a"]

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        flange = m.port("flange", "translational")
        position, velocity = flange.position, flange.velocity
        m.further_name("position", "flange.position")
        m.further_name("velocity", "flange.position", 1)
        force = q.damping * velocity
        pressures = [m.state(f"pressure_{side}", unit="Pa", nominal=1e5) for side in "ab"]
        leak = q.leakage * (pressures[0] - pressures[1])
        volumes = (q.dead_volume + q.area_a * position, q.dead_volume + q.area_b * (q.stroke - position))
        for side, pressure, area, way, volume in zip("ab", pressures, (q.area_a, q.area_b), (1, -1), volumes):
            port = m.port(side, "hydraulic")
            compressed = volume / q.bulk_modulus
            m.equation(pressure, port.pressure, name=f"pressure {side}")
            m.equation(
                port.flow, compressed * m.der(pressure) + way * (area * velocity + leak), name=f"chamber {side}"
            )  # fmt: skip
            force = force - way * area * pressure
            m.stored(0.5 * compressed * pressure**2)
            m.quantity(f"volume_{side}", volume, "m^3")
            m.lost(-way * area * velocity * pressure**2 / (2 * q.bulk_modulus))
        m.equation(flange.force, force, name="force")
        m.lost(q.damping * velocity**2 + leak * (pressures[0] - pressures[1]))


class PressureSensor(Gauge, _Hydraulic):
    """Measures a pressure at its port `a`; signal `output`."""


class FlowSensor(Meter, _Hydraulic):
    """Measures the flow from a to b; signal `output`."""


# Flow through a restriction: turbulent, laminar, and a smooth transition between, finite slope at no pressure drop.
#
# Document 002: q = C_d A √(2 Δp / ρ) for Reynolds numbers D q / (A ν) above 1000, proportional to Δp below 10, and
# nothing between. Here the coefficient goes with the flow number λ = D/ν √(2 |Δp| / ρ),
#
#     C_d(λ) = C_d tanh(2 λ / λ_c),   λ_c = 800
#
# (D. McCloy, H. R. Martin, Control of Fluid Power, 1980, on the shape of C_d over √Re; the tanh is common in simulators
# of hydraulics). At Re = 1000 the flow is the turbulent one to 0.1 %, at Re = 10 the laminar one to 2 %.


def turbulent_flow(drop: ca.SX, discharge: Any, area: Any, density: Any, width: float = 1.0) -> ca.SX:
    """C_d A √(2 Δp / ρ) in both directions; below a drop of `width` (Pa) the root gives way to a straight line."""
    return discharge * area * ca.sqrt(2 / density) * drop / (drop**2 + width**2) ** 0.25


def restricted_flow(drop: ca.SX, discharge: Any, area: Any, diameter: Any, density: Any, viscosity: Any) -> ca.SX:
    """The flow through a restriction of any Reynolds number."""
    steepness = 2 * diameter / (viscosity * CRITICAL_FLOW_NUMBER)
    # Where the argument of tanh is one; the size of a drop is rounded far below that.
    laminar = density / (2 * steepness**2)
    size = ca.sqrt(drop**2 + (1e-4 * laminar) ** 2)
    velocity = ca.sqrt(2 * size / density)
    return discharge * area * velocity * ca.tanh(steepness * velocity) * drop / size
