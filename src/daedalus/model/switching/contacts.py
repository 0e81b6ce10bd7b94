"""Contacts: dry friction that sticks and slides, and unilateral constraints that push and never pull.

Both are a force with two laws and a mode, a discrete variable that says which of them holds. Dry friction f at a rate v
has the modes -1, 0 and 1, the direction it slides in, and obeys (1 - s²) v' + s² f + s · kinetic = 0: it slides with
f = -s · kinetic, or sticks with v' = 0. A unilateral constraint c >= 0 has the modes 0, free with λ = 0, and 1, closed
with c'' = 0: m c'' + (1 - m) λ = 0. Each law is an equation of index 1 in every mode. Which modes hold together, and
what an impact does, is decided by a run: see `daedalus.simulation.contacts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.expressions import column, elements, symbol_key
from daedalus.model.mechanics.equations_of_motion import pulled_back, time_derivative
from daedalus.model.names import check_name, with_article
from daedalus.model.notebook import Notebook, add_force
from daedalus.model.switching.clocks import ClockDoor
from daedalus.model.switching.force_margins import MARGIN
from daedalus.model.variables import Contact, Manner, make_variable
from daedalus.model.written import Equation


class ContactDoor(ClockDoor):
    """Write dry friction and unilateral constraints."""

    _locking: Any = None  # the model with losses as frictions, until the next change

    def _changed(self) -> None:
        super()._changed()
        self._locking = None

    def friction(self, name: str, speed: object, kinetic: object, static: object = None) -> ca.SX:
        """Declare a dry friction force that opposes a speed. Returns the force; add it to your equations.

        It slides with f = -kinetic · sign(speed), and sticks at zero speed as long as that takes no more than `static`.
        Its power f · speed is never positive. In results, `name` is the force, and `name.mode` is -1 or 1 while it
        slides backwards or forwards and 0 while it sticks. `tr.events` contains `name.sticks` when it comes to rest and
        `name.slips` when it starts to slide or reverses.

        Parameters
        ----------
        speed: the relative velocity, an expression of states, their derivatives, inputs and time.
        kinetic, static: levels of the force: numbers or expressions, for example of a normal force. By default `static`
            equals `kinetic`.

        If several frictions stick at once, a complementarity problem decides which of them slide. If it has no solution
        or more than one motion, the run ends with an explanation. Frictions that hold the same motion, such as two
        brakes on one shaft, share its load in one of many ways: `tr.notes` names them. With static levels of their own
        they do not, and the run ends there.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("block on a spring")
        >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0)
        >>> f = m.friction("floor", v, kinetic=0.1)
        >>> m.equation(m.der(x), v); m.equation(m.der(v), -x + f)
        >>> tr = dd.simulate(m, 20.0)
        >>> abs(round(float(tr["x"][-1]), 6)), float(tr["floor.mode"][-1])
        (0.0, 0.0)
        """
        check_name(name, "friction")
        rate = self._contact_scalar(speed, f"The speed of {name!r}")
        levels = [self._level(name, "kinetic", kinetic)]
        levels.append(levels[0] if static is None else self._level(name, "static", static))
        self._check_levels(name, *levels)
        self._check_moves(rate, f"The speed of {name!r}")
        units = self._unit_of(kinetic), self._unit_of(speed)
        force, mode = self._contact_variables(name, 1.0, units[0])
        self._write_friction(name, (force, mode), rate, levels, units)
        return force

    def _write_friction(
        self,
        name: str,
        variables: tuple[ca.SX, ca.SX],
        rate: ca.SX,
        levels: Sequence[ca.SX],
        units: tuple[str, str],
    ) -> None:
        """The law of a friction, its outputs and its event; variables: force and mode; units: of force and speed."""
        force, mode = variables
        change = self.der(rate)  # type: ignore[attr-defined]
        self.written.equations[f"{name}.law"] = Equation(
            f"{name}.law", (1 - mode**2) * change + mode**2 * force + mode * levels[0]
        )
        self.written.outputs[f"{name}.velocity"], self.written.outputs[f"{name}.limit"] = rate, levels[1]
        self.written.output_units |= {f"{name}.velocity": units[1], f"{name}.limit": units[0]}
        guard = (1 - mode**2) * (levels[1] - ca.fabs(force)) + mode * rate + self._margin(mode**2, rate)
        self._write_event(f"{name}.change", guard, -1, {}, False, Manner(contact=Contact("friction", name)))

    def unilateral(self, name: str, gap: object, restitution: object = 0.0) -> ca.SX:
        """Write a contact: a constraint c(q, t) >= 0. Returns its multiplier λ >= 0, the variable of the same name.

        With G = ∂c/∂q it exerts the generalised force +Gᵀλ on coordinates and bodies, as `m.constraint` does. In
        equations that you write by hand, add λ yourself. While the gap c is open, λ is zero; while λ pushes, the gap
        stays closed.

        An approaching contact makes an impact: an impulse in the mass metric changes its rate ċ to -restitution · ċ.
        Several closed contacts act one after the other, the fastest approaching one first and among equal ones the one
        written first, until none approaches. A sequence of ever faster bounces ends at rest. `name.mode` is 1 while the
        contact is closed and pushes. `tr.events` contains `name.closes` at every impact, also if it bounces, and
        `name.opens` when it lets go.

        Parameters
        ----------
        gap: an expression of positions, inputs and time; one contact for each call.
        restitution: 0 for an impact without a bounce, 1 for one without energy loss; a number or an expression.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("ball on a table")
        >>> h = m.coordinate("h", start=1.0, rate=0.0)
        >>> m.kinetic_energy(0.5 * m.rate(h) ** 2); m.potential_energy(9.81 * h)
        >>> push = m.unilateral("table", h, restitution=0.5)
        >>> tr = dd.simulate(m, 3.0)
        >>> abs(round(float(tr["h"][-1]), 9)), round(float(tr["table"][-1]), 6)
        (0.0, 9.81)
        """
        check_name(name, "unilateral constraint")
        distance = self._contact_scalar(gap, f"Unilateral constraint {name!r}")
        bounce = self._level(name, "restitution", restitution)
        if bounce.is_constant() and not 0 <= float(bounce) <= 1:
            raise ModelError(
                f"The restitution of {name!r} is {float(bounce):g}.",
                because="an impact keeps a share of the speed of approach, from none to all of it.",
                remedy="restitution=0.5",
            )
        self._check_moves(distance, f"Unilateral constraint {name!r}")
        self._check_positions(distance, f"Unilateral constraint {name!r}")  # type: ignore[attr-defined]
        multiplier, mode = self._contact_variables(name, 0.0)
        rate = self._along(distance)
        closing = self._along(rate)
        self.written.equations[f"{name}.law"] = Equation(f"{name}.law", mode * closing + (1 - mode) * multiplier)
        self.written.outputs |= {f"{name}.gap": distance, f"{name}.rate": rate, f"{name}.restitution": bounce}
        guard = (1 - mode) * distance + mode * multiplier + self._margin(1 - mode, distance)
        self._write_event(f"{name}.change", guard, -1, {}, False, Manner(contact=Contact("unilateral", name)))
        self._push(distance, multiplier)
        return multiplier

    def _margin(self, holds: ca.SX, expression: ca.SX) -> ca.SX:
        """The margin of a guard where `holds` is 1 and it is a gap or a speed; that of its force is put in later."""
        margin: ca.SX = holds * (MARGIN * self._usual_size(expression))
        return margin

    def _usual_size(self, expression: ca.SX) -> ca.SX:
        """How far a gap or a speed moves with states by their nominal values, at most 1, as rest is judged."""
        parts, book = [], self.written
        for symbol in ca.symvar(expression):
            name, k, *_ = book.known[symbol_key(symbol)]
            if name in book.variables and book.variables[name].kind == "state":
                parts.append((symbol, book.variables[name].nominal[k] or 1.0))
        if all(nominal >= 1 for _, nominal in parts):
            return ca.SX(1)
        moved = sum((ca.jacobian(expression, symbol) * nominal) ** 2 for symbol, nominal in parts)
        return ca.fmin(1.0, ca.sqrt(moved))

    def _along(self, expression: ca.SX) -> ca.SX:
        """The rate of an expression along the motion and the inputs."""
        rate = time_derivative(self, self.written.mechanics, expression)
        for symbol in ca.symvar(expression):
            name = self.written.known[symbol_key(symbol)][0]
            if name != "t" and self.written.variables[name].kind == "input":
                rate += ca.jacobian(expression, symbol) * self.der(symbol)  # type: ignore[attr-defined]
        return ca.SX(rate)

    def _push(self, distance: ca.SX, multiplier: ca.SX) -> None:
        """Let the multiplier act on coordinates and bodies, by virtual work."""
        written = self.written.mechanics
        for name in written.positions:
            gradient = column(ca.gradient(distance, self.written.symbols[name]))
            if not gradient.is_zero():
                force = pulled_back(self, written, name, gradient * multiplier)
                add_force(self, name, ca.densify(force))

    def _unit_of(self, value: object) -> str:
        """The unit of a value that is a variable or parameter itself; empty for all others."""
        known = self.written.known.get(symbol_key(value)) if isinstance(value, ca.SX) and value.is_symbolic() else None
        return "" if known is None else self.written.variables[known[0]].unit

    def _contact_variables(self, name: str, mode: float, unit: str = "") -> tuple[ca.SX, ca.SX]:
        """The force of a contact, and its mode, which begins with a value in which nothing is held."""
        taken = [(f".{word}", "event") for word in ("change", "sticks", "slips", "closes", "opens")]
        for suffix, what in (("", "contact"), *taken, (".velocity", "output"), (".gap", "output")):
            self._check_free(name + suffix, what)
        force = self._declare(make_variable(name, "algebraic", (), unit=unit))
        return force, self._declare(make_variable(f"{name}.mode", "discrete", (), start=mode))

    # -- checks ------------------------------------------------------------------------------------------------

    def _contact_scalar(self, value: object, where: str) -> ca.SX:
        return ca.SX(self._scalar(value, where, "each contact has a mode of its own.", "one call for each component"))

    def _check_moves(self, expression: ca.SX, where: str) -> None:
        """Refuse what no state enters."""
        kinds = self._kinds_in(expression, where)
        for name, kind in kinds.items():
            if kind in ("algebraic", "discrete"):
                raise ModelError(
                    f"{where} contains {name}.",
                    f"{name} is {with_article(kind)}",
                    because="a contact that holds keeps the derivative at zero, and it has none.",
                    remedy="an expression of states, coordinates, inputs, parameters and time",
                )
        if "state" not in kinds.values():
            raise ModelError(
                f"{where} contains no state.",
                because="nothing that moves would be held.",
                remedy="an expression of states or coordinates",
            )

    def _level(self, name: str, what: str, value: object) -> ca.SX:
        where = f"The {what} level of {name!r}" if what != "restitution" else f"The restitution of {name!r}"
        level = self._contact_scalar(value, where)
        if level.is_constant() and not float(level) >= 0:
            raise ModelError(
                f"{where} is {float(level):g}.",
                because="friction opposes motion, and an impact reduces the speed.",
                remedy=f"{what}={abs(float(level)):g}",
            )
        return level

    def _check_levels(self, name: str, kinetic: ca.SX, static: ca.SX) -> None:
        if kinetic.is_constant() and static.is_constant() and float(static) < float(kinetic):
            raise ModelError(
                f"The friction {name!r} sticks at less than it slides at.",
                f"static {float(static):g}, kinetic {float(kinetic):g}",
                because="it would start and stop sliding endlessly.",
                remedy=f"static={float(kinetic):g}, or more",
            )

    # -- what is written ---------------------------------------------------------------------------------------

    def all_equations(self) -> dict[str, Equation]:
        """The equations; laws of contacts contain no second derivative that an equation gives in other words."""
        equations = super().all_equations()
        laws = [f"{e.manner.contact.name}.law" for e in self.written.events.values() if e.manner.contact is not None]
        return with_rates_put_in(self, equations, [law for law in laws if law in equations]) if laws else equations


# Second derivatives in laws of contacts, where states are written in first order: x' = v gives x'' = v'.

# What an equation for a rate may contain, to be differentiated once more.
KNOWN = ("state", "parameter", "discrete")


def with_rates_put_in(book: Notebook, equations: dict[str, Equation], laws: Sequence[str]) -> dict[str, Equation]:
    """The equations with the rates that others give put into some laws, so that no state needs a second order for them.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("ball")
    >>> h = m.state("h", start=1.0); v = m.state("v", start=0.0)
    >>> push = m.unilateral("table", h)
    >>> m.equation(m.der(h), v); m.equation(m.der(v), -9.81 + push)
    >>> m.equations["table.law"]
    ['table.mode*v_dot + (1 - table.mode)*table = 0']
    """
    rates = _given_rates(book, [e for name, e in equations.items() if name not in laws])
    changed = dict(equations)
    for name in laws:
        old, new = [], []
        for symbol in ca.symvar(equations[name].residual):
            variable, k, order = book.written.known[symbol_key(symbol)]
            if order and (variable, k) in rates:
                value = rates[variable, k]
                old.append(symbol)
                new.append(value if order == 1 else book.der(value))  # type: ignore[attr-defined]
        if old:
            residual = ca.substitute(equations[name].residual, ca.vertcat(*old), ca.vertcat(*new))
            changed[name] = replace(equations[name], residual=residual)
    return changed


def _given_rates(book: Notebook, equations: Sequence[Equation]) -> dict[tuple[str, int], ca.SX]:
    """What x' is by an equation x' = e(x, t) alone, of states that are of first order in all equations."""
    highest: dict[tuple[str, int], int] = {}
    given: dict[tuple[str, int], ca.SX] = {}
    for equation in equations:
        for residual in elements(equation.residual):
            symbols = ca.symvar(residual)
            known = [book.written.known[symbol_key(symbol)] for symbol in symbols]
            for variable, k, order in known:
                highest[variable, k] = max(order, highest.get((variable, k), 0))
            rates = [n for n, (_, _, order) in enumerate(known) if order]
            kinds = {"t" if v == "t" else book.written.variables[v].kind for v, _, _ in known}
            if len(rates) != 1 or known[rates[0]][2] != 1 or not kinds <= {"t", *KNOWN}:
                continue
            slope = ca.jacobian(residual, symbols[rates[0]])
            if slope.is_constant() and float(slope) != 0:
                given[known[rates[0]][:2]] = ca.simplify(symbols[rates[0]] - residual / slope)
    return {place: value for place, value in given.items() if highest[place] == 1}
