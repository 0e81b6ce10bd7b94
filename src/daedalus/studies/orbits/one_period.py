"""One run over a period with its derivatives: states, and the memory of clocks, from before their first tick on.

Discrete variables that no condition compares, such as the sum of a digital controller, are unknowns of an orbit like
states. A tick at the end belongs to the next period, so that values count as they are before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.differentiation.differentiable_system import whole_start
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.model.model import Model, as_system
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.system import System
from daedalus.simulation.simulate import simulate

# Derivatives are taken this share of a run before its end, where clocks may tick.
BEFORE_THE_END = 1e-9


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
    begun = sensitivities(model, (begin, begin + short), wrt=("start",), start=start, **options)
    system, states = begun.system, len(np.asarray(begun.value).ravel())
    held = system.part(HeldStates)
    compared = frozenset[int]() if held is None else held.compared
    labels = tuple(label for k, label in enumerate(system.labels["x"]) if k not in compared)
    given = whole_start(as_system(model), start) or {}
    kept = [v.name for v in as_system(model).of_kind("discrete") if v.name in given and v.name not in labels]
    return OrbitUnknowns(system, labels, states, {name: given[name] for name in kept})


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
    sens = sensitivities(model, (span[0], last), wrt=wrt, start=start, **options)
    own = np.asarray(sens.projector)[:n, :n]
    if not remembers:
        end, by_start, projector = np.asarray(sens.value).ravel()[:n], np.asarray(sens.M)[:n, :n], own
    else:
        run = simulate(model, span, start=start, **{**options, "progress": False})
        row = len(run.time) - (2 if len(run.time) > 1 and run.time[-2] == run.time[-1] else 1)
        end = np.array([float(np.ravel(np.asarray(run[label])[row])[0]) for label in labels])
        by_start = np.array([[_number(sens.d(a, b)) for b in labels] for a in labels])
        projector = np.eye(len(labels))
        projector[:n, :n] = own
    by_parameter = np.zeros(len(labels))
    if parameter is not None:
        by_parameter = np.array([_number(sens.d(label, parameter)) for label in labels])
    return Period(end, by_start, by_parameter, projector)


def _number(value: Any) -> float:
    return float(np.ravel(value)[0])
