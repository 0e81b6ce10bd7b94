"""The mechanical structure of a model as functions: M(q) v' + h(q, v, t) = τ + Gᵀ λ and G v' = γ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.mechanics.constrained_accelerations import Accelerations, solve_accelerations
from daedalus.model.mechanics.equations_of_motion import (
    acceleration_symbols,
    applied_forces,
    inertia_sides,
    position_symbols,
    time_derivative,
    velocity_symbols,
)
from daedalus.model.mechanics.written_mechanics import Constraint
from daedalus.model.names import with_article
from daedalus.model.system.system import System
from daedalus.model.values import flat_values, given_start, parameter_values

if TYPE_CHECKING:
    from daedalus.model.doors.energies import EnergyDoor

ARGUMENTS = ("t", "q", "v", "u", "p", "other")


@dataclass(frozen=True, eq=False)
class MotionFunctions:
    """M, h, τ, G, γ and what belongs to them as sparse CasADi functions of (t, q, v, u, p, other).

    q are the positions (coordinates, positions and attitudes of bodies), v the velocities, u inputs, p parameters;
    `other` is whatever else entered, with its names in `other_labels`, usually nothing.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.0, 0.0])
    >>> m.kinetic_energy(0.5 * 2.0 * ca.sumsqr(m.rate(q)))
    >>> m.potential_energy(2.0 * 9.81 * q[1])
    >>> rod = m.constraint("rod", (ca.sumsqr(q) - 1.0) / 2)
    >>> f = m.mechanics()
    >>> f.G(0, [0.6, -0.8], [0, 0], [], [], [])
    DM([[0.6, -0.8]])
    >>> found = f.accelerations()
    >>> found["q_ddot"].round(4), round(found["rod"], 4)
    (array([-4.7088, -3.5316]), -15.696)
    """

    system: System
    positions: tuple[str, ...]
    """the elements of q by name"""
    velocities: tuple[str, ...]
    """the elements of v by name"""
    rates: tuple[str, ...]
    """the elements of v' by name"""
    multipliers: tuple[str, ...]
    """the elements of λ by name"""
    other_labels: tuple[str, ...]
    M: ca.Function
    """mass matrix, over v'"""
    h: ca.Function
    """what is left of the equations of motion at v' = 0: Coriolis terms, gravity, springs, dampers"""
    tau: ca.Function
    """applied forces"""
    N: ca.Function
    """∂q'/∂v: q' = N v"""
    q_dot: ca.Function
    """q'"""
    c: ca.Function
    """holonomic constraints; a velocity constraint has the row 0"""
    c_dot: ca.Function
    """all constraints at the level of velocities, zero in a consistent motion"""
    G: ca.Function
    """∂c_dot/∂v"""
    gamma: ca.Function
    """the right-hand side at the level of accelerations: G v' = γ"""

    def arguments(
        self,
        values: Mapping[str, object] | None = None,
        inputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        time: float = 0.0,
    ) -> list[np.ndarray]:
        """The arguments of all functions from values by name; what is not given is the model's start, or its guess."""
        system = self.system
        position = {label: k for k, label in enumerate(system.labels["x"])}
        loose = [label for label in self.other_labels if label not in position]
        given = dict(values or {})
        extra = {label: float(np.asarray(given.pop(label))) for label in loose if label in given}
        x = given_start(system, given)["x"]
        vectors = {
            "x": np.where(np.isnan(x), system.default_start, x),
            "p": parameter_values(system, parameters),
        }
        vectors["u"] = np.zeros(system.sizes["u"])
        for name, value in (inputs or {}).items():
            place = system.place(name)
            vectors["u"][place.positions] = np.array(flat_values(place, value, "value"), dtype=float)
        other = [extra.get(n, vectors["x"][position[n]] if n in position else 0.0) for n in self.other_labels]
        q, v = (vectors["x"][[position[label] for label in labels]] for labels in (self.positions, self.velocities))
        return [np.array([time]), q, v, vectors["u"], vectors["p"], np.array(other)]

    def accelerations(
        self,
        values: Mapping[str, object] | None = None,
        inputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        time: float = 0.0,
    ) -> Accelerations:
        """Accelerations and multipliers for given positions and velocities, by name: `found["q_ddot"]`, `found["rod"]`.

        Solves [M −Gᵀ; G 0] (v', λ) = (τ − h, γ). Redundant constraints are accepted: the accelerations are unique, of
        the multipliers the smallest are taken, and `found.redundant` names the constraints that could be left out.

        Parameters
        ----------
        values: positions and velocities by name, over the model's start values.
        inputs, parameters: by name; inputs are zero otherwise.

        Raises a SingularModelError where the masses do not determine the accelerations.
        """
        arguments = self.arguments(values, inputs, parameters, time)
        return self.solve(arguments)

    def solve(self, arguments: list[np.ndarray]) -> Accelerations:
        """The same for arguments that are flat vectors already."""
        mass, bias, force, jacobian, right = (
            function(*arguments).full() for function in (self.M, self.h, self.tau, self.G, self.gamma)
        )
        labels = self.rates, self.multipliers
        return solve_accelerations(mass, (force - bias).ravel(), jacobian, right.ravel(), *labels, self.system)


