"""Consistent start values on the board: what is given, and what follows from which equation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.analysis.structure.block_form import triangular_blocks
from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.planned_reduction import planned
from daedalus.derivations.reading import Reading
from daedalus.errors import DaedalusError, InputError
from daedalus.initialisation.initialise import initialise
from daedalus.initialisation.start import Start
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import counted, derivative_name, element_label, listed, split_index

PART = "start"
# Significant digits of values, the Start has all; an element below this share of its vector is rounding.
DIGITS, TINY = 7, 1e-14


def start_steps(model: Model, values: object = None, **options: Any) -> list[DerivationStep]:
    """The steps to a consistent start; `values` and further options are those of `dd.initialise`."""
    start = initialise(model, values, **options)
    read = Reading(model.flat())
    given = _named(start, "given")
    guessed = _named(start, "guessed")
    steps = [
        read.step(
            PART, "given", f"{counted(len(given), 'value')} given.", [], _value_lines(read, start, given), 0.0
        )
    ]  # fmt: skip
    if guessed:
        text = f"{counted(len(guessed), 'value')} guessed that no equation moves."
        steps.append(read.step(PART, "guessed", text, [], _value_lines(read, start, guessed), 0.0))
    steps += _followed(model, start, read)
    left = _all_left(start)
    lines = [read.line(_symbol(read, label), _shown(value)) for label, value in _all_values(start)]
    text = "All values together obey every equation and every hidden constraint."
    steps.append(read.step(PART, "consistent start", text, [], lines, left))
    return steps


def _all_left(start: Start) -> float:
    """What is left of all equations of the model at a start."""
    system = start.system
    values: dict[int, float] = {}
    sizes: dict[int, float] = {}
    for letter in ("t", "xdot", "x", "z", "u", "p"):
        keys = [symbol_key(s) for s in elements(system.symbol(letter))]
        own = [start.time] if letter == "t" else np.asarray(start.vectors[letter], dtype=float).ravel()
        values |= dict(zip(keys, map(float, own)))
        if letter in ("xdot", "x", "z"):
            sizes |= dict(zip(keys, map(float, system.nominal["x" if letter == "xdot" else letter])))
    return _left_of(ca.densify(system.residual), values, sizes)


def _named(start: Start, word: str) -> list[str]:
    """The labels of entries of x and z with an origin."""
    return [
        label
        for letter in ("x", "z")
        for label, origin in zip(start.system.labels[letter], start.origin.of_entries(letter))
        if origin == word
    ]


def _all_values(start: Start) -> list[tuple[str, float]]:
    system = start.system
    pairs = [(label, v) for letter in ("x", "z") for label, v in zip(system.labels[letter], start.vectors[letter])]
    seen = {label for label, _ in pairs}
    pairs += [(label, v) for label, v in zip(system.labels["xdot"], start.vectors["xdot"]) if label not in seen]
    largest: dict[str, float] = {}
    for label, v in pairs:
        stem = split_index(label)[0]
        largest[stem] = max(largest.get(stem, 0.0), abs(float(v)))
    return [(label, float(v) if abs(v) > TINY * largest[split_index(label)[0]] else 0.0) for label, v in pairs]


def _value_lines(read: Reading, start: Start, labels: list[str]) -> list[FormulaLine]:
    known = dict(_all_values(start))
    return [read.line(_symbol(read, label), _shown(known[label])) for label in labels]


def _shown(value: float) -> ca.SX:
    """A value with as many digits as one reads."""
    return ca.SX(float(f"{value:.{DIGITS}g}"))


def _symbol(read: Reading, label: str) -> ca.SX:
    symbol = ca.SX.sym(label)
    read.name(symbol, label)
    return symbol


def _followed(model: Model, start: Start, read: Reading) -> list[DerivationStep]:
    """Computed values in the order in which they follow, each with its equations."""
    try:
        plan, inputs = planned(model)
    except DaedalusError:
        return []
    if inputs:
        return []
    book = plan.book
    c, known = plan.signature.c, dict(_all_values(start))
    rows = [(i, k) for i in range(len(plan.rows)) for k in range(int(c[i]) + 1) if (i, k) in plan.levels]
    residual = concatenate(plan.levels[at] for at in rows)
    labels = {symbol_key(s): _label(book, s) for s in ca.symvar(residual)}
    held = {*_named(start, "given"), *_named(start, "guessed")}
    symbols = [
        s for s in ca.symvar(residual)
        if _is_unknown(book, s) and labels[symbol_key(s)] not in held
    ]  # fmt: skip
    names = [labels[symbol_key(s)] for s in symbols]
    if not symbols:
        return []
    texts = [plan.level(i, k).label for i, k in rows]
    values = {symbol_key(s): _known_value(start, labels[symbol_key(s)], known) for s in ca.symvar(residual)}
    sizes = _nominals(book, ca.symvar(residual))
    steps = []
    pattern = ca.jacobian_sparsity(residual, concatenate(symbols))
    filled = set(pattern.row())
    fixed = [r for r in range(len(rows)) if r not in filled]
    if fixed:
        held_rows = concatenate(elements(residual)[r] for r in fixed)
        lines = [read.equation(e) for e in elements(read.short(held_rows))]
        text = "These equations contain given values alone; the given values obey them."
        read.labels.update(labels)
        steps.append(read.step(PART, "obeyed", text, [], lines, _left_of(held_rows, values, sizes)))
    free = sorted(filled)
    matrix = ca.jacobian_sparsity(concatenate(elements(residual)[r] for r in free), concatenate(symbols))
    for own_free, own in _blocks(matrix, len(free), len(symbols)):
        own_rows = [free[r] for r in own_free]
        where = "; ".join(texts[r] for r in own_rows[:6]) + ("; …" if len(own_rows) > 6 else "")
        words = listed([f"`{names[j]}`" for j in own], 8)
        verb = "follows from" if len(own) == 1 else "follow together from"
        short = read.short(concatenate(elements(residual)[r] for r in own_rows))
        before = [read.equation(e) for e in elements(short)]
        after = [read.line(symbols[j], _shown(known[names[j]])) for j in own if names[j] in known]
        read.labels.update(labels)
        block = concatenate(elements(residual)[r] for r in own_rows)
        for j, value in _solved(block, [symbols[j] for j in own], values).items():
            after.append(read.line(symbols[own[j]], _shown(value)))
        check = _left_of(block, values, sizes)
        steps.append(read.step(PART, "follows", f"{words} {verb} {where}.", before, [*before, *after], check))
    return steps


def _solved(block: ca.SX, symbols: list[ca.SX], values: dict[int, float]) -> dict[int, float]:
    """Values that a start does not hold, such as rates of algebraic variables, from equations that are linear in them.

    They are put among the values; nothing where something else is unknown, or where they do not follow.
    """
    missing = [j for j, symbol in enumerate(symbols) if np.isnan(values.get(symbol_key(symbol), np.nan))]
    unknown = concatenate(symbols[j] for j in missing)
    slopes = ca.jacobian(block, unknown)
    others = [s for s in ca.symvar(block) if symbol_key(s) not in {symbol_key(symbols[j]) for j in missing}]
    numbers = [values.get(symbol_key(s), np.nan) for s in others]
    if not missing or ca.depends_on(slopes, unknown) or np.any(np.isnan(numbers)):
        return {}
    rest = ca.substitute(block, unknown, ca.SX.zeros(unknown.shape))
    known = ca.vertcat(*others) if others else ca.SX(0, 1)
    matrix, right = (part.full() for part in ca.Function("block", [known], [slopes, rest])(numbers))
    found = np.linalg.lstsq(matrix, -right, rcond=None)[0].ravel()
    values.update({symbol_key(symbols[j]): float(value) for j, value in zip(missing, found)})
    return {j: float(value) for j, value in zip(missing, found)}


def _blocks(pattern: ca.Sparsity, rows: int, columns: int) -> list[tuple[list[int], list[int]]]:
    """Equations with the unknowns that follow from them; all together where the pattern is not square."""
    if rows == columns:
        try:
            found = [(list(r), list(c)) for r, c in triangular_blocks(pattern)]
            if all(len(r) == len(c) for r, c in found):
                return found
        except (DaedalusError, RuntimeError, ValueError):
            pass
    return [(list(range(rows)), list(range(columns)))]


def _is_unknown(book: Model, symbol: ca.SX) -> bool:
    variable = book.written.known[symbol_key(symbol)][0]
    return variable != "t" and book.written.variables[variable].kind in ("state", "algebraic")


def _nominals(book: Model, symbols: list[ca.SX]) -> dict[int, float]:
    """The nominal values of states and algebraic variables by the keys of some symbols, of their derivatives too."""
    found = {}
    for symbol in symbols:
        if _is_unknown(book, symbol):
            variable, k, _ = book.written.known[symbol_key(symbol)]
            found[symbol_key(symbol)] = (book.written.variables[variable].nominal or (1.0,))[k if k else 0]
    return found


def _label(book: Model, symbol: ca.SX) -> str:
    variable, k, order = book.written.known[symbol_key(symbol)]
    if variable == "t":
        return "t"
    return element_label(derivative_name(variable, order), book.written.variables[variable].shape, k)


def _known_value(start: Start, label: str, known: dict[str, float]) -> float:
    """The value of a name at the start, of parameters and the time too; NaN where the start has none."""
    if label in known:
        return known[label]
    try:
        return start.time if label == "t" else float(np.asarray(start[label]))
    except (InputError, AttributeError, KeyError, TypeError):
        return float("nan")


def _left_of(expression: ca.SX, values: dict[int, float], sizes: Mapping[int, float]) -> float:
    """What is left of some equations at the start, in units of the equations; NaN where a value in them is unknown.

    An equation is measured by Σ |∂F/∂v| size, at least one: the size of a value is its own or its nominal value, in
    which `dd.initialise` solves.
    """
    symbols = ca.symvar(expression)
    keys = [symbol_key(symbol) for symbol in symbols]
    numbers = np.array([values.get(key, np.nan) for key in keys])
    known = ca.vertcat(*symbols) if symbols else ca.SX(0, 1)
    slopes = ca.jacobian(expression, known)
    found, moved = (part.full() for part in ca.Function("left", [known], [expression, slopes])(numbers))
    if np.any(np.isnan(found)):
        return float("nan")
    own = np.maximum(np.abs(numbers), [sizes.get(key, 0.0) for key in keys])
    units = np.nan_to_num(np.abs(moved), nan=0.0, posinf=0.0) @ own
    return float(np.max(np.abs(found.ravel()) / np.maximum(1.0, units), initial=0.0))
