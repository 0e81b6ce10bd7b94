"""Machines: motors and transmissions, which connect domains."""

from __future__ import annotations

from typing import Any, ClassVar

from daedalus.components.poles import HEAT, losses, two_pole
from daedalus.components.rotational import RATIOS, Gear, WithRatio
from daedalus.model.assembly.component import Component, Keyword

__all__ = ["DCMotor", "ElasticTransmission", "GearedMotor"]


def __dir__() -> list[str]:
    return sorted(__all__)


_MOTOR = {
    "resistance": Keyword("ohm", needs="positive"),
    "inductance": Keyword("H", needs="positive"),
    "constant": Keyword("N*m/A", needs="not zero"),
    "inertia": Keyword("kg*m^2", needs="positive"),
    "damping": Keyword("N*m*s/rad", 0.0, "not negative"),
    "heat": HEAT,
}


class _Machine(Component):
    domain: ClassVar[str] = "machines"


class DCMotor(_Machine):
    """A DC motor with constant field: L i' = u − R i − K ω, J ω' = K i − damping ω − T_L.

    `constant` is K_T = K_E, equal in SI units. Ports plus, minus, shaft; states current, angle, speed; output `torque`
    = K i. `flux` is L i and `momentum` is J ω. With `heat=True` the losses leave at the port `heat`.
    """

    keywords = _MOTOR

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical", through="state")
        angle = m.state("angle", unit="rad")
        shaft = m.port("shaft", "rotational")
        m.equation(angle, shaft.angle, name="angle")
        m.further_name("speed", "angle", 1)
        speed = m.der(angle)
        m.equation(
            q.inductance * m.der(current), voltage - q.resistance * current - q.constant * speed, name="armature"
        )
        m.equation(
            shaft.torque, q.inertia * m.der(speed) - q.constant * current + q.damping * speed, name="rotor"
        )  # fmt: skip
        m.output("torque", q.constant * current, unit="N*m")
        m.stored(0.5 * q.inductance * current**2 + 0.5 * q.inertia * speed**2)
        m.quantity("flux", q.inductance * current, "Wb")
        m.quantity("momentum", q.inertia * speed, "kg*m^2/s")
        losses(m, q.resistance * current**2 + q.damping * speed**2, q.heat)


class GearedMotor(WithRatio, _Machine):
    """A DC motor with a gear: parts `motor` and `gear` inside, ports plus, minus, shaft (behind the gear)."""

    keywords = {**_MOTOR, **RATIOS}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        plus, minus = m.port("plus", "electrical"), m.port("minus", "electrical")
        shaft = m.port("shaft", "rotational")
        motor = m.add(DCMotor("motor", **{word: getattr(q, word) for word in _MOTOR}))
        ratios = {word: getattr(q, word) for word in RATIOS}
        gear = m.add(Gear("gear", **ratios))
        m.connect(plus, motor.plus)
        m.connect(minus, motor.minus)
        m.connect(motor.shaft, gear.shaft_a)
        m.connect(gear.shaft_b, shaft)
        if q.heat:
            m.connect(m.port("heat", "thermal"), motor.heat)
        m.further_name("current", "motor.current")
        m.further_name("angle", "shaft.angle")
        m.further_name("speed", "shaft.angle", 1)


class ElasticTransmission(_Machine):
    """An elastic shaft: torque = stiffness · angle + damping · speed, between shaft_a and shaft_b."""

    keywords = {
        "stiffness": Keyword("N*m/rad", needs="positive"),
        "damping": Keyword("N*m*s/rad", 0.0, "not negative"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        angle, speed, torque = two_pole(m, "rotational")
        m.equation(torque, q.stiffness * angle + q.damping * speed, name="law")
        m.stored(0.5 * q.stiffness * angle**2)
        m.lost(q.damping * speed**2)