def motion_functions(book: EnergyDoor, system: System) -> MotionFunctions:
    """Build the functions from what is written."""
    written = book.written.mechanics
    q, v, a = (symbols(book, written) for symbols in (position_symbols, velocity_symbols, acceleration_symbols))
    constraints = list(written.constraints.values())
    outputs = {**_motion(book, a), **_constraints(book, constraints, v, a)}
    outputs["q_dot"] = time_derivative(book, written, q)
    outputs["N"] = ca.jacobian(outputs["q_dot"], v)
    known = [book.written.time, q, v, system.symbol("u"), system.symbol("p")]
    inside = {symbol_key(s) for symbols in known for s in elements(symbols)}
    other = [s for s in ca.symvar(ca.vertcat(*map(ca.vec, outputs.values()))) if symbol_key(s) not in inside]
    functions = {
        name: ca.Function(name, [*known, concatenate(other)], [expression], list(ARGUMENTS), [name])
        for name, expression in outputs.items()
    }
    names = book.written.labels()
    return MotionFunctions(
        system,
        positions=_labels(names, q),
        velocities=_labels(names, v),
        rates=_labels(names, a),
        multipliers=_labels(names, concatenate(book.written.symbols[c.name] for c in constraints)),
        other_labels=_labels(names, concatenate(other)),
        **functions,
    )


def _labels(names: Mapping[int, str], symbols: ca.SX) -> tuple[str, ...]:
    return tuple(names[symbol_key(s)] for s in elements(symbols))


def _motion(book: EnergyDoor, a: ca.SX) -> dict[str, ca.SX]:
    """M, h and τ; forces that contain accelerations count as inertia."""
    left = concatenate(inertia_sides(book, book.written.mechanics).values())
    force = concatenate(applied_forces(book, book.written.mechanics).values())
    mass = ca.jacobian(left - force, a)
    hidden = concatenate([a, *(book.written.symbols[name] for name in book.written.mechanics.constraints)])
    if ca.depends_on(ca.vec(mass), a) or ca.depends_on(ca.substitute(force, a, 0 * a), hidden):
        raise ModelError(
            f"The forces in {book.name!r} are not functions of positions and velocities.",
            "an applied force contains a multiplier, or an acceleration in a nonlinear way",
            because="M v' + h = τ + Gᵀ λ is linear in accelerations and multipliers.",
            remedy="the equations themselves: m.freeze(), which takes such forces",
        )
    rest = ca.substitute([left, force], [a], [ca.SX.zeros(a.numel())])
    return {"M": mass, "h": ca.densify(rest[0]), "tau": ca.densify(rest[1])}


def _constraints(book: EnergyDoor, constraints: list[Constraint], v: ca.SX, a: ca.SX) -> dict[str, ca.SX]:
    """c, its rate, the Jacobian of the rate and what the accelerations must make of it."""
    written = book.written.mechanics
    for constraint in constraints:
        for name, k, _ in book._check_symbols(constraint.expression, f"Constraint {constraint.name!r}"):
            if name != "t" and book.written.variables[name].kind in ("algebraic", "input"):
                raise ModelError(
                    f"Constraint {constraint.name!r} contains {book.written.variables[name].label(k)}.",
                    f"it is {with_article(book.written.variables[name].kind)}",
                    because="the constraint on accelerations would contain its derivatives, and it has none.",
                    remedy=f'm.state("{name}", ...) with an equation for its derivative',
                )
    zero = [ca.SX.zeros(c.expression.numel()) for c in constraints]
    holonomic = [c.kind == "holonomic" for c in constraints]
    place = concatenate(c.expression if whole else none for c, whole, none in zip(constraints, holonomic, zero))
    speed = concatenate(none if whole else c.expression for c, whole, none in zip(constraints, holonomic, zero))
    speed = time_derivative(book, written, place) + speed
    change = ca.substitute(time_derivative(book, written, speed), a, ca.SX.zeros(a.numel()))
    return {"c": place, "c_dot": speed, "G": ca.jacobian(speed, v), "gamma": ca.densify(-change)}
