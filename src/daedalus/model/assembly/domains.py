"""The domains of ports: which quantity joined ports share, which one balances, and their units.

Document 002's table of effort and flow, and heat: the product of effort and flow is a power, heat flow is one itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from daedalus.errors import ModelError
from daedalus.model.names import did_you_mean


@dataclass(frozen=True)
class PortQuantity:
    """A quantity of a port: its name, unit and usual size."""

    name: str
    unit: str
    nominal: float = 1.0


@dataclass(frozen=True)
class Domain:
    """shared: equal at joined ports. balanced: adds up to zero there, positive into the component.

    rate: the name of the derivative of a shared position, empty where the shared quantity is not a position. colour: in
    diagrams.
    """

    name: str
    shared: PortQuantity
    balanced: PortQuantity
    rate: str = ""
    colour: str = "#555555"
    reference: str = ""  # the part that fixes the shared quantity
    reference_port: str = ""

    @property
    def is_mechanical(self) -> bool:
        """Whether the shared quantity is a position, whose derivative the power is made of."""
        return bool(self.rate)

    @property
    def quantities(self) -> list[str]:
        """The names of what a port has: the shared quantity, the balanced one, and the rate of a position."""
        return [self.shared.name, self.balanced.name, *([self.rate] if self.rate else [])]

    @property
    def carries_power(self) -> bool:
        """Whether the balanced quantity is a power itself."""
        return self.balanced.unit == "W"


DOMAINS = {
    domain.name: domain
    for domain in (
        Domain("electrical", PortQuantity("voltage", "V"), PortQuantity("current", "A"), "", "#1f5fa8",
               'C.electrical.Ground("ground")', "pin"),
        Domain("rotational", PortQuantity("angle", "rad"), PortQuantity("torque", "N*m"), "speed", "#2f7d4f"),
        Domain("translational", PortQuantity("position", "m"), PortQuantity("force", "N"), "velocity", "#7a8b1e"),
        Domain("hydraulic", PortQuantity("pressure", "Pa", 1e5), PortQuantity("flow", "m^3/s", 1e-3), "", "#b3261e",
               'C.hydraulic.PressureSource("supply", pressure=0.0)', "a"),
        Domain("thermal", PortQuantity("temperature", "K", 100.0), PortQuantity("heat", "W"), "", "#c77700",
               'C.thermal.TemperatureSource("ambient", temperature=293.15)', "heat"),
    )
}  # fmt: skip


def domain_of(name: object) -> Domain:
    """The domain of a name, or a ModelError that lists them."""
    if isinstance(name, str) and name in DOMAINS:
        return DOMAINS[name]
    raise ModelError(
        f"{name!r} is not a port domain.",
        f"there are {', '.join(DOMAINS)}",
        because="the domain determines which quantity connected ports share and which one balances.",
        remedy=did_you_mean(str(name), DOMAINS),
    )
