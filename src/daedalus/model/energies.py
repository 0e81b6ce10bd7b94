"""Door 2: a model written as energies (Lagrange): coordinates, T, V, dissipation, forces and constraints."""

from __future__ import annotations

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.expressions import column, elements, symbol_key
from daedalus.model.mechanics import Constraint, WrittenMechanics, equations_of_motion, pulled_back
from daedalus.model.names import check_name, did_you_mean
from daedalus.model.notebook import Equation, Notebook, size_text
from daedalus.model.variables import check_shape, make_variable


class EnergyDoor(Notebook):
    """Declare coordinates, add up energies, write forces and constraints."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._mechanics = WrittenMechanics()

    def _all_equations(self) -> dict[str, Equation]:
        """The written equations, then the equations of motion."""
        return {**self._equations, **{e.name: e for e in equations_of_motion(self, self._mechanics)}}

    def coordinate(
        self,
        name: str,
        shape: int | tuple[int, ...] = (),
        *,
        start: object = None,
        rate: object = None,
        unit: str = "",
        nominal: object = 1.0,
        lower: object = None,
        upper: object = None,
    ) -> ca.SX:
        """Declare a generalised coordinate; its equation of motion follows from the energies.

        `start` and `rate` are its value and velocity at the start, both given. `m.rate(q)` is its velocity, `q_dot`.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("pendulum")
        >>> a = m.coordinate("angle", start=0.1, rate=0.0, unit="rad")
        >>> m.kinetic_energy(0.5 * m.rate(a) ** 2)
        >>> m.potential_energy(-9.81 * ca.cos(a))
        >>> m.equations
        {'motion of angle': ['angle_ddot + 9.81*sin(angle) = 0']}
        """
        check_name(name, "coordinate")
        dims = check_shape(shape, name)
        symbol = self._declare(
            make_variable(
                name, "state", dims, start=start, rate=rate, unit=unit, nominal=nominal, lower=lower, upper=upper
            )
        )
        self._derivative_symbol(name, 2)
        self._mechanics.coordinates.append(name)
        return symbol

    def rate(self, coordinate: object) -> ca.SX:
        """The velocity of a coordinate: the same as `m.der(q)`, variable `q_dot`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("m")
        >>> q = m.coordinate("q", 2)
        >>> m.rate(q).shape
        (2, 1)
        """
        return self.der(coordinate)  # type: ignore[attr-defined, no-any-return]

    def kinetic_energy(self, energy: object) -> None:
        """Add kinetic energy T(q, q', t); calls add up."""
        self._mechanics.kinetic += self._energy(energy, "kinetic energy", derivatives=1)

    def potential_energy(self, energy: object) -> None:
        """Add potential energy V(q, t); calls add up. It may contain positions of bodies too."""
        self._mechanics.potential += self._energy(energy, "potential energy", derivatives=0)

    def dissipation(self, function: object) -> None:
        """Add a dissipation function D(q, q'): the force −∂D/∂q' acts (Rayleigh); calls add up."""
        self._mechanics.dissipation += self._energy(function, "dissipation", derivatives=1)

    def _energy(self, value: object, what: str, derivatives: int) -> ca.SX:
        where = f"The {what}"
        expression = self._expression(value, where)
        if not expression.is_scalar():
            raise ModelError(
                f"{where} is not a scalar.",
                f"it is {size_text(expression)}",
                because="an energy is one number.",
                remedy="0.5 * m * casadi.sumsqr(v)",
            )
        for name, _, order in self._check_symbols(expression, where):
            if order > derivatives:
                raise ModelError(
                    f"{where} contains a derivative of {name} that it may not contain.",
                    f"it contains the derivative of order {order}",
                    because="T and the dissipation depend on positions and velocities, V on positions.",
                    remedy="rates go into the kinetic energy or the dissipation",
                )
        self._changed()
        return expression

    # -- forces ------------------------------------------------------------------------------------------------

    def generalised_force(self, coordinate: object, force: object) -> None:
        """Let a generalised force act on a coordinate: power = force · q'.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("cart")
        >>> s = m.coordinate("s", start=0.0, rate=0.0); u = m.input("u")
        >>> m.kinetic_energy(0.5 * 2.0 * m.rate(s) ** 2)
        >>> m.generalised_force(s, u)
        >>> m.equations
        {'motion of s': ['2*s_ddot - u = 0']}
        """
        value = self._expression(force, "The generalised force")
        symbols = elements(self._expression(coordinate, "The coordinate of the force"))
        if len(symbols) != value.numel():
            raise ModelError(
                "The generalised force does not fit its coordinate.",
                f"{len(symbols)} coordinates, {size_text(value)} of force",
                because="each coordinate takes one force.",
                remedy="as many entries on both sides",
            )
        for symbol, entry in zip(symbols, elements(column(value))):
            known = self._known.get(symbol_key(symbol)) if symbol.is_symbolic() else None
            if known is None or known[2] or known[0] not in self._mechanics.coordinates:
                raise ModelError(
                    "The generalised force does not act on a coordinate.",
                    f"it is given for {self._owner.labels.get(symbol_key(symbol), 'an expression')}",
                    because="a generalised force belongs to a generalised coordinate.",
                    remedy=did_you_mean("", self._mechanics.coordinates),
                )
            self._add_force(known[0], known[1], entry)

    def force(self, force: object, *, at: object) -> None:
        """Let a force act at a position r(q): the generalised force (∂r/∂q)ᵀ F by virtual work.

        Parameters
        ----------
        force: components in the world frame, as many as `at` has.
        at: the position of the point, an expression of coordinates and positions of bodies.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("pendulum")
        >>> a = m.coordinate("a", start=0.0, rate=0.0); u = m.input("u")
        >>> m.kinetic_energy(0.5 * m.rate(a) ** 2)
        >>> m.force([u, 0], at=[ca.sin(a), -ca.cos(a)])
        >>> m.equations
        {'motion of a': ['a_ddot - cos(a)*u = 0']}
        """
        value = column(self._expression(force, "The force"))
        point = column(self._expression(at, "The point of the force"))
        if value.numel() != point.numel():
            raise ModelError(
                "The force and its point have different dimensions.",
                f"force {size_text(value)}, point {size_text(point)}",
                because="a force acts along the directions of its point.",
                remedy="as many components on both sides",
            )
        moved = sorted({n for n, _, o in self._check_symbols(point, "The point of the force") if o == 0})
        names = [n for n in self._mechanics.positions if n in moved]
        if not names:
            raise ModelError(
                "The force acts at a point that does not move.",
                "no coordinate and no body enters its position",
                because="a force at a fixed point does no work and has no effect.",
                remedy="at= as an expression of coordinates",
            )
        for name in names:
            gradient = column(ca.jtimes(point, self._symbols[name], value, True))
            torque = pulled_back(self, self._mechanics, name, gradient)
            for k, entry in enumerate(elements(ca.densify(torque))):
                self._add_force(name, k, entry)

    def _add_force(self, name: str, k: int, entry: ca.SX) -> None:
        """Add one component of a generalised force."""
        self._changed()
        velocity = self._mechanics.velocities.get(name)
        size = self._symbols[velocity.velocity].numel() if velocity else self._variables[name].size
        total = ca.SX(self._mechanics.applied.get(name, ca.SX.zeros(size)))
        total[k] += entry
        self._mechanics.applied[name] = total

    # -- constraints -------------------------------------------------------------------------------------------

    def constraint(self, name: str, expression: object) -> ca.SX:
        """Write a holonomic constraint c(q, t) = 0; returns its multiplier λ, the variable of the same name.

        With G = ∂c/∂q the constraint exerts the generalised force +Gᵀλ.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("pendulum")
        >>> q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
        >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        >>> m.potential_energy(9.81 * q[1])
        >>> rod = m.constraint("rod", 0.5 * (ca.sumsqr(q) - 1.0))
        >>> m.equations["motion of q"]
        ['q_ddot[0] - q[0]*rod = 0', 'q_ddot[1] - (-9.81 + q[1]*rod) = 0']
        """
        value = self._constraint_value(name, expression)
        seen = self._check_symbols(value, f"Constraint {name!r}")
        if any(order for _, _, order in seen):
            raise ModelError(
                f"Constraint {name!r} contains a velocity.",
                because="a holonomic constraint is one between positions.",
                remedy=f'm.velocity_constraint("{name}", ...)',
            )
        self._check_constrains(name, {n for n, _, _ in seen} & set(self._mechanics.positions), "coordinate")
        return self._add_constraint(name, "holonomic", value)

    def velocity_constraint(self, name: str, expression: object) -> ca.SX:
        """Write a constraint a(q, q', t) = 0 that is linear in the velocities; returns its multiplier.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("skate")
        >>> q = m.coordinate("q", 2); a = m.coordinate("a")
        >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)) + 0.5 * m.rate(a) ** 2)
        >>> v = m.rate(q)
        >>> side = m.velocity_constraint("blade", -ca.sin(a) * v[0] + ca.cos(a) * v[1])
        >>> side.shape
        (1, 1)
        """
        value = self._constraint_value(name, expression)
        seen = self._check_symbols(value, f"Velocity constraint {name!r}")
        owners = {v.velocity for v in self._mechanics.velocities.values()}
        moving = {n for n, _, o in seen if (o == 1 and n in self._mechanics.coordinates) or n in owners}
        self._check_constrains(name, moving, "velocity")
        symbols = ca.vertcat(
            *(column(self._symbols[n] if n in owners else self._derivative_symbol(n, 1)) for n in moving)
        )
        if not ca.is_linear(value, symbols):
            raise ModelError(
                f"Velocity constraint {name!r} is not linear in the velocities.",
                because="its force is (∂a/∂q')ᵀ λ only then.",
                remedy="a form a(q, t) q' + b(q, t) = 0",
            )
        return self._add_constraint(name, "velocity", value)

    def _constraint_value(self, name: str, expression: object) -> ca.SX:
        check_name(name, "constraint")
        self._check_free(name, "constraint")
        return column(self._expression(expression, f"Constraint {name!r}"))

    def _check_constrains(self, name: str, present: set[str], what: str) -> None:
        if not present:
            raise ModelError(
                f"Constraint {name!r} constrains nothing.",
                f"no {what} enters it",
                because="a constraint acts on what moves.",
                remedy=f"an expression of {', '.join(self._mechanics.positions[:4]) or 'm.coordinate(...)'}",
            )

    def _add_constraint(self, name: str, kind: str, value: ca.SX) -> ca.SX:
        shape = () if value.numel() == 1 else (value.numel(),)
        multiplier = self._declare(make_variable(name, "algebraic", shape))
        self._mechanics.constraints[name] = Constraint(name, kind, value)
        return multiplier
