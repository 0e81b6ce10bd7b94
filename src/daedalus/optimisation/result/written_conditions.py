"""Everything a problem asks for, as it was written: expressions with their bounds and the places where they count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements, symbol_key
from daedalus.optimisation.description.conditions import Condition, depends_only_on
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.transcription.program_layout import ProgramLayout

# States are looked at so many times in an interval, between the points at which the program asks for something.
BETWEEN = 8


@dataclass(frozen=True, eq=False)
class Places:
    """Instants of a plan: the interval of each, and how far into it, from 0 to 1."""

    interval: np.ndarray
    tau: np.ndarray


@dataclass(frozen=True, eq=False)
class WrittenCondition:
    """lower <= expression <= upper at some instants; the expression holds symbols of the model and stand-ins."""

    name: str
    expression: ca.SX
    lower: float
    upper: float
    places: Places
    since_start: bool = False  # what counts is the difference from the first instant
    follows: bool = False  # the program asks for it in part: the rest follows from the equations, which hold at points
    between: bool = False  # the program does not ask for it: these instants lie between those at which it does


def written_conditions(
    description: Description, layout: ProgramLayout, in_part: frozenset[str]
) -> list[WrittenCondition]:
    """Starts, ends, periodic states, bounds and strict conditions; `in_part`: ends with values that are left out."""
    return [
        *_at_ends(description, layout, in_part),
        *_bounds(description, layout),
        *(part for condition in description.conditions for part in _of_condition(description, layout, condition)),
    ]


def _at_ends(description: Description, layout: ProgramLayout, in_part: frozenset[str]) -> Iterator[WrittenCondition]:
    ends = (("start", description.starts or [], first(layout)), ("end", description.ends, last(layout)))
    for end, values, places in ends:
        for fixed in values:
            value = fixed.value
            yield WrittenCondition(fixed.label, fixed.expression, value, value, places, follows=end in in_part)
    x, labels = elements(description.system.symbol("x")), description.system.labels["x"]
    both = Places(np.array([0, layout.intervals - 1]), np.array([0.0, 1.0]))
    for k in sorted(set(description.periodic)):
        yield WrittenCondition(f"periodic {labels[k]}", x[k], 0.0, 0.0, both, since_start=True, follows=True)


def _bounds(description: Description, layout: ProgramLayout) -> Iterator[WrittenCondition]:
    system = description.system
    for letter in ("x", "z", "u"):
        for k, symbol in enumerate(elements(system.symbol(letter))):
            low, high = description.bounds.get(symbol_key(symbol), (-np.inf, np.inf))
            if (letter == "u" and k in description.given) or not (np.isfinite(low) or np.isfinite(high)):
                continue
            places = nodes(layout) if letter == "x" else _along(layout, letter == "z")
            yield WrittenCondition(system.labels[letter][k], symbol, low, high, places)
            if letter == "x":
                yield WrittenCondition(system.labels[letter][k], symbol, low, high, _between(layout), between=True)


def _of_condition(description: Description, layout: ProgramLayout, condition: Condition) -> Iterator[WrittenCondition]:
    if condition.soft is not None:
        return
    of_states = False
    if condition.at == "all":
        system = description.system
        states = [system.symbol("x"), system.symbol("p"), system.symbol("t"), description.length]
        of_states = depends_only_on(condition.expression, states)
        places = _along(layout, not of_states)
        if of_states:  # of a start that is fixed the program asks nothing
            places = Places(np.append(0, places.interval), np.append(0.0, places.tau))
    elif isinstance(condition.at, str):
        places = {"nodes": nodes, "start": first, "end": last}[condition.at](layout)
    else:
        places = _at_nodes(layout, np.array([int(np.argmin(np.abs(layout.shares - condition.at)))]))
    parts = zip(condition.element_names, elements(condition.expression), condition.lower, condition.upper)
    for name, expression, low, high in parts:
        yield WrittenCondition(name, expression, float(low), float(high), places)
        if of_states:
            yield WrittenCondition(name, expression, float(low), float(high), _between(layout), between=True)


def first(layout: ProgramLayout) -> Places:
    """The start."""
    return _at_nodes(layout, np.array([0]))


def last(layout: ProgramLayout) -> Places:
    """The end."""
    return Places(np.array([layout.intervals - 1]), np.ones(1))


def nodes(layout: ProgramLayout) -> Places:
    """All nodes, each seen from the interval whose inputs count there."""
    return _at_nodes(layout, np.arange(layout.intervals + 1))


def _at_nodes(layout: ProgramLayout, which: np.ndarray) -> Places:
    interval = np.array([layout.interval_of(int(k)) for k in which])
    return Places(interval, (which - interval).astype(float))


def _between(layout: ProgramLayout) -> Places:
    """Instants all over every interval."""
    tau = (np.arange(BETWEEN) + 0.5) / BETWEEN
    return Places(np.repeat(np.arange(layout.intervals), BETWEEN), np.tile(tau, layout.intervals))


def _along(layout: ProgramLayout, before_end: bool) -> Places:
    """All collocation points; of shooting the nodes, but the last where inputs or unknowns count."""
    mesh = layout.mesh
    if not mesh.firsts[-1]:
        return _at_nodes(layout, np.arange(layout.intervals + (not before_end)))
    return Places(mesh.point_interval, np.concatenate([scheme.tau for scheme in mesh.schemes]))
