"""A model as a derivation reads it: its names, the order in which symbols are read, and which of them are constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca

from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Juxtaposed, Matrix, Notation, Side
from daedalus.derivations.formula.repeated_parts import Scribe, with_named_parts
from daedalus.derivations.formula.simplify import Wish, shortest
from daedalus.derivations.usual_values import usual_values
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model

# A derivation simplifies formulas of so many operations in all; after that only those that one reads at a glance.
MOST_WORK, GLANCE = 5000, 60
# Operations that the columns of a matrix may have beside each other, each counted by its longest entry, and those of
# an entry that gets a name.
WIDEST, LONG_ENTRY = 24, 3
# Matrices of more rows or columns are written by their size.
LARGEST = 16


class Reading:
    """The symbols of one notebook, and lines and steps written with them."""

    def __init__(self, book: Model) -> None:
        self.book = book
        self.labels = dict(book._labels())
        self.usual = usual_values(book)
        self._written: dict[tuple[object, ...], tuple[ca.SX, ca.SX]] = {}
        self._work = 0  # operations of what was simplified
        self._order: tuple[int, Wish] | None = None  # made with so many constants
        of_kind = {
            kind: [book._symbols[v.name] for v in book._variables.values() if v.kind == kind]
            for kind in ("parameter", "discrete", "input", "algebraic", "state")
        }
        self.constants = [*of_kind["parameter"], *of_kind["discrete"]]
        chains = [s for name in book._derivatives for s in book._derivatives[name]]
        self._chain_end = chains
        self.order = [
            *self.constants, book._time, *of_kind["algebraic"], *of_kind["state"], *chains, *of_kind["input"]
        ]  # fmt: skip

    def name(self, symbol: ca.SX, label: str) -> None:
        """Give a further symbol a name."""
        for entry in elements(symbol):
            self.labels[symbol_key(entry)] = label

    def label(self, symbol: ca.SX) -> str:
        """The name of a scalar symbol."""
        return self.labels.get(symbol_key(symbol), symbol.name())

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

    A matrix that stands behind its name, A = [...], names its entries; others do by their letter.
    """
    where: list[FormulaLine] = []

    def named(side: Side, letter: str) -> Side:
        if isinstance(side, Juxtaposed):
            return Juxtaposed(tuple(named(piece, "") for piece in side.pieces))
        if not isinstance(side, Matrix) or not (letter or side.letter) or not _is_wide(side.entries):
            return side
        own = letter or side.letter
        shown = ca.densify(side.entries)
        for i in range(shown.shape[0]):
            for j in range(shown.shape[1]):
                if operations(shown[i, j]) >= LONG_ENTRY:
                    label = f"{own}[{i},{j}]" if shown.shape[1] > 1 else f"{own}[{i}]"
                    symbol = ca.SX.sym(label)
                    scribe.name(symbol, label)
                    where.append(scribe.line(symbol, shown[i, j]))
                    shown[i, j] = symbol
        return Matrix(shown, side.letter)

    found = []
    for line in lines:
        is_name = isinstance(line.left, Notation) and line.left.kind == "name"
        letter = str(line.left.parts[0]) if is_name and isinstance(line.left, Notation) else ""
        found.append(scribe.line(named(line.left, ""), named(line.right, letter), line.sign))
    return (found, where) if where else (lines, [])


def _is_wide(entries: ca.SX) -> bool:
    if max(entries.shape) > LARGEST:
        return False
    dense = ca.densify(entries)
    lengths = [max((operations(entry) for entry in elements(dense[:, j])), default=0) for j in range(dense.shape[1])]
    return sum(lengths) > WIDEST
