"""What the power ledger of a run evaluates, from values by name; plain data in files and pickles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.assembly.ledger import Account, Ledger
from daedalus.model.drawing.drawing_part import Drawing
from daedalus.model.expressions import elements
from daedalus.model.mechanics.mechanical_ledger import mechanical_ledger
from daedalus.model.model import jointed
from daedalus.model.names import derivative_name, split_derivative, split_index
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.formulas import formulas_of_function, read_expressions
from daedalus.model.system.once import By, once
from daedalus.model.system.plain_record import PlainRecord
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.sliding.sliding_system import Sliding, staying

# The name of the ledger among outputs that are blended.
LEDGER = "entries of the ledger"


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
            if name == "t" or split_index(name)[0] in system.output_names:  # which elimination makes of variables
                continue
            try:
                system.place(name)
            except InputError as error:
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


@dataclass(frozen=True)
class Grouping:
    """The parts of a ledger summed up for names: which name each part counts for."""

    names: tuple[str, ...]
    place: tuple[int, ...]

    def summed(self, values: ca.SX) -> ca.SX:
        """One entry a name of one entry a part."""
        sums = [ca.SX(0)] * len(self.names)
        for k, own in enumerate(self.place):
            sums[own] = sums[own] + values[k]
        return ca.vertcat(ca.SX(0, 1), *sums)


def grouped(functions: LedgerFunctions, depth: int | None, own: str) -> Grouping:
    """The parts down to a depth; what belongs to no part counts for `own`."""
    levels = [".".join(path.split(".")[:depth]) if depth else path for path in functions.parts]
    levels = [level or own for level in levels]
    names = tuple(dict.fromkeys(levels))
    return Grouping(names, tuple(names.index(level) for level in levels))


class Readout(NamedTuple):
    """A compiled function of (t, row, u, p), and which of `size` columns it gives: the others are zero."""

    function: Any
    columns: np.ndarray
    size: int

    def filled(self, values: np.ndarray) -> np.ndarray:
        """All columns, (..., size)."""
        found = np.zeros((*values.shape[:-1], self.size))
        found[..., self.columns] = values
        return found


def ledger_readout(plant: Plant, kind: str, grouping: Grouping) -> Readout:
    """One compiled function for all names, made once.

    kind: "powers" gives power in, lost and supplied power, "rates" the rate of the stored energy, "energies" itself.
    """
    return once(plant.system, _readout, kind, grouping, plant.is_implicit, By(plant))


def _readout(system: System, kind: str, grouping: Grouping, implicit: bool, plant: By[Plant]) -> Readout:
    functions = ledger_functions(system)
    assert functions is not None
    received, energy, lost, rate = ca.vertsplit(_amounts(system, functions), len(functions.parts))
    stores = ca.DM(functions.stores.astype(float))
    if not functions.rated:  # what a part that stores energy takes in and does not lose it stores
        rate = stores * (received - lost)
    amounts = {"powers": [received, lost, (1 - stores) * (lost - received)], "rates": [rate], "energies": [energy]}
    whole = ca.vertcat(*(grouping.summed(own) for own in amounts[kind]))
    columns = [k for k, entry in enumerate(elements(whole)) if not entry.is_zero()]
    function = plant.value.read_values("ledger", ca.densify(whole[columns])) if columns else None
    return Readout(function, np.array(columns, dtype=int), int(whole.numel()))


def _amounts(system: System, functions: LedgerFunctions) -> ca.SX:
    """The entries of a ledger in the symbols of a system."""
    values = [_expression(system, name) for name in functions.names]
    return ca.SX(functions.values(ca.vertcat(*values) if values else ca.SX(0, 1)))


def _expression(system: System, name: str) -> ca.SX:
    """A quantity by name in the symbols of a system."""
    if name in ("t", "time"):
        return system.symbol("t")
    if name in system.output_names:
        return system.output(name)
    place = system.place(name)
    return system.symbol(place.letters[0])[int(place.positions[0])]


def _functions(system: System) -> LedgerFunctions | None:
    sliding = system.part(Sliding)
    if sliding is not None:
        return _blended(system, sliding)
    ledger = _ledger_of(opened(system))
    if ledger is None:
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


def _ledger_of(system: System) -> Ledger | None:
    """The ledger of the parts; of a model without any that of its energies and bodies."""
    ledger, drawing = system.part(Ledger), system.part(Drawing)
    if ledger is not None and ledger.entries:
        return ledger
    # A model that was reduced is drawn as the one it came from, and has the energies of that.
    book = None if drawing is None or drawing.book is None else jointed(drawing.book)
    return mechanical_ledger(book) if book is not None and book.written.mechanics.positions else None


def _blended(system: System, sliding: Sliding) -> LedgerFunctions | None:
    """The ledger on a surface: powers of the sides in the shares that the motion has them, like outputs."""
    outside = ledger_functions(sliding.outside)
    if outside is None:
        return None
    counted = {**sliding.outside.outputs, LEDGER: _amounts(sliding.outside, outside)}
    with_ledger_output = sliding.outside.changed(outputs=counted)
    made = staying(with_ledger_output, sliding.which, sliding.stay, sliding.off)
    places = [(letter, k) for letter in ARGUMENTS for k in range(made.symbol(letter).numel())]
    symbols = [made.symbol(letter)[k] for letter, k in places]
    rows = made.outputs[LEDGER]
    used = [k for k, symbol in enumerate(symbols) if ca.depends_on(rows, symbol)]
    names = tuple("t" if places[k][0] == "t" else system.labels[places[k][0]][places[k][1]] for k in used)
    function = ca.Function("ledger", [ca.vertcat(ca.SX(0, 1), *(symbols[k] for k in used))], [ca.densify(rows)])
    return LedgerFunctions(outside.parts, names, function, outside.rated, outside.stores)


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
