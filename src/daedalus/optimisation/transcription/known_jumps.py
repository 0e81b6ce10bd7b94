"""Nodes at the jumps that are known before a search: those of tables and formulas of time, where the duration is fixed.

A polynomial over a jump is off by a share of the jump however many points it has. So the mesh gets a node at every jump
of a given input, and where a condition on time changes in equations, costs and conditions. Where they are too many for
that, or where the nodes move with an unknown duration, the plan says which jumps lie inside intervals.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.errors import SolverError
from daedalus.initialisation.wording import number
from daedalus.model.expressions import CONDITIONS, CUT, STAIRS, concatenate, elements, operation, symbol_key
from daedalus.model.names import counted
from daedalus.model.signals import Signal
from daedalus.model.switching.schedule import SAME_TIME
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.transcription.inputs_at_points import written_formula
from daedalus.optimisation.transcription.mesh import Mesh
from daedalus.optimisation.transcription.sides_of_jumps import EDGE
from daedalus.simulation.switching.solved_times import solved_times

# Operations whose values jump; those that only bend (the smaller, the larger, the size) need no node.
JUMPING = CONDITIONS | STAIRS.keys() | CUT.keys()
# Both sides of a jump differ by more than this times what the signal changes as far away beside it: a signal that is
# smooth there changes about as much on all three stretches.
STEEPER = 10.0


def mesh_shares(description: Description, at_jumps: bool = True) -> np.ndarray:
    """Equal intervals, with a node at every share that a condition asks for, and at jumps that are known.

    At most as many nodes are added for jumps as there are intervals: a table of a thousand values is a signal, and
    the intervals are as long as the user said.
    """
    shares, same = np.linspace(0.0, 1.0, description.intervals + 1), _same(description)
    wanted = np.array([float(c.at) for c in description.conditions if not isinstance(c.at, str)])
    if at_jumps and not isinstance(description.duration, Unknown):
        jumps = shares_of(np.concatenate([np.zeros(0), *known_jumps(description).values()]), description)
        missing = jumps[_distance(jumps, shares) > same]
        if len(missing) <= description.intervals:
            wanted = np.concatenate([wanted, jumps])
    if not len(wanted):
        return shares
    # A node that lies on a jump but for rounding moves onto it.
    wanted = np.unique(wanted)
    wanted = wanted[np.append(True, np.diff(wanted) > same)]
    return np.unique(np.concatenate([shares[_distance(shares, wanted) > same], wanted]))


def jumps_off_nodes(description: Description, mesh: Mesh) -> list[str]:
    """For every signal that jumps inside intervals, a sentence."""
    notes, same = [], _same(description)
    for name, times in known_jumps(description).items():
        shares = shares_of(times, description)
        moving = isinstance(description.duration, Unknown)
        inside = shares if moving else shares[_distance(shares, mesh.shares) > same]
        if not len(inside):
            continue
        first = number(description.begin + description.expected_duration * inside[0])
        why = "whose ends move with the duration" if moving else "with too many jumps for a node at each"
        notes.append(
            f"{name} jumps {counted(len(inside), 'time')} inside intervals, {why}, first at {first}: "
            f"mesh_tolerance= shortens these, and a phase up to the jump (dd.phases) ends on it"
        )
    return notes


def known_jumps(description: Description) -> dict[str, np.ndarray]:
    """Times during the plan at which given inputs jump, or conditions on time in formulas change, by their name.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank")
    >>> level, inflow = m.state("level", start=1.0), m.input("inflow")
    >>> m.equation(m.der(level), inflow - level)
    >>> ocp = dd.OptimalControl(m, duration=2.0)
    >>> ocp.given("inflow", dd.signal([0.0, 0.5, 1.0], [0.0, 1.0, 1.0]))
    >>> known_jumps(ocp._description)
    {'inflow': array([0.5])}
    """
    labels, found = description.system.labels["u"], {}
    for positions, value in description.given_names:
        found[labels[positions[0]]] = _jumps_of(description, value)
    for where, formula in _formulas(description):
        found[f"a formula of time in {where}"] = _turning(description, formula)
    return {name: times for name, times in found.items() if len(times)}


def _formulas(description: Description) -> list[tuple[str, ca.SX]]:
    """Everything that holds all along and is written in terms of time, with the place where it stands."""
    integrals = (s.expression for s in description.integrals)
    costs = concatenate([description.running, description.integrated, *integrals])
    conditions = [(c.name, c.expression) for c in description.conditions if c.at in ("all", "nodes")]
    found = [("the equations", description.system.residual), ("the cost", costs), *conditions]
    return [(where, formula) for where, formula in found if ca.depends_on(formula, description.system.symbol("t"))]


def _turning(description: Description, formula: ca.SX) -> np.ndarray:
    """When conditions on time alone change in a formula of anything."""
    own = [description.system.symbol("t"), description.system.symbol("p")]
    known = {symbol_key(s) for group in own for s in elements(group)}
    waiting, seen, found = elements(formula), set(), []
    while waiting:
        node = waiting.pop()
        if node.is_constant() or node.is_symbolic() or node.element_hash() in seen:
            continue
        seen.add(node.element_hash())
        if operation(node) in JUMPING and all(symbol_key(s) in known for s in ca.symvar(node)):
            found.append(node)
        else:
            waiting += [node.dep(k) for k in range(node.n_dep())]
    return _solved(description, ca.Function("conditions", own, [concatenate(found)])) if found else np.zeros(0)


def _jumps_of(description: Description, value: object) -> np.ndarray:
    if isinstance(value, Signal):
        if value.kind != "hold":
            return np.zeros(0)
        changed = np.any(value.values[1:] != value.values[:-1], axis=1)
        return _within(description, value.times[1:][changed])
    formula, _ = written_formula(description, value)
    if formula is None:
        return np.zeros(0)
    own = [description.system.symbol("t"), description.system.symbol("p")]
    function = ca.Function("given", own, [ca.densify(formula)])
    times = _solved(description, function)
    jumps: np.ndarray = times[
        _jumping(function, np.asarray(description.parameters), times, description.expected_duration)
    ]
    return jumps


def _solved(description: Description, function: ca.Function) -> np.ndarray:
    """Times at which a condition on time in a function may change; none where it turns too often to tell."""
    begin = description.begin
    try:
        found = solved_times(function, np.asarray(description.parameters), begin, begin + description.expected_duration)
    except SolverError:
        return np.zeros(0)
    return _within(description, found.times)


def _jumping(function: ca.Function, p: np.ndarray, times: np.ndarray, length: float) -> np.ndarray:
    """At which of the times the values of a function jump; at the others they are only bent."""
    if not len(times):
        return np.zeros(0, dtype=bool)
    step = EDGE * length + 8 * EPSILON * np.abs(times).max()
    at = times[:, None] + step * np.array([-3.0, -1.0, 1.0, 3.0])
    values = np.array(function(at.reshape(1, -1), p).full()).reshape(-1, *at.shape)
    before, across, behind = np.abs(np.diff(values, axis=2)).transpose(2, 0, 1)
    rounding = 8 * EPSILON * np.abs(values).max(axis=2)
    return np.asarray((across > STEEPER * (before + behind) + rounding).any(axis=0))


def _same(description: Description) -> float:
    return max(SAME_TIME, description.rounding)


def shares_of(times: np.ndarray, description: Description) -> np.ndarray:
    """Times as shares of the duration, or of the guess of it."""
    return np.asarray((times - description.begin) / description.expected_duration)


def _within(description: Description, times: np.ndarray) -> np.ndarray:
    """The times that lie between the ends of the plan."""
    shares, same = shares_of(times, description), _same(description)
    return np.asarray(times[(shares > same) & (shares < 1.0 - same)])


def _distance(shares: np.ndarray, from_: np.ndarray) -> np.ndarray:
    """How far each share is from the nearest of others."""
    return np.abs(shares[:, None] - from_[None, :]).min(axis=1) if len(from_) else np.full(len(shares), np.inf)
