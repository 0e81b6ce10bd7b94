"""A model as a derivation reads it: its names, the order in which symbols are read, and which of them are constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca

from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.formula_length import letters, operations
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Juxtaposed, Matrix, Notation, Side
from daedalus.derivations.formula.repeated_parts import Scribe, with_named_parts
from daedalus.derivations.formula.simplify import Wish, shortest
from daedalus.derivations.formula.split_sides import (
    denominator_of_sum,
    is_negative,
    negated,
    split_terms,
    with_first,
)
from daedalus.derivations.usual_values import usual_values
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import split_index

# A derivation simplifies formulas of so many operations in all; after that only those that one reads at a glance.
MOST_WORK, GLANCE = 5000, 60
# Letters that a line of matrices may have, each column counted by its longest entry, and of an entry without a name.
WIDEST, GAP = 88, 2
LONG_ENTRIES = (40, 24, 14, 9, 7)
# Letters of a derivation where the model has a name like it.
SCRIPT = {"L": "ℒ", "T": "𝒯", "V": "𝒱", "D": "𝒟", "E": "ℰ", "A": "𝒜", "B": "ℬ", "C": "𝒞", "M": "ℳ", "G": "𝒢", "h": "𝒷",
          "Q": "𝒬", "F": "ℱ"}  # fmt: skip
# Entries are compared by their formulas so deep.
SAME_DEPTH = 40
# Matrices of more rows or columns are written by their size.
LARGEST = 16


class Reading:
    """The symbols of one notebook, and lines and steps written with them."""

    def __init__(self, book: Model) -> None:
        self.book = book
        self.labels = dict(book.written.labels())
        self.usual = usual_values(book)
        self._written: dict[tuple[object, ...], tuple[ca.SX, ca.SX]] = {}
        self._work = 0  # operations of what was simplified
        self._order: tuple[int, Wish] | None = None  # made with so many constants
        of_kind = {
            kind: [book.written.symbols[v.name] for v in book.written.variables.values() if v.kind == kind]
            for kind in ("parameter", "discrete", "input", "algebraic", "state")
        }
        self.constants = [*of_kind["parameter"], *of_kind["discrete"]]
        chains = [s for name in book.written.derivatives for s in book.written.derivatives[name]]
        self.driving = [*of_kind["input"], *of_kind["algebraic"]]
        self._letters = {*self.labels.values(), *book.written.variables}
        self.order = [
            *self.constants, book.written.time, *of_kind["algebraic"], *of_kind["state"], *chains, *of_kind["input"]
        ]  # fmt: skip

    def name(self, symbol: ca.SX, label: str) -> None:
        """Give a further symbol a name."""
        for entry in elements(symbol):
            self.labels[symbol_key(entry)] = label

    def label(self, symbol: ca.SX) -> str:
        """The name of a scalar symbol."""
        return self.labels.get(symbol_key(symbol), symbol.name())

    def letter(self, wanted: str) -> str:
        """A letter of the derivation's own, such as L or T; the script letter where the model has a name like it."""
        return SCRIPT.get(wanted, wanted) if wanted in self._letters else wanted

    def equation(self, entry: ca.SX, solve: bool = True) -> FormulaLine:
        """An equation 0 = entry as one writes it: rates on the left, inputs and algebraic unknowns on the right.

        solve: whether an equation with one rate is written as the formula of that rate. One without rates is `= 0`.
        """
        rates = self.rates()
        rest, moving = split_terms(entry, rates)
        if not rates.intersection(symbol_key(s) for s in ca.symvar(entry)):
            return self.line(entry, ca.SX(0))
        leading = self._highest_rates(entry)
        if is_negative(entry, leading):
            entry = negated(entry)
            rest, moving = split_terms(entry, rates)
        own = negated(moving)
        if solve and own.is_symbolic():
            return self.line(own, self.short(negated(rest)))
        left, right = split_terms(entry, {symbol_key(s) for part in self.driving for s in elements(part)}, rates)
        return self.line(with_first(left, leading), self.short(right, self._multipliers()))

    def cleared(self, entry: ca.SX) -> ca.SX:
        """0 = entry times a constant below a sum with rates, where that is as short: (u − i')/R − i as u − i' − R i.

        What it is multiplied by are products of parameters, which a model may not set to zero.
        """
        rates, constants = self.rates(), {symbol_key(s) for part in self.constants for s in elements(part)}
        below = denominator_of_sum(entry, rates)
        if below is None or any(symbol_key(s) not in constants for s in ca.symvar(below)):
            return entry
        found = self.short(entry * below, [s for own in self.book.written.derivatives.values() for s in own])
        return found if operations(found) <= operations(entry) else entry

    def _highest_rates(self, entry: ca.SX) -> set[int]:
        """The keys of the derivatives of highest order in an expression."""
        present = {symbol_key(s) for s in ca.symvar(entry)}
        orders: dict[int, set[int]] = {}
        for chain in self.book.written.derivatives.values():
            for order, symbol in enumerate(chain):
                own = {symbol_key(s) for s in elements(symbol)} & present
                orders.setdefault(order, set()).update(own)
        return next((orders[order] for order in sorted(orders, reverse=True) if orders[order]), set())

    def rates(self) -> set[int]:
        """The keys of all derivatives that have symbols by now."""
        chains = self.book.written.derivatives
        return {symbol_key(entry) for name in chains for s in chains[name] for entry in elements(s)}

    def _multipliers(self) -> list[ca.SX]:
        return [
            self.book.written.symbols[name]
            for name in self.book.written.mechanics.constraints
            if name in self.book.written.symbols
        ]

    def short(self, expression: ca.SX, collect: Iterable[ca.SX] = (), units: Iterable[ca.SX] = ()) -> ca.SX:
        """An expression as a person would write it; one that was asked for before is not written again.

        Long ones are left as they are where the derivation has simplified enough: a page of terms stays a page.
        """
        chosen, lengths = list(collect), list(units)
        wish = tuple(symbol_key(s) for part in (*chosen, *lengths) for s in elements(ca.densify(part)))
        found, plan = [], None
        for entry in elements(ca.densify(expression)):
            key = (symbol_key(entry), len(lengths), len(self.constants), wish)
            if key not in self._written:
                # The entry is kept with the result: its key belongs to it while it lives.
                length = operations(entry)
                self._work += length
                long = self._work > MOST_WORK and length > GLANCE
                if plan is None and not long:
                    plan = self._wish(chosen, lengths)
                own = entry if plan is None or long else shortest(entry, plan)
                self._written[key] = entry, own
            found.append(self._written[key][1])
        return ca.reshape(ca.vertcat(*found), *expression.shape) if found else expression

    def _wish(self, collect: list[ca.SX], units: list[ca.SX]) -> Wish:
        """What is gathered, in the order of the model's symbols, which is made once."""
        if self._order is None or self._order[0] != len(self.constants):
            self._order = len(self.constants), Wish.of((), [*self.constants, *self.order], self.constants, ())
        gathered = [s for part in collect for s in elements(ca.densify(part))]
        return self._order[1]._replace(collect=gathered, units=units)

    def line(self, left: Side, right: Side, sign: str = "=") -> FormulaLine:
        """left = right."""
        return FormulaLine(left, right, self.labels, self, sign)

    def step(
        self,
        part: str,
        kind: str,
        text: str,
        before: Sequence[FormulaLine],
        after: Sequence[FormulaLine],
        check: float,
    ) -> DerivationStep:
        """A step; parts that its result repeats get names where it is long."""
        shown, entries = with_named_entries(self, list(after))
        named, where = with_named_parts(self, [*shown, *entries])
        count = len(shown)
        return DerivationStep(
            part, kind, text, tuple(before), tuple(named[:count]), float(check), (*named[count:], *where)
        )


