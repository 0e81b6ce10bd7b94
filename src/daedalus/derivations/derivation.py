"""A derivation: steps that lead from what was written to what is solved, each with a check that was made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import casadi as ca

from daedalus.derivations.formula.line import FormulaLine
from daedalus.model.expressions import concatenate, symbol_key
from daedalus.model.system.formulas import expressions_of, formulas_of
from daedalus.model.system.packed_expressions import apart, together


@dataclass(frozen=True, eq=False)
class DerivationStep:
    """One step: a sentence, formulas before and after, and the largest residual at random points.

    part: the part of the derivation it belongs to, such as "lagrange". kind: what is done, in a word or two. where:
    names for parts that the formulas repeat. Names in the sentence stand between backticks.
    """

    part: str
    kind: str
    text: str
    before: tuple[FormulaLine, ...]
    after: tuple[FormulaLine, ...]
    check: float
    where: tuple[FormulaLine, ...] = ()

    def __str__(self) -> str:
        from daedalus.display.formulas.derivation_pages import step_text

        return step_text(self)


class Derivation(Sequence[DerivationStep]):
    """The result of `dd.derive`: a list of steps that lead to the equations that are solved.

    `d[k]` is a step, `d.equations` are the formulas that the last one leads to, `d.check` is the largest residual of
    all checks. `print(d)`, `d.to_latex()`, `d.to_html()` and `d.to_markdown()` write it.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); x = m.coordinate("x"); k = m.parameter("k", 4.0)
    >>> m.kinetic_energy(0.5 * m.rate(x) ** 2); m.potential_energy(0.5 * k * x**2)
    >>> d = dd.derive(m, "lagrange")
    >>> [step.kind for step in d][:5]
    ['kinetic energy', 'potential energy', 'Lagrange function', 'momenta', 'rates of momenta']
    >>> print(d[3])
    Differentiate the Lagrange function by every rate.
        dL/dx_dot = x_dot
    >>> d.check < 1e-9
    True
    """

    def __init__(self, title: str, steps: Iterable[DerivationStep]) -> None:
        self.title = title
        self.steps = tuple(steps)

    def __reduce__(self) -> tuple[Any, ...]:
        lines = [line for step in self.steps for group in (step.before, step.after, step.where) for line in group]
        steps = [(s.part, s.kind, s.text, len(s.before), len(s.after), s.check, len(s.where)) for s in self.steps]
        return _derivation_again, (self.title, steps, packed_lines(lines))

    @overload
    def __getitem__(self, place: int) -> DerivationStep: ...
    @overload
    def __getitem__(self, place: slice) -> Derivation: ...
    def __getitem__(self, place: int | slice) -> DerivationStep | Derivation:
        return Derivation(self.title, self.steps[place]) if isinstance(place, slice) else self.steps[place]

    def __len__(self) -> int:
        return len(self.steps)

    def __add__(self, other: Derivation) -> Derivation:
        return Derivation(self.title, (*self.steps, *other.steps))

    @property
    def check(self) -> float:
        """The largest residual of all checks; NaN where one could not be made."""
        checks = [step.check for step in self.steps]
        return float("nan") if any(c != c for c in checks) else max(checks, default=0.0)

    @property
    def equations(self) -> tuple[FormulaLine, ...]:
        """What the last step leads to."""
        return self.steps[-1].after if self.steps else ()

    def part(self, name: str) -> Derivation:
        """The steps of one part."""
        return Derivation(self.title, [step for step in self.steps if step.part == name])

    def __repr__(self) -> str:
        return f"Derivation({self.title!r}, {len(self.steps)} steps)"

    def __str__(self) -> str:
        from daedalus.display.formulas.derivation_pages import derivation_text

        return derivation_text(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_latex(self, document: bool = False) -> str:
        """The derivation in LaTeX with amsmath; `document=True`: a whole file that a TeX engine compiles."""
        from daedalus.display.formulas.derivation_pages import derivation_latex

        return derivation_latex(self, document)

    def to_html(self, path: object = None) -> str:
        """The derivation as HTML with MathML, which browsers typeset without a script; `path` writes it to a file."""
        from daedalus.display.formulas.derivation_pages import derivation_html

        return derivation_html(self, path)

    def to_markdown(self) -> str:
        """The derivation as Markdown with formulas between dollar signs."""
        from daedalus.display.formulas.derivation_pages import derivation_markdown

        return derivation_markdown(self)


def _derivation_again(title: str, steps: list[tuple[Any, ...]], record: PackedLines) -> Derivation:
    """A derivation of its pickle, in symbols of its own."""
    lines, found = iter(unpacked_lines(record)), []
    for part, kind, text, before, after, check, where in steps:
        groups = [tuple(next(lines) for _ in range(count)) for count in (before, after, where)]
        found.append(DerivationStep(part, kind, text, groups[0], groups[1], check, groups[2]))
    return Derivation(title, found)


@dataclass(frozen=True)
class PackedLines:
    """names: of all symbols. sides: (left, right, sign, labels by number of the symbol) of each line."""

    names: tuple[str, ...]
    sides: tuple[tuple[Any, Any, str, dict[int, str]], ...]
    formulas: dict[str, Any]


def packed_lines(lines: Sequence[FormulaLine]) -> PackedLines:
    """Lines that share their symbols.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); x = m.coordinate("x"); k = m.parameter("k", 4.0)
    >>> m.kinetic_energy(0.5 * m.rate(x) ** 2); m.potential_energy(0.5 * k * x**2)
    >>> print(unpacked_lines(packed_lines(dd.derive(m, "lagrange").equations))[0])
    x_ddot + k*x = 0
    """
    found: list[ca.SX] = []
    plain = [(apart(line.left, found), apart(line.right, found), line.sign) for line in lines]
    symbols = ca.symvar(ca.vertcat(*(ca.vec(expression) for expression in found))) if found else []
    keys = [symbol_key(symbol) for symbol in symbols]
    labels = [{k: line.labels[key] for k, key in enumerate(keys) if key in line.labels} for line in lines]
    sides = tuple((*sides, own) for sides, own in zip(plain, labels))
    names = tuple(symbol.name() for symbol in symbols)
    return PackedLines(names, sides, formulas_of([concatenate(symbols)], found))


def unpacked_lines(record: PackedLines) -> list[FormulaLine]:
    """The lines in new symbols."""
    symbols = [ca.SX.sym(name) for name in record.names]
    expressions = expressions_of(record.formulas, [concatenate(symbols)])
    return [
        FormulaLine(
            together(left, expressions), together(right, expressions),
            {symbol_key(symbols[k]): label for k, label in labels.items()}, tuple(symbols), sign,
        )
        for left, right, sign, labels in record.sides
    ]  # fmt: skip
