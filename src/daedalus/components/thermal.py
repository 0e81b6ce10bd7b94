"""Thermal parts: ports share a temperature, heat flows balance; a heat flow is a power itself. Two-pole parts have
`temperature` (a − b) and `heat` (into a).
"""

from __future__ import annotations

from typing import Any, ClassVar

from daedalus.components.poles import Gauge, Meter, two_pole
from daedalus.model.assembly.component import Component, Keyword

__all__ = [
    "Conduction", "Convection", "HeatSensor", "HeatSource", "Node", "Radiation", "TemperatureSensor",
    "TemperatureSource",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


BOLTZMANN = 5.670374419e-8  # Stefan and Boltzmann's constant in W/(m² K⁴), exact in the SI of 2019


class _Thermal(Component):
    domain: ClassVar[str] = "thermal"
    end: ClassVar[str] = "heat"


class Node(_Thermal):
    """capacity · temperature' = heat. Port `heat`; the state is `temperature`."""

    keywords = {"capacity": Keyword("J/K", needs="positive")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        temperature = m.state("temperature", unit="K", nominal=100.0)
        port = m.port("heat", "thermal")
        m.equation(temperature, port.temperature, name="temperature")
        m.equation(port.heat, q.capacity * m.der(temperature), name="balance")
        m.stored(q.capacity * temperature)


class Conduction(_Thermal):
    """heat = conductance · temperature."""

    keywords = {"conductance": Keyword("W/K", needs="not negative")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        difference, _, heat = two_pole(m, "thermal")
        m.equation(heat, q.conductance * difference, name="law")


class Convection(_Thermal):
    """heat = coefficient · area · temperature, from a surface to a fluid."""

    keywords = {
        "coefficient": Keyword("W/(m^2*K)", needs="not negative"),
        "area": Keyword("m^2", needs="positive"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        difference, _, heat = two_pole(m, "thermal")
        m.equation(heat, q.coefficient * q.area * difference, name="law")


class Radiation(_Thermal):
    """heat = σ · emissivity · area (T_a⁴ − T_b⁴)."""

    keywords = {"emissivity": Keyword(default=1.0, needs="between 0 and 1"), "area": Keyword("m^2", needs="positive")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        a, b = m.port("heat_a", "thermal"), m.port("heat_b", "thermal")
        heat = m.algebraic("heat", unit="W")
        m.equation(heat, BOLTZMANN * q.emissivity * q.area * (a.temperature**4 - b.temperature**4), name="law")
        m.equation(heat, a.heat, name="heat in")
        m.equation(heat + b.heat, 0, name="heat out")


class HeatSource(_Thermal):
    """Supplies a heat flow at its port `heat`."""

    ideal = True
    keywords = {"heat": Keyword("W", symbol="power")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        m.equation(m.port("heat", "thermal").heat + q.heat, 0, name="flow")


class TemperatureSource(_Thermal):
    """Holds a temperature, such as that of the air outside; port `heat`."""

    ideal = True
    keywords = {"temperature": Keyword("K", needs="not negative")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        m.equation(m.port("heat", "thermal").temperature, q.temperature, name="fixed")


class TemperatureSensor(Gauge, _Thermal):
    """Measures a temperature; signal `output`."""


class HeatSensor(Meter, _Thermal):
    """Measures the heat flow from heat_a to heat_b; signal `output`."""
