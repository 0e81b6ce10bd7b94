"""Door 2: a model written as energies (Lagrange): coordinates, T, V, dissipation, forces and constraints."""

from __future__ import annotations

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.mechanics.equations_of_motion import equations_of_motion, pulled_back, velocity_symbols
from daedalus.model.mechanics.written_mechanics import Constraint
from daedalus.model.names import check_name, counted, did_you_mean, with_article
from daedalus.model.notebook import Notebook, add_force, size_text
from daedalus.model.variables import check_shape, make_variable
from daedalus.model.written import Equation


class EnergyDoor(Notebook):
    """Declare coordinates, add up energies, write forces and constraints."""

    def all_equations(self) -> dict[str, Equation]:
        """The written equations, then the equations of motion."""
        if self._motion is None:
            found = {e.name: e for e in equations_of_motion(self, self.written.mechanics)}
            self._motion = found
        derived = self._motion
        for name in derived.keys() & self.written.equations.keys():
            raise ModelError(
                f"The equation name {name!r} is taken.",
                "an equation of motion or a constraint has that name",
                because="errors and results use the name of an equation.",
                remedy="m.equation(..., name=...) with another name",
            )
        return {**self.written.equations, **derived}

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

        `start` and `rate` are its value and velocity at the start; both are fixed. `m.rate(q)` is its velocity,
        `q_dot`.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("pendulum")
        >>> a = m.coordinate("angle", start=0.1, rate=0.0, unit="rad")
        >>> m.kinetic_energy(0.5 * m.rate(a) ** 2)
        >>> m.potential_energy(9.81 * ca.sin(a))
        >>> m.equations
        {'motion of angle': ['angle_ddot + 9.81*cos(angle) = 0']}
        """
        check_name(name, "coordinate")
        dims = check_shape(shape, name)
        symbol = self._declare(
            make_variable(
                name, "state", dims, start=start, rate=rate, unit=unit, nominal=nominal, lower=lower, upper=upper
            )
        )
        self.written.derivative_symbol(name, 2)
        self.written.mechanics.coordinates.append(name)
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
        velocity: ca.SX = self.der(coordinate)  # type: ignore[attr-defined]
        return velocity

    def kinetic_energy(self, energy: object) -> None:
        """Add kinetic energy T(q, q', t). Several calls add up.

        Bodies of `m.body` have their own kinetic energy; this call adds to it.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("bead on a turning wire")
        >>> r = m.coordinate("r", start=0.1, rate=0.0); spin = m.parameter("spin", 2.0)
        >>> m.kinetic_energy(0.5 * (m.rate(r) ** 2 + (spin * r) ** 2))
        >>> tr = dd.simulate(m, 1.0)
        >>> round(float(tr["r"][-1]), 4), round(0.1 * float(ca.cosh(2.0)), 4)
        (0.3762, 0.3762)
        """
        self.written.mechanics.kinetic += self._energy(energy, "kinetic energy")

    def potential_energy(self, energy: object) -> None:
        """Add potential energy V(q, t). Several calls add up. It may also contain positions of bodies.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("mass on a spring")
        >>> x = m.coordinate("x", start=1.0, rate=0.0)
        >>> m.kinetic_energy(0.5 * 2.0 * m.rate(x) ** 2)
        >>> m.potential_energy(0.5 * 8.0 * x**2)
        >>> m.equations
        {'motion of x': ['2*x_ddot + 8*x = 0']}
        """
        self.written.mechanics.potential += self._energy(energy, "potential energy")

    def dissipation(self, function: object) -> None:
        """Add a dissipation function D(q, q', t): the force −∂D/∂q' acts (Rayleigh). Several calls add up.

        A damper of constant c between two points has D = ½ c (relative velocity)².

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("braked mass")
        >>> x = m.coordinate("x", start=0.0, rate=1.0)
        >>> m.kinetic_energy(0.5 * m.rate(x) ** 2)
        >>> m.dissipation(0.5 * 3.0 * m.rate(x) ** 2)
        >>> m.equations
        {'motion of x': ['x_ddot + 3*x_dot = 0']}
        """
        self.written.mechanics.dissipation += self._energy(function, "dissipation")

    def _energy(self, value: object, what: str) -> ca.SX:
        where = f"The {what}"
        expression = self._scalar(value, where, "an energy is one number.", "0.5 * m * casadi.sumsqr(v)")
        highest = 0 if what == "potential energy" else 1
        velocities = self.written.mechanics.velocity_names
        for name, k, order in self._check_symbols(expression, where):
            label = self.written.label(name, k, order)
            # The velocity of a body is a state of its own, one order above the position.
            if order + (name in velocities) > highest:
                raise ModelError(
                    f"{where} contains {label}.",
                    because="T and the dissipation depend on positions and velocities, V on positions.",
                    remedy="rates go into the kinetic energy or the dissipation"
                    if highest == 0
                    else "positions and first derivatives only",
                )
            if what == "kinetic energy" and name != "t" and self.written.variables[name].kind in ("algebraic", "input"):
                raise ModelError(
                    f"{where} contains {label}.",
                    f"{label} is {with_article(self.written.variables[name].kind)}",
                    because="the equations of motion would contain its derivative, and it has none.",
                    remedy=f'm.state("{name}", ...) with an equation for its derivative',
                )
        self._changed()
        return expression

    # -- forces ------------------------------------------------------------------------------------------------

    def generalised_force(self, coordinate: object, force: object) -> None:
        """Apply a generalised force to a coordinate: power = force · q'.

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
                f"{counted(len(symbols), 'coordinate')}, {size_text(value)} of force",
                because="each coordinate takes one force.",
                remedy="as many entries on both sides",
            )
        for symbol, entry in zip(symbols, elements(column(value))):
            known = self.written.known.get(symbol_key(symbol)) if symbol.is_symbolic() else None
            if known is None or known[2] or known[0] not in self.written.mechanics.coordinates:
                raise ModelError(
                    "The generalised force does not act on a coordinate.",
                    f"it is given for {'an expression' if known is None else self.written.label(*known)}",
                    because="a generalised force belongs to a generalised coordinate.",
                    remedy=did_you_mean("", self.written.mechanics.coordinates, listed=False),
                )
            add_force(self, known[0], entry, known[1])

    def force(self, force: object, *, at: object) -> None:
        """Apply a force at a position r(q). By virtual work, it is the generalised force (∂r/∂q)ᵀ F.

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
        moved = {n for n, _, _ in self._check_positions(point, "The point of the force")}
        names = [n for n in self.written.mechanics.positions if n in moved]
        if not names:
            raise ModelError(
                "The force acts at a point that cannot move.",
                "no coordinate and no body enters its position",
                because="a force at a fixed point has no effect.",
                remedy="at= as an expression of coordinates",
            )
        for name in names:
            gradient = column(ca.jtimes(point, self.written.symbols[name], value, True))
            add_force(self, name, ca.densify(pulled_back(self, self.written.mechanics, name, gradient)))

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
        >>> rod = m.constraint("rod", ca.sumsqr(q) - 1.0)
        >>> m.equations["motion of q"]
        ['q_ddot[0] - 2*q[0]*rod = 0', 'q_ddot[1] + 9.81 - 2*q[1]*rod = 0']
        """
        return self._holonomic(name, self._constraint_value(name, expression))

    def _holonomic(self, name: str, value: ca.SX) -> ca.SX:
        """The constraint of an expression that is free of NaN, under a name that is free."""
        seen = self._check_positions(value, f"Constraint {name!r}", remedy=f'm.velocity_constraint("{name}", ...)')
        moving = {n for n, _, _ in seen} & set(self.written.mechanics.positions)
        self._check_constrains(
            name, value, [self.written.symbols[n] for n in moving], "coordinate or position of a body"
        )
        return self._add_constraint(name, "holonomic", value)

    def _check_positions(
        self, expression: ca.SX, where: str, remedy: str = "an expression of positions"
    ) -> list[tuple[str, int, int]]:
        """Refuse velocities; returns who appears."""
        seen = self._check_symbols(expression, where)
        velocities = self.written.mechanics.velocity_names
        for name, k, order in seen:
            if order or name in velocities:
                raise ModelError(
                    f"{where} contains {self.written.label(name, k, order)}.",
                    because="it is an expression of positions, and that is a velocity.",
                    remedy=remedy,
                )
        return seen

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
        self._check_velocity_orders(name, seen)
        symbols = velocity_symbols(self, self.written.mechanics)
        self._check_constrains(name, value, [symbols], "velocity")
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

    def _check_velocity_orders(self, name: str, seen: list[tuple[str, int, int]]) -> None:
        velocities = self.written.mechanics.velocity_names
        for variable, k, order in seen:
            if order + (variable in velocities) > 1:
                raise ModelError(
                    f"Velocity constraint {name!r} contains an acceleration.",
                    f"it contains {self.written.label(variable, k, order)}",
                    because="a velocity constraint is one between positions and velocities.",
                    remedy="a form a(q, t) q' + b(q, t) = 0",
                )

    def _check_constrains(self, name: str, value: ca.SX, moving: list[ca.SX], what: str) -> None:
        """Refuse a constraint, or a component of one, that nothing which moves enters."""
        symbols = concatenate(moving)
        entered = set(ca.jacobian_sparsity(value, symbols).row()) if symbols.numel() else set()
        for k in range(value.numel()):
            if k not in entered:
                which = f"Constraint {name!r}" if value.numel() == 1 else f"Component {k} of constraint {name!r}"
                raise ModelError(
                    f"{which} does not constrain anything.",
                    f"no {what} enters it",
                    because="a constraint acts on what moves.",
                    remedy=f"an expression of {', '.join(self.written.mechanics.positions[:4]) or 'm.coordinate(...)'}",
                )

    def _add_constraint(self, name: str, kind: str, value: ca.SX) -> ca.SX:
        shape = () if value.numel() == 1 else (value.numel(),)
        multiplier = self._declare(make_variable(name, "algebraic", shape))
        self.written.mechanics.constraints[name] = Constraint(name, kind, value)
        return multiplier
