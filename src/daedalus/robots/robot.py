"""`m.robot()`: forward and inverse dynamics, mass matrix, poses and Jacobians as compiled functions of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation.compile import compile_function
from daedalus.errors import InputError, ModelError
from daedalus.model.expressions import column
from daedalus.model.model import Model
from daedalus.model.names import counted
from daedalus.model.notebook import add_force, checked_expression
from daedalus.robots.robot_arguments import ArgumentReader
from daedalus.robots.robot_control import RobotControl
from daedalus.robots.robot_functions import VECTORS, RobotFunctions
from daedalus.robots.robot_laws import FRAME_LAWS, LAWS, law

_OF_FRAMES = ("pose", "velocity", "jacobian", "jacobian_rate")


class Robot:
    """The functions of a tree of bodies; `m.robot()` makes it.

        M(q) a + bias(q, v) = tau,      bias contains gravity(q)

    q, v, a and tau are arrays in the order of `robot.labels`; rows of an array (n, ...) are a batch. A free base has
    q = (position, quaternion) and v = (linear velocity in world axes, angular velocity in body axes). Springs, dampers
    and inputs of the model are not included: tau contains all forces except weight and inertia.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pendulum")
    >>> m.gravity([0, 0, -9.81])
    >>> link = m.body("link", mass=2.0, inertia=[0.1, 0.1, 0.01])
    >>> hinge = m.joint("hinge", "revolute", dd.ground, link, at_b=[0, 0, 0.5], axis_a=[0, 1, 0], coordinates="joint")
    >>> robot = m.robot()
    >>> robot.labels["q"], robot.labels["v"]
    (('hinge.angle',), ('hinge.angle_dot',))
    >>> robot.mass_matrix([0.3]).round(6)
    array([[0.6]])
    >>> robot.forward_dynamics([0.3], [0.0], [0.0]).round(4)
    array([-4.8318])
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise ModelError(
                "A Robot is made of a Model.",
                f"got {type(model).__name__}",
                because="its functions are those of the bodies and joints of a model.",
                remedy="m.robot()",
            )
        self._functions = RobotFunctions(model)
        self._ready: dict[str, _RobotCode] = {}
        self.name = model.name
        symbols = self._functions.symbols
        names = model.written.labels()
        self.labels: dict[str, tuple[str, ...]] = {
            letter: tuple(names[int(s.element_hash())] for s in ca.vertsplit(values))
            for letter, values in (("q", symbols.q), ("v", symbols.v), ("a", symbols.a))
        }
        self.labels["tau"] = self.labels["v"]
        self.functions: Mapping[str, ca.Function] = _FunctionsByName(self._functions)
        self.derivatives = RobotDerivatives(self)
        self._sizes = {letter: len(labels) for letter, labels in self.labels.items()}
        self._reader = ArgumentReader(self.labels)
        self.control = RobotControl(self.functions, self._call, self._reader)

    def __repr__(self) -> str:
        moving = self._sizes["v"]
        velocities = "1 velocity" if moving == 1 else f"{moving} velocities"
        return f"Robot({self.name!r}: {counted(self._sizes['q'], 'position')}, {velocities})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self._functions.model,)

    @property
    def frames(self) -> list[str]:
        """Names that have a pose: frames, then bodies."""
        return self._functions.frames

    # -- dynamics ----------------------------------------------------------------------------------------------

    def forward_dynamics(self, q: Any, v: Any, tau: Any) -> np.ndarray:
        """a = M⁻¹ (tau − bias), by articulated bodies in O(n)."""
        return self._call("forward_dynamics", q, v, tau)[0]

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> np.ndarray:
        """tau = M a + bias, by recursive Newton–Euler in O(n)."""
        return self._call("inverse_dynamics", q, v, a)[0]

    def mass_matrix(self, q: Any) -> np.ndarray:
        """M(q), by composite bodies."""
        return self._call("mass_matrix", q)[0]

    def bias(self, q: Any, v: Any) -> np.ndarray:
        """Coriolis, centrifugal and gravity forces: tau for a = 0."""
        return self._call("bias", q, v)[0]

    def gravity(self, q: Any) -> np.ndarray:
        """tau that holds the robot still."""
        return self._call("gravity", q)[0]

    def energy(self, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy, J."""
        kinetic, potential = self._call("energy", q, v)
        return kinetic[..., 0], potential[..., 0]

    # -- places ------------------------------------------------------------------------------------------------

    def pose(self, frame: str, q: Any) -> np.ndarray:
        """The 4×4 pose of a frame or body in the world; of a body its centre of mass."""
        return self._call(f"pose {frame}", q)[0]

    def velocity(self, frame: str, q: Any, v: Any) -> np.ndarray:
        """Linear, then angular velocity of a frame, in world axes."""
        return self._call(f"velocity {frame}", q, v)[0]

    def jacobian(self, frame: str, q: Any) -> np.ndarray:
        """6×nv: linear rows first, in world axes, at the frame's origin; times v it is the frame's velocity."""
        return self._call(f"jacobian {frame}", q)[0]

    def jacobian_rate(self, frame: str, q: Any, v: Any) -> np.ndarray:
        """The time derivative of the Jacobian along v."""
        return self._call(f"jacobian_rate {frame}", q, v)[0]

    def centre_of_mass(self, q: Any) -> np.ndarray:
        """The common centre of mass in the world, m."""
        return self._call("centre_of_mass", q)[0]

    def momentum(self, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """Linear momentum, and angular momentum about the centre of mass, in world axes."""
        linear, angular = self._call("momentum", q, v)
        return linear, angular

    # -- control -----------------------------------------------------------------------------------------------

    @property
    def q(self) -> ca.SX:
        """The positions as symbols of the model, for laws that become part of it."""
        return ca.SX(self._functions.symbols.q)

    @property
    def v(self) -> ca.SX:
        """The velocities as symbols of the model."""
        return ca.SX(self._functions.symbols.v)

    def difference(self, q: Any, goal: Any) -> np.ndarray:
        """goal ⊖ q, the way to a goal in the coordinates of v; rotations as twice the vector part of a quaternion."""
        return self._call("difference", q, goal)[0]

    def actuate(self, tau: object) -> None:
        """Apply joint forces to the model, one for each velocity; those of a free base are left out.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("slide")
        >>> cart = m.body("cart", mass=3.0, inertia=[0.1, 0.1, 0.1])
        >>> rail = m.joint("rail", "prismatic", dd.ground, cart, axis_a=[1, 0, 0], coordinates="joint", start=0.0,
        ...                rate=0.0)
        >>> robot = m.robot()
        >>> robot.actuate(robot.control.computed_torque(robot.q, robot.v, [0.5]))
        >>> round(float(dd.simulate(m, 2.0)["rail.displacement"][-1]), 4)
        0.5
        """
        model, tree = self._functions.model, self._functions.symbols.tree
        forces = column(checked_expression(model, tau, "The joint forces"))
        if forces.numel() != self._sizes["v"]:
            raise InputError(
                "The joint forces have the wrong size.",
                f"got {forces.numel()}, expected {self._sizes['v']}: {', '.join(self.labels['v'][:8])}",
                because="each velocity has one force.",
                remedy="robot.control.gravity_pd(robot.q, robot.v, goal)",
            )
        joints = {joint.coordinate for joint in model.written.mechanics.tree.values()}
        for name, columns in tree.positions.items():
            if name in joints:
                for k, c in enumerate(columns):
                    add_force(model, name, forces[c], k)

    # -- calling -----------------------------------------------------------------------------------------------

    def _call(self, name: str, *given: Any) -> tuple[np.ndarray, ...]:
        """The outputs of a function for arrays or batches of them."""
        ready = self._ready.get(name)
        if ready is None:
            ready = self._ready[name] = _RobotCode.of(self.functions[name])
        # Vectors of finite numbers, the call that loops make, are taken by the core itself.
        found = ready.vectors(*given)
        if found is not None:
            return found if ready.plain else _shaped(found, ready.shapes)
        arrays, rows = self._reader.vectors(name, ready.arguments, ready.sizes, given)
        if rows is None:
            return _shaped(ready.core(*arrays), ready.shapes)
        return tuple(
            x if shape is None else x.reshape(rows, shape[1], shape[0]).transpose(0, 2, 1)
            for x, shape in zip(ready.core.evaluate_many(*arrays), ready.shapes)
        )


class _RobotCode(NamedTuple):
    """Machine code with what a call needs: sizes of arguments, and shapes of outputs that are matrices."""

    arguments: tuple[str, ...]
    sizes: tuple[int, ...]
    shapes: tuple[tuple[int, int] | None, ...]
    core: Any
    vectors: Any  # the core's call for one vector an argument
    plain: bool  # whether no output is a matrix

    @staticmethod
    def of(function: ca.Function) -> _RobotCode:
        inputs, outputs = range(function.n_in()), range(function.n_out())
        core = compile_function(function).core
        shapes = tuple(None if function.name_out(k) in VECTORS else function.size_out(k) for k in outputs)
        return _RobotCode(
            tuple(function.name_in(k) for k in inputs),
            tuple(int(function.numel_in(k)) for k in inputs),
            shapes,
            core,
            core.evaluate_vectors,
            all(shape is None for shape in shapes),
        )


def _shaped(found: tuple[np.ndarray, ...], shapes: tuple[tuple[int, int] | None, ...]) -> tuple[np.ndarray, ...]:
    """Outputs of one call with the shapes of their matrices."""
    if len(found) == 1 and shapes[0] is not None:
        return (found[0].reshape(shapes[0][::-1]).T,)
    return tuple(x if shape is None else x.reshape(shape[::-1]).T for x, shape in zip(found, shapes))


class RobotDerivatives:
    """Exact derivatives of the dynamics; q in tangent coordinates, so that every block has nv columns."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def forward_dynamics(self, q: Any, v: Any, tau: Any) -> tuple[np.ndarray, ...]:
        """Accelerations by q, by v and by tau (which is M⁻¹)."""
        return self._robot._call("forward_dynamics_derivatives", q, v, tau)

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> tuple[np.ndarray, ...]:
        """Joint forces by q, by v and by a (which is M)."""
        return self._robot._call("inverse_dynamics_derivatives", q, v, a)


class _FunctionsByName(Mapping[str, ca.Function]):
    """CasADi functions by name, made when they are asked for."""

    def __init__(self, functions: RobotFunctions) -> None:
        self._functions = functions
        self._laws: dict[str, ca.Function] = {}

    def __getitem__(self, name: str) -> ca.Function:
        what, _, frame = str(name).partition(" ")
        if name in LAWS or (what in FRAME_LAWS and frame):
            if name not in self._laws:
                self._laws[name] = law(self._functions, name)
            return self._laws[name]
        return self._functions[str(name)]

    def __iter__(self) -> Iterator[str]:
        yield from self._functions.makers
        yield from LAWS
        for frame in self._functions.frames:
            yield from (f"{what} {frame}" for what in (*_OF_FRAMES, *FRAME_LAWS))

    def __len__(self) -> int:
        each = len(_OF_FRAMES) + len(FRAME_LAWS)
        return len(self._functions.makers) + len(LAWS) + each * len(self._functions.frames)
