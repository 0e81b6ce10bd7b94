"""Translational parts: ports share a position, forces balance. Two-pole parts have `position`, `velocity` (a − b) and
`force` (into a), so that force · velocity is the power in.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.components import mechanical
from daedalus.components.poles import HEAT, NOISE_TEMPERATURE, Gauge, Meter, one_pole
from daedalus.model.assembly.component import Keyword

__all__ = [
    "Damper", "ForceSensor", "ForceSource", "Friction", "Ground", "Mass", "PositionSensor", "Rack", "Spring",
    "VelocitySensor", "VelocitySource", "Wheel",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


class Ground(mechanical.GroundLaw, mechanical.Translational):
    """Holds a flange at the position zero; port `flange`."""


class Mass(mechanical.Translational):
    """mass · position'' = force − mass · gravity. Port `flange`; the states are `position` and `velocity`.

    `gravity` pulls against the direction of the position; zero by default. `momentum` is mass · velocity.
    """

    keywords = {"mass": Keyword("kg", needs="positive"), "gravity": Keyword("m/s^2", None)}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        position, velocity, acceleration, force = one_pole(m, "translational", "flange")
        m.quantity("momentum", q.mass * velocity, "kg*m/s")
        if q.gravity is None:
            m.equation(force, q.mass * acceleration, name="motion")
            m.stored(0.5 * q.mass * velocity**2)
        else:
            m.equation(force, q.mass * (acceleration + q.gravity), name="motion")
            m.stored(0.5 * q.mass * velocity**2 + q.mass * q.gravity * position)


class Spring(mechanical.SpringLaw, mechanical.Translational):
    """force = stiffness (position − rest)."""

    keywords = {"stiffness": Keyword("N/m", needs="positive"), "rest": Keyword("m", 0.0)}


class Damper(mechanical.DamperLaw, mechanical.Translational):
    """force = damping · velocity. With `heat=True` the loss leaves at the port `heat`.

    With a `noise_temperature` in K, thermal noise is added to the force (see `m.noise`).
    """

    keywords = {
        "damping": Keyword("N*s/m", needs="not negative"),
        "heat": HEAT,
        "noise_temperature": NOISE_TEMPERATURE,
    }


class Friction(mechanical.FrictionLaw, mechanical.Translational):
    """Dry friction between two flanges: slides at `kinetic`, sticks up to `static`, with `viscous` damping on top.

    `friction` is its dry part and `friction.mode` its direction of sliding, 0 while it sticks. With a `width` it is
    smooth: instead of sticking, it creeps at less than about this speed.
    """

    keywords = {
        "kinetic": Keyword("N", needs="not negative"),
        "static": Keyword("N", None, "not negative"),
        "viscous": Keyword("N*s/m", 0.0, "not negative"),
        "width": Keyword("m/s", None, "positive"),
        "heat": HEAT,
    }


class ForceSource(mechanical.EffortSourceLaw, mechanical.Translational):
    """Pushes its flange with a force, positive in the direction of the position."""

    keywords = {"force": Keyword("N")}


class VelocitySource(mechanical.RateSourceLaw, mechanical.Translational):
    """Moves its flange at a velocity, whatever force that takes."""

    keywords = {"velocity": Keyword("m/s")}


class Rack(mechanical.Translational):
    """A rack and pinion, a winch or a screw: flange position = radius · shaft angle. Ports shaft, flange."""

    keywords = {"radius": Keyword("m", needs="not zero")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        shaft, flange = m.port("shaft", "rotational"), m.port("flange", "translational")
        m.equation(flange.position, q.radius * shaft.angle, name="positions")
        m.equation(shaft.torque, -q.radius * flange.force, name="forces")


class Wheel(mechanical.Translational):
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


class PositionSensor(Gauge, mechanical.Translational):
    """Measures the position of its flange; signal `output`."""


class VelocitySensor(Gauge, mechanical.Translational):
    """Measures the velocity of its flange; signal `output`."""

    of_rate = True


class ForceSensor(Meter, mechanical.Translational):
    """Measures the force from flange_a to flange_b, which it connects rigidly; signal `output`."""
