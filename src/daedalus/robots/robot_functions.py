"""The functions of a robot as CasADi expressions of q, v, a and τ.

    M(q) a + bias(q, v) = τ,      bias contains gravity(q),      q' = N(q) v

Springs, dampers, frictions and inputs of the model are not part of them: τ is all that acts beside weight and inertia.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca

from daedalus.errors import InputError
from daedalus.model.mechanics.tree_recursions import (
    forward_dynamics,
    joint_forces,
    mass_matrix,
    poses,
    velocities,
)
from daedalus.model.mechanics.trees import frame_pose
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean, listed
from daedalus.robots.robot_constraints import independent_constraints, kept_by_joints
from daedalus.robots.robot_symbols import numbered, robot_symbols

# Outputs that are vectors; all others are matrices, also of one column.
VECTORS = {
    "a",
    "tau",
    "bias",
    "gravity",
    "position",
    "velocity",
    "q_dot",
    "linear",
    "angular",
    "kinetic",
    "potential",
    "way",
}


class RobotFunctions:
    """The expressions of a robot, each made when it is first asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.symbols = robot_symbols(model)
        self.makers: dict[str, Callable[[], ca.Function]] = {
            "forward_dynamics": self._forward_dynamics,
            "inverse_dynamics": self._inverse_dynamics,
            "mass_matrix": self._mass_matrix,
            "bias": self._bias,
            "gravity": self._gravity,
            "centre_of_mass": self._centre_of_mass,
            "momentum": self._momentum,
            "energy": self._energy,
            "rate": self._rate,
            "constraints": self._constraints,
            "forward_dynamics_derivatives": self._forward_derivatives,
            "inverse_dynamics_derivatives": self._inverse_derivatives,
        }
        self._kept: dict[str, ca.Function] = {}
        self._closing: dict[str, ca.SX | None] = {}  # constraints, all and those that are independent

    @property
    def frames(self) -> list[str]:
        """Everything that has a pose: named frames, then bodies."""
        written = self.model.written.mechanics
        return [*written.frames, *(name for name in written.bodies if name not in written.frames)]

    def __getitem__(self, name: str) -> ca.Function:
        if name not in self._kept:
            what, _, frame = name.partition(" ")
            if name in self.makers:
                self._kept[name] = self.makers[name]()
            elif what in ("pose", "jacobian", "jacobian_rate", "velocity") and frame:
                self._kept[name] = getattr(self, f"_{what}")(frame)
            else:
                known = [*self.makers, *(f"{w} {self.frames[0]}" for w in ("pose", "jacobian") if self.frames)]
                raise InputError(
                    f"A robot has no function {name!r}.",
                    f"functions: {listed(known, 12)}",
                    because="functions are found by name.",
                    remedy=did_you_mean(name, known),
                )
        return self._kept[name]

    # -- dynamics ----------------------------------------------------------------------------------------------

    def _forward_dynamics(self) -> ca.Function:
        s = self.symbols
        return _function("forward_dynamics", {"q": s.q, "v": s.v, "tau": s.tau}, {"a": self._accelerations()})

    def _accelerations(self) -> ca.SX:
        """v' of the tree; where constraints hold, with the forces by which J v' + J' v = 0."""
        s = self.symbols
        free = forward_dynamics(s.tree.links, s.v, s.tau, s.tree.gravity, s.armature)
        held = self._held(independent=True)
        if held is None:
            return free
        by_q = ca.jacobian(held, s.q)
        jacobian = by_q @ self._tangents()
        drift = ca.jtimes(ca.jtimes(held, s.q, s.rate), s.q, s.rate)
        # What v' gains by a unit of each force: the recursion at rest, without weight.
        still, rest = ca.SX.zeros(s.v.numel()), ca.SX.zeros(3)
        links = [replace(link, drift=ca.substitute(link.drift, s.v, still)) for link in s.tree.links]
        felt = ca.horzcat(*(forward_dynamics(links, still, row.T, rest, s.armature) for row in ca.vertsplit(jacobian)))
        forces = symmetric_inverse(jacobian @ felt) @ (-drift - jacobian @ free)
        return ca.densify(free + felt @ forces)

    def _constraints(self) -> ca.Function:
        """What loops and joints that follow others keep at zero, and its slopes by v."""
        s, held = self.symbols, self._held()
        kept = ca.SX(0, 1) if held is None else held
        slopes = ca.jacobian(kept, s.q) @ self._tangents()
        return _function("constraints", {"q": s.q}, {"way": ca.densify(kept), "J": ca.densify(slopes)})

    def _held(self, independent: bool = False) -> ca.SX | None:
        """The constraints as functions of q, or those of them from which the others follow."""
        if "all" not in self._closing:
            self._closing["all"] = kept_by_joints(self.model, self.symbols)
        kept = self._closing["all"]
        if kept is None or not independent:
            return kept
        if "independent" not in self._closing:
            self._closing["independent"] = independent_constraints(self.model, self.symbols, kept)
        return self._closing["independent"]

    def _inverse_dynamics(self) -> ca.Function:
        s = self.symbols
        return _function("inverse_dynamics", {"q": s.q, "v": s.v, "a": s.a}, {"tau": self._tau(s.v, s.a)})

    def _mass_matrix(self) -> ca.Function:
        s = self.symbols
        matrix = mass_matrix(s.tree.links, s.v.numel()) + ca.diag(s.armature)
        return _function("mass_matrix", {"q": s.q}, {"M": ca.densify(matrix)})

    def _bias(self) -> ca.Function:
        s = self.symbols
        return _function("bias", {"q": s.q, "v": s.v}, {"bias": self._tau(s.v, ca.SX.zeros(s.v.numel()))})

    def _gravity(self) -> ca.Function:
        s = self.symbols
        still = ca.SX.zeros(s.v.numel())
        return _function("gravity", {"q": s.q}, {"gravity": self._tau(still, still)})

    def _tau(self, v: ca.SX, a: ca.SX) -> ca.SX:
        s = self.symbols
        # Roots carry their velocity in their own link (see `drift`): the symbol is replaced where v is another.
        found, _ = joint_forces(s.tree.links, s.v, s.a, s.tree.gravity)
        found = found + s.armature * s.a
        return ca.densify(ca.substitute([found], [s.v, s.a], [v, a])[0])

    def _forward_derivatives(self) -> ca.Function:
        """a' by tangents of q, by v and by τ: M⁻¹ times those of inverse dynamics at a, with the opposite sign."""
        s = self.symbols
        if self._held() is not None:
            return self._held_derivatives()
        found = forward_dynamics(s.tree.links, s.v, s.tau, s.tree.gravity, s.armature)
        by_q, by_v = (ca.substitute(x, s.a, found) for x in self._tau_slopes())
        matrix = mass_matrix(s.tree.links, s.v.numel()) + ca.diag(s.armature)
        inverse = symmetric_inverse(matrix)
        outputs = {"by_q": -inverse @ by_q, "by_v": -inverse @ by_v, "by_tau": inverse}
        return _function(
            "forward_dynamics_derivatives",
            {"q": s.q, "v": s.v, "tau": s.tau},
            {name: ca.densify(value) for name, value in outputs.items()},
        )

    def _held_derivatives(self) -> ca.Function:
        """The same with constraints, from the accelerations themselves."""
        s, found = self.symbols, self._accelerations()
        outputs = {
            "by_q": ca.jacobian(found, s.q) @ self._tangents(),
            "by_v": ca.jacobian(found, s.v),
            "by_tau": ca.jacobian(found, s.tau),
        }
        return _function(
            "forward_dynamics_derivatives",
            {"q": s.q, "v": s.v, "tau": s.tau},
            {name: ca.densify(value) for name, value in outputs.items()},
        )

    def _inverse_derivatives(self) -> ca.Function:
        s = self.symbols
        by_q, by_v = self._tau_slopes()
        matrix = mass_matrix(s.tree.links, s.v.numel()) + ca.diag(s.armature)
        outputs = {"by_q": by_q, "by_v": by_v, "by_a": matrix}
        return _function(
            "inverse_dynamics_derivatives",
            {"q": s.q, "v": s.v, "a": s.a},
            {name: ca.densify(value) for name, value in outputs.items()},
        )

    def _tau_slopes(self) -> tuple[ca.SX, ca.SX]:
        """Inverse dynamics by tangents of q and by v."""
        s = self.symbols
        tau = self._tau(s.v, s.a)
        return ca.jacobian(tau, s.q) @ self._tangents(), ca.jacobian(tau, s.v)

    def _tangents(self) -> ca.SX:
        """N(q): positions by tangent coordinates, q' = N v."""
        return ca.jacobian(self.symbols.rate, self.symbols.v)

    def _rate(self) -> ca.Function:
        s = self.symbols
        return _function("rate", {"q": s.q, "v": s.v}, {"q_dot": s.rate})

    # -- places ------------------------------------------------------------------------------------------------

    def _frame(self, name: str) -> tuple[ca.SX, ca.SX]:
        written, s = self.model.written.mechanics, self.symbols
        rotations, origins = poses(s.tree.links)
        if name in written.frames:
            place, turn = frame_pose(s.tree, written.frames[name], rotations, origins)
            return numbered(self.model, [place, turn])  # type: ignore[return-value]
        if name not in s.tree.at:
            raise InputError(
                f"The robot has no frame {name!r}.",
                f"frames: {listed(self.frames, 12)}",
                because="poses belong to frames and bodies.",
                remedy=did_you_mean(name, self.frames),
            )
        k = s.tree.at[name]
        return origins[k] + rotations[k] @ s.tree.links[k].centre, rotations[k]

    def _pose(self, frame: str) -> ca.Function:
        place, turn = self._frame(frame)
        whole = ca.vertcat(ca.horzcat(turn, place), ca.DM([[0, 0, 0, 1]]))
        return _function("pose", {"q": self.symbols.q}, {"pose": ca.densify(whole)})

    def _velocity(self, frame: str) -> ca.Function:
        """Linear and angular velocity of a frame in world axes."""
        s = self.symbols
        place, turn = self._frame(frame)
        return _function("velocity", {"q": s.q, "v": s.v}, {"velocity": self._twist(place, turn)})

    def _twist(self, place: ca.SX, turn: ca.SX) -> ca.SX:
        s = self.symbols
        linear = ca.jtimes(place, s.q, s.rate)
        change = ca.reshape(ca.jtimes(ca.vec(turn), s.q, s.rate), 3, 3) @ turn.T
        spin = ca.vertcat(change[2, 1] - change[1, 2], change[0, 2] - change[2, 0], change[1, 0] - change[0, 1]) / 2
        return ca.densify(ca.vertcat(linear, spin))

    def _jacobian(self, frame: str) -> ca.Function:
        s = self.symbols
        return _function("jacobian", {"q": s.q}, {"J": ca.densify(self._frame_jacobian(frame))})

    def _frame_jacobian(self, frame: str) -> ca.SX:
        """Column by column from the axes of the joints that carry the frame."""
        s = self.symbols
        place, _ = self._frame(frame)
        rotations, origins = poses(s.tree.links)
        written = self.model.written.mechanics
        body = written.frames[frame].body if frame in written.frames else frame
        result = ca.SX(6, s.v.numel())
        k = s.tree.at[body] if body else -1
        while k >= 0:
            link = s.tree.links[k]
            if link.columns:
                spin = rotations[k] @ link.angular
                linear = rotations[k] @ link.linear + ca.skew(origins[k] - place) @ spin
                result[:, list(link.columns)] = ca.vertcat(linear, spin)
            k = link.parent
        return result

    def _jacobian_rate(self, frame: str) -> ca.Function:
        s = self.symbols
        jacobian = self._frame_jacobian(frame)
        change = ca.reshape(ca.jtimes(ca.vec(ca.densify(jacobian)), s.q, s.rate), 6, s.v.numel())
        return _function("jacobian_rate", {"q": s.q, "v": s.v}, {"J_dot": ca.densify(change)})

    # -- sums over bodies --------------------------------------------------------------------------------------

    def _centre(self) -> tuple[ca.SX, ca.SX]:
        s = self.symbols
        rotations, origins = poses(s.tree.links)
        mass = sum((link.mass for link in s.tree.links), ca.SX(0))
        moment = sum(
            (link.mass * (p + turn @ link.centre) for link, p, turn in zip(s.tree.links, origins, rotations)),
            ca.SX.zeros(3),
        )
        return moment / mass, mass

    def _centre_of_mass(self) -> ca.Function:
        return _function("centre_of_mass", {"q": self.symbols.q}, {"position": ca.densify(self._centre()[0])})

    def _momentum(self) -> ca.Function:
        s = self.symbols
        rotations, origins = poses(s.tree.links)
        centre, _ = self._centre()
        linear, angular = ca.SX.zeros(3), ca.SX.zeros(3)
        for link, turn, origin, (spin, speed) in zip(s.tree.links, rotations, origins, velocities(s.tree.links, s.v)):
            push = link.mass * (turn @ (speed + ca.cross(spin, link.centre)))
            linear = linear + push
            arm = origin + turn @ link.centre - centre
            angular = angular + turn @ (link.inertia @ spin) + ca.cross(arm, push)
        outputs = {"linear": ca.densify(linear), "angular": ca.densify(angular)}
        return _function("momentum", {"q": s.q, "v": s.v}, outputs)

    def _energy(self) -> ca.Function:
        s = self.symbols
        rotations, origins = poses(s.tree.links)
        kinetic, potential = 0.5 * ca.sum1(s.armature * s.v**2), ca.SX(0)
        for link, turn, origin, (spin, speed) in zip(s.tree.links, rotations, origins, velocities(s.tree.links, s.v)):
            moving = speed + ca.cross(spin, link.centre)
            kinetic = kinetic + 0.5 * link.mass * ca.sumsqr(moving) + 0.5 * ca.dot(spin, link.inertia @ spin)
            potential = potential - link.mass * ca.dot(s.tree.gravity, origin + turn @ link.centre)
        return _function("energy", {"q": s.q, "v": s.v}, {"kinetic": kinetic, "potential": potential})


