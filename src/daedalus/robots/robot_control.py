"""`robot.control`: PD with gravity compensation, computed torque and operational space, for arrays and expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import is_symbol
from daedalus.geometry.rotations import read_rotation
from daedalus.model.names import counted
from daedalus.robots.robot_arguments import ArgumentReader, read_turn


class RobotControl:
    """Control laws; each returns joint forces tau for arrays, batches or expressions of q and v.

    With expressions a law becomes part of the model: `robot.actuate(robot.control.gravity_pd(robot.q, robot.v, goal))`.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pendulum")
    >>> m.gravity([0, 0, -9.81])
    >>> link = m.body("link", mass=2.0, inertia=[0.1, 0.1, 0.01])
    >>> hinge = m.joint("hinge", "revolute", dd.ground, link, at_b=[0, 0, 0.5], axis_a=[0, 1, 0], coordinates="joint",
    ...                 start=0.0, rate=0.0)
    >>> robot = m.robot()
    >>> robot.actuate(robot.control.gravity_pd(robot.q, robot.v, [1.0], stiffness=60.0, damping=12.0))
    >>> tr = dd.simulate(m, 3.0)
    >>> round(float(tr["hinge.angle"][-1]), 4)
    1.0
    """

    def __init__(
        self,
        functions: Mapping[str, ca.Function],
        called: Callable[..., tuple[np.ndarray, ...]],
        reader: ArgumentReader,
    ) -> None:
        self._functions, self._called, self._reader = functions, called, reader

    def gravity_pd(self, q: Any, v: Any, goal: Any, stiffness: Any = 100.0, damping: Any = 20.0) -> Any:
        """tau = stiffness · (goal ⊖ q) − damping · v + gravity(q): holds a posture; gains in N m/rad and N m s/rad.

        goal: positions in the order of q; an expression of time moves it. Gains: one number or one for each velocity.
        """
        count = self._count("v")
        return self._law("gravity_pd", q, v, self._sized(goal, "q"), _each(stiffness, count), _each(damping, count))

    def computed_torque(
        self, q: Any, v: Any, goal: Any, rate: Any = 0.0, acceleration: Any = 0.0, stiffness: Any = 100.0,
        damping: Any = 20.0,
    ) -> Any:  # fmt: skip
        """tau = M (acceleration + damping (rate − v) + stiffness (goal ⊖ q)) + bias; e'' + damping e' + stiffness e = 0

        goal, rate, acceleration: the motion to be followed. Gains in 1/s² and 1/s; damping = 2 √stiffness is critical.
        """
        count = self._count("v")
        motion = (self._sized(goal, "q"), _each(rate, count), _each(acceleration, count))
        return self._law("computed_torque", q, v, *motion, _each(stiffness, count), _each(damping, count))

    def operational_space(
        self, frame: str, q: Any, v: Any, position: Any, rotation: Any = None, velocity: Any = 0.0,
        acceleration: Any = 0.0, stiffness: Any = 100.0, damping: Any = 20.0, posture: Any = None,
        posture_stiffness: Any = 10.0, posture_damping: Any = 6.0, softness: Any = 0.0,
    ) -> Any:  # fmt: skip
        """Joint forces that move a frame like a unit mass on a spring; what it leaves open keeps the posture.

        The frame obeys x'' = acceleration + damping (velocity − x') + stiffness (position − x), decoupled from the
        robot's inertia; with `rotation` (3×3, world axes) it turns to that orientation as well.

        Parameters
        ----------
        posture: positions that redundant joints return to, in the order of q; by default they are damped only.
        softness: added to J M⁻¹ Jᵀ, 1/kg: bounds the forces near singular postures, where the law divides by zero.
        """
        count = self._count("q")
        stay = posture_stiffness if posture is not None else 0.0
        if posture is None:
            posture = q
        target = [position, _each(velocity, 3), _each(acceleration, 3)]
        gains = [_each(x, 1) for x in (stiffness, damping, stay, posture_damping, softness)]
        if rotation is None:
            return self._law(f"operational_position {frame}", q, v, *target, _each(posture, count), *gains)
        turned: Any
        if is_symbol(rotation):
            turned = ca.vec(read_rotation(rotation, "rotation of operational_space"))
        else:
            rows = read_turn(rotation, "The rotation of operational_space")
            turned = np.swapaxes(rows, -1, -2).reshape(*rows.shape[:-2], 9)
        return self._law(f"operational_space {frame}", q, v, *target, turned, _each(posture, count), *gains)

    # -- calling -----------------------------------------------------------------------------------------------

    def _law(self, name: str, *given: Any) -> Any:
        if not any(is_symbol(x) for x in given):
            return self._called(name, *given)[0]
        function = self._functions[name]
        return function(*(self._argument(name, function, k, value) for k, value in enumerate(given)))

    def _argument(self, name: str, function: ca.Function, k: int, value: Any) -> Any:
        """One argument of a law of expressions."""
        wanted = function.numel_in(k)
        if not is_symbol(value):
            return self._reader.numbers(name, function.name_in(k), wanted, value)
        value = ca.vertcat(*value) if isinstance(value, (list, tuple)) else value
        if value.numel() != wanted:
            raise InputError(
                f"{function.name_in(k)} of {name} has the wrong shape.",
                f"got {counted(value.numel(), 'number')}, expected {wanted}",
                because="each position and velocity has one number.",
                remedy=f"ca.SX.zeros({wanted})",
            )
        return value

    def _count(self, letter: str) -> int:
        return len(self._reader.labels[letter])

    def _sized(self, value: Any, letter: str) -> Any:
        return _each(value, self._count(letter))


def _each(value: Any, count: int) -> Any:
    """One number for all entries, or what was given."""
    if isinstance(value, (list, tuple)) and is_symbol(value):
        return ca.vertcat(*value)
    if is_symbol(value):
        return ca.repmat(value, count, 1) if value.numel() == 1 else value
    return np.full(count, float(value)) if isinstance(value, (int, float, np.number)) else value
