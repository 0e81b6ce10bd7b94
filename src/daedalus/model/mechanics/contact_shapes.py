"""Shapes of bodies that touch, and contacts between bodies, as they are written and as they travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

# The numbers that give the size of each shape: in space, and in the plane.
SIZES = {"plane": (0, 0), "sphere": (1, 1), "capsule": (2, 2), "box": (3, 2), "ellipsoid": (3, 2)}
KINDS = tuple(SIZES)
# What an ellipsoid can touch: its distance to others has no closed form here.
BESIDE_ELLIPSOID = ("plane", "sphere")
# What a law of contact consists of, in the order of `BodyContact.law`.
LAW = ("friction", "restitution", "rolling_friction", "spinning_friction", "stiffness", "damping")


@dataclass(frozen=True)
class ContactShape:
    """A shape on a body, or on the ground (""): sizes, place and axes in the body's frame, all in space."""

    name: str
    body: str
    kind: str
    size: ca.SX  # 3: radius; radius and half the straight part; halves of the sides or axes
    at: ca.SX
    rotation: ca.SX

    def outline(self) -> tuple[str, str, str]:
        """Names, without expressions."""
        return self.name, self.body, self.kind

    def expressions(self) -> list[ca.SX]:
        """Size, place and axes."""
        return [self.size, self.at, self.rotation]


@dataclass(frozen=True)
class BodyContact:
    """A contact of two bodies, the second of which may be the ground (""), or of any two of several.

    law: what it obeys (`LAW`), and then the velocity of the second's surface in the world.
    """

    name: str
    bodies: tuple[str, ...]
    of_all: bool
    law: ca.SX
    compliant: bool = False

    def outline(self) -> tuple[str, tuple[str, ...], bool, bool]:
        """Names, without expressions."""
        return self.name, self.bodies, self.of_all, self.compliant

    def force_name(self, body: str = "") -> str:
        """The name of what acts on the first body, or on one of all."""
        return f"{body}.contact" if self.of_all else self.name


def read_shape(outline: Any, expressions: Any, prefix: str) -> ContactShape:
    """The inverse of `ContactShape.outline` and `.expressions`."""
    name, body, kind = outline
    return ContactShape(
        prefix + name, body and prefix + body, kind, next(expressions), next(expressions), next(expressions)
    )


def read_contact(outline: Any, expressions: Any, prefix: str) -> BodyContact:
    """The inverse of `BodyContact.outline`."""
    name, bodies, of_all, compliant = outline
    own = tuple(body and prefix + body for body in bodies)
    return BodyContact(prefix + name, own, of_all, next(expressions), compliant)
