"""What a model looks like: as equations, and as shapes that every animation of a run shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca

from daedalus.errors import InputError, ModelError
from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.geometry.rotations import rot_z
from daedalus.model.doors.body import Body
from daedalus.model.doors.joints import JointDoor
from daedalus.model.drawing.sketch import WrittenShape
from daedalus.model.expressions import column, described
from daedalus.model.names import did_you_mean
from daedalus.model.notebook import size_text


@dataclass(frozen=True)
class ShapeKind:
    """Which arguments a shape must have and which it may have."""

    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()


_PLACED = ("offset", "rotation")
SHAPES = {
    "box": ShapeKind(("at", "size"), _PLACED),
    "sphere": ShapeKind(("at", "radius"), _PLACED),
    "cylinder": ShapeKind(("at", "radius", "length"), (*_PLACED, "axis")),
    "point": ShapeKind(("at",), ("offset", "radius")),
    "rod": ShapeKind(("at", "to"), ("radius",)),
    "spring": ShapeKind(("at", "to"), ("radius", "coils")),
    "line": ShapeKind(("through",)),
    "arrow": ShapeKind(("at", "vector"), ("offset", "scale")),
    "frame": ShapeKind(("at",), (*_PLACED, "length")),
    "trace": ShapeKind(("at",), ("offset",)),
    "plane": ShapeKind((), ("at", "axis", "size")),
    "mesh": ShapeKind(("at", "file"), (*_PLACED, "scale")),
}
MESH_FILES = (".stl", ".obj", ".gltf", ".glb")
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class DrawingDoor(JointDoor):
    """Say what is to be seen of a model."""

    def __str__(self) -> str:
        from daedalus.display.cards.model_card import model_text

        return model_text(self)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from daedalus.display.cards.model_card import model_card

        return model_card(self)  # type: ignore[arg-type]

    def _ipython_key_completions_(self) -> list[str]:
        return [*self._variables, *self._outputs]

    def to_latex(self) -> str:
        """All equations in LaTeX, whole and in the model's names, as an `aligned` block for a display formula.

        Equal terms are taken together, what is differentiated stands on the left where the equation was derived;
        `q_ddot` is a q with two dots, `omega` the Greek letter, `arm.q[0]` has its owner and its place as an index.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("oscillator")
        >>> x = m.state("x", start=1.0); omega = m.parameter("omega_0", 2.0)
        >>> m.equation(m.der(m.der(x)), -omega**2 * x)
        >>> print(m.to_latex())
        \\begin{aligned}
        \\ddot{x} &= - {\\omega_{0}}^{2} \\, x
        \\end{aligned}
        """
        from daedalus.display.formulas.model_equations import Equations

        return Equations(self).latex()  # type: ignore[arg-type]

    def draw(
        self,
        shape: str,
        at: object = None,
        *,
        to: object = None,
        through: object = None,
        vector: object = None,
        size: object = None,
        radius: object = None,
        length: object = None,
        offset: object = None,
        rotation: object = None,
        axis: object = None,
        scale: object = None,
        coils: int | None = None,
        file: str | Path | None = None,
        colour: str | None = None,
        opacity: float = 1.0,
        name: str | None = None,
    ) -> None:
        """Add a shape to what `tr.animate(...)` shows; bodies, joints and rods draw themselves where nothing is added.

        Shapes: "box" (size), "sphere" (radius), "cylinder" (radius, length, axis), "point", "rod" and "spring" (at,
        to), "line" (through), "arrow" (vector, such as a force), "frame", "trace", "plane" (axis: its normal), "mesh"
        (file).

        Parameters
        ----------
        at: a body, its name, or a position as an expression of two or three components; a shape at a body moves with
            it and takes the place of the body's own.
        to: the other end of a rod or a spring. through: a list of positions.
        vector: what an arrow shows, in the world frame; scale: metres per unit of it, chosen to be seen if left out.
        size, radius, length: m; numbers or expressions of parameters.
        offset: where the shape sits on a body, in its coordinates. rotation: its orientation there, or in the world: a
            3×3 matrix or a quaternion (an angle in the plane). axis: "x", "y", "z", or a vector.
        file: a mesh as .stl, .obj, .gltf or .glb; scale: metres per unit of the file.
        colour: as in CSS, "#d55e00" or "teal". opacity: 0 to 1.
        name: under which the shape is known; made up if left out.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("pendulum")
        >>> a = m.coordinate("angle", start=1.0, rate=0.0, unit="rad")
        >>> bob = ca.vertcat(ca.sin(a), -ca.cos(a))
        >>> m.kinetic_energy(0.5 * m.rate(a) ** 2); m.potential_energy(9.81 * bob[1])
        >>> m.draw("rod", [0, 0], to=bob)
        >>> m.draw("sphere", bob, radius=0.08, colour="teal")
        >>> dd.simulate(m, 1.0).animate()
        Animation('pendulum': 2 shapes, 301 frames)
        """
        given = {
            "at": at, "to": to, "through": through, "vector": vector, "size": size, "radius": radius, "length": length,
            "offset": offset, "rotation": rotation, "axis": axis, "scale": scale, "coils": coils, "file": file,
        }  # fmt: skip
        _check_arguments(shape, given)
        body = self._body_at(at)
        label = name or self._free_shape_name(body.name if body is not None else shape)
        if label in self._sketch.shapes:
            raise ModelError(
                f"The shape name {label!r} is taken.", because="a shape is known by its name.", remedy="another name"
            )
        fields, flat = self._shape_fields(f"The {shape}", given, body)
        settings: dict[str, Any] = {"colour": colour, "opacity": float(opacity)}
        if coils is not None:
            settings["coils"] = int(coils)
        if file is not None:
            settings["file"] = str(Path(file).resolve())
        covers = shape in ("box", "sphere", "cylinder", "mesh")
        self._changed()
        self._sketch.shapes[label] = WrittenShape(
            label, shape, fields, settings, body.name if body is not None and covers else "", flat
        )

    def _free_shape_name(self, stem: str) -> str:
        names = [stem, *(f"{stem} {k}" for k in range(2, len(self._sketch.shapes) + 3))]
        return next(name for name in names if name not in self._sketch.shapes)

    def _body_at(self, at: object) -> Body | None:
        """The body that `at` means, if it means one."""
        if isinstance(at, Body):
            return self._partner("drawing", at)  # type: ignore[return-value]
        if isinstance(at, str):
            if at in self._mechanics.bodies:
                return Body(self, self._mechanics.bodies[at])
            if at not in self:
                known = [*self._mechanics.bodies, *self._variables]
                raise ModelError(
                    f"Nothing is called {at!r} in the model {self.name!r}.",
                    because="at= takes a body, its name, or a position.",
                    remedy=did_you_mean(at, known),
                )
        return None

    def _shape_fields(self, where: str, given: dict[str, Any], body: Body | None) -> tuple[dict[str, ca.SX], bool]:
        """Expressions by their role, all in space, and whether they were written in the plane."""
        fields: dict[str, ca.SX] = {}
        sizes = []
        if given["at"] is not None:
            fields["at"], flat = self._placed(where, given["at"], given["offset"], body)
            sizes.append(flat)
        for role in ("to", "vector"):
            if given[role] is not None:
                fields[role], flat = self._in_space(where, given[role])
                sizes.append(flat)
        if given["through"] is not None:
            points = [self._in_space(where, point) for point in given["through"]]
            fields["points"] = ca.vertcat(*(point for point, _ in points))
            sizes += [flat for _, flat in points]
        flat = all(sizes) if sizes else body is not None and body.size == 2
        own = turned_in_space(body)
        if given["rotation"] is not None:
            own = own @ self._read_rotation(where, given["rotation"])
        if body is not None or given["rotation"] is not None:
            fields["rotation"] = ca.densify(own)
        for role in ("size", "radius", "length", "scale"):
            if given[role] is not None:
                fields[role] = column(self._expression(given[role], f"{where}'s {role}"))
        if given["axis"] is not None:
            named = _AXES.get(given["axis"]) if isinstance(given["axis"], str) else given["axis"]
            fields["axis"] = self._in_space(where, named)[0]
        return fields, flat

    def _placed(self, where: str, at: Any, offset: Any, body: Body | None) -> tuple[ca.SX, bool]:
        if body is not None:
            place = body.position if offset is None else body.point(offset)
            return in_space(place), body.size == 2
        place, flat = self._in_space(where, at)
        return (place if offset is None else place + self._in_space(where, offset)[0]), flat

    def _in_space(self, where: str, value: Any) -> tuple[ca.SX, bool]:
        """A vector of three components, and whether it had two."""
        if isinstance(value, Body):
            return in_space(value.position), value.size == 2
        expression = column(self[value] if isinstance(value, str) else self._expression(value, where))
        if expression.numel() not in (2, 3):
            raise ModelError(
                f"{where} needs a vector of two or three components.",
                f"it is {size_text(expression)}",
                because="it is drawn in the plane or in space.",
                remedy="at=[x, y, z]",
            )
        return in_space(expression), expression.numel() == 2

    def _read_rotation(self, where: str, rotation: Any) -> ca.SX:
        value = self._expression(rotation, f"{where}'s rotation")
        if value.is_scalar():
            return rot_z(value)  # type: ignore[no-any-return]
        if value.numel() == 4:
            return rotation_from_quaternion(column(value))  # type: ignore[no-any-return]
        if value.shape == (3, 3):
            return value
        raise ModelError(
            f"{where}'s rotation cannot be read.",
            f"it is {size_text(value)}",
            because="a rotation is a 3×3 matrix, a quaternion, or an angle in the plane.",
            remedy="rotation=dd.rot_z(0.3)",
        )


def _check_arguments(shape: object, given: dict[str, Any]) -> None:
    if not isinstance(shape, str) or shape not in SHAPES:
        raise InputError(
            f"There is no shape {described(shape) if not isinstance(shape, str) else repr(shape)}.",
            f"shapes: {', '.join(SHAPES)}",
            because="every shape is drawn in its own way.",
            remedy=did_you_mean(str(shape), SHAPES),
        )
    kind = SHAPES[shape]
    missing = [name for name in kind.needs if given[name] is None]
    if missing:
        raise InputError(
            f"The {shape} has no {missing[0]}.",
            because=f"a {shape} needs {' and '.join(kind.needs)}.",
            remedy=f'm.draw("{shape}", {", ".join(f"{name}=..." for name in kind.needs)})',
        )
    for name, value in given.items():
        if value is not None and name not in (*kind.needs, *kind.takes):
            raise InputError(
                f"A {shape} takes no {name}.",
                f"it takes {', '.join((*kind.needs, *kind.takes))}",
                because="it would have no effect.",
                remedy=f"leave {name} out",
            )
    file = given["file"]
    if file is not None and (not Path(file).exists() or Path(file).suffix.lower() not in MESH_FILES):
        raise InputError(
            f"The mesh {str(file)!r} cannot be read.",
            "there is no such file" if not Path(file).exists() else f"files: {', '.join(MESH_FILES)}",
            because="a mesh is a list of triangles in a file.",
            remedy='file="part.stl"',
        )


def in_space(vector: ca.SX) -> ca.SX:
    """A vector of the plane in space."""
    return ca.vertcat(vector, 0) if vector.numel() == 2 else vector


def turned_in_space(body: Body | None) -> ca.SX:
    """Body to world, in space."""
    if body is None or body.orientation is None:
        return ca.SX.eye(3)
    return rot_z(body._model[body.attitude]) if body.size == 2 else body.rotation  # type: ignore[no-any-return]
