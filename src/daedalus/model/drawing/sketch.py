"""The sketch of a model: written shapes and places of joints, and how they travel into copies, parts and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import casadi as ca


@dataclass(frozen=True)
class WrittenShape:
    """One shape: its kind, where it is and how large, as expressions in the model's symbols.

    fields: expressions by their role ("at", "rotation", "to", "vector", "size", "points"), vectors in space.
    settings: what no expression decides (colour, opacity, file, ...). body: the body that it stands for, or "".
    flat: whether it was written with two components.
    """

    name: str
    kind: str
    fields: dict[str, ca.SX]
    settings: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    flat: bool = False


@dataclass(frozen=True)
class JointMark:
    """Where a joint sits on either side and in which direction its axes point (empty for none), in the world.

    axis: that of the first side; spin: that of the second, about which a rolling disc is round.
    """

    name: str
    kind: str
    bodies: tuple[str, str]  # names, "ground" for the world
    places: tuple[ca.SX, ca.SX]
    axis: ca.SX
    spin: ca.SX
    radius: ca.SX

    @property
    def flat(self) -> bool:
        """Whether the joint lies in the plane."""
        return bool(self.places[0].numel() == 2)


@dataclass
class Sketch:
    """The shapes and joints of one model, by name."""

    shapes: dict[str, WrittenShape] = field(default_factory=dict)
    joints: dict[str, JointMark] = field(default_factory=dict)

    def copy(self) -> Sketch:
        """A sketch of its own with the same entries."""
        return Sketch(dict(self.shapes), dict(self.joints))

    def outline(self) -> dict[str, Any]:
        """Names and settings, without expressions."""
        return {
            "shapes": [(s.name, s.kind, list(s.fields), s.settings, s.body, s.flat) for s in self.shapes.values()],
            "joints": [(j.name, j.kind, j.bodies) for j in self.joints.values()],
        }

    def expressions(self) -> list[ca.SX]:
        """The expressions that belong to the outline, in its order."""
        shapes = [value for shape in self.shapes.values() for value in shape.fields.values()]
        return shapes + [value for j in self.joints.values() for value in (*j.places, j.axis, j.spin, j.radius)]

    def add(self, outline: dict[str, Any], expressions: Iterator[ca.SX], prefix: str) -> None:
        """Take in what another sketch holds, under a prefix."""
        for name, kind, roles, settings, body, flat in outline["shapes"]:
            fields = {role: next(expressions) for role in roles}
            self.shapes[prefix + name] = WrittenShape(
                prefix + name, kind, fields, dict(settings), body and prefix + body, flat
            )
        for name, kind, bodies in outline["joints"]:
            one, two, *rest = (next(expressions) for _ in range(5))
            partners = tuple(own if own == "ground" else prefix + own for own in bodies)
            self.joints[prefix + name] = JointMark(prefix + name, kind, partners, (one, two), *rest)
