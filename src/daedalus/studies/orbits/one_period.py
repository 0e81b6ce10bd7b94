"""One run over a period with its derivatives: states, and the memory of clocks, from before their first tick on.

Discrete variables that no condition compares, such as the sum of a digital controller, are unknowns of an orbit like
states. A tick at the end belongs to the next period, so that values count as they are before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.differentiation.differentiable_system import flowing_system, whole_start
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.errors import SolverError
from daedalus.initialisation.initialise import initialise
from daedalus.model.model import Model, as_system
from daedalus.model.switching.held_states import HeldStates, with_held_states
from daedalus.model.system.system import System
from daedalus.simulation.simulate import simulate

# Derivatives are taken this share of a run before its end, where clocks may tick.
BEFORE_THE_END = 1e-9
# Differences are taken over this share of a value: the cube root of the errors of a run at the tolerances of an orbit.
DIFFERENCE = 1e-4


@dataclass(frozen=True, eq=False)
class OrbitUnknowns:
    """What an orbit is searched for in.

    labels: states, then memory. states: how many are states. modes: discrete variables that keep their start, by name.
    """

    system: System
    labels: tuple[str, ...]
    states: int
    modes: Mapping[str, Any]

    def start(self, x: np.ndarray) -> dict[str, Any]:
        """A start by name."""
        return {**self.modes, **dict(zip(self.labels, x.tolist()))}

    def consistent(
        self, model: Model | System, values: Mapping[str, Any], time: float, options: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Start values; where there are constraints, the nearest ones that obey them."""
        if not self.system.constrains_start:
            return values
        parameters = {**(options.get("parameters") or {}), **self.modes}
        near = {name: value for name, value in values.items() if name not in self.modes}
        found = initialise(
            model, near, free=list(self.labels), time=time, inputs=options.get("inputs"), parameters=parameters or None
        )
        return {**self.modes, **found} if self.modes else found

    @property
    def sizes(self) -> np.ndarray:
        """Usual sizes of the unknowns."""
        places = [self.system.labels["x"].index(label) for label in self.labels]
        nominal = self.system.nominal["x"][places]
        return np.where(nominal > 0, nominal, 1.0)


def unknowns_of(
    model: Model | System, begin: float, short: float, start: Any, options: Mapping[str, Any]
) -> OrbitUnknowns:
    """The unknowns of an orbit that passes near a start."""
    try:
        begun = sensitivities(model, (begin, begin + short), wrt=("start",), start=start, **options)
        system, states = begun.system, len(np.asarray(begun.value).ravel())
    except SolverError:
        written = as_system(model)
        system = with_held_states(written) if written.discrete_count else flowing_system(model)
        states = len((written if written.discrete_count else system).labels["x"])
    held = system.part(HeldStates)
    compared = frozenset[int]() if held is None else held.compared
    fixed = {int(k) for name in _never_assigned(as_system(model)) for k in np.ravel(system.places[name].positions)}
    labels = tuple(label for k, label in enumerate(system.labels["x"]) if k not in compared | fixed)
    given = whole_start(as_system(model), start) or {}
    kept = [v.name for v in as_system(model).of_kind("discrete") if v.name in given and v.name not in labels]
    return OrbitUnknowns(system, labels, states, {name: given[name] for name in kept})


def _never_assigned(system: System) -> frozenset[str]:
    """Discrete variables that no event and no clock writes: they are given numbers, as a duty is."""
    written = {name for event in system.events for name in event.resets}
    return frozenset(v.name for v in system.of_kind("discrete") if v.name not in written)


def first_values(unknowns: OrbitUnknowns, model: Model | System, start: Any, run: Any) -> np.ndarray:
    """The unknowns at the beginning of a run: of memory what was given, before any tick."""
    given = whole_start(as_system(model), start) or {}
    values = [float(np.ravel(np.asarray(run[label])[0])[0]) for label in unknowns.labels]
    for k in range(unknowns.states, len(values)):
        label = unknowns.labels[k]
        position = unknowns.system.labels["x"].index(label)
        values[k] = float(given[label]) if label in given else float(unknowns.system.start["x"][position])
    return np.array(values)


