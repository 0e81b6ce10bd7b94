"""What the power ledger of a run evaluates, from values by name; plain data in files and pickles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.assembly.ledger import Account, Ledger
from daedalus.model.expressions import elements
from daedalus.model.names import derivative_name, split_derivative, split_index
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.formulas import formulas_of_function, read_expressions
from daedalus.model.system.once import once
from daedalus.model.system.plain_record import PlainRecord
from daedalus.model.system.system import System


@dataclass(frozen=True, eq=False)
class LedgerFunctions:
    """Power in, stored energy, lost power and rate of what is stored, a row a part, of the quantities `names`.

    It is a part of systems that were loaded; others have it from the ledger of their model.
    """

    parts: tuple[str, ...]
    names: tuple[str, ...]
    values: ca.Function
    rated: bool  # whether all rates of stored energy follow from rates of states
    stores: np.ndarray  # whether each part stores energy

    def to_record(self) -> dict[str, Any]:
        """The functions as plain data."""
        formulas = formulas_of_function(self.values, [(4 * len(self.parts), 1)])
        told = {"parts": list(self.parts), "names": list(self.names), "rated": int(self.rated)}
        return {**told, "stores": self.stores.astype(int).tolist(), "formulas": formulas}

    @staticmethod
    def from_record(record: PlainRecord, system: System) -> LedgerFunctions:
        """The inverse of `to_record` for the system of the run, with every entry checked."""
        record.only(("parts", "names", "rated", "stores", "formulas"))
        parts, names = tuple(record.texts("parts")), tuple(record.texts("names"))
        for name in names:
            try:
                system.place(name)
            except InputError as error:
                if name != "t":
                    raise record.misfit("names", "quantities of the model", name) from error
        symbols = ca.SX.sym("values", len(names))
        rows = read_expressions(record.part("formulas"), [symbols])
        if [row.shape for row in rows] != [(4 * len(parts), 1)]:
            raise record.misfit("formulas", f"one column of {4 * len(parts)}", [row.shape for row in rows])
        stores = record.integers("stores", len(parts), below=2).astype(bool)
        function = ca.Function("ledger", [symbols], [ca.densify(rows[0])])
        return LedgerFunctions(parts, names, function, bool(record.integer("rated", 0, 2)), stores)


def ledger_functions(system: System) -> LedgerFunctions | None:
    """The functions of a system, made once; None where nothing is counted."""
    loaded = system.part(LedgerFunctions)
    return loaded if loaded is not None else once(system, _functions)


def ledger_record(system: System) -> dict[str, Any] | None:
    """The ledger of a system as plain data; None where it has none."""
    found = ledger_functions(system)
    return None if found is None else found.to_record()


def with_ledger(system: System, record: dict[str, Any] | PlainRecord | None) -> System:
    """A system that was read back, with the ledger that was kept for it."""
    if record is None:
        return system
    told = record if isinstance(record, PlainRecord) else PlainRecord(record, "ledger")
    return system.changed(parts=(*system.parts(), LedgerFunctions.from_record(told, system)))


def _functions(system: System) -> LedgerFunctions | None:
    ledger = opened(system).part(Ledger)
    if ledger is None or not ledger.entries:
        return None
    parts, amounts = ledger.parts, ledger.amounts()
    energies = amounts[Account.STORED]
    rates, rated = ca.SX.zeros(len(parts)), True
    symbols = ca.symvar(energies)
    if symbols:
        ways = [way for symbol in symbols if (way := _rate_symbol(system, symbol)) is not None]
        rated = len(ways) == len(symbols)
        if rated:
            rates = ca.jtimes(energies, ca.vertcat(*symbols), ca.vertcat(*ways))
    rows = ca.vertcat(amounts[Account.RECEIVED], energies, amounts[Account.LOST], ca.densify(rates))
    inside = ca.symvar(rows)
    function = ca.Function("ledger", [ca.vertcat(*inside)] if inside else [ca.SX(0, 1)], [ca.densify(rows)])
    return LedgerFunctions(tuple(parts), tuple(symbol.name() for symbol in inside), function, rated,
                      np.array([not energy.is_zero() for energy in elements(energies)]))  # fmt: skip


def _rate_symbol(system: System, symbol: ca.SX) -> ca.SX | None:
    """The derivative of what stands in a stored energy: that of a state, zero of a parameter; None where unknown."""
    name = symbol.name()
    try:
        letter = system.place(name).letter
    except InputError:
        return None
    if letter == "p":
        return ca.SX(0)
    if letter not in ("x", "xdot"):
        return None
    stem, _ = split_index(name)
    origin, order = split_derivative(stem)
    rate = derivative_name(origin, order + 1) + name[len(stem) :]
    try:
        system.place(rate)
    except InputError:
        return None
    return ca.SX.sym(rate)
