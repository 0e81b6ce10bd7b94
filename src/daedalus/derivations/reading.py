"""A model as a derivation reads it: its names, the order in which symbols are read, and which of them are constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca

from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Side
from daedalus.derivations.formula.repeated_parts import with_named_parts
from daedalus.derivations.formula.simplify import simplified
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model


class Reading:
    """The symbols of one notebook, and lines and steps written with them."""

    def __init__(self, book: Model) -> None:
        self.book = book
        self.labels = dict(book._labels())
        self._written: dict[tuple[object, ...], tuple[ca.SX, ca.SX]] = {}
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
        """An expression as a person would write it; one that was asked for before is not written again."""
        chosen, lengths = list(collect), list(units)
        wish = tuple(symbol_key(s) for part in (*chosen, *lengths) for s in elements(ca.densify(part)))
        order = [*self.constants, *self.order]
        found = []
        for entry in elements(ca.densify(expression)):
            key = (symbol_key(entry), len(lengths), len(self.constants), wish)
            if key not in self._written:
                # The entry is kept with the result: its key belongs to it while it lives.
                self._written[key] = entry, simplified(entry, chosen, order, self.constants, lengths)
            found.append(self._written[key][1])
        return ca.reshape(ca.vertcat(*found), *expression.shape) if found else expression

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
        shown, where = with_named_parts(self, list(after))
        return DerivationStep(part, kind, text, tuple(before), tuple(shown), float(check), tuple(where))
