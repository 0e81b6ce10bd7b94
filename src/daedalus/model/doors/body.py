"""A rigid body in a model: its position, velocity and orientation as expressions, and forces that act on it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import casadi as ca

from daedalus.errors import ModelError
from daedalus.geometry.euler_angles import rotation_from_rpy
from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.geometry.rotations import Frame, read_frame
from daedalus.model.doors.energies import EnergyDoor
from daedalus.model.expressions import column
from daedalus.model.interrupts import weak_keys
from daedalus.model.mechanics.equations_of_motion import time_derivative
from daedalus.model.mechanics.trees import ATTITUDES
from daedalus.model.mechanics.written_mechanics import WrittenBody
from daedalus.model.names import counted
from daedalus.model.notebook import add_force

# The rotation matrix of each body, with the symbol that it was written in.
_rotations: WeakKeyDictionary[Body, tuple[ca.SX, ca.SX]] = weak_keys()


class Body:
    """A rigid body; `m.body(...)` makes it, `m.bodies[name]` finds it again.

    Vectors have three components, those of a planar body two; its angle and angular velocity are scalars.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("satellite")
    >>> b = m.body("bus", mass=10.0, inertia=dd.inertia.box(10.0, 1.0, 1.0, 2.0))
    >>> b
    Body('bus', orientation='quaternion')
    >>> b.position.shape, b.rotation.shape, b.point([0.0, 0.0, 1.0]).shape
    ((3, 1), (3, 3), (3, 1))
    """

    def __init__(self, model: EnergyDoor, written: WrittenBody) -> None:
        self.model, self._written = model, written
        self.name, self.orientation, self.size = written.name, written.orientation, written.size

    def __repr__(self) -> str:
        return f"Body({self.name!r}, orientation={self.orientation!r})"

    # -- what it is --------------------------------------------------------------------------------------------

    @property
    def mass(self) -> ca.SX:
        """The mass, kg."""
        return ca.SX(self._written.mass)

    @property
    def inertia(self) -> ca.SX:
        """The inertia about the centre of mass in the body frame, kg m²; a scalar in the plane."""
        self._check_turns("inertia")
        return ca.SX(self._written.inertia)  # type: ignore[arg-type]

    # -- where it is -------------------------------------------------------------------------------------------

    @property
    def position(self) -> ca.SX:
        """The centre of mass in the world frame, variable `name.position`."""
        return self.model[f"{self.name}.position"]

    @property
    def velocity(self) -> ca.SX:
        """The velocity of the centre of mass in the world frame, variable `name.velocity`."""
        return self.model[f"{self.name}.velocity"]

    @property
    def attitude(self) -> str:
        """The name of the variable that holds the orientation: `name.quaternion`, `name.rpy` or `name.angle`."""
        return f"{self.name}.{ATTITUDES[self._check_turns('attitude')]}"

    @property
    def rotation(self) -> ca.SX:
        """The rotation matrix, body to world; 2×2 in the plane."""
        self._check_turns("rotation")
        # Joints ask for it ten times; who writes into what is handed out writes into a copy.
        symbol = self.model.written.symbols.get(self.attitude)
        kept = _rotations.get(self)
        if kept is None or symbol is None or kept[0] is not symbol:
            attitude = self.model[self.attitude]
            kept = _rotations[self] = attitude if symbol is None else symbol, self._written_out(attitude)
        return ca.SX(kept[1])

    def _written_out(self, attitude: ca.SX) -> ca.SX:
        if self.orientation == "planar":
            c, s = ca.cos(attitude), ca.sin(attitude)
            return ca.blockcat([[c, -s], [s, c]])
        rotation: ca.SX = (
            rotation_from_quaternion(attitude) if self.orientation == "quaternion" else rotation_from_rpy(attitude)
        )
        return rotation

    @property
    def angular_velocity(self) -> ca.SX:
        """The angular velocity in the body frame, variable `name.angular_velocity`."""
        self._check_turns("angular velocity")
        return self.model[f"{self.name}.angular_velocity"]

    def point(self, at: object) -> ca.SX:
        """The world position of a point given in body coordinates: position + R at.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("rod")
        >>> rod = m.body("rod", mass=1.0, inertia=0.1, orientation="planar")
        >>> tip = ca.Function("tip", [m["rod.position"], m["rod.angle"]], [rod.point([0.5, 0.0])])
        >>> tip([1.0, 2.0], 0.0)
        DM([1.5, 2])
        """
        offset = self._offset(at)
        return self.position if offset is None else self.position + self.rotation @ offset

    def point_velocity(self, at: object) -> ca.SX:
        """The world velocity of a point given in body coordinates: velocity + R (ω × at).

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("rod")
        >>> rod = m.body("rod", mass=1.0, inertia=0.1, orientation="planar")
        >>> arguments = [m["rod.velocity"], m["rod.angle"], m["rod.angular_velocity"]]
        >>> tip = ca.Function("tip", arguments, [rod.point_velocity([0.5, 0.0])])
        >>> tip([1.0, 0.0], 0.0, 2.0)
        DM([1, 1])
        """
        offset = self._offset(at)
        if offset is None:
            return self.velocity
        # A point that wanders through the body has its own velocity on top.
        own = time_derivative(self.model, self.model.written.mechanics, offset)
        return self.velocity + self.rotation @ (cross(self.angular_velocity, offset) + own)

    def velocity_at(self, place: ca.SX) -> ca.SX:
        """The world velocity of the material that is at a place of the world."""
        if self.orientation is None:
            return self.velocity
        arm = place - self.position
        if self.size == 2:
            return self.velocity + cross(self.angular_velocity, arm)
        return self.velocity + ca.cross(self.rotation @ self.angular_velocity, arm)

    @property
    def kinetic_energy(self) -> ca.SX:
        """½ m vᵀv + ½ ωᵀ M ω, J. The equations of motion contain it already."""
        energy = self.mass * ca.sumsqr(self.velocity) / 2
        if self.orientation is None:
            return energy
        spin = self.angular_velocity
        return energy + (spin.T @ (self.inertia @ spin)) / 2

    @property
    def momentum(self) -> ca.SX:
        """m v in the world frame, N s."""
        return self.mass * self.velocity

    def angular_momentum(self, about: object = None) -> ca.SX:
        """The angular momentum in the world frame, N m s; a scalar in the plane. `m.der` of it is its rate.

        Parameters
        ----------
        about: a point of the world, m; by default the centre of mass, where it is R M ω.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("disc")
        >>> disc = m.body("disc", mass=2.0, inertia=0.5, orientation="planar")
        >>> disc.angular_momentum()
        SX((0.5*disc.angular_velocity))
        """
        own = ca.SX.zeros(3 if self.size == 3 else 1)
        if self.orientation is not None:
            own = self.inertia @ self.angular_velocity
            own = self.rotation @ own if self.size == 3 else own
        if about is None:
            return own
        arm = self.position - self._vector(about, "The point of angular momentum")
        return own + moment(arm, self.momentum)

    # -- what acts on it ---------------------------------------------------------------------------------------

    def apply_force(self, force: object, at: object = None, frame: Frame = "world") -> None:
        """Apply a force at a point of the body. Several calls add up.

        Parameters
        ----------
        force: components in `frame`, N; an expression of anything in the model.
        at: the point in body coordinates, m; the centre of mass by default.
        frame: "world", or "body" for a force that turns with the body.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("thruster")
        >>> b = m.body("hull", mass=2.0, inertia=0.5, orientation="planar")
        >>> u = m.input("u")
        >>> b.apply_force([u, 0.0], at=[0.0, 0.1], frame="body")
        >>> m.equations["motion of hull.angle"]
        ['0.5*hull.angular_velocity_dot + 0.1*u = 0']
        """
        given = self._vector(force, f"The force on {self.name!r}")
        offset = self._offset(at) if at is not None else None
        in_body = read_frame(frame) == "body"
        if in_body:
            self._check_turns("body frame")
        add_force(self.model, f"{self.name}.position", column(self.rotation @ given if in_body else given))
        if offset is not None:
            turned = given if in_body else self.rotation.T @ given
            add_force(self.model, self.attitude, column(moment(offset, turned)))

    def apply_torque(self, torque: object, frame: Frame = "body") -> None:
        """Apply a torque to the body, N m. Several calls add up.

        Parameters
        ----------
        torque: three components in `frame`; one number for a planar body.
        frame: "body" or "world".

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("flywheel")
        >>> b = m.body("wheel", mass=2.0, inertia=0.5, orientation="planar")
        >>> b.apply_torque(m.input("u"))
        >>> m.equations["motion of wheel.angle"]
        ['0.5*wheel.angular_velocity_dot - u = 0']
        """
        self._check_turns("torque")
        given = self._vector(torque, f"The torque on {self.name!r}", 1 if self.size == 2 else 3)
        if read_frame(frame) == "world" and self.size == 3:
            given = self.rotation.T @ given
        add_force(self.model, self.attitude, column(given))

    # -- what it touches with ----------------------------------------------------------------------------------

    def shape(self, kind: str, size: object = None, at: object = None, rotation: object = None) -> None:
        """Give the body a shape that others can touch (`m.contact`) and that animations draw. A body can have several.

        Parameters
        ----------
        kind: "sphere", "box", "capsule", "ellipsoid" or "plane". In the plane a sphere is a disc, and a plane a line.
        size: a sphere's radius; the sides of a box; the three axes of an ellipsoid, end to end, which touches planes
            and spheres (two in the plane); the radius of a capsule and the length of its straight part, along
            z (x in the plane). A plane has none: it has matter below its z axis (y in the plane). In m.
        at: the middle of the shape in body coordinates, m; the centre of mass by default.
        rotation: its axes seen from the body: a matrix or a quaternion, in the plane an angle.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("ball")
        >>> m.gravity([0, 0, -9.81])
        >>> b = m.body("ball", mass=1.0, inertia=dd.inertia.sphere(1.0, 0.1), position=[0, 0, 1], velocity=[0, 0, 0],
        ...            rotation=[1, 0, 0, 0], angular_velocity=[0, 0, 0])
        >>> b.shape("sphere", size=0.1)
        >>> m.contact(b, dd.ground)
        >>> tr = dd.simulate(m, 1.0)
        >>> round(float(tr["ball.position"][-1, 2]), 6)
        0.1
        """
        self.model._add_shape(self, kind, size, at, rotation)  # type: ignore[attr-defined]

    # -- reading arguments -------------------------------------------------------------------------------------

    def _vector(self, value: object, where: str, size: int | None = None) -> ca.SX:
        given, wanted = column(self.model._expression(value, where)), size or self.size
        if given.numel() != wanted:
            raise ModelError(
                f"{where} has {counted(given.numel(), 'component')}.",
                f"{self.name!r} is a body in {'the plane' if self.size == 2 else 'space'}",
                because=f"it takes {counted(wanted, 'component')} there.",
                remedy=str([0.0] * wanted) if wanted > 1 else "one number",
            )
        return given

    def _offset(self, at: object) -> ca.SX | None:
        """Body coordinates of a point; None for the centre of mass."""
        offset = self._vector(at, f"The point of {self.name!r}")
        if offset.is_zero():
            return None
        self._check_turns("point beside its centre")
        return offset

    def _check_turns(self, what: str) -> str:
        """The kind of orientation; what a point mass has not is refused."""
        if self.orientation is None:
            raise ModelError(
                f"The body {self.name!r} has no {what}.",
                "it was declared with orientation=None, as a point mass",
                because="a point mass has a position but no orientation.",
                remedy=f'm.body("{self.name}", ..., inertia=..., orientation="quaternion")',
            )
        return self.orientation


def cross(spin: ca.SX, arm: ca.SX) -> ca.SX:
    """ω × r, in space or in the plane, where ω is a scalar."""
    return ca.cross(spin, arm) if arm.numel() == 3 else ca.vertcat(-spin * arm[1], spin * arm[0])


def moment(arm: ca.SX, force: ca.SX) -> ca.SX:
    """r × F, in space or in the plane, where it is a scalar."""
    return ca.cross(arm, force) if arm.numel() == 3 else arm[0] * force[1] - arm[1] * force[0]