@dataclass(frozen=True, eq=False)
class Period:
    """Where a run over a period ends before a tick, its derivatives by the start and by a parameter, and the projector
    onto directions in which the start may move."""

    end: np.ndarray
    by_start: np.ndarray
    by_parameter: np.ndarray
    projector: np.ndarray


def run_over(
    unknowns: OrbitUnknowns, model: Model | System, span: tuple[float, float], start: Mapping[str, Any],
    options: Mapping[str, Any], parameter: str | None = None,
) -> Period:  # fmt: skip
    """The end of a run and its derivatives."""
    n, labels = unknowns.states, unknowns.labels
    wrt = ("start",) if parameter is None else ("start", parameter)
    remembers = len(labels) > n
    last = span[1] - BEFORE_THE_END * (span[1] - span[0]) if remembers else span[1]
    try:
        sens = sensitivities(model, (span[0], last), wrt=wrt, start=start, **options)
    except SolverError:
        return _by_differences(unknowns, model, span, start, options, parameter)
    own = np.asarray(sens.projector)[:n, :n]
    # The run alone tells where the motion ends: it is the one that has to close.
    end = _end_of(unknowns, model, span, start, options)
    if not remembers:
        by_start, projector = np.asarray(sens.M)[:n, :n], own
    else:
        by_start = np.array([[_number(sens.d(a, b)) for b in labels] for a in labels])
        projector = np.eye(len(labels))
        projector[:n, :n] = own
    by_parameter = np.zeros(len(labels))
    if parameter is not None:
        by_parameter = np.array([_number(sens.d(label, parameter)) for label in labels])
    return Period(end, by_start, by_parameter, projector)


def _end_of(
    unknowns: OrbitUnknowns, model: Model | System, span: tuple[float, float], start: Mapping[str, Any],
    options: Mapping[str, Any],
) -> np.ndarray:  # fmt: skip
    """The unknowns at the end of a run, before a tick there."""
    run = simulate(model, span, start=start, **{**options, "progress": False})
    if not run.success:
        raise SolverError(
            f"The run of {as_system(model).name!r} over one period stopped early.",
            f"at t = {float(run.time[-1]):.6g}", because=run.stop_reason, remedy="start= nearer to the orbit",
        )  # fmt: skip
    row = len(run.time) - (2 if len(run.time) > 1 and run.time[-2] == run.time[-1] else 1)
    return np.array([float(np.ravel(np.asarray(run[label])[row])[0]) for label in unknowns.labels])


def _by_differences(
    unknowns: OrbitUnknowns, model: Model | System, span: tuple[float, float], start: Mapping[str, Any],
    options: Mapping[str, Any], parameter: str | None,
) -> Period:  # fmt: skip
    """The same by central differences of runs, where the run with its derivatives stops and the run alone does not."""
    labels = unknowns.labels

    def moved(label: str, value: float) -> Mapping[str, Any]:
        return unknowns.consistent(model, {**start, label: value}, span[0], options)

    def end(begun: Mapping[str, Any], **further: Any) -> np.ndarray:
        return _end_of(unknowns, model, span, begun, {**options, **further})

    ways, columns = [], []
    for label, size in zip(labels, unknowns.sizes):
        here = float(start[label])
        way = DIFFERENCE * max(abs(here), float(size))
        above, below = moved(label, here + way), moved(label, here - way)
        ways.append(np.array([float(above[other]) - float(below[other]) for other in labels]))
        columns.append(end(above) - end(below))
    along = np.column_stack(ways)
    inverse = np.linalg.pinv(along, rcond=KNOWN_BY_DIFFERENCES)
    by_parameter = np.zeros(len(unknowns.labels))
    if parameter is not None:
        kind = "parameters" if parameter in as_system(model).labels["p"] else "inputs"
        here = float(dict(options[kind] or {})[parameter])
        way = DIFFERENCE * max(abs(here), DIFFERENCE)
        ends = [end(start, **{kind: {**options[kind], parameter: here + sign * way}}) for sign in (1, -1)]
        by_parameter = (ends[0] - ends[1]) / (2 * way)
    return Period(end(start), np.column_stack(columns) @ inverse, by_parameter, along @ inverse)


def _number(value: Any) -> float:
    return float(np.ravel(value)[0])
