"""The start of a circuit: its operating point with sources as they are at time zero, or what the netlist gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.analysis.points.complete_point import Entry, fill_states_and_inputs, scatter, solve_for
from daedalus.analysis.points.equilibrium import equilibrium
from daedalus.analysis.points.operating_point import read_point
from daedalus.components.spice.charge_jump import all_jumps
from daedalus.components.spice.charge_starts import charge_starts
from daedalus.components.spice.netlist import Netlist
from daedalus.errors import InputError, SolverError
from daedalus.initialisation.initialise import initialise
from daedalus.initialisation.start import Start
from daedalus.model.guesses import guess as near
from daedalus.model.model import Model, as_system
from daedalus.model.notebook import note_change
from daedalus.model.system.system import System

SAME_VOLTAGE = 1e-9  # in V, and in parts of the voltage


def held_nodes(netlist: Netlist, m: Model) -> tuple[tuple[str, float], ...] | None:
    """The voltages of .ic where they are no states of the model, so that sources have to hold them; else None."""
    known = m.flat().freeze().labels["x"]
    for node, (_, card) in netlist.given.items():
        if node not in netlist.words:
            raise card.refuse(f"gives V({node}) a start", "no element of the circuit itself is joined to it.", "a node")
    if all(_variable_of(m, netlist.words[node]) in known for node in netlist.given):
        return None
    return tuple((node, value) for node, (value, _) in netlist.given.items())


def write_start(
    netlist: Netlist, m: Model, steady: Model, guess: Any, step: Callable[[Mapping[str, float]], Model],
    is_held: bool = False,
) -> None:  # fmt: skip
    """Write the operating point, or what the netlist gives, into the states and as guesses into all else.

    steady: the model with its lines as they are where nothing changes; the model itself where it has none. guess: where
    the search begins. step: the circuit in which charges at voltages share what they hold. is_held: whether sources in
    it hold the nodes of .ic.
    """
    if netlist.transient.starts_given:
        starts: Mapping[str, float] = _given_start(netlist, steady, step)
    else:
        held = {} if is_held else _held(netlist, steady)
        labels = m.flat().freeze().labels if is_held else {"x": (), "z": ()}
        starts = operating_point(steady, held, guess, [*labels["x"], *labels["z"]])
    for name, value in starts.items():
        variable = m.written.variables.get(name)
        if variable is None or variable.size != 1:
            continue
        is_open = variable.kind == "state" and (variable.start[0] is None or netlist.transient.starts_given)
        if variable.kind == "algebraic" or is_open:
            m.written.variables[name] = replace(variable, start=(float(value),))
    note_change(m)


def _near(m: Model, charged: Mapping[str, float]) -> Start:
    """A start near voltages of charges; what is given of all else is kept."""
    system = m.flat().freeze()
    start = {label: value for label, value in zip(system.labels["x"], system.start["x"].tolist()) if np.isfinite(value)}
    known = {*system.labels["x"], *system.labels["z"]}
    return initialise(m, {**start, **{name: near(value) for name, value in charged.items() if name in known}})


def _agrees(found: Start, charged: Mapping[str, float]) -> bool:
    """Whether all charges begin at these voltages; a name that the model does not have says nothing."""
    for name, value in charged.items():
        with suppress(InputError):
            if abs(float(np.asarray(found[name])) - value) > SAME_VOLTAGE * (1 + abs(value)):
                return False
    return True


def _given_start(netlist: Netlist, m: Model, step: Callable[[Mapping[str, float]], Model]) -> dict[str, float]:
    """States with what IC= gives, charges between the voltages of .ic and zero, and all others as near to zero.

    step: the circuit of the step in which charges share what they hold.
    """
    system = m.flat().freeze()
    potentials = {node: value for node, (value, _) in netlist.given.items()}
    charged = dict(charge_starts(netlist.inner[id(m)], potentials))
    nodes = dict(_counted(m, netlist.words[node], value) for node, value in potentials.items())
    found = _near(m, nodes | charged)
    if not _agrees(found, charged):
        there = step(charged)
        point = equilibrium(there)
        voltages = all_jumps(netlist.inner[id(there)])
        found = _near(
            m, nodes | charged | {state: sign * float(np.asarray(point[own])) for state, own, sign in voltages}
        )
    return {
        **dict(zip(system.labels["x"], found.vectors["x"].tolist())),
        **dict(zip(system.labels["z"], found.vectors["z"].tolist())),
    }


def operating_point(
    m: Model, held: Mapping[str, float], guess: Any = None, further: Sequence[str] = ()
) -> dict[str, float]:
    """States and algebraic variables at rest by name; `held` states stay, and their rates are what is found instead.

    further: names of what else is wanted.
    """
    rates = [f"{name}_dot" for name in held]
    try:
        point = equilibrium(m, fixed=dict(held), solve_for=rates, guess=guess)
    except SolverError as error:
        raise SolverError(
            f"The operating point of {m.name!r} was not found.",
            list(error.facts) if hasattr(error, "facts") else str(error).splitlines()[1:2],
            because="the circuit has no operating point with its sources at the start, or the search failed.",
            remedy=".nodeset V(node)=... near it, or .ic V(node)=... with .tran ... uic",
        ) from error
    system = point.system
    return {
        **{name: float(np.asarray(point[name])) for name in further},
        **dict(zip(system.labels["x"], np.array(point.vectors["x"]).tolist())),
        **dict(zip(system.labels["z"], np.array(point.vectors["z"]).tolist())),
    }


def _held(netlist: Netlist, m: Model) -> dict[str, float]:
    """The states that .ic gives."""
    system, found = m.flat().freeze(), dict[str, float]()
    for node, (value, card) in netlist.given.items():
        name = _variable_of(m, netlist.words.get(node, ""))
        if name not in system.labels["x"]:
            raise card.refuse(
                f"gives V({node}) a start", "it is not a node with a capacitor to ground, and follows from others.",
                "IC= of the element whose state it is",
            )  # fmt: skip
        found[name] = value
    return found


def guess_of(netlist: Netlist, m: Model, pulled: Callable[[tuple[tuple[str, float], ...]], Model]) -> Any:
    """Where .nodeset wants the search for the operating point to begin; None where it says nothing.

    pulled: the same circuit with sources that pull nodes to voltages. Nodes that are variables need none.
    """
    nodes = tuple((node, value) for node, (value, _) in netlist.guessed.items() if node in netlist.words)
    if not nodes:
        return None
    system = m.flat().freeze()
    names = [_variable_of(m, netlist.words[node]) for node, _ in nodes]
    if all(name in system.places for name in names):
        return guess_with_held(m, dict(zip(names, (value for _, value in nodes))))
    point = equilibrium(pulled(nodes))
    return {name: float(np.asarray(point[name])) for letter in ("x", "z") for name in system.labels[letter]}


def _variable_of(m: Model, word: str) -> str:
    """The variable that the voltage of a node is; empty where it is none."""
    flat: Any = m.flat()
    known = flat.written.outputs.get(f"v_{word}")
    return flat.written.known[int(known.element_hash())][0] if known is not None and known.is_symbolic() else ""


def _counted(m: Model, word: str, voltage: float) -> tuple[str, float]:
    """The variable that the voltage of a node is, or is but for its sign, and its value there."""
    flat: Any = m.flat()
    known = flat.written.outputs.get(f"v_{word}")
    if known is None or known.is_symbolic() or known.n_dep() != 1 or not (known + known.dep(0)).is_zero():
        return _variable_of(m, word), voltage
    return flat.written.known[int(known.dep(0).element_hash())][0], -voltage


def guess_with_held(model: Model | System, held: Mapping[str, float]) -> dict[str, float]:
    """States and algebraic variables near rest by label, with the held ones at their values.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("two wells")
    >>> x = m.state("x", start=0.1); z = m.algebraic("z")
    >>> m.equation(m.der(x), x - x**3); m.equation(z, 2 * x)
    >>> guess_with_held(m, {"x": -1.2})
    {'x': -1.2, 'z': -2.4}
    """
    system = as_system(model)
    vectors = read_point(system, dict(held), None, None, "guess")
    given = {(letter, k) for name in held for letter, k in _entries(system, name)}
    fill_states_and_inputs(system, vectors)
    vectors["z"] = np.nan_to_num(np.where(np.isnan(vectors["z"]), system.start["z"], vectors["z"]))
    vectors["xdot"] = np.zeros(system.sizes["x"])
    unknowns: list[Entry] = [
        (letter, k) for letter in ("x", "z") for k in range(system.sizes[letter]) if (letter, k) not in given
    ]
    unknowns += [("xdot", k) for letter, k in sorted(given) if letter == "x"]
    scatter(vectors, unknowns, solve_for(system, vectors, unknowns).values)
    return {
        label: float(value) for letter in ("x", "z") for label, value in zip(system.labels[letter], vectors[letter])
    }


def _entries(system: System, name: str) -> list[Entry]:
    place = system.place(name)
    return list(zip(place.letters, place.positions.tolist()))
