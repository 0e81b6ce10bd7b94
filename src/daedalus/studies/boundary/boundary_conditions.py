"""The conditions of a boundary value problem: what the user's function returns, as code for the states at a few times.

Conditions that differ in their numbers alone share code: solving again with another end value compiles nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.compilation.compiled import Compiled
from daedalus.errors import InputError
from daedalus.model.expressions import (
    concatenate,
    elements,
    folded,
    is_inequality,
    is_logical,
    split_equalities,
    symbol_key,
)
from daedalus.model.names import counted, listed
from daedalus.model.plain_numbers import plain_number
from daedalus.model.system.once import once
from daedalus.model.system.system import System

# Code of so many different conditions is kept with a system.
MOST_KEPT = 16


@dataclass(frozen=True, eq=False)
class ConditionRows:
    """Code for the rows: (x at the times below each other, free parameters, numbers) -> rows, nonzeros of slopes."""

    code: Compiled
    rows: np.ndarray
    columns: np.ndarray  # in (x at the times, free parameters)


@dataclass(frozen=True, eq=False)
class BoundaryConditions:
    """The rows of one problem: the times in their order, the numbers in the conditions, and the code."""

    times: np.ndarray
    numbers: np.ndarray
    own: ConditionRows

    def __call__(self, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows and the nonzeros of their slopes."""
        values, slopes = self.own.code(x, p, self.numbers)
        return values, slopes


def read_conditions(
    conditions: Callable[..., Any], system: System, written: str, span: tuple[float, float], free: Mapping[int, str],
    p: np.ndarray,
) -> BoundaryConditions:  # fmt: skip
    """Read what a function of `at` returns.

    written: the name of the user's model. free: positions among the parameters, and names. p: the values of all.
    """
    if not callable(conditions) or not _takes_one(conditions):
        raise InputError(
            "The conditions are not a function of `at`.",
            f"got {type(conditions).__name__}: {conditions!r}",
            because="they are written with the states at times of the span, which the function receives.",
            remedy="lambda at: [at(0)['y'], at(1)['y'] - 1], a list of what is zero",
        )
    n, symbols = system.sizes["x"], dict[float, ca.SX]()
    moved = ca.SX.sym("p", len(free))
    begin, end = span
    by_name = dict(zip(free.values(), elements(moved) if free else []))

    def at(t: float) -> _StatesAt:
        time = plain_number(t, "The time of at()", "s")
        if not begin - 1e-12 <= time <= end + 1e-12:
            raise InputError(
                f"t = {time:g} is outside of the span.",
                f"the span is {begin:g} to {end:g}",
                remedy="conditions at times of the span",
            )
        time = min(max(time, begin), end)
        if time not in symbols:
            symbols[time] = ca.SX.sym(f"x{len(symbols)}", n)
        return _StatesAt(system, symbols[time], by_name, written)

    returned = conditions(at)
    rows = [returned] if isinstance(returned, ca.SX) or not isinstance(returned, Iterable) else list(returned)
    if any(row is None or isinstance(row, str) for row in rows):
        raise InputError(
            "The conditions are no expressions of the states.",
            f"the function returned {returned!r}"[:120],
            because="what it returns is zero at the solution.",
            remedy="lambda at: [at(0)['y'], at(1)['y'] - 1]",
        )
    entries = [entry for row in rows for entry in _zero(row)]
    _check_count(system, len(entries), len(free))
    if system.has_invariants and begin not in symbols:
        symbols[begin] = ca.SX.sym("x_begin", n)
    times = np.array(sorted(symbols))
    unknowns = [*(symbols[t] for t in times), moved]
    shape, numbers = _shape_of(entries, [scalar for part in unknowns for scalar in elements(part)])
    kept = (begin, tuple(free), p.tobytes()) if system.has_invariants else ()
    known = once(system, _KnownRows)
    key = None if shape is None else (shape, len(times), len(free), kept)
    own = known.rows.get(key) if key is not None else None
    if own is None:
        lifted, constants = (entries, ca.SX(0, 1)) if shape is None else _lifted(entries)
        if system.has_invariants:
            lifted = [*lifted, *_kept_at(system, begin, symbols[begin], moved, free, p)]
        own = _compiled(lifted, unknowns, constants)
        known.add(key, own)
    return BoundaryConditions(times, np.array(numbers), own)


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether a function can be called with one argument; True where nobody knows."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _check_count(system: System, given: int, free: int) -> None:
    n, kept = system.sizes["x"], sum(int(row.numel()) for row in system.invariants.values())
    if given + kept != n + free:
        raise InputError(
            f"{counted(n + free - kept, 'condition')} needed, {given} given.",
            [
                f"{counted(n, 'state')}, {counted(free, 'free parameter')}",
                *([f"{counted(kept, 'condition')} from the constraints of the model"] if kept else []),
            ],
            because="each state and each free parameter needs one.",
            remedy="one condition for each of them",
        )


