"""Door 3: a model made of rigid bodies (Newton–Euler), with gravity and forces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np

from daedalus.errors import InputError, ModelError
from daedalus.geometry.array_or_symbol import ArrayOrSymbol
from daedalus.geometry.euler_angles import rpy_from_rotation, rpy_rate
from daedalus.geometry.inertia_check import check as check_inertia
from daedalus.geometry.quaternions import quaternion_from_rotation, quaternion_rate, rotation_from_quaternion
from daedalus.geometry.rotations import read_rotation
from daedalus.model.doors.body import Body, moment
from daedalus.model.doors.energies import EnergyDoor
from daedalus.model.expressions import column
from daedalus.model.guesses import GuessedStart, value_of
from daedalus.model.mechanics.trees import ATTITUDES
from daedalus.model.mechanics.written_mechanics import Velocity, WrittenBody
from daedalus.model.names import check_name, did_you_mean
from daedalus.model.notebook import size_text
from daedalus.model.plain_numbers import without_unit
from daedalus.model.variables import Variable, make_variable

Orientation = Literal["quaternion", "rpy", "planar"]
_ATTITUDE_SHAPES: dict[str, tuple[int, ...]] = {"quaternion": (4,), "rpy": (3,), "planar": ()}


class BodyDoor(EnergyDoor):
    """Declare rigid bodies and the gravity that acts on them."""

    @property
    def bodies(self) -> dict[str, Body]:
        """All bodies by name, including those of included models: `m.bodies["arm.link"]`."""
        return {name: Body(self, written) for name, written in self.written.mechanics.bodies.items()}

    def momentum(self) -> ca.SX:
        """The momentum Σ m v of all bodies in the world frame, N s; `m.der` of it is the sum of the forces."""
        return momentum_of(list(self.bodies.values()))

    def angular_momentum(self, about: object = None) -> ca.SX:
        """The angular momentum of all bodies in the world frame, N m s; `m.der` of it is the moment of the forces.

        Parameters
        ----------
        about: a fixed point of the world, m; by default the common centre of mass.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("two points")
        >>> a, b = (m.body(name, mass=1.0, orientation=None, position=[0, 0]) for name in "ab")
        >>> m.angular_momentum([0.0, 0.0]).shape
        (1, 1)
        """
        return angular_momentum_of(list(self.bodies.values()), about)

    def kinetic_energies(self) -> KineticEnergies:
        """The kinetic energy of all bodies by König's theorem: that of the centre of mass, and that of the motion about
        it.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("two points")
        >>> a, b = (m.body(name, mass=1.0, orientation=None, position=[0, 0]) for name in "ab")
        >>> m.kinetic_energies().of_centre.shape
        (1, 1)
        """
        return kinetic_energies_of(list(self.bodies.values()))

    def gravity(self, acceleration: object) -> None:
        """Apply gravity to all bodies, including those declared earlier.

        Masses in `m.kinetic_energy` are not affected; write their weight as a potential energy. An included model keeps
        its own gravity.

        Parameters
        ----------
        acceleration: in the world frame, m/s²; three components, or two where all bodies are planar.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("ball")
        >>> m.gravity([0.0, 0.0, -9.81])
        >>> b = m.body("ball", mass=2.0, orientation=None)
        >>> m.equations["motion of ball.position"][2]
        '2*ball.velocity_dot[2] + 19.62 = 0'
        """
        value = column(self._expression(without_unit(acceleration, "m/s^2", "Gravity"), "Gravity"))
        if value.numel() not in (2, 3):
            raise ModelError(
                "Gravity is a vector.",
                f"it is {size_text(value)}",
                because="gravity has a direction.",
                remedy="m.gravity([0, 0, -9.81]), or m.gravity([0, -9.81]) in the plane",
            )
        for body in self.written.mechanics.bodies.values():
            if body.gravity is None:
                _check_gravity(value, body.name, body.size)
        self._changed()
        self.written.mechanics.gravity = value

    def body(
        self,
        name: str,
        mass: object,
        inertia: object = None,
        orientation: Orientation | None = "quaternion",
        *,
        position: object = None,
        velocity: object = None,
        rotation: object = None,
        angular_velocity: object = None,
        norm: Literal["invariant", "constraint"] = "invariant",
    ) -> Body:
        """Declare a rigid body with Newton's and Euler's equations about its centre of mass.

            p' = v,  m v' = F,   q' = ½ q ⊗ (0, ω),  M ω' + ω × M ω = T

        Variables: `name.position`, `name.velocity` (world frame), `name.quaternion` or `.rpy` or `.angle`, and
        `name.angular_velocity` (body frame).

        Parameters
        ----------
        mass: kg; a number or an expression of parameters.
        inertia: about the centre of mass in the body frame, kg m²; 3×3, or three principal moments; one number for a
            planar body; none for a point mass.
        orientation: "quaternion", "rpy" (singular at pitch ±90°), "planar" (motion in the x-y plane), or None for a
            point mass. A point mass is planar if its position has two components.
        position, velocity, angular_velocity: start values. They are fixed; without a value they are free with a guess
            of zero, and `dd.guess(value)` is free with that guess.
        rotation: the orientation at the start: a matrix, a quaternion, roll, pitch and yaw for "rpy", or the angle for
            "planar". Without a value it is free, with no rotation as the guess.
        norm: how |q| = 1 of a quaternion is kept: as an "invariant" of the model, or as a "constraint" with a
            multiplier `name.norm` in q' = ½ q ⊗ (0, ω) + q norm, a DAE of index 2.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("spinning box")
        >>> b = m.body("box", mass=12.0, inertia=dd.inertia.box(12.0, 1.0, 2.0, 3.0), position=[0, 0, 0],
        ...            velocity=[1, 0, 0], rotation=dd.rot_z(0.3), angular_velocity=[0.1, 2.0, 0.0])
        >>> tr = dd.simulate(m, 2.0)
        >>> tr["box.position"][-1].round(6)
        array([2., 0., 0.])
        >>> list(m.freeze().invariants)
        ['box.quaternion length']
        """
        check_name(name, "body")
        if orientation not in (*ATTITUDES, None):
            raise ModelError(
                f"The body {name!r} has no orientation {orientation!r}.",
                f"orientations: {', '.join(map(repr, ATTITUDES))}, None",
                because="it decides which variables hold the attitude.",
                remedy=did_you_mean(str(orientation), ATTITUDES),
            )
        if norm not in ("invariant", "constraint") or (norm == "constraint" and orientation != "quaternion"):
            raise ModelError(
                f"norm={norm!r} cannot be used for the body {name!r}.",
                f"its orientation is {orientation!r}",
                because='the length is that of a quaternion, an "invariant" or a "constraint".',
                remedy='orientation="quaternion", norm="constraint"',
            )
        place = value_of(position)
        flat = orientation is None and isinstance(place, (list, tuple, np.ndarray)) and len(place) == 2
        size = 2 if orientation == "planar" or flat else 3
        weight = self._positive(
            without_unit(mass, "kg", f"The mass of {name!r}"),
            f"The mass of {name!r}",
            "a body resists a force along it.",
            "mass=1.0, in kg",
        )
        written = WrittenBody(name, orientation, size, weight, self._inertia(name, inertia, orientation))
        if self.written.mechanics.gravity is not None:
            _check_gravity(self.written.mechanics.gravity, name, size)
        variables = _variables(name, orientation, size, position, velocity, rotation, angular_velocity)
        if norm == "constraint":
            variables.append(make_variable(f"{name}.norm", "algebraic", ()))
        for variable in variables:
            self._check_free(variable.name, "body")
        for variable in variables:
            self._declare(variable)
        self._write_body(written, norm)
        return Body(self, written)

    def _write_body(self, written: WrittenBody, norm: str) -> None:
        """Kinematics and inertia forces of a body whose variables are declared."""
        name, mechanics = written.name, self.written.mechanics
        mechanics.bodies[name] = written
        place, speed = f"{name}.position", f"{name}.velocity"
        push = written.mass * self.written.derivative_symbol(speed, 1)
        mechanics.velocities[place] = Velocity(place, speed, self.written.symbols[speed], push)
        if written.orientation is None or written.inertia is None:
            return
        attitude, spinning = f"{name}.{ATTITUDES[written.orientation]}", f"{name}.angular_velocity"
        q, spin, inertia = self.written.symbols[attitude], self.written.symbols[spinning], written.inertia
        turn = inertia @ self.written.derivative_symbol(spinning, 1)
        if written.size == 3:
            turn += ca.cross(spin, inertia @ spin)
        rates = {"quaternion": quaternion_rate, "rpy": rpy_rate}
        rate = rates[written.orientation](q, spin) if written.size == 3 else spin
        multiplier = f"{name}.norm" if norm == "constraint" else ""
        mechanics.velocities[attitude] = Velocity(
            attitude, spinning, ca.densify(rate), ca.densify(turn), written.size == 3, multiplier
        )
        if written.orientation == "quaternion" and norm == "invariant":
            self._keep(f"{attitude} length", ca.sumsqr(q) - 1)

    # -- checks ------------------------------------------------------------------------------------------------

    def _positive(self, value: object, where: str, because: str, remedy: str) -> ca.SX:
        """One number, positive as far as its value is known."""
        expression = self._expression(value, where)
        number = self._number(expression)
        if not expression.is_scalar() or (number is not None and not number > 0):
            raise ModelError(
                f"{where} is not a positive number.",
                f"it is {size_text(expression) if not expression.is_scalar() else f'{float(number[0, 0]):g}'}",  # type: ignore[index]
                because=because,
                remedy=remedy,
            )
        return expression

    def _inertia(self, name: str, inertia: object, orientation: str | None) -> ca.SX | None:
        if inertia is None and orientation is not None:
            raise ModelError(
                f"The body {name!r} has no inertia.",
                f"its orientation is {orientation!r}",
                because="a rotating body needs an inertia.",
                remedy="inertia=dd.inertia.box(mass, a, b, c), or orientation=None for a point mass",
            )
        if inertia is None or orientation is None:
            return None
        where = f"The inertia of {name!r}"
        if orientation == "planar":
            return self._positive(
                without_unit(inertia, "kg*m^2", where),
                where,
                "a planar body turns about one axis only.",
                "inertia=0.1, in kg m²",
            )
        value = self._expression(without_unit(inertia, "kg*m^2", where), where)
        if value.shape == (3, 1):
            value = ca.diag(value)
        value = ca.densify(value)
        check_inertia(value, name)
        # Parameters are checked with the values they were declared with.
        number = self._number(value)
        if number is not None:
            check_inertia(number, name)
        return value

    def _number(self, value: ca.SX) -> np.ndarray | None:
        """The value of an expression of parameters, or None where it depends on more or a value is missing."""
        if value.is_constant():
            constant: np.ndarray = ca.DM(value).full()
            return constant
        symbols = ca.symvar(value)
        numbers: list[float] = []
        for n, k, _ in self._check_symbols(value, "The value"):
            variable = self.written.variables.get(n)
            known = variable.start[k] if variable is not None and variable.kind == "parameter" else None
            if known is None:
                return None
            numbers.append(known)
        result: np.ndarray = ca.Function("value", symbols, [value]).call([ca.DM(n) for n in numbers])[0].full()
        return result


def _check_gravity(gravity: ca.SX, name: str, size: int) -> None:
    """Refuse gravity that does not fit a body: across its plane, or of two components in space."""
    if gravity.numel() < size:
        raise ModelError(
            f"Gravity has two components, and the body {name!r} moves in space.",
            because="only planar bodies have two components.",
            remedy="m.gravity([0, 0, -9.81])",
        )
    if gravity.numel() > size and not gravity[2].is_zero():
        raise ModelError(
            f"Gravity points out of the plane of the body {name!r}.",
            "planar bodies move in the x-y plane",
            because="it would have no effect on it.",
            remedy="m.gravity([0, -9.81])",
        )


def _variables(
    name: str,
    orientation: str | None,
    size: int,
    position: object,
    velocity: object,
    rotation: object,
    angular_velocity: object,
) -> list[Variable]:
    """The variables of a body with their start values."""
    variables = [
        make_variable(f"{name}.position", "state", (size,), start=position, unit="m"),
        make_variable(f"{name}.velocity", "state", (size,), start=velocity, unit="m/s"),
    ]
    if orientation is None:
        for what, value in (("rotation", rotation), ("angular_velocity", angular_velocity)):
            if value is not None:
                raise ModelError(
                    f"The body {name!r} takes no {what}.",
                    "it was declared with orientation=None, as a point mass",
                    because="a point mass has a position but no orientation.",
                    remedy='orientation="quaternion"',
                )
        return variables
    shape = _ATTITUDE_SHAPES[orientation]
    attitude = make_variable(
        f"{name}.{ATTITUDES[orientation]}",
        "state",
        shape,
        start=None if rotation is None else _start_attitude(name, orientation, rotation),
        unit="" if orientation == "quaternion" else "rad",
    )
    if orientation == "quaternion" and not attitude.guess:
        attitude = replace(attitude, guess=(1.0, 0.0, 0.0, 0.0))
    spin_shape = (3,) if size == 3 else ()
    spin = make_variable(f"{name}.angular_velocity", "state", spin_shape, start=angular_velocity, unit="rad/s")
    return [*variables, attitude, spin]


def _start_attitude(name: str, orientation: str, rotation: object) -> object:
    """The start of an attitude, a guess where the rotation is one."""
    found = _attitude(name, orientation, value_of(rotation))
    return GuessedStart(found) if isinstance(rotation, GuessedStart) else found


def _attitude(name: str, orientation: str, rotation: Any) -> ArrayOrSymbol:
    """The start of a quaternion, of roll, pitch and yaw, or of an angle, from any way to give a rotation."""
    if orientation == "planar":
        return rotation
    shape = np.shape(rotation)
    if orientation == "rpy" and shape == (3,):
        return rotation
    if shape == (4,):
        matrix = rotation_from_quaternion(rotation)
        if orientation == "quaternion":
            return np.asarray(rotation, dtype=float) / np.linalg.norm(np.asarray(rotation, dtype=float))
    elif shape == (3, 3):
        matrix = read_rotation(rotation, f"rotation of {name}")
    else:
        raise InputError(
            f"The rotation of {name!r} cannot be read.",
            f"its shape is {shape}",
            because="three numbers could be angles or a rotation vector."
            if shape == (3,)
            else "a rotation is a 3×3 matrix or a quaternion of four numbers.",
            remedy="rotation=dd.rotation_from_rpy([roll, pitch, yaw]) or dd.rotation_exp(vector)",
        )
    return quaternion_from_rotation(matrix) if orientation == "quaternion" else rpy_from_rotation(matrix)


# Sums over the bodies of a model: momentum, angular momentum about a point, and kinetic energy after König.
#
# With the mass M and velocity V of the common centre of mass C, T = ½ M V² + Σ (½ m |v - V|² + ½ ωᵀ M_c ω) (König) and
# h about a point P is (C - P) × M V plus h about C.


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
            "The momenta of these bodies cannot be added.",
            "the model has no bodies" if not bodies else "some are in the plane and some in space",
            because="momenta are added up as vectors of one space.",
            remedy="m.body(...) for each body, all planar or all in space",
        )
