"""Do the terms of every equation agree in dimension? `dd.check_units(m)` looks.

Units of variables give their dimensions, time is in seconds, a derivative has one second less. A variable without a
unit is of unknown dimension, and nothing is said about what it stands in. A number written into an equation, and a
sine, which such a number may stand before, can stand for any quantity: in a sum they are of the kind of the other
terms. A number times a quantity is of unknown dimension, save for the factors of calculus (halves, doubles, pi): a
conflict that rests on one of these says so, since 0.5 may be an offset of 0.5 m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import casadi as ca

from daedalus.model.expressions import COMPARISONS, LOGICAL, elements, folded, symbol_key
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted, listed
from daedalus.model.printing import expression_text
from daedalus.model.system.equation_row import Role
from daedalus.model.system.instruction_list import OPERATION_NAMES
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.model.unit_labels import dimension_of

Dimension = tuple[tuple[str, Fraction], ...]
# Known dimension and whether it is a plain number; None where nothing is known.
Found = tuple[Dimension, bool] | None

_BASE = {
    "[length]": "m", "[mass]": "kg", "[time]": "s", "[current]": "A", "[temperature]": "K", "[substance]": "mol",
    "[luminosity]": "cd",
}  # fmt: skip
# Factors of formulas that no quantity hides behind: ½ m v², 2 π f.
_FACTORS = [k * scale for scale in (1.0, math.pi) for k in (1.0, 2.0, 0.5)]
_NUMBER: Found = ((), True)
_PURE: Found = ((), False)
_ALIKE = (ca.OP_ADD, ca.OP_SUB, ca.OP_FMIN, ca.OP_FMAX, ca.OP_HYPOT, ca.OP_FMOD, ca.OP_REMAINDER)
_COMPARED = (*COMPARISONS, ca.OP_ATAN2)
_KEPT = (ca.OP_ASSIGN, ca.OP_NEG, ca.OP_TWICE, ca.OP_FABS, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_COPYSIGN)
_POWERS = {ca.OP_SQ: Fraction(2), ca.OP_SQRT: Fraction(1, 2), ca.OP_INV: Fraction(-1)}
# Longer outputs are fields, whose unit is that of their variable.
MOST_ELEMENTS = 64
_LOGIC = (*LOGICAL, ca.OP_SIGN)


@dataclass(frozen=True)
class UnitConflict:
    """Two terms whose units disagree: where they are, the terms, and their units. `print` shows it in words.

    factors: numbers in these terms that were taken for factors without a unit, such as the half of ½ m v².
    """

    equation: str
    terms: tuple[str, str]
    units: tuple[str, str]
    factors: tuple[float, ...] = ()

    def __str__(self) -> str:
        first, second = (f"{term} is in {unit}" for term, unit in zip(self.terms, self.units))
        if not self.factors:
            return f"{self.equation}: {first}, {second}"
        numbers = listed([f"{factor:g}" for factor in self.factors])
        return (
            f"{self.equation}: {first}, {second}; unless {numbers} {'has' if len(self.factors) == 1 else 'have'} a unit"
        )


class UnitConflicts(list[UnitConflict]):
    """The result of `dd.check_units`: a list of conflicts, empty if all units agree. `print` shows it in words."""

    def __init__(self, found: list[UnitConflict], looked_at: int, unknown: tuple[str, ...]) -> None:
        super().__init__(found)
        self.looked_at, self.unknown = looked_at, unknown

    def __str__(self) -> str:
        lines = [str(conflict) for conflict in self]
        if not lines:
            lines = [f"No terms of {counted(self.looked_at, 'equation')} disagree in dimension."]
        if self.unknown:
            names = listed(self.unknown, 8)
            lines.append(f"without a unit, so that nothing is said of terms with them: {names}")
        return "\n".join(lines)


def check_units(model: Model | System) -> UnitConflicts:
    """Find equations and outputs of a model whose terms have different dimensions, as far as its units tell.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("ball")
    >>> h = m.state("h", start=1.0, unit="m"); v = m.state("v", start=0.0, unit="m/s")
    >>> mass = m.parameter("mass", 2.0, unit="kg"); weight = m.parameter("weight", 19.6, unit="N")
    >>> m.equation(m.der(h), v, name="rate"); m.equation(m.der(v), -weight, name="fall")
    >>> print(dd.check_units(m))
    fall: v_dot is in m/s^2, weight is in kg*m/s^2
    """
    system = as_system(model)
    reader = _Dimensions(system)
    rows = [(row.label, e) for row, e in zip(system.rows, elements(system.residual)) if row.role is not Role.DERIVATIVE]
    for label, residual in rows:
        reader.read(label, residual)
    for name, value in system.outputs.items():
        for element in elements(value):
            reader.read_as(f"output {name}", element, system.output_units.get(name, ""))
    unknown = tuple(v.name for v in system.variables if not v.unit)
    return UnitConflicts(reader.conflicts, len(rows), unknown)


@remembered
def found_units(system: System) -> dict[str, str]:
    """Units in base units of outputs that were declared without one, as far as those of the variables tell.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("ball")
    >>> v = m.state("v", start=1.0, unit="m/s"); mass = m.parameter("mass", 2.0, unit="kg")
    >>> m.equation(m.der(v), -v); m.output("energy", 0.5 * mass * v**2); m.output("half", v / 3)
    >>> found_units(m.freeze())
    {'energy': 'kg*m^2/s^2'}
    """
    reader = _Dimensions(system)
    units: dict[str, str] = {}
    for name, value in system.outputs.items():
        if system.output_units.get(name) or value.numel() > MOST_ELEMENTS:
            continue
        found = {reader.read(name, element) for element in elements(value)}
        # A number or a conflict says nothing.
        known = {own[0] for own in found if own is not None and not own[1] and own[0]}
        if len(found) == 1 and len(known) == 1 and all(c.equation != name for c in reader.conflicts):
            units[name] = unit_text(known.pop())
    return units


class _Dimensions:
    """The dimensions of all parts of expressions, each found once, and the conflicts on the way."""

    def __init__(self, system: System) -> None:
        self.conflicts: list[UnitConflict] = []
        self._known: dict[int, Found] = {}
        self._labels: dict[int, str] = {}
        time = dimension_of("s")
        self._put(system.symbol("t"), "t", None if time is None else (time, False))
        for letter in ("x", "xdot", "z", "u", "p"):
            for label, symbol in zip(system.labels[letter], elements(system.symbol(letter))):
                own = dimension_of(system.place(label).unit)
                self._put(symbol, label, None if own is None else (own, False))
        self._where, self._time = "", symbol_key(system.symbol("t"))

    def _put(self, symbol: ca.SX, label: str, found: Found) -> None:
        self._known[symbol_key(symbol)], self._labels[symbol_key(symbol)] = found, label

    def read(self, where: str, expression: ca.SX) -> Found:
        """The dimension of an expression; conflicts inside it are noted under a name, once a name."""
        self._where = where
        return folded(expression, self._known, self._of)

    def read_as(self, where: str, expression: ca.SX, unit: str) -> None:
        """An expression that was said to have a unit."""
        found, wanted = self.read(where, expression), dimension_of(unit) if unit else None
        if found is not None and wanted is not None and not found[1] and found[0] != wanted:
            self._note((expression, "its unit"), (found[0], wanted))

    def _of(self, part: ca.SX, operands: list[ca.SX]) -> Found:
        if part.is_constant() or not operands:
            return _NUMBER if part.is_constant() else None
        operation, found = part.op(), [self._known[symbol_key(operand)] for operand in operands]
        if operation in _ALIKE:
            return self._alike(operands, found)
        if operation in _COMPARED:
            self._alike(operands, found)
            return _PURE
        if operation in _KEPT:
            return found[0]
        if operation in _POWERS:
            return _power(found[0], _POWERS[operation])
        if operation in (ca.OP_MUL, ca.OP_DIV):
            hidden = any(operand.is_constant() and not _is_factor(float(operand)) for operand in operands)
            plain = all(own is not None and own[1] for own in found)
            return None if hidden and not plain else _product(found[0], found[1], 1 if operation == ca.OP_MUL else -1)
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            return self._raised(operands, found)
        if operation == ca.OP_IF_ELSE_ZERO:
            return found[1]
        if operation not in _LOGIC:
            for operand, own in zip(operands, found):
                self._need_pure(operand, own, f"the argument of {OPERATION_NAMES.get(operation, 'a function')}")
        return _PURE if operation in _LOGIC else _NUMBER

    def _alike(self, operands: list[ca.SX], found: list[Found]) -> Found:
        first, second = found
        if first is None or second is None:
            other = first or second
            return None if other is None or other[1] else other
        if first[1] or second[1]:
            return second if first[1] else first
        if first[0] != second[0]:
            self._note((operands[0], operands[1]), (first[0], second[0]))
        return first

    def _raised(self, operands: list[ca.SX], found: list[Found]) -> Found:
        if operands[1].is_constant():
            return _power(found[0], Fraction(float(operands[1])).limit_denominator(1000))
        self._need_pure(operands[1], found[1], "an exponent")
        self._need_pure(operands[0], found[0], "a base with a changing exponent")
        return _PURE if found[0] is not None else None

    def _need_pure(self, operand: ca.SX, found: Found, what: str) -> None:
        # Of sin(t) the frequency is a number that is one.
        if found is not None and found[0] and not self._is_of_time(operand):
            self._note((operand, what), (found[0], ()))

    def _is_of_time(self, operand: ca.SX) -> bool:
        return [symbol_key(symbol) for symbol in ca.symvar(operand)] == [self._time]

    def _note(self, terms: tuple[ca.SX, ca.SX | str], dimensions: tuple[Dimension, Dimension]) -> None:
        if all(conflict.equation != self._where for conflict in self.conflicts):
            units = unit_text(dimensions[0]), unit_text(dimensions[1])
            first, second = (term if isinstance(term, str) else self._text(term) for term in terms)
            factors = {factor for term in terms if isinstance(term, ca.SX) for factor in _factors_in(term)}
            self.conflicts.append(UnitConflict(self._where, (first, second), units, tuple(sorted(factors))))

    def _text(self, expression: ca.SX) -> str:
        text = expression_text(expression, self._labels)
        return text if len(text) <= 60 else f"{text[:57]}..."


def _is_factor(value: float) -> bool:
    return any(abs(abs(value) - factor) <= 1e-12 * factor for factor in _FACTORS)


def _factors_in(term: ca.SX) -> set[float]:
    """The factors of a product, and of the terms of sums in it, that count as numbers without a unit."""
    found, left, seen = set(), [term], set()
    while left:
        part = left.pop()
        if symbol_key(part) in seen or part.is_constant() or not part.n_dep():
            continue
        seen.add(symbol_key(part))
        operands = [part.dep(k) for k in range(part.n_dep())]
        numbers = [abs(float(operand)) for operand in operands if operand.is_constant()]
        if part.op() == ca.OP_TWICE:
            numbers.append(2.0)
        if part.op() in (ca.OP_MUL, ca.OP_DIV, ca.OP_TWICE):
            found |= {number for number in numbers if number != 1}
        left += operands
    return found


def _power(found: Found, exponent: Fraction) -> Found:
    if found is None or found[1]:
        return found
    return tuple((base, power * exponent) for base, power in found[0]), False


def _product(first: Found, second: Found, sign: int) -> Found:
    if first is None or second is None:
        return None
    if first[1] and second[1]:
        return _NUMBER
    powers: dict[str, Fraction] = dict(first[0])
    for base, power in second[0]:
        powers[base] = powers.get(base, Fraction(0)) + sign * power
    return tuple(sorted((base, power) for base, power in powers.items() if power)), False


def unit_text(dimension: Dimension) -> str:
    """A dimension in base units: `kg*m/s^2`.

    Example
    -------
    >>> from fractions import Fraction
    >>> unit_text((("[length]", Fraction(1)), ("[time]", Fraction(-2))))
    'm/s^2'
    """

    def power(base: str, exponent: Fraction) -> str:
        return _BASE.get(base, base) + ("" if exponent == 1 else f"^{exponent}")

    above = [power(base, exponent) for base, exponent in sorted(dimension, key=_by_size) if exponent > 0]
    below = [power(base, -exponent) for base, exponent in sorted(dimension, key=_by_size) if exponent < 0]
    return "/".join(["*".join(above) or "1", *below]) if dimension else "no unit"


def _by_size(entry: tuple[str, Fraction]) -> int:
    return ("[mass]", "[length]", "[time]").index(entry[0]) if entry[0] in ("[mass]", "[length]", "[time]") else 3