def with_named_entries(scribe: Scribe, lines: list[FormulaLine]) -> tuple[list[FormulaLine], list[FormulaLine]]:
    """Lines with names in the place of long entries of wide matrices, and the lines that say what these are.

    A matrix that stands behind its name, A = [...], names its entries; others do by their letter. The longest entries
    get names first, until the line fits.
    """
    found, where = [], []
    for line in lines:
        is_name = isinstance(line.left, Notation) and line.left.kind == "name"
        letter = str(line.left.parts[0]) if is_name and isinstance(line.left, Notation) else ""
        sides = line.left, line.right
        named: list[FormulaLine] = []
        for longest in LONG_ENTRIES:
            if sum(_letters(scribe, side) for side in sides) <= WIDEST:
                break
            own = [_with_names(scribe, side, letter, longest, named) for side in sides]
            sides = own[0], own[1]
        found.append(scribe.line(*sides, line.sign) if named else line)
        where += sorted(named, key=lambda line: _index_of(scribe, line))
    return found, where


def _with_names(scribe: Scribe, side: Side, letter: str, longest: int, named: list[FormulaLine]) -> Side:
    """A side whose matrices have names in the place of entries with more letters."""
    if isinstance(side, Juxtaposed):
        return Juxtaposed(tuple(_with_names(scribe, piece, "", longest, named) for piece in side.pieces))
    own = letter or (side.letter if isinstance(side, Matrix) else "")
    if not isinstance(side, Matrix) or not own or max(side.entries.shape) > LARGEST:
        return side
    shown = ca.densify(side.entries)
    known: list[tuple[ca.SX, ca.SX]] = []
    for i in range(shown.shape[0]):
        for j in range(shown.shape[1]):
            entry = shown[i, j]
            if letters(entry, scribe.labels) <= longest:
                continue
            symbol = next((name for name, value in known if ca.is_equal(value, entry, SAME_DEPTH)), None)
            if symbol is None:
                label = f"{own}[{i},{j}]" if shown.shape[1] > 1 else f"{own}[{i}]"
                symbol = ca.SX.sym(label)
                scribe.name(symbol, label)
                named.append(scribe.line(symbol, entry))
                known.append((symbol, entry))
            shown[i, j] = symbol
    return Matrix(shown, side.letter)


def _index_of(scribe: Scribe, line: FormulaLine) -> tuple[str, tuple[int, ...]]:
    """The letter and the place of a named entry."""
    assert isinstance(line.left, ca.SX)
    stem, index = split_index(scribe.labels[symbol_key(line.left)])
    return stem, tuple(index or ())


def _letters(scribe: Scribe, side: Side) -> int:
    """The letters that the matrices of a side take beside each other."""
    if isinstance(side, Juxtaposed):
        return sum(_letters(scribe, piece) for piece in side.pieces)
    if not isinstance(side, Matrix) or max(side.entries.shape) > LARGEST:
        return GAP
    dense = ca.densify(side.entries)
    widths = [max(letters(e, scribe.labels) for e in elements(dense[:, j])) for j in range(dense.shape[1])]
    return sum(widths) + GAP * (len(widths) + 1)
