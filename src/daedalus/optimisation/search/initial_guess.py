"""Where the search begins: states between the ends and on the constraints, inputs and multipliers that fit them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.signals import Signal, in_unit
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.search.consistent_states import projected
from daedalus.optimisation.stage_form import stage_form
from daedalus.optimisation.transcription.boundary.reference_ends import ReferenceEnds
from daedalus.optimisation.transcription.invariants import KeptQuantities
from daedalus.optimisation.transcription.problem_stage import ProblemStage
from daedalus.optimisation.transcription.program_layout import ProgramLayout
from daedalus.optimisation.transcription.stage_functions import StageFunctions


def initial_guess(
    stage: ProblemStage, layout: ProgramLayout, ends: ReferenceEnds, kept: KeptQuantities, count: int
) -> np.ndarray:
    """Values for all variables of a program, (count,)."""
    description = stage.description
    w = np.zeros(count)
    source = _GuessedMotion(stage, ends, kept)
    at_points, at_nodes = layout.mesh.point_shares, layout.shares
    inputs, unknowns = source.fitted(at_nodes)
    _put(w, layout.nodes, source.states(at_nodes))
    _put(w, layout.points, source.states(at_points))
    _put(w, layout.inputs, inputs)
    if stage.unknowns.size:
        interval = layout.mesh.point_interval
        _put(w, layout.unknowns, source.settled(at_points, inputs[interval], unknowns[interval]))
        for node, variables in layout.node_unknowns.items():
            before = [layout.interval_of(node)]
            own = source.settled(layout.shares[[node]], inputs[before], unknowns[before])
            _put(w, variables, own[0])
    if not len(layout.points):
        _put(w, layout.nodes, source.with_integrals(w[layout.nodes], at_nodes, inputs, unknowns))
    if isinstance(description.duration, Unknown):
        w[layout.length[0]] = source.length
    for k, wanted in description.free.items():
        if layout.parameters[0, k] >= 0:
            w[layout.parameters[:, k]] = wanted.guess
    return w


def _put(w: np.ndarray, variables: np.ndarray, values: np.ndarray) -> None:
    use = variables >= 0
    w[variables[use]] = np.broadcast_to(values, variables.shape)[use]


class _GuessedMotion:
    """What is guessed for any share of the duration."""

    def __init__(self, stage: ProblemStage, ends: ReferenceEnds, kept: KeptQuantities) -> None:
        self.stage, self.ends, self.kept = stage, ends, kept
        self.description = stage.description
        self.functions = StageFunctions(stage)
        self.length, duration = self.description.expected_duration, self.description.duration
        trajectory: Any = self.description.trajectory
        if isinstance(duration, Unknown) and trajectory is not None:
            span = float(trajectory.time[-1] - trajectory.time[0])
            self.length = float(np.clip(span, duration.lower, duration.upper))
        self._known: dict[float, np.ndarray] = {}  # states of the model by shares
        # Inputs that are linear between nodes: shares, and their values there.
        self.linear = np.array([0.0]), np.zeros((1, len(stage.linear)))

    def states(self, shares: np.ndarray) -> np.ndarray:
        """States of the stage, (shares, states)."""
        stage = self.stage
        found = np.zeros((len(shares), stage.states.size))
        n = stage.model_states
        found[:, :n] = self._between(shares)
        for k, values in enumerate(self.linear[1].T, start=n):
            found[:, k] = np.interp(shares, self.linear[0], values)
        self._overwrite(found, stage.states.labels, shares)
        return found

    def _between(self, shares: np.ndarray) -> np.ndarray:
        """States of the model between the ends and on the constraints; what was asked for before is not made again."""
        missing = [share for share in dict.fromkeys(shares.tolist()) if share not in self._known]
        if missing:
            start, end = self.ends.start, self.ends.end
            path = smooth_path(self.description.system, start, end, self.length, np.array(missing))
            self._known.update(zip(missing, projected(self.description, self.kept, path)))
        rows = [self._known[share] for share in shares.tolist()]
        return np.array(rows).reshape(len(rows), self.stage.model_states)

    def fitted(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and unknowns of the intervals that keep the guessed motion going as well as they can.

        Inputs that are linear between nodes are part of `states` from here on.
        """
        stage, n = self.stage, self.stage.model_states
        middle = 0.5 * (nodes[1:] + nodes[:-1])
        u, z = np.zeros((len(middle), stage.inputs.size)), np.zeros((len(middle), stage.unknowns.size))
        _middle_of_bounds(u, stage.inputs.lower, stage.inputs.upper)
        own = slice(n, n + len(stage.linear))
        limits = stage.states.lower[own], stage.states.upper[own]
        moving = np.zeros((len(middle), len(stage.linear)))
        _middle_of_bounds(moving, *limits)
        self.linear = middle, moving
        step = 1e-3
        ahead, behind, there = np.split(self.states(np.concatenate([middle + step, middle - step, middle])), 3)
        wanted = (ahead - behind)[:, :n] / (2 * step * self.length)
        found = self.functions.inverse_dynamics(wanted, there, z, u, *self._rest(middle))
        if all(np.isfinite(part).all() for part in found):
            x, z, u = found
            self.linear = middle, np.clip(x[:, own], *limits)
        self._overwrite(u, stage.inputs.labels, middle)
        slopes = np.diff(self.states(nodes)[:, own], axis=0) / (self.length * np.diff(nodes))[:, None]
        u[:, len(stage.constant) : len(stage.constant) + len(stage.linear)] = slopes
        np.clip(u, stage.inputs.lower, stage.inputs.upper, out=u)
        return u, z

    def with_integrals(self, rows: np.ndarray, shares: np.ndarray, u: np.ndarray, z: np.ndarray) -> np.ndarray:
        """States at the nodes with integrals that grow as the rates in the middle of the intervals say."""
        first = self.stage.model_states + len(self.stage.linear)
        if first == self.stage.states.size:
            return rows
        middle = 0.5 * (shares[1:] + shares[:-1])
        rates = self.functions.rates(self.states(middle), z, u, *self._rest(middle))[:, first:]
        grown = np.cumsum(rates * (self.length * np.diff(shares))[:, None], axis=0)
        found = rows.copy()
        found[1:, first:] = np.where(np.isfinite(grown), grown, 0.0)
        return found

    def settled(self, shares: np.ndarray, u: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Algebraic unknowns that obey the equations with the guessed states and inputs."""
        found = self.functions.solved_unknowns(self.states(shares), z, u, *self._rest(shares))
        self._overwrite(found, self.stage.unknowns.labels, shares)
        return found

    def _rest(self, shares: np.ndarray) -> tuple[np.ndarray, ...]:
        parameters = self.description.parameters.copy()
        for k, wanted in self.description.free.items():
            parameters[k] = wanted.guess
        return self.functions.surroundings(self.length, parameters, shares)

    def _overwrite(self, rows: np.ndarray, labels: tuple[str, ...], shares: np.ndarray) -> None:
        """Put in what the user gave: values by name, or those of a trajectory."""
        times = self.description.begin + self.length * shares
        trajectory: Any = self.description.trajectory
        for k, label in enumerate(labels):
            if label in self.description.guesses:
                rows[:, k] = _sampled(self.description.guesses[label], times, shares, label)
            elif trajectory is not None:
                value = _of_trajectory(trajectory, label, shares)
                if value is not None:
                    rows[:, k] = value


def _middle_of_bounds(rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
    """Begin inside: in the middle of two bounds, and not beyond a single one."""
    both = np.isfinite(lower) & np.isfinite(upper)
    rows[:] = np.where(both, 0.5 * (np.where(both, lower, 0) + np.where(both, upper, 0)), np.clip(0.0, lower, upper))


def _sampled(value: Any, times: np.ndarray, shares: np.ndarray, label: str) -> np.ndarray:
    """A guess as numbers: a number, a signal, a function of time, or an array spread evenly over the duration."""
    if isinstance(value, Signal):
        return value.flat(times)[:, 0]
    if callable(value):
        return np.array([float(np.asarray(value(float(t))).ravel()[0]) for t in times])
    array = np.asarray(value, dtype=float).ravel()
    if not np.isfinite(array).all() or not array.size:
        raise InputError(f"The guess for {label} is not finite.", f"got {value!r}"[:120])
    return (
        np.interp(shares, np.linspace(0.0, 1.0, len(array)), array)
        if len(array) > 1
        else np.full(len(shares), array[0])
    )


def _of_trajectory(trajectory: Any, label: str, shares: np.ndarray) -> np.ndarray | None:
    """An element of a trajectory or plan at shares of its own duration; None where it has none of that name."""
    begin, end = float(trajectory.time[0]), float(trajectory.time[-1])
    try:
        return np.asarray(trajectory.at(begin + (end - begin) * shares)[label], dtype=float)
    except (InputError, KeyError):
        return None


def read_guesses(description: Description, values: Mapping[str, object]) -> dict[str, object]:
    """Guesses by name as guesses by element."""
    from daedalus.optimisation.description.named_elements import elements_of, unit_of_target

    found: dict[str, object] = {}
    for name, value in values.items():
        own = elements_of(description.system, name, "A guess")
        value = in_unit(value, unit_of_target(description.system, name), name)
        for k, element in enumerate(own):
            found[element.label] = value if len(own) == 1 else _component(value, k, len(own))
    return found


def _component(value: Any, k: int, size: int) -> object:
    """The part of a vector's guess that belongs to one element."""
    if isinstance(value, Signal):
        return value.element(k)
    if callable(value):
        return lambda t: np.asarray(value(t)).ravel(order="F")[k]
    array = np.asarray(value, dtype=float)
    if array.ndim == 0:
        return float(array)
    if array.shape[-1] != size:
        raise InputError("A guess has the wrong shape.", f"{size} elements, an array of shape {array.shape}")
    return array[..., k]


# A smooth path between two states: positions by cubics that begin and end with the given velocities.
#
# Where the derivative of a state is another state, q' = v, the first goes along Hermite's cubic and the second along
# its derivative, so that the guess is a motion; all other states go along straight lines.


def smooth_path(system: System, start: np.ndarray, end: np.ndarray, duration: float, shares: np.ndarray) -> np.ndarray:
    """States at shares of the duration, (shares, n)."""
    path: np.ndarray = start + shares[:, None] * (end - start)
    s = shares
    for q, v in once(system, velocity_pairs):
        leave, arrive = start[v] * duration, end[v] * duration
        path[:, q] = (
            (2 * s**3 - 3 * s**2 + 1) * start[q]
            + (s**3 - 2 * s**2 + s) * leave
            + (3 * s**2 - 2 * s**3) * end[q]
            + (s**3 - s**2) * arrive
        )
        path[:, v] = (
            6 * (s**2 - s) * (start[q] - end[q]) + (3 * s**2 - 4 * s + 1) * leave + (3 * s**2 - 2 * s) * arrive
        ) / duration
    return path


def velocity_pairs(system: System) -> tuple[tuple[int, int], ...]:
    """Pairs (position, velocity) of states with position' = velocity.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart")
    >>> x, v = m.state("x"), m.state("v")
    >>> m.equation([m.der(x), m.der(v)], [v, -x])
    >>> velocity_pairs(m.freeze())
    ((0, 1),)
    """
    own = {symbol_key(s): k for k, s in enumerate(elements(system.symbol("x")))}
    pairs = []
    for q, rate in enumerate(elements(ca.simplify(stage_form(system).rates))):
        v = own.get(symbol_key(rate)) if rate.is_symbolic() else None
        if v is not None and v != q:
            pairs.append((q, v))
    return tuple(pairs)
