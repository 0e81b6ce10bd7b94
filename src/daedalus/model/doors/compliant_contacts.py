"""Compliant contacts of bodies: formulas of the pair that act in the equations of motion."""

from __future__ import annotations

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.doors.body import Body, moment
from daedalus.model.doors.drawing import DrawingDoor
from daedalus.model.doors.joint_kinds import Ground, ground
from daedalus.model.expressions import column
from daedalus.model.mechanics.compliant_contact import PointForce, compliant_force
from daedalus.model.mechanics.contact_shapes import BodyContact
from daedalus.model.notebook import add_force


class CompliantContactDoor(DrawingDoor):
    """Let bodies act on each other at points."""

    def _act_on(self, body: Body, force: ca.SX, torque: ca.SX) -> None:
        """A force at the centre of mass and a torque, both in the world."""
        add_force(self, f"{body.name}.position", column(force))
        if body.orientation is not None:
            add_force(self, body.attitude, column(body.rotation.T @ torque if body.size == 3 else torque))

    def _write_compliant(self, name: str, first: Body, second: Body | Ground, law: ca.SX) -> None:
        """The formulas of one pair."""
        self._check_compliant_names([name])
        pair = self._compliant_pair(name, first, second, law)
        self._changed()
        self._act_in_points(first, second, pair)
        self._tell_compliant(name, _whole_force(pair)[: first.size], _pressed(pair))

    def _write_all_compliant(self, name: str, bodies: list[str], law: ca.SX) -> None:
        """The formulas of every pair that no joint connects and that has no law of its own."""
        written = {body: Body(self, self.written.mechanics.bodies[body]) for body in bodies}
        self._check_compliant_names([f"{body}.contact" for body in bodies])
        apart = {frozenset(mark.bodies) for mark in self.written.sketch.joints.values()}
        own = {frozenset(body or "ground" for body in c.bodies) for c in self.written.mechanics.touching.values()}
        pairs = []
        for k, one in enumerate(bodies):
            for two in [*bodies[k + 1 :], ""]:
                if frozenset((one, two or "ground")) not in apart | own:
                    second: Body | Ground = written[two] if two else ground
                    pairs.append((one, two, self._compliant_pair(name, written[one], second, law)))
        self._changed()
        sums = {body: (ca.SX.zeros(3), ca.SX(0)) for body in bodies}
        for one, two, points in pairs:
            self._act_in_points(written[one], written[two] if two else ground, points)
            force = _whole_force(points)
            for body, sign in ((one, 1.0), (two, -1.0)):
                if body:
                    sums[body] = sums[body][0] + sign * force, sums[body][1] + _pressed(points)
        for body, (force, press) in sums.items():
            self._tell_compliant(f"{body}.contact", force[: written[body].size], press)
        self.written.mechanics.touching[name] = BodyContact(name, tuple(bodies), True, law, True)

    def _compliant_pair(self, name: str, first: Body, second: Body | Ground, law: ca.SX) -> list[PointForce]:
        shapes = self.written.mechanics.shapes.values()
        ground = isinstance(second, Ground)
        own, other = ([s for s in shapes if s.body == body] for body in (first.name, "" if ground else second.name))
        return list(compliant_force(name, first, own, None if isinstance(second, Ground) else second, other, law))

    def _act_in_points(self, first: Body, second: Body | Ground, points: list[PointForce]) -> None:
        for point in points:
            flat, at = point.force[: first.size], point.place[: first.size]
            twist: ca.SX | float = 0.0 if point.torque is None else point.torque
            self._act_on(first, flat, moment(at - first.position, flat) + twist)
            if isinstance(second, Body):
                self._act_on(second, -flat, -moment(at - second.position, flat) - twist)

    def _check_compliant_names(self, names: list[str]) -> None:
        for name in names:
            if f"{name}.force" in self.written.variables or f"{name}.force" in self.written.outputs:
                raise taken(name)
            for word in ("force", "normal"):
                self._check_free(f"{name}.{word}", "contact")

    def _tell_compliant(self, name: str, force: ca.SX, press: ca.SX) -> None:
        self.written.outputs |= {f"{name}.force": force, f"{name}.normal": press}
        self.written.output_units |= {f"{name}.force": "N", f"{name}.normal": "N"}


def _pressed(points: list[PointForce]) -> ca.SX:
    return sum((point.press for point in points), ca.SX(0))


def _whole_force(points: list[PointForce]) -> ca.SX:
    return sum((point.force for point in points), ca.SX.zeros(3))


def taken(name: str) -> ModelError:
    """The error for a second law between the same pair."""
    return ModelError(
        f"There is a contact {name!r} already.",
        because="one law holds between two bodies.",
        remedy="one m.contact for each pair, or a name of its own",
    )
