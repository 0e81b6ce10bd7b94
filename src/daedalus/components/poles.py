"""What parts with two ports have in common: the relative quantity a − b, and the through quantity into a."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import casadi as ca

from daedalus.components.semiconductors.temperature import BOLTZMANN
from daedalus.model.assembly.component import Component, Keyword
from daedalus.model.assembly.domains import DOMAINS
from daedalus.model.unit_labels import rate_unit

HEAT = Keyword(default=False, option="a switch")  # whether losses leave at a heat port
# The temperature whose thermal noise a part makes; without one it makes none.
NOISE_TEMPERATURE = Keyword("K", None, "not negative", option="a number")
# Names of the two ports and of the relative quantity, by domain.
PORTS = {
    "electrical": ("plus", "minus"),
    "rotational": ("shaft_a", "shaft_b"),
    "translational": ("flange_a", "flange_b"),
    "hydraulic": ("a", "b"),
    "thermal": ("heat_a", "heat_b"),
}
RELATIVE = {"hydraulic": "pressure_drop"}


class TwoPole(NamedTuple):
    """The relative quantity of a part with two ports, its rate where it is a position, and the through quantity."""

    relative: ca.SX
    rate: Any  # a symbol, None where the quantity is no position
    through: ca.SX


def two_pole(m: Any, domain: str, *, relative: str = "algebraic", through: str = "algebraic") -> TwoPole:
    """Declare both ports and both quantities; `relative` and `through` say whether one of them is a state."""
    kind = DOMAINS[domain]
    a, b = (m.port(name, domain) for name in PORTS[domain])
    shared, balanced = kind.shared, kind.balanced
    name = RELATIVE.get(domain, shared.name)
    across = getattr(m, relative)(name, unit=shared.unit, nominal=shared.nominal)
    flow = getattr(m, through)(balanced.name, unit=balanced.unit, nominal=balanced.nominal)
    m.equation(across, getattr(a, shared.name) - getattr(b, shared.name), name=name)
    m.equation(flow, getattr(a, balanced.name), name=f"{balanced.name} in")
    m.equation(flow + getattr(b, balanced.name), 0, name=f"{balanced.name} out")
    rate = None
    if kind.rate:
        rate = m.algebraic(kind.rate, unit=f"{shared.unit}/s")
        m.equation(rate, getattr(a, kind.rate) - getattr(b, kind.rate), name=kind.rate)
    return TwoPole(across, rate, flow)


def relative_rate(m: Any, domain: str) -> ca.SX:
    """The relative rate of the two ports of a mechanical part as an expression of their positions, a − b."""
    kind = DOMAINS[domain]
    a, b = (m.der(m[f"{name}.{kind.shared.name}"]) for name in PORTS[domain])
    return ca.SX(a - b)


class OnePole(NamedTuple):
    """The quantities of a part with one mechanical port: position, rate, acceleration, and the force or torque in."""

    position: ca.SX
    rate: ca.SX
    acceleration: ca.SX
    effort: ca.SX


def one_pole(m: Any, domain: str, port: str) -> OnePole:
    """Declare the one port of a mechanical part, whose position is a state of the part: `load.angle`, `load.speed`."""
    kind = DOMAINS[domain]
    position = m.state(kind.shared.name, unit=kind.shared.unit)
    own = m.port(port, domain)
    m.equation(position, getattr(own, kind.shared.name), name=kind.shared.name)
    m.further_name(kind.rate, kind.shared.name, 1)
    m.further_name(kind.balanced.name, f"{port}.{kind.balanced.name}")
    rate = m.der(position)
    return OnePole(position, rate, m.der(rate), getattr(own, kind.balanced.name))


class Gauge(Component):
    """A sensor of the shared quantity of a port, or of its rate. Nothing flows into its port `end`; signal `output`."""

    end: ClassVar[str]
    of_rate: ClassVar[bool] = False

    @classmethod
    def _write(cls, m: Any, q: Any) -> None:
        own, kind = m.port(cls.end, cls.domain), DOMAINS[cls.domain]
        m.equation(getattr(own, kind.balanced.name), 0, name="free")
        measured = getattr(own, kind.rate if cls.of_rate else kind.shared.name)
        m.output("output", measured, unit=rate_unit(kind.shared.unit, int(cls.of_rate)))


class Meter(Component):
    """A sensor of the flow from the first port to the second, which it connects without a difference; signal
    `output`."""

    @classmethod
    def _write(cls, m: Any, q: Any) -> None:
        kind = DOMAINS[cls.domain]
        a, b = (m.port(name, cls.domain) for name in PORTS[cls.domain])
        m.equation(getattr(a, kind.shared.name) - getattr(b, kind.shared.name), 0, name="together")
        through = m.algebraic(kind.balanced.name, unit=kind.balanced.unit)
        m.equation(through, getattr(a, kind.balanced.name), name="in")
        m.equation(through + getattr(b, kind.balanced.name), 0, name="out")
        m.output("output", through, unit=kind.balanced.unit)


def losses(m: Any, power: ca.SX, heat: bool) -> None:
    """Lose a power, or hand it on at a heat port."""
    if heat:
        port = m.port("heat", "thermal")
        m.equation(port.heat, -power, name="heat")
    else:
        m.lost(power)


def thermal_noise(m: Any, conductance: ca.SX, temperature: float | None) -> ca.SX | float:
    """What flows through a loss at a temperature besides its law, white with the spectral density 2 k T · conductance.

    The density counts frequencies of both signs: it is Nyquist's 4 k T / R over positive ones. With it every stored
    energy has the mean k T / 2 (H. B. Callen, T. A. Welton, Phys. Rev. 83, 1951).
    """
    if not temperature:
        return 0.0
    return ca.sqrt(2 * BOLTZMANN * temperature * conductance) * m.noise("noise")