def _kept_at(
    system: System, begin: float, x: ca.SX, moved: ca.SX, free: Mapping[int, str], p: np.ndarray
) -> list[ca.SX]:
    """What the reduced equations keep: it holds everywhere when it holds in the beginning."""
    whole = ca.SX(ca.DM(p))
    for k, position in enumerate(free):
        whole[position] = moved[k]
    kept = concatenate(list(system.invariants.values()))
    for symbol, value in (("x", x), ("p", whole), ("t", ca.SX(begin))):
        kept = ca.substitute(kept, system.symbol(symbol), value)
    return elements(kept)


def _compiled(entries: list[ca.SX], unknowns: list[ca.SX], numbers: ca.SX) -> ConditionRows:
    expression = concatenate(entries) if entries else ca.SX(0, 1)
    every, p = ca.vertcat(*unknowns[:-1]), unknowns[-1]
    slopes = ca.jacobian(expression, ca.vertcat(every, p))
    code = compile_function(ca.Function("conditions", [every, p, numbers], [ca.densify(expression), slopes]))
    rows, columns = (np.array(part, dtype=int) for part in slopes.sparsity().get_triplet())
    return ConditionRows(code, rows, columns)


class _KnownRows:
    """Code of the conditions that a system was solved with."""

    def __init__(self, system: System) -> None:
        self.rows: dict[Hashable, ConditionRows] = {}

    def add(self, key: Hashable, own: ConditionRows) -> None:
        """Keep one more; of too many none."""
        if key is not None:
            self.rows = {**(self.rows if len(self.rows) < MOST_KEPT else {}), key: own}


# -- conditions without their numbers -----------------------------------------------------------------------------


def _shape_of(entries: Sequence[ca.SX], symbols: Sequence[ca.SX]) -> tuple[Hashable, list[float]]:
    """What tells conditions apart but for their numbers, and these in their order; None where it cannot be told."""
    places = {symbol_key(symbol): k for k, symbol in enumerate(symbols)}
    numbers: list[float] = []
    steps: list[tuple[int, ...]] = []
    known: dict[int, int] = {}

    def make(node: ca.SX, operands: list[ca.SX]) -> int:
        if not operands and not node.is_constant():
            steps.append((-1, places.get(symbol_key(node), -1)))
        elif not operands:
            steps.append((-2, len(numbers)))
            numbers.append(float(node))
        else:
            steps.append((int(node.op()), *(known[symbol_key(operand)] for operand in operands)))
        return len(steps) - 1

    ends = [folded(entry, known, make) for entry in entries]
    unknown = any(step[0] == -1 and step[1] < 0 for step in steps) or any(len(step) > 3 for step in steps)
    return (None, []) if unknown else ((tuple(steps), tuple(ends)), numbers)


def _lifted(entries: Sequence[ca.SX]) -> tuple[list[ca.SX], ca.SX]:
    """The conditions with a symbol in place of each number, in the order of `_shape_of`, and these symbols."""
    symbols: list[ca.SX] = []
    known: dict[int, ca.SX] = {}

    def make(node: ca.SX, operands: list[ca.SX]) -> ca.SX:
        if not operands and not node.is_constant():
            return node
        if not operands:
            symbols.append(ca.SX.sym(f"c{len(symbols)}"))
            return symbols[-1]
        parts = [known[symbol_key(operand)] for operand in operands]
        return ca.SX.unary(node.op(), *parts) if len(parts) == 1 else ca.SX.binary(node.op(), *parts)

    lifted = [folded(entry, known, make) for entry in entries]
    return lifted, ca.vertcat(*symbols) if symbols else ca.SX(0, 1)


def _zero(row: Any) -> list[ca.SX]:
    """The entries of a condition as what is zero: `a == b` is `a - b`; other comparisons are refused."""
    if isinstance(row, bool):
        raise InputError(
            "A condition is True or False.",
            because="a comparison of numbers says nothing about the solution.",
            remedy='at(0)["y"] - 1',
        )
    entries = split_equalities(row if isinstance(row, ca.SX) else ca.SX(row))[0]
    if any(is_inequality(entry) or is_logical(entry) for entry in entries):
        raise InputError(
            "A condition is an inequality.",
            because="a boundary value problem has as many equations as unknowns.",
            remedy='at(0)["y"] - 1, which is zero at the solution',
        )
    return entries


class _StatesAt(Mapping[str, ca.SX]):
    """The states at one time as symbols by name, and the free parameters."""

    def __init__(self, system: System, x: ca.SX, free: Mapping[str, ca.SX], name: str) -> None:
        self._system, self._x, self._free, self._name = system, x, free, name

    def __getitem__(self, name: str) -> ca.SX:
        if name in self._free:
            return self._free[name]
        place = self._system.place(name)
        if place.letter != "x":
            raise InputError(
                f"{name} cannot be used in a condition.",
                f"the states of {self._name!r} are {listed(list(self._system.labels['x']))}",
                because="conditions are written in states and free parameters.",
                remedy="what it follows from, or a state for it",
            )
        if len(place.positions) == 1:
            return self._x[int(place.positions[0])]
        values = self._x[place.positions.tolist()]
        return ca.reshape(values, *place.shape) if len(place.shape) == 2 else values

    def __iter__(self) -> Iterator[str]:
        return iter((*(name for name, place in self._system.places.items() if place.letter == "x"), *self._free))

    def __len__(self) -> int:
        return sum(1 for _ in self)
