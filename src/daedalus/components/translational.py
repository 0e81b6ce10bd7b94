"""Translational parts: ports share a position, forces balance. Two-pole parts have `position`, `velocity` (a − b) and
`force` (into a), so that force · velocity is the power in.
"""

from __future__ import annotations

from typing import Any, ClassVar

import casadi as ca

from daedalus.components.mechanical_laws import dry_friction
from daedalus.components.poles import gauge, losses, meter, one_pole, relative_rate, two_pole
from daedalus.model.assembly.component import Component, Keyword

__all__ = [
    "Damper", "ForceSensor", "ForceSource", "Friction", "Ground", "Mass", "PositionSensor", "Rack", "Spring",
    "VelocitySensor", "VelocitySource", "Wheel",
]  # fmt: skip

_HEAT = Keyword(default=False, option=True)


class _Translational(Component):
    domain: ClassVar[str] = "translational"


class Ground(_Translational):
    """Holds a flange at the position zero; port `flange`."""

    ideal = True

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        m.equation(m.port("flange", "translational").position, 0, name="zero")
        m._also("force", "flange.force")


class Mass(_Translational):
    """mass · position'' = force − mass · gravity. Port `flange`; the states are `position` and `velocity`.

    `gravity` pulls against the direction of the position; zero by default.
    """

    keywords = {"mass": Keyword("kg", needs="positive"), "gravity": Keyword("m/s^2", None)}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        position, velocity, acceleration, force = one_pole(m, "translational", "flange")
        if q.gravity is None:
            m.equation(force, q.mass * acceleration, name="motion")
            m.stored(0.5 * q.mass * velocity**2)
        else:
            m.equation(force, q.mass * (acceleration + q.gravity), name="motion")
            m.stored(0.5 * q.mass * velocity**2 + q.mass * q.gravity * position)


class Spring(_Translational):
    """force = stiffness (position − rest)."""

    keywords = {"stiffness": Keyword("N/m", needs="positive"), "rest": Keyword("m", 0.0)}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        position, _, force = two_pole(m, "translational")
        m.equation(force, q.stiffness * (position - q.rest), name="law")
        m.stored(0.5 * q.stiffness * (position - q.rest) ** 2)


class Damper(_Translational):
    """force = damping · velocity. With `heat=True` the loss leaves at the port `heat`."""

    keywords = {"damping": Keyword("N*s/m", needs="not negative"), "heat": _HEAT}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        _, velocity, force = two_pole(m, "translational")
        m.equation(force, q.damping * velocity, name="law")
        losses(m, force * velocity, q.heat)


class Friction(_Translational):
    """Dry friction between two flanges: slides at `kinetic`, sticks up to `static`, with `viscous` damping on top.

    `friction` is its dry part and `friction.mode` its direction of sliding, 0 while it sticks. With a `width` it is
    regularised: where it would stick it creeps by less than about that (see `mechanical_laws`).
    """

    keywords = {
        "kinetic": Keyword("N", needs="not negative"),
        "static": Keyword("N", None, "not negative"),
        "viscous": Keyword("N*s/m", 0.0, "not negative"),
        "width": Keyword("m/s", None, "positive"),
        "heat": _HEAT,
    }

    def _check(self) -> None:
        if self.values["static"] is None:
            self.values["static"] = self.values["kinetic"]

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        _, velocity, force = two_pole(m, "translational")
        dry = dry_friction(m, relative_rate(m, "translational"), q.kinetic, q.static, q.width)
        m.equation(force, dry + q.viscous * velocity, name="law")
        losses(m, force * velocity, q.heat)


class ForceSource(_Translational):
    """Pushes its flange with a force, positive in the direction of the position."""

    ideal = True
    keywords = {"force": Keyword("N")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        flange = m.port("flange", "translational")
        m._also("velocity", "flange.position", 1)
        m.equation(flange.force + q.force, 0, name="force")


class VelocitySource(_Translational):
    """Moves its flange at a velocity, whatever force that takes."""

    ideal = True
    keywords = {"velocity": Keyword("m/s")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        flange = m.port("flange", "translational")
        m._also("position", "flange.position")
        m._also("force", "flange.force")
        m.equation(flange.velocity, q.velocity, name="velocity")


class Rack(_Translational):
    """A rack and pinion, a winch or a screw: flange position = radius · shaft angle. Ports shaft, flange."""

    keywords = {"radius": Keyword("m", needs="not zero")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        shaft, flange = m.port("shaft", "rotational"), m.port("flange", "translational")
        m.equation(flange.position, q.radius * shaft.angle, name="positions")
        m.equation(shaft.torque, -q.radius * flange.force, name="forces")


class Wheel(_Translational):
    """A wheel that rolls on the ground and drives a vehicle, with slip: force = stiffness · slip velocity.

    The slip velocity is radius · speed − velocity; `grip` bounds the force (smoothly). Ports shaft, flange.
    """

    keywords = {
        "radius": Keyword("m", needs="positive"),
        "stiffness": Keyword("N*s/m", needs="positive"),
        "grip": Keyword("N", None, "positive"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        shaft, flange = m.port("shaft", "rotational"), m.port("flange", "translational")
        slip = q.radius * shaft.speed - flange.velocity
        force = m.algebraic("force", unit="N")
        pull = q.stiffness * slip
        m.equation(force, pull if q.grip is None else q.grip * ca.tanh(pull / q.grip), name="contact")
        m.equation(flange.force, -force, name="push")
        m.equation(shaft.torque, q.radius * force, name="torque")
        m.lost(force * slip)


class PositionSensor(_Translational):
    """Measures the position of its flange; signal `output`."""

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        gauge(m, "translational", "flange", "position")


class VelocitySensor(_Translational):
    """Measures the velocity of its flange; signal `output`."""

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        gauge(m, "translational", "flange", "velocity")


class ForceSensor(_Translational):
    """Measures the force from flange_a to flange_b, which it joins rigidly; signal `output`."""

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        meter(m, "translational")
