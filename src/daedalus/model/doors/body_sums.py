"""Sums over the bodies of a model: momentum, angular momentum about a point, and kinetic energy after König.

With the mass M and velocity V of the common centre of mass C, T = ½ M V² + Σ (½ m |v - V|² + ½ ωᵀ M_c ω) (König) and
h about a point P is (C - P) × M V plus h about C.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.doors.body import Body, moment


class KineticEnergies(NamedTuple):
    """The two parts of the kinetic energy of a system of bodies, J."""

    of_centre: ca.SX
    """½ M V²"""
    about_centre: ca.SX
    """of the motion relative to the centre of mass"""

    @property
    def total(self) -> ca.SX:
        """The sum."""
        return self.of_centre + self.about_centre


def momentum_of(bodies: list[Body]) -> ca.SX:
    """Σ m v."""
    _check(bodies)
    return sum((body.momentum for body in bodies[1:]), start=bodies[0].momentum)


def angular_momentum_of(bodies: list[Body], about: object = None) -> ca.SX:
    """Σ h about a point of the world, or about the common centre of mass."""
    _check(bodies)
    if about is not None:
        parts = [body.angular_momentum(about) for body in bodies]
        return sum(parts[1:], start=parts[0])
    _, centre, velocity = _centre(bodies)
    parts = [
        body.angular_momentum() + moment(body.position - centre, body.mass * (body.velocity - velocity))
        for body in bodies
    ]
    return sum(parts[1:], start=parts[0])


def kinetic_energies_of(bodies: list[Body]) -> KineticEnergies:
    """König's two parts."""
    _check(bodies)
    mass, _, velocity = _centre(bodies)
    of_centre = mass * ca.sumsqr(velocity) / 2
    parts = []
    for body in bodies:
        own = body.mass * ca.sumsqr(body.velocity - velocity) / 2
        parts.append(own + body.kinetic_energy - body.mass * ca.sumsqr(body.velocity) / 2)
    return KineticEnergies(of_centre, sum(parts[1:], start=parts[0]))


def _centre(bodies: list[Body]) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Mass, position and velocity of the common centre of mass."""
    mass = sum((body.mass for body in bodies[1:]), start=bodies[0].mass)
    position = sum((body.mass * body.position for body in bodies), start=0 * bodies[0].position)
    velocity = sum((body.mass * body.velocity for body in bodies), start=0 * bodies[0].velocity)
    return mass, position / mass, velocity / mass


def _check(bodies: list[Body]) -> None:
    if not bodies or len({body.size for body in bodies}) > 1:
        raise ModelError(
            "There is no sum over these bodies.",
            "the model has no bodies" if not bodies else "some are in the plane and some in space",
            because="momenta are added up as vectors of one space.",
            remedy="m.body(...) for each body, all planar or all in space",
        )