def symmetric_inverse(matrix: ca.SX) -> ca.SX:
    """M⁻¹ by LDLᵀ from the tips inwards: entries that no joint couples stay zero in L (Featherstone, section 6.5)."""
    size = matrix.size1()
    work = {(i, j): matrix[i, j] for i in range(size) for j in range(i + 1) if matrix.has_nz(i, j)}
    lower: dict[int, dict[int, ca.SX]] = {i: {} for i in range(size)}
    for k in range(size - 1, -1, -1):
        row = [j for j in range(k) if (k, j) in work]
        for i in row:
            factor = work[k, i] / work[k, k]
            for j in row:
                if j <= i:
                    work[i, j] = work.get((i, j), ca.SX(0)) - factor * work[k, j]
            lower[k][i] = factor
    # M = Lᵀ D L with L unit lower triangular: solve for every unit vector.
    result = ca.SX(size, size)
    for column_index in range(size):
        x = [ca.SX(1.0 if i == column_index else 0.0) for i in range(size)]
        for i in range(size - 1, -1, -1):
            for j, value in lower[i].items():
                x[j] = x[j] - value * x[i]
        x = [x[i] / work[i, i] for i in range(size)]
        for i in range(size):
            for j, value in lower[i].items():
                x[i] = x[i] - value * x[j]
        for i in range(size):
            result[i, column_index] = x[i]
    return result


def _function(name: str, inputs: dict[str, ca.SX], outputs: dict[str, ca.SX]) -> ca.Function:
    return ca.Function(name, list(inputs.values()), list(outputs.values()), list(inputs), list(outputs))
