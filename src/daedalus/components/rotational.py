"""Rotational parts: ports share an angle, torques balance. Two-pole parts have `angle`, `speed` (a − b) and `torque`
(into a), so that torque · speed is the power in.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.components import mechanical
from daedalus.components.poles import HEAT, NOISE_TEMPERATURE, Gauge, Meter, losses, one_pole, relative_rate, two_pole
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Component, Keyword
from daedalus.model.switching.locking_losses import locking_loss

__all__ = [
    "AngleSensor", "Backlash", "Brake", "Clutch", "Damper", "Friction", "Gear", "Ground", "Inertia", "SpeedSensor",
    "SpeedSource", "Spring", "TorqueSensor", "TorqueSource",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


_WIDTH = Keyword("rad/s", None, "positive")


RATIOS = {
    "speed_ratio": Keyword(default=None, needs="not zero"),
    "reduction": Keyword(default=None, needs="not zero"),
    "efficiency": Keyword(default=None, needs="a share"),
}


class WithRatio(Component):
    """A part with the keywords `RATIOS`, one of which sets the ratio."""

    def _check(self) -> None:
        if (self.values["speed_ratio"] is None) == (self.values["reduction"] is None):
            raise ModelError(
                f"{type(self).__name__} {self.name!r} needs one ratio.",
                "speed_ratio=n means that the output turns n times the input, reduction=1/n is the same",
                because="either of them fixes the other.",
                remedy="reduction=50.0, or speed_ratio=0.02",
            )


class Ground(mechanical.GroundLaw, mechanical.Rotational):
    """Holds a shaft at the angle zero; port `shaft`."""


class Inertia(mechanical.Rotational):
    """inertia · angle'' = torque. Port `shaft`; the states are `angle` and `speed`; `momentum` is inertia · speed."""

    keywords = {"inertia": Keyword("kg*m^2", needs="positive")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        _, speed, acceleration, torque = one_pole(m, "rotational", "shaft")
        m.equation(torque, q.inertia * acceleration, name="motion")
        m.stored(0.5 * q.inertia * speed**2)
        m.quantity("momentum", q.inertia * speed, "kg*m^2/s")


class Spring(mechanical.SpringLaw, mechanical.Rotational):
    """torque = stiffness (angle − rest)."""

    keywords = {"stiffness": Keyword("N*m/rad", needs="positive"), "rest": Keyword("rad", 0.0)}


class Damper(mechanical.DamperLaw, mechanical.Rotational):
    """torque = damping · speed. With `heat=True` the loss leaves at the port `heat`.

    With a `noise_temperature` in K, thermal noise is added to the torque (see `m.noise`).
    """

    keywords = {
        "damping": Keyword("N*m*s/rad", needs="not negative"),
        "heat": HEAT,
        "noise_temperature": NOISE_TEMPERATURE,
    }


class Friction(mechanical.FrictionLaw, mechanical.Rotational):
    """Dry friction between two shafts: slides at `kinetic`, sticks up to `static`, with `viscous` damping on top.

    `friction` is its dry part and `friction.mode` its direction of sliding, 0 while it sticks. With a `width` it is
    smooth: instead of sticking, it creeps at less than about this speed.
    """

    keywords = {
        "kinetic": Keyword("N*m", needs="not negative"),
        "static": Keyword("N*m", None, "not negative"),
        "viscous": Keyword("N*m*s/rad", 0.0, "not negative"),
        "width": _WIDTH,
        "heat": HEAT,
    }


class Gear(WithRatio, mechanical.Rotational):
    """shaft_b turns `speed_ratio` times as fast as shaft_a: ω_out = n ω_in, T_out = T_in / n.

    `reduction=50` is speed_ratio = 1/50. With an `efficiency` below one, torque is lost on the driven side. At rest the
    gear locks, as dry friction does, while the torques on its sides differ by no more than these losses: `friction` is
    what it holds or loses, seen from shaft_a. Beside frictions and other such gears `friction.mode` is 0 while it
    locks. Modelica's `ratio` is the reduction: flange_a.phi = ratio · flange_b.phi.
    """

    keywords = RATIOS

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        a, b = m.port("shaft_a", "rotational"), m.port("shaft_b", "rotational")
        ratio = q.speed_ratio if q.reduction is None else 1 / q.reduction
        m.equation(b.angle, ratio * a.angle, name="angles")
        if q.efficiency is None:
            m.equation(a.torque, -ratio * b.torque, name="torques")
            return
        # Seen from shaft_a, η τ arrives where it drives, τ / η where it is driven; at rest anything between them does.
        losing, driven = 1 - q.efficiency, 1 / q.efficiency - 1
        held = locking_loss(m, "friction", a.speed, 0.5 * (losing + driven) * ca.fabs(a.torque), "N*m")
        lost = 0.5 * (losing - driven) * a.torque - held
        m.equation(a.torque, -ratio * b.torque + lost, name="torques")
        m.lost(a.torque * a.speed + b.torque * b.speed)


class Clutch(mechanical.Rotational):
    """A friction clutch between two shafts. It transmits up to `engaged` · capacity, with the signal `engaged` from 0
    to 1.

    It slides and sticks as Friction does, also with a `width`; `friction.mode` is 0 while it holds.
    """

    keywords = {"capacity": Keyword("N*m", needs="positive"), "width": _WIDTH, "heat": HEAT}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        engaged = m.signal_input("engaged", default=1.0)
        _, speed, torque = two_pole(m, "rotational")
        level = engaged * q.capacity
        m.equation(
            torque, mechanical.dry_friction(m, relative_rate(m, "rotational"), level, level, q.width), name="law"
        )
        losses(m, torque * speed, q.heat)


class Brake(mechanical.Rotational):
    """Brakes its shaft against the housing with up to `pressed` · capacity, with the signal `pressed` from 0 to 1."""

    keywords = {"capacity": Keyword("N*m", needs="positive"), "width": _WIDTH, "heat": HEAT}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        pressed = m.signal_input("pressed", default=1.0)
        shaft = m.port("shaft", "rotational")
        m.further_name("torque", "shaft.torque")
        level = pressed * q.capacity
        m.equation(shaft.torque, mechanical.dry_friction(m, shaft.speed, level, level, q.width), name="law")
        losses(m, shaft.torque * shaft.speed, q.heat)


class Backlash(mechanical.Rotational):
    """A total play of `gap` (rad) between two shafts, followed by a stiff spring and damper."""

    keywords = {
        "gap": Keyword("rad", needs="not negative"),
        "stiffness": Keyword("N*m/rad", needs="positive"),
        "damping": Keyword("N*m*s/rad", 0.0, "not negative"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        angle, speed, torque = two_pole(m, "rotational")
        bent = ca.fmax(angle - q.gap / 2, 0) + ca.fmin(angle + q.gap / 2, 0)
        damped = ca.if_else(ca.fabs(angle) > q.gap / 2, q.damping * speed, 0)
        m.equation(torque, q.stiffness * bent + damped, name="law")
        m.stored(0.5 * q.stiffness * bent**2)
        m.lost(damped * speed)


class TorqueSource(mechanical.EffortSourceLaw, mechanical.Rotational):
    """Drives its shaft with a torque, positive in the direction of the angle."""

    keywords = {"torque": Keyword("N*m")}


class SpeedSource(mechanical.RateSourceLaw, mechanical.Rotational):
    """Turns its shaft at a speed, whatever torque that takes."""

    keywords = {"speed": Keyword("rad/s")}


class AngleSensor(Gauge, mechanical.Rotational):
    """Measures the angle of its shaft; signal `output`."""


class SpeedSensor(Gauge, mechanical.Rotational):
    """Measures the speed of its shaft; signal `output`."""

    of_rate = True


class TorqueSensor(Meter, mechanical.Rotational):
    """Measures the torque from shaft_a to shaft_b, which it connects rigidly; signal `output`."""
