"""Parts and connections: laws of parts, what joined ports share and balance, and what was eliminated by what."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np

from daedalus.derivations.compiled_residual import compiled_residual
from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.reading import Reading
from daedalus.errors import DaedalusError, ModelError
from daedalus.initialisation.initialise import initialise
from daedalus.model.assembly.joined_model import connection_rows, joined_model
from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import counted, element_label
from daedalus.model.switching.locking_losses import locking
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.reduction.reduce import reduce

PART = "parts"
# Equations that a sentence names.
MOST_NAMES = 6
# What unknowns are eliminated by, in the words of a sentence.
BY = {
    "shared quantities": "what joined ports share",
    "balances": "sums at joints",
    "signals": "signals",
    "places": "the places of grounds and anchors",
    "laws": "laws of parts",
}


class ConnectionSteps:
    """The way from parts to the equations that are left."""

    def __init__(self, model: Model) -> None:
        if model.written.assembly.is_empty:
            raise ModelError(
                f"The model {model.name!r} has no parts.",
                because="connections need components with ports.",
                remedy="m.add(...) and m.connect(...), or dd.derive(m) for what the model has",
            )
        self.model, self.flat = locking(model), model.flat()
        self.joined = joined_model(self.model)
        self.read = Reading(self.joined)
        self.own = Reading(self.flat)
        self.read.labels.update(self.own.labels)
        self.equations = self.joined.all_equations()

    def steps(self) -> Iterator[DerivationStep]:
        """Laws, shared quantities, balances, signals, eliminations, and what is left."""
        written = self.model.all_equations()
        added = connection_rows(self.model)
        laws = {n: e.residual for n, e in written.items()}
        kinds = (
            ("laws", "Every part brings its own laws.", laws),
            ("shared quantities", "Joined ports share one quantity.", added["equal"]),
            ("balances", "At every joint the other quantity adds up to zero, counted positive into the parts.",
             added["balance"]),
            ("signals", "Signals are passed on.", added["signal"]),
            ("places", "Grounds and anchors have their places.", added["place"]),
        )  # fmt: skip
        check = self._on_solutions()
        for kind, text, rows in kinds:
            if rows:
                residual = concatenate(column(r) for r in rows.values())
                short = self.read.short(residual)
                lines = [self._line(*own) for own in zip(elements(residual), elements(short))]
                check = max(check, largest_difference(residual, short, usual=self.read.usual))
                yield self.read.step(PART, kind, text, [], lines, check)
        origin = {name: kind for kind, _, rows in kinds for name in rows}
        gone = self._eliminated()
        by = self._sources([symbol for symbol, _ in gone])
        for kind, words in BY.items():
            own = [(pair, by[k]) for k, pair in enumerate(gone) if origin.get(by[k]) == kind]
            if own:
                names = [name.removeprefix("equal ").removeprefix("balance ") for _, name in own]
                where = "; ".join(list(dict.fromkeys(names))[:MOST_NAMES])
                where += "; …" if len(set(names)) > MOST_NAMES else ""
                verbs = ("follows", "is") if len(own) == 1 else ("follow", "are")
                text = f"{counted(len(own), 'unknown')} {verbs[0]} from {words} ({where})"
                text += f" and {verbs[1]} put in everywhere."
                lines = [self.read.line(symbol, self.own.short(value)) for (symbol, value), _ in own]
                yield self.read.step(PART, f"eliminated by {kind}", text, [], lines, check)
        yield self._left()

    def _sources(self, gone: list[ca.SX]) -> list[str]:
        """The equation from which each eliminated unknown follows when those before it are known.

        Unknowns of a loop follow from its equations together: each is counted to one of them.
        """
        place = {symbol_key(symbol): k for k, symbol in enumerate(gone)}
        rates = self.read.rates()
        rows = []
        for name, equation in self.equations.items():
            for entry in elements(column(equation.residual)):
                keys = {symbol_key(s) for s in ca.symvar(entry)}
                rows.append((name, {place[key] for key in keys if key in place}, (bool(keys & rates), len(keys))))
        found: dict[int, str] = {}
        rows = [row for row in rows if row[1]]
        while rows and len(found) < len(gone):
            # The plainest of the rows with the fewest unknowns; equations of rates are left for those.
            best = min(range(len(rows)), key=lambda k: (len(rows[k][1]), rows[k][2]))
            name, missing, _ = rows.pop(best)
            own = max(missing)
            found[own] = name
            rows = [(other, left - {own}, rank) for other, left, rank in rows if left != {own}]
        return [found.get(k, "") for k in range(len(gone))]

    def _line(self, written: ca.SX, entry: ca.SX) -> FormulaLine:
        """a − b as a = b; a quantity that was written as the left side stays there."""
        if not written.is_constant() and not written.is_symbolic() and written.op() == ca.OP_SUB:
            own, right = written.dep(0), written.dep(1)
            if own.is_symbolic() and not ca.depends_on(right, own):
                return self.read.line(own, self.read.short(right))
        if not entry.is_constant() and not entry.is_symbolic() and entry.op() == ca.OP_SUB:
            return self.read.line(entry.dep(0), entry.dep(1))
        return self.read.line(entry, ca.SX(0))

    def _eliminated(self) -> list[tuple[ca.SX, ca.SX]]:
        """Symbols of the parts that are gone, with what they are."""
        flat = self.flat
        present = {symbol_key(s) for e in flat.all_equations().values() for s in ca.symvar(e.residual)}
        found = []
        for name, variable in self.joined.written.variables.items():
            if variable.kind not in ("state", "algebraic") or name in flat.written.variables:
                continue
            same = flat.written.aliases.get(name)
            value = flat.written.outputs.get(name) if same is None else flat.written.symbols.get(same)
            if value is None:
                continue
            for symbol, own in zip(elements(column(self.joined.written.symbols[name])), elements(column(value))):
                if symbol_key(symbol) not in present:
                    found.append((symbol, own))
        return found

    def _left(self) -> DerivationStep:
        read = self.own
        system = self.flat.freeze()
        derived, lines = {}, []
        for name, equation in self.flat.all_equations().items():
            short = read.short(equation.residual)
            shape = () if short.numel() == 1 else (short.numel(),)
            for k, entry in enumerate(elements(short)):
                label = element_label(name, shape, k)
                if label in system.equation_labels:
                    derived[label] = entry
                lines.append(read.equation(read.cleared(entry)))
        algebraic = system.sizes["z"]
        text = f"{counted(len(lines), 'equation')} {'is' if len(lines) == 1 else 'are'} left for the derivatives"
        text += f" and {counted(algebraic, 'algebraic unknown')}." if algebraic else "."
        return read.step(PART, "equations left", text, [], lines, compiled_residual(system, derived))

    def _on_solutions(self) -> float:
        """The largest residual of all laws and connections at random states, all else from the equations left."""
        flat: Model = self.flat
        try:
            form = explicit_form(flat.freeze())
        except DaedalusError:
            try:
                flat = reduce(flat)
                form = explicit_form(flat.freeze())
            except DaedalusError:
                return self._at_the_start()
        system = flat.freeze()
        put = form.applied(system, self._rows_in(flat))
        letters = ("t", "x", "u", "p")
        free = {symbol_key(s) for letter in letters for s in elements(system.symbol(letter))}
        usable = [e for e in elements(put) if all(symbol_key(s) in free for s in ca.symvar(e))]
        if not usable:
            return float("nan")
        function = ca.Function("rows", system.symbols(letters), [ca.vertcat(*usable)])
        draw, worst = np.random.default_rng(1788), 0.0
        p = np.nan_to_num(system.start["p"], nan=1.0)
        for _ in range(4):
            values = [draw.uniform(0.2, 1.0, system.symbol(letter).numel()) for letter in ("t", "x", "u")]
            left = function(*values, p).full().ravel()
            worst = max(worst, float(np.max(np.abs(left[np.isfinite(left)]), initial=0.0)))
        return worst

    def _rows_in(self, flat: Model) -> ca.SX:
        """The residuals of all laws and connections in the unknowns of the model that is left."""
        rows = concatenate(e.residual for e in self.equations.values())
        pairs = [(symbol, self._value_of(flat, symbol)) for symbol in ca.symvar(rows)]
        known = [(symbol, value) for symbol, value in pairs if value is not None]
        if not known:
            return rows
        old, new = (concatenate(column) for column in zip(*known))
        return ca.densify(ca.substitute(rows, old, new))

    def _at_the_start(self) -> float:
        """The largest residual at consistent start values, of models whose unknowns have no formulas."""
        system = self.flat.freeze()
        symbols = system.symbols()
        free = {symbol_key(s) for part in symbols for s in elements(part)}
        usable = [e for e in elements(self._rows_in(self.flat)) if all(symbol_key(s) in free for s in ca.symvar(e))]
        try:
            start = initialise(self.flat)
        except DaedalusError:
            return float("nan")
        values = [np.asarray(start.vectors[letter]) if letter != "t" else start.time for letter in ARGUMENTS]
        left = ca.Function("rows", symbols, [ca.vertcat(*usable)])(*values).full().ravel() if usable else np.zeros(0)
        return float(np.abs(left).max()) if left.size and np.all(np.isfinite(left)) else float("nan")

    def _value_of(self, flat: Model, symbol: ca.SX) -> ca.SX | None:
        """What a symbol of the parts is in the model that is left."""
        variable, k, order = self.joined.written.known[symbol_key(symbol)]
        if variable == "t":
            return None
        for name in (self.joined.written.label(variable, k, order),):
            if name in flat.written.outputs and flat.written.outputs[name].is_scalar():
                return flat.written.outputs[name]
        stem = variable if order == 0 else f"{variable}_{'d' * order}ot"
        if stem in flat.written.outputs and stem not in flat.written.variables:
            return column(flat.written.outputs[stem])[k]
        return None


def connection_steps(model: Model) -> list[DerivationStep]:
    """The way from parts and connections to the equations that are left."""
    return list(ConnectionSteps(model).steps())
