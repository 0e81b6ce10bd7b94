"""Parts that both mechanical domains have, each law written once: ground, spring, damper, friction, sources.

A law is a class without keywords; a ready part is a law in a domain, with the units of its keywords: `class
Spring(SpringLaw, Rotational)`. What is called angle, speed and torque in the one domain is position, velocity and force
in the other (`DOMAINS`), and the port of a part with one end is its `end`.

Dry friction sticks and slides, see `m.friction`. With a `width` it is regularised instead: F = level(v) tanh(v / width)
with the level falling from `static` to `kinetic` over ten widths (Stribeck). A part that would stick creeps then, by at
most `width` · atanh(load / static).
"""

from __future__ import annotations

from typing import Any, ClassVar

import casadi as ca

from daedalus.components.poles import losses, relative_rate, thermal_noise, two_pole
from daedalus.model.assembly.component import Component
from daedalus.model.assembly.domains import DOMAINS, Domain


def dry_friction(m: Any, rate: ca.SX, kinetic: Any, static: Any, width: Any) -> ca.SX:
    """The friction at a rate, between −static and static: the variable `friction` of the part, or a smooth law."""
    if width is None:
        return -m.friction("friction", rate, kinetic=kinetic, static=static)
    level = kinetic + (static - kinetic) * ca.exp(-((rate / (10 * width)) ** 2))
    return level * ca.tanh(rate / width)


class Mechanical(Component):
    """A part of a mechanical domain."""

    end: ClassVar[str]  # the port of parts that have one

    @classmethod
    def _words(cls) -> Domain:
        return DOMAINS[cls.domain]


class Rotational(Mechanical):
    """A part between shafts."""

    domain: ClassVar[str] = "rotational"
    end: ClassVar[str] = "shaft"


class Translational(Mechanical):
    """A part between flanges."""

    domain: ClassVar[str] = "translational"
    end: ClassVar[str] = "flange"


class GroundLaw(Mechanical):
    """Holds its end at the position zero."""

    ideal = True

    @classmethod
    def _write(cls, m: Any, q: Any) -> None:
        words = cls._words()
        m.equation(getattr(m.port(cls.end, cls.domain), words.shared.name), 0, name="zero")
        m.further_name(words.balanced.name, f"{cls.end}.{words.balanced.name}")


class SpringLaw(Mechanical):
    """effort = stiffness (position − rest)."""

    @classmethod
    def _write(cls, m: Any, q: Any) -> None:
        position, _, effort = two_pole(m, cls.domain)
        m.equation(effort, q.stiffness * (position - q.rest), name="law")
        m.stored(0.5 * q.stiffness * (position - q.rest) ** 2)


class DamperLaw(Mechanical):
    """effort = damping · rate."""

    @classmethod
    def _write(cls, m: Any, q: Any) -> None:
        _, rate, effort = two_pole(m, cls.domain)
        noise = thermal_noise(m, q.damping, q.noise_temperature)
        m.equation(effort, q.damping * rate + noise, name="law")
        losses(m, effort * rate, q.heat)


class FrictionLaw(Mechanical):
    """Dry friction with viscous damping on top."""

    def _check(self) -> None:
        if self.values["static"] is None:
            self.values["static"] = self.values["kinetic"]

    @classmethod
    def _write(cls, m: Any, q: Any) -> None:
        _, rate, effort = two_pole(m, cls.domain)
        dry = dry_friction(m, relative_rate(m, cls.domain), q.kinetic, q.static, q.width)
        m.equation(effort, dry + q.viscous * rate, name="law")
        losses(m, effort * rate, q.heat)


class EffortSourceLaw(Mechanical):
    """Drives its end with a force or torque."""

    ideal = True

    @classmethod
    def _write(cls, m: Any, q: Any) -> None:
        words = cls._words()
        own = m.port(cls.end, cls.domain)
        m.further_name(words.rate, f"{cls.end}.{words.shared.name}", 1)
        effort = words.balanced.name
        m.equation(getattr(own, effort) + getattr(q, effort), 0, name=effort)


class RateSourceLaw(Mechanical):
    """Moves its end at a speed or velocity, whatever that takes."""

    ideal = True

    @classmethod
    def _write(cls, m: Any, q: Any) -> None:
        words = cls._words()
        own = m.port(cls.end, cls.domain)
        for quantity in (words.shared.name, words.balanced.name):
            m.further_name(quantity, f"{cls.end}.{quantity}")
        m.equation(getattr(own, words.rate), getattr(q, words.rate), name=words.rate)
