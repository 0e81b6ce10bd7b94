"""Door 4, first half: a model as a part for others, with ports, signal inputs, and what the ledger counts."""

from __future__ import annotations

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.assembly.domains import domain_of
from daedalus.model.assembly.port import Port
from daedalus.model.assembly.written_assembly import PortNote
from daedalus.model.doors.body_contacts import BodyContactDoor
from daedalus.model.names import check_name
from daedalus.model.variables import make_variable


class PortDoor(BodyContactDoor):
    """Declare ports and signal inputs, and say what is stored and lost."""

    def port(self, name: str, domain: str, *, of: object = None) -> Port:
        """Declare a port. Connected ports share one quantity and balance the other, which is positive into the
        component.

        Electrical: voltage, current; rotational: angle (its derivative speed), torque; translational: position
        (velocity), force; hydraulic: pressure, flow; thermal: temperature, heat. At an open port the balanced quantity
        is zero.

        Parameters
        ----------
        of: for mechanical ports of a model with coordinates or bodies: the angle or position of the port, an expression
            of coordinates and positions of bodies. What you connect acts there by virtual work.

        Example
        -------
        >>> import daedalus as dd
        >>> part = dd.Model("resistor")
        >>> plus, minus = part.port("plus", "electrical"), part.port("minus", "electrical")
        >>> part.equation(plus.current, (plus.voltage - minus.voltage) / 100.0)
        >>> part.equation(plus.current + minus.current, 0.0)
        >>> part.lost((plus.voltage - minus.voltage) * plus.current)
        """
        check_name(name, "port")
        kind = domain_of(domain)
        self._check_free(name, "port")
        position = None if of is None else self._anchor(name, domain, of)
        shared, balanced = f"{name}.{kind.shared.name}", f"{name}.{kind.balanced.name}"
        what = "state" if kind.is_mechanical else "algebraic"
        for variable, q, sort in ((shared, kind.shared, what), (balanced, kind.balanced, "algebraic")):
            self._declare(make_variable(variable, sort, (), unit=q.unit, nominal=q.nominal))
        note = PortNote(name, domain, shared, balanced)
        self.written.assembly.ports[name] = note
        self.written.assembly.fluid |= {shared, balanced}
        if kind.rate:
            self.written.assembly.names[f"{name}.{kind.rate}"] = (shared, 1)
        if position is not None:
            self.written.assembly.anchors[name] = position
            self.force(self.written.symbols[balanced], at=position)
        return Port(self, note)

    def _anchor(self, name: str, domain: str, of: object) -> ca.SX:
        """The position that a port of the model's mechanics has."""
        position = self._expression(of, f"of= of the port {name!r}")
        moved = {n for n, _, _ in self._check_positions(position, f"of= of the port {name!r}")}
        if not domain_of(domain).is_mechanical or not moved & set(self.written.mechanics.positions):
            raise ModelError(
                f"The port {name!r} cannot be placed there.",
                f"it is {domain}, and of= contains {', '.join(sorted(moved)) or 'nothing that moves'}",
                because="of= is the angle or position of a mechanical port, an expression of coordinates or bodies.",
                remedy='m.port("shaft", "rotational", of=q) with q = m.coordinate("q")',
            )
        one_each = "one coordinate, or one component of a position"
        because = "a port moves along one direction or about one axis."
        return self._scalar(position, f"of= of the port {name!r}", because, one_each)

    def signal_input(self, name: str, *, default: float | None = None, unit: str = "") -> ca.SX:
        """Declare an input for a signal. `default` is its value if you connect nothing.

        An input of `m.input` can be connected, too; it must be connected if the model is used as a component.

        Example
        -------
        >>> import daedalus as dd
        >>> part = dd.Model("valve")
        >>> opening = part.signal_input("opening", default=1.0)
        """
        value = None if default is None else make_variable(name, "parameter", (), start=default, unit=unit).start[0]
        symbol: ca.SX = self.input(name, unit=unit)  # type: ignore[attr-defined]
        if value is not None:
            self.written.assembly.defaults[name] = value
        return symbol

    def stored(self, energy: object) -> None:
        """Declare the energy that the component stores, in J, for `tr.power()` and `tr.energy_balance()`. Several calls
        add up.

        Example
        -------
        >>> import daedalus as dd
        >>> part = dd.Model("flywheel")
        >>> shaft = part.port("shaft", "rotational")
        >>> part.equation(2.0 * part.der(shaft.speed), shaft.torque)
        >>> part.stored(0.5 * 2.0 * shaft.speed**2)
        """
        self._changed()
        self.written.assembly.stored.append(("", self._in_ledger(energy, "The stored energy")))

    def lost(self, power: object) -> None:
        """Declare the power that the component loses, in W, for `tr.power()` and `tr.energy_balance()`. Several calls
        add up.

        Example
        -------
        >>> import daedalus as dd
        >>> part = dd.Model("damper")
        >>> shaft = part.port("shaft", "rotational")
        >>> part.equation(shaft.torque, 0.1 * shaft.speed)
        >>> part.lost(0.1 * shaft.speed**2)
        """
        self._changed()
        self.written.assembly.lost.append(("", self._in_ledger(power, "The lost power")))

    def quantity(self, name: str, value: object, unit: str, *further: str) -> None:
        """Declare a charge, flux, momentum or volume of a part: an output that is only drawn if you ask for it.

        further: other names of the same.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("coil")
        >>> current = m.state("current", start=2.0, unit="A")
        >>> m.quantity("flux", 0.5 * current, "Wb")
        >>> m.equation(m.der(current), -current)
        >>> round(float(dd.simulate(m, 1.0)["flux"][0]), 3)
        1.0
        """
        for own in (name, *further):
            self.output(own, value, unit=unit)  # type: ignore[attr-defined]
            self.written.on_request.add(own)

    def _in_ledger(self, value: object, where: str) -> ca.SX:
        return self._scalar(value, where, "an energy and a power are one number.", "casadi.sum1(...) of its parts")

    def further_name(self, name: str, variable: str, order: int = 0) -> None:
        """Give a variable, or one of its derivatives, a second name for use in results and in `m["name"]`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("shaft")
        >>> angle = m.state("angle", start=0.5)
        >>> m.further_name("speed", "angle", order=1)
        >>> m["speed"]
        SX(angle_dot)
        """
        self._check_free(name, "further name")
        self.written.assembly.names[name] = (variable, order)
