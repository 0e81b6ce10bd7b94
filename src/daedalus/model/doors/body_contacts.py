"""Door 3, third part: shapes of bodies, and contacts with friction between them.

A hard contact is a force that a run finds: a discrete variable that holds from step to step and acts in the equations
of motion. A compliant one is a formula of the positions and velocities.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.geometry.rotations import is_rotation, rot_x, rot_y, rot_z
from daedalus.model.doors.body import Body, moment
from daedalus.model.doors.compliant_contacts import CompliantContactDoor, taken
from daedalus.model.doors.drawing import in_space, turned_in_space
from daedalus.model.doors.joint_kinds import Ground
from daedalus.model.doors.joints import CONTACT
from daedalus.model.expressions import column, described
from daedalus.model.mechanics.contact_shapes import KINDS, LAW, SIZES, BodyContact, ContactShape
from daedalus.model.names import check_name, counted, did_you_mean, listed
from daedalus.model.notebook import size_text
from daedalus.model.variables import make_variable

# A planar box reaches this far out of its plane, in its longest sides.
THICK = 2.0


class ModelGround(Ground):
    """The ground of one model: `m.ground.shape(...)` gives it shapes. Elsewhere it is `dd.ground`.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("room")
    >>> m.ground.shape("plane")
    >>> m.ground.shape("box", size=[1.0, 1.0, 0.2], at=[0, 0, 0.1])
    >>> m.ground
    ground of 'room'
    """

    def __init__(self, model: BodyContactDoor) -> None:
        self._model = model

    def __repr__(self) -> str:
        return f"ground of {self._model.name!r}"

    def __reduce__(self) -> Any:
        return ModelGround, (self._model,)

    def shape(self, kind: str, size: object = None, at: object = None, rotation: object = None) -> None:  # type: ignore[override]
        """Add a shape that does not move, as `body.shape` does for a body; `at` is a place in the world.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("slope")
        >>> m.ground.shape("plane", rotation=dd.rot_y(0.3))
        """
        self._model._add_shape(self, kind, size, at, rotation)


class BodyContactDoor(CompliantContactDoor):
    """Give bodies shapes, and let them touch."""

    @property
    def ground(self) -> ModelGround:
        """The ground of this model, to give it shapes: `m.ground.shape("plane", ...)`; without any it is a plane."""
        return ModelGround(self)

    def contact(
        self,
        a: Body | Ground | str,
        b: Body | Ground | str | None = None,
        *,
        friction: object = 0.5,
        restitution: object = 0.0,
        stiffness: object = None,
        damping: object = 0.0,
        rolling_friction: object = 0.0,
        spinning_friction: object = 0.0,
        surface_velocity: object = None,
        name: str | None = None,
    ) -> None:
        """Let two bodies with shapes touch, with dry friction: `m.contact(a, b)`, or `m.contact("all")` for every pair.

        A contact is hard (Signorini's law and Coulomb's cone) unless a stiffness is given. The force on the first body
        is `name.force` in results, its moment about the centre of mass `name.torque`, the sum of the normal forces
        `name.normal`, and the sum of all impacts so far `name.impulse`; with "all", each body has `body.contact.force`
        and so on.

        Parameters
        ----------
        a, b: bodies or their names, or `dd.ground`, which is the plane z = 0 (y = 0 in the plane) unless `m.ground` has
            shapes.
        friction: Coulomb's coefficient. restitution: Newton's coefficient, the fraction of the approach speed that an
            impact returns, 0 to 1; less is returned if friction would otherwise increase the energy. Numbers or
            expressions of parameters.
        stiffness, damping: of a compliant contact, N/m and N s/m at each point: f = max(0, k d + c d') at the depth d.
            It is solved by the ordinary methods with error control. Friction then grows with the slip speed, up to
            about 1 mm/s. Give all shapes and joints first. Ellipsoids are compliant with planes only.
        rolling_friction, spinning_friction: lengths r, m: moments up to r times the normal force oppose rolling and
            turning on the spot.
        surface_velocity: of the second body's surface (a conveyor), in the world, m/s.
        name: of the contact; the names of both bodies joined by "_" by default.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("block"); m.gravity([0, -9.81])
        >>> b = m.body("block", mass=2.0, inertia=0.1, orientation="planar", position=[0, 0.1], velocity=[3, 0],
        ...            rotation=0.0, angular_velocity=0.0)
        >>> b.shape("box", size=[0.4, 0.2])
        >>> m.contact(b, dd.ground, friction=0.3)
        >>> tr = dd.simulate(m, 2.0)
        >>> round(float(tr["block.position"][-1, 0]), 4), round(3.0**2 / (2 * 0.3 * 9.81), 4)
        (1.5291, 1.5291)
        """
        law = self._contact_law(friction, restitution, rolling_friction, spinning_friction, stiffness, damping)
        compliant = stiffness is not None
        self._check_kind_of_law(law, compliant)
        if isinstance(a, str) and a == "all" and b is None and "all" not in self.written.mechanics.bodies:
            return self._contact_of_all(name or "contacts", law, surface_velocity, compliant)
        if b is None:
            raise ModelError(
                "A contact needs two bodies.",
                f"got {described(a) if not isinstance(a, (Body, Ground)) else a.name!r} alone",
                because="a body touches another one, or the ground.",
                remedy='m.contact(a, dd.ground), or m.contact("all")',
            )
        label = name or f"{_name(a)}_{_name(b)}"
        first, second = (self._partner(label, side, CONTACT) for side in (a, b))
        check_name(label, "contact")
        sign = 1.0
        if isinstance(first, Ground):
            first, second, sign = second, first, -1.0
        size = self._check_partners(label, first, second, CONTACT)
        self._check_free_pair(label, first, second)
        bodies = [first] if isinstance(second, Ground) else [first, second]
        for body in bodies:
            self._check_shaped(label, body)  # type: ignore[arg-type]
        if isinstance(second, Ground):
            self._ground_shape(size)
        slip = sign * self._surface_slip(label, surface_velocity, size)
        own = "" if isinstance(second, Ground) else second.name
        law = ca.vertcat(law, slip)
        self._changed()
        if compliant:
            self._write_compliant(label, first, second, law)  # type: ignore[arg-type]
        else:
            self._declare_forces(label, size)
            force, torque = self.written.symbols[f"{label}.force"], self.written.symbols[f"{label}.torque"]
            self.draw("arrow", first, vector=force, name=self._free_shape_name(f"{label}.force"))
            self._act_on(first, force, torque)  # type: ignore[arg-type]
            if isinstance(second, Body):
                arm = first.position - second.position  # type: ignore[union-attr]
                self._act_on(second, -force, -(torque + moment(arm, force)))
        self.written.mechanics.touching[label] = BodyContact(label, (first.name, own), False, law, compliant)

    # -- contacts ----------------------------------------------------------------------------------------------

    def _contact_of_all(self, name: str, law: ca.SX, surface_velocity: object, compliant: bool) -> None:
        check_name(name, "contact")
        shaped = {shape.body for shape in self.written.mechanics.shapes.values()} - {""}
        if surface_velocity is not None:
            raise ModelError(
                'm.contact("all") takes no surface_velocity.',
                because="a moving surface belongs to one of two bodies.",
                remedy="m.contact(a, b, surface_velocity=...) for each pair",
            )
        if name in self.written.mechanics.touching:
            raise taken(name)
        known = next((c.name for c in self.written.mechanics.touching.values() if c.of_all), None)
        if known is not None:
            raise ModelError(
                f"The contact {known!r} is of every pair already.",
                because="one law holds between two bodies.",
                remedy='m.contact(a, b, ...) before or after a hard m.contact("all") for pairs with another law',
            )
        if not shaped:
            raise ModelError(
                "No body has a shape.",
                f"bodies: {listed(list(self.written.mechanics.bodies), 8) or 'none yet'}",
                because="contacts act between shapes.",
                remedy='b.shape("sphere", size=0.1)',
            )
        sizes = {self.written.mechanics.bodies[body].size for body in shaped}
        if len(sizes) > 1:
            raise ModelError(
                "Some bodies are planar, and others are not.",
                because="their positions have two and three components.",
                remedy="the same kind of orientation for all bodies that touch",
            )
        self._ground_shape(sizes.pop())
        law = ca.vertcat(law, ca.SX.zeros(3))
        if compliant:
            self._write_all_compliant(name, [body for body in self.written.mechanics.bodies if body in shaped], law)
            return
        self._changed()
        self.written.mechanics.touching[name] = BodyContact(name, (), True, law)
        for body in self.written.mechanics.bodies:
            if body in shaped:
                self._join_all(self.written.mechanics.touching[name], body)

    def _join_all(self, contact: BodyContact, body: str) -> None:
        """Take a body into a contact of all bodies."""
        written = Body(self, self.written.mechanics.bodies[body])
        self._declare_forces(f"{body}.contact", written.size)
        force = self.written.symbols[f"{body}.contact.force"]
        self.draw("arrow", written, vector=force, name=self._free_shape_name(f"{body}.contact.force"))
        self._act_on(written, force, self.written.symbols[f"{body}.contact.torque"])
        self.written.mechanics.touching[contact.name] = replace(contact, bodies=(*contact.bodies, body))

    def _declare_forces(self, name: str, size: int) -> None:
        if f"{name}.force" in self.written.variables:
            raise taken(name)
        turn = (3,) if size == 3 else ()
        for word, shape, unit in (
            ("force", (size,), "N"),
            ("torque", turn, "N*m"),
            ("normal", (), "N"),
            ("impulse", (size,), "N*s"),
        ):
            self._check_free(f"{name}.{word}", "contact")
            zero = [0.0] * size if shape == (size,) else [0.0] * 3 if shape else 0.0
            self._declare(make_variable(f"{name}.{word}", "discrete", shape, start=zero, unit=unit))

    # -- shapes ------------------------------------------------------------------------------------------------

    def _add_shape(self, owner: Body | Ground, kind: str, size: object, at: object, rotation: object) -> None:
        if kind not in SIZES:
            raise ModelError(
                f"There is no shape {kind!r} that touches.",
                f"shapes: {', '.join(KINDS)}",
                because="contact distances are implemented for these shapes only.",
                remedy=did_you_mean(str(kind), KINDS),
            )
        body = None if isinstance(owner, Ground) else owner
        where = f"The {kind} of {owner.name!r}"
        flat = body.size == 2 if body is not None else self._is_flat()
        sizes = self._shape_sizes(where, kind, size, flat)
        place = self._shape_place(where, at, flat)
        turn = self._shape_turn(where, rotation, flat)
        if kind == "plane" and flat:
            turn = turn @ ca.SX(ca.DM(rot_x(-np.pi / 2)))
        if kind == "capsule" and flat:
            turn = turn @ ca.SX(ca.DM(rot_y(np.pi / 2)))
        if body is not None and body.orientation is None and (at is not None or rotation is not None):
            body._check_turns("shape beside its centre")
        self._check_no_formulas_yet(where, "" if body is None else body.name)
        self._changed()
        written = self.written.mechanics
        stem = f"{owner.name} {kind}"
        names = [stem, *(f"{stem} {k}" for k in range(2, len(written.shapes) + 3))]
        label = next(name for name in names if name not in written.shapes)
        written.shapes[label] = ContactShape(
            label, "" if body is None else body.name, kind, sizes, place, ca.densify(turn)
        )
        self._draw_shape(body, kind, sizes, place, ca.densify(turn), flat)
        if body is not None:
            for contact in list(written.touching.values()):
                if contact.of_all and body.name not in contact.bodies:
                    self._join_all(contact, body.name)

    def _is_flat(self) -> bool:
        """Whether the bodies of the model, or its gravity, are planar."""
        written = self.written.mechanics
        if written.bodies:
            return all(body.size == 2 for body in written.bodies.values())
        return written.gravity is not None and written.gravity.numel() == 2

    def _shape_sizes(self, where: str, kind: str, size: object, flat: bool) -> ca.SX:
        wanted = SIZES[kind][flat]
        if wanted == 0:
            if size is not None:
                raise ModelError(f"{where} takes no size.", because="a plane is infinite.", remedy="leave size out")
            return ca.SX.zeros(3)
        words = {"sphere": "its radius", "capsule": "its radius and the length of its straight part"}
        told = words.get(kind, "its axes" if kind == "ellipsoid" else "its sides")
        given = column(self._expression(0.0 if size is None else size, f"{where}'s size"))
        self._check_parameters(given, f"{where}'s size")
        if size is None or given.numel() != wanted:
            count = counted(given.numel(), "number")
            raise ModelError(
                f"{where} has no size." if size is None else f"{where} has a size of {count}.",
                because=f"a {kind} {'in the plane ' if flat else ''}takes {counted(wanted, 'number')}: {told}.",
                remedy="size=" + ("0.1" if wanted == 1 else str([0.1] * wanted)),
            )
        number = self._number(given)
        if number is not None and not np.all(number > 0):
            raise ModelError(
                f"{where} has a size that is not positive.",
                f"it is {number.ravel().tolist()}",
                because=f"{told} are lengths.",
                remedy="a positive size, in m",
            )
        if kind == "sphere":
            return ca.vertcat(given, 0, 0)
        if kind == "capsule":
            return ca.vertcat(given[0], given[1] / 2, 0)
        return ca.vertcat(given / 2, THICK * ca.fmax(given[0], given[1])) if flat else given / 2

    def _shape_place(self, where: str, at: object, flat: bool) -> ca.SX:
        if at is None:
            return ca.SX.zeros(3)
        given = column(self._expression(at, f"{where}'s place"))
        self._check_parameters(given, f"{where}'s place")
        if given.numel() != (2 if flat else 3):
            raise ModelError(
                f"{where} is at {counted(given.numel(), 'coordinate')}.",
                because=f"places in {'the plane' if flat else 'space'} have {2 if flat else 3}.",
                remedy="at=" + str([0.0] * (2 if flat else 3)),
            )
        return in_space(given)

    def _shape_turn(self, where: str, rotation: object, flat: bool) -> ca.SX:
        if rotation is None:
            return ca.SX.eye(3)
        given = self._expression(rotation, f"{where}'s rotation")
        self._check_parameters(given, f"{where}'s rotation")
        if given.is_scalar() and flat:
            turned: ca.SX = rot_z(given)
            return turned
        number = self._number(given)
        if given.numel() == 4 and not flat and (number is None or np.any(number)):
            attitude: ca.SX = rotation_from_quaternion(column(given) / ca.norm_2(column(given)))
            return attitude
        if given.shape == (3, 3) and (number is None or is_rotation(number)):
            return given
        raise ModelError(
            f"{where}'s rotation cannot be read.",
            f"it is {size_text(given)}",
            because="a rotation is an angle in the plane, and a rotation matrix or a quaternion in space.",
            remedy="rotation=0.3" if flat else "rotation=dd.rot_y(0.3)",
        )

    def _draw_shape(self, body: Body | None, kind: str, size: ca.SX, at: ca.SX, turn: ca.SX, flat: bool) -> None:
        """Put the shape among those that animations show."""
        place: Any = body if body is not None else at
        own: dict[str, Any] = {"offset": at[: body.size] if body is not None and not at.is_zero() else None}
        if body is None or (body.orientation is not None and (not flat or kind in ("box", "ellipsoid"))):
            own["rotation"] = turn
        if kind == "plane":
            self.draw("plane", in_space(body.point(at[: body.size])) if body is not None else at,
                      axis=(turned_in_space(body) @ turn)[:, 2])  # fmt: skip
        elif kind == "box":
            sides = 2 * size if not flat else ca.vertcat(2 * size[:2], 0.2 * ca.fmin(size[0], size[1]))
            self.draw("box", place, size=sides, **own)
        elif kind == "ellipsoid":
            axes = 2 * size if not flat else ca.vertcat(2 * size[:2], 2 * ca.fmin(size[0], size[1]))
            self.draw("ellipsoid", place, size=axes, **own)
        elif kind == "sphere":
            self.draw("sphere", place, radius=size[0], **{k: v for k, v in own.items() if not flat or k == "offset"})
        else:
            axis = turn[:, 2]
            self.draw(
                "cylinder", place, radius=size[0], length=2 * size[1], axis="z" if "rotation" in own else axis, **own
            )
            for side in (-1.0, 1.0):
                end = at + side * size[1] * axis
                if body is None:
                    self.draw("sphere", end, radius=size[0])
                else:
                    self.draw("sphere", body, radius=size[0], offset=end[: body.size])

    def _ground_shape(self, size: int) -> None:
        """The plane z = 0, or y = 0, where the ground has no shape."""
        if not any(shape.body == "" for shape in self.written.mechanics.shapes.values()):
            self.written.mechanics.shapes["ground plane"] = ContactShape(
                "ground plane", "", "plane", ca.SX.zeros(3), ca.SX.zeros(3),
                ca.SX(ca.DM(rot_x(-np.pi / 2))) if size == 2 else ca.SX.eye(3),
            )  # fmt: skip

    # -- checks ------------------------------------------------------------------------------------------------

    def _check_no_formulas_yet(self, where: str, body: str) -> None:
        """Refuse a shape that would have no part in a compliant contact of its body."""
        for contact in self.written.mechanics.touching.values():
            if contact.compliant and (contact.of_all or body in contact.bodies):
                raise ModelError(
                    f"{where} comes after the compliant contact {contact.name!r}.",
                    because="a compliant contact is a formula of the shapes that there are when it is written.",
                    remedy="all shapes first, then m.contact(..., stiffness=...)",
                )

    def _check_shaped(self, name: str, body: Body) -> None:
        if not any(shape.body == body.name for shape in self.written.mechanics.shapes.values()):
            raise ModelError(
                f"The body {body.name!r} has no shape.",
                f"the contact {name!r} needs one of each body",
                because="contacts act between shapes.",
                remedy=f'm.bodies["{body.name}"].shape("sphere", size=0.1)',
            )

    def _check_parameters(self, value: ca.SX, where: str) -> None:
        for n, _, _ in self._check_symbols(value, where):
            variable = self.written.variables.get(n)
            if variable is None or variable.kind != "parameter":
                raise ModelError(
                    f"{where} depends on {n}.",
                    because="it is constant during a run.",
                    remedy="a number, or an expression of parameters",
                )

    def _contact_law(self, *given: object) -> ca.SX:
        values = []
        for word, value in zip(LAW, given):
            where = f"The {word.replace('_', ' ')} of a contact"
            if word == "stiffness" and value is None:
                values.append(ca.SX(0))
                continue
            expression = self._expression(value, where)
            self._check_parameters(expression, where)
            number = self._number(expression)
            least = 1e-300 if word == "stiffness" else 0.0
            most = 1.0 if word == "restitution" else np.inf
            if not expression.is_scalar() or (number is not None and not least <= number.item() <= most):
                raise ModelError(
                    f"{where} is {size_text(expression) if not expression.is_scalar() else f'{number.item():g}'}.",  # type: ignore[union-attr]
                    because={"restitution": "an impact gives back a share of the speed, from none to all of it.",
                             "stiffness": "a compliant contact pushes back; a hard one has stiffness=None."}.get(
                                 word, "it opposes motion."),
                    remedy=f"{word}={'1e4' if word == 'stiffness' else '0.5'}",
                )  # fmt: skip
            values.append(expression)
        return ca.vertcat(*values)

    def _check_free_pair(self, label: str, first: Body | Ground, second: Body | Ground) -> None:
        """Refuse a second law of one pair; that of a pair goes before a hard one of all."""
        pair = {first.name, "" if isinstance(second, Ground) else second.name}
        for contact in self.written.mechanics.touching.values():
            own = set(contact.bodies)
            of_all = contact.of_all and contact.compliant and pair <= {*own, ""}
            if contact.name != label and (of_all or (not contact.of_all and pair == own)):
                names = listed(sorted(repr(body or "ground") for body in pair))
                raise ModelError(
                    f"The contact {contact.name!r} is of the same two bodies as {label!r}.",
                    f"they are {names}",
                    because="one law holds between two bodies.",
                    remedy='m.contact(a, b, ...) first, then m.contact("all", stiffness=...)' if of_all
                    else "one m.contact for each pair",
                )  # fmt: skip

    def _check_kind_of_law(self, law: ca.SX, compliant: bool) -> None:
        """Refuse what only the other kind of contact, hard or compliant, knows."""
        foreign = ("restitution", "rolling_friction", "spinning_friction") if compliant else ("damping",)
        for word in foreign:
            value = law[LAW.index(word)]
            if not value.is_zero():
                kind = "compliant" if compliant else "hard"
                raise ModelError(
                    f"A {kind} contact takes no {word}.",
                    f"it is {size_text(value) if not value.is_constant() else f'{float(value):g}'}",
                    because={"damping": "damping acts on the depth of shapes in each other, which needs a stiffness.",
                             "restitution": "its stiffness and damping decide how a body bounces."}.get(
                                 word, "only hard contacts have rolling and spinning friction."),
                    remedy="stiffness=1e5, or restitution= in place of damping" if word == "damping"
                    else "damping= in place of it" if word == "restitution" else "stiffness=None for a hard contact",
                )  # fmt: skip

    def _surface_slip(self, name: str, velocity: object, size: int) -> ca.SX:
        if velocity is None:
            return ca.SX.zeros(3)
        given = column(self._expression(velocity, f"The surface velocity of {name!r}"))
        self._check_parameters(given, f"The surface velocity of {name!r}")
        if given.numel() != size:
            raise ModelError(
                f"The surface velocity of {name!r} has {counted(given.numel(), 'component')}.",
                because=f"its bodies move in {'the plane' if size == 2 else 'space'}.",
                remedy=f"surface_velocity={[1.0] + [0.0] * (size - 1)}",
            )
        return in_space(given)


def _name(partner: object) -> str:
    return partner if isinstance(partner, str) else getattr(partner, "name", "?")
