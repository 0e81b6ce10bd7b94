"""Derivatives of what a sweep keeps by selected values: what was asked for, and how it is read from runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from daedalus.differentiation.result.sensitivity_samples import SensitivitySamples
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.differentiation.touching.contact_sensitivities import ContactSensitivities
from daedalus.ensembles.case_runs import CaseRuns
from daedalus.ensembles.columns import Column, derivative_name
from daedalus.ensembles.derivatives.derived_model import DerivedModel, derived_model
from daedalus.errors import DaedalusError, InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.mechanics.mechanics_part import touching_book
from daedalus.model.system.system import System
from daedalus.simulation.plant.plant import Plant, by_shape
from daedalus.simulation.run.request import LIMITS
from daedalus.simulation.run.road import Road


def read_names(system: System, wrt: Sequence[str]) -> tuple[str, ...]:
    """The elements of the values that are asked for: parameters, start values, constant inputs."""
    places = [system.place(name) for name in wrt]
    for place in places:
        if place.letter not in ("x", "u", "p"):
            known = "only parameters, start values and inputs have one"
            raise InputError(f"There is no derivative by {place.name}.", known)
    return tuple(dict.fromkeys(place.element(k).name for place in places for k in range(len(place.positions))))


class CaseDerivatives:
    """Derivatives of all that is kept of a run, by every element of some values."""

    def __init__(self, road: Road, kept: Sequence[Column], by: tuple[str, ...], end_only: bool) -> None:
        self.by, self._road, self._end_only = by, road, end_only
        system = road.request.system
        inputs = {v.name for v in system.of_kind("input")}
        self.of = [column for column in kept if column.name not in inputs]
        if touching_book(system) is not None:  # steps of contacts have derivatives of states alone
            states = {v.name for v in system.of_kind("state")} | set(system.labels["x"])
            self.of = [column for column in self.of if column.name in states]
        self.columns = [Column(derivative_name(of.name, by), of.shape, "", of.name) for by in by for of in self.of]

    # -- on lanes ----------------------------------------------------------------------------------------------------

    @cached_property
    def _model(self) -> DerivedModel:
        found = derived_model(self._road.system, self.by)
        assert found is not None
        return found

    @cached_property
    def _following(self) -> dict[str, int]:
        """What is not a state, each with its size."""
        states = self._road.settings.plant.columns
        return {column.name: column.width for column in self.of if column.name not in states}

    @property
    def follows_states(self) -> bool:
        """Whether there are derivatives of states alone."""
        return not self._following

    def of_lanes(self, y: np.ndarray, u: np.ndarray | None, p: np.ndarray | None) -> list[np.ndarray]:
        """One array (cases, times, ...) a column, from rows (cases, times, states and their derivatives).

        u: (cases, times, inputs), p: (cases, parameters); None where nothing but states is kept.
        """
        plant, n = self._road.settings.plant, self._model.system.sizes["x"]
        rest = self._rest(y, u, p)
        found = []
        for j in range(len(self.by)):
            for column in self.of:
                if column.name in plant.columns:
                    place, shape = plant.columns[column.name]
                    first = n * (1 + j)
                    found.append(by_shape(y[:, :, first + place.start : first + place.stop], shape))
                else:
                    found.append(by_shape(rest[column.name][j], column.shape))
        return found

    def _rest(self, y: np.ndarray, u: np.ndarray | None, p: np.ndarray | None) -> dict[str, np.ndarray]:
        """What follows from states: (values, cases, times, elements) by name."""
        if self.follows_states:
            return {}
        assert u is not None
        assert p is not None
        cases, times, width = y.shape
        rows = (np.tile(self._times, cases)[:, None], np.ascontiguousarray(y).reshape(-1, width))
        given = (np.ascontiguousarray(u).reshape(cases * times, -1), np.repeat(p, times, axis=0))
        values = self._model.following(tuple(self._following)).core.evaluate_many(*rows, *given)[0]
        found, begin = dict[str, np.ndarray](), 0
        for name, size in self._following.items():
            end = begin + size * len(self.by)
            part = np.asarray(values)[:, begin:end].reshape(cases, times, len(self.by), size)
            found[name], begin = part.transpose(2, 0, 1, 3), end
        return found

    @cached_property
    def _times(self) -> np.ndarray:
        return np.asarray(self._road.request.save_at)

    # -- in the scalar core ------------------------------------------------------------------------------------------

    def of_case(self, runs: CaseRuns, case: int) -> DerivedRun | str:
        """The derivatives of one case by the scalar core, or why there are none."""
        own = runs.request_of(case)
        try:
            found = sensitivities(
                own.model, own.span, wrt=self.by, start=own.start, inputs=own.inputs, parameters=own.parameters,
                method=own.method, rtol=own.rtol, atol=own.atol, **dict(zip(LIMITS, own.limits)),
            )  # fmt: skip
        except InputError:  # what is wrong with all cases
            raise
        except DaedalusError as error:
            return error.in_one_line
        begin, end = (float(found.states.time[k]) for k in (0, -1))
        reached = self._times[(self._times - end) * np.sign(end - begin) <= 0.0]
        if self._end_only and not len(reached):  # an event ended the run
            reached = np.array([end])
        return DerivedRun(self, found.at(reached) if len(reached) else None)


class DerivedRun(NamedTuple):
    """The derivatives of one case by the scalar core."""

    wanted: CaseDerivatives
    samples: SensitivitySamples | ContactSensitivities | None  # None where it ended before the first time

    def rows(self) -> list[np.ndarray]:
        """One array (times that it reached, ...) a column."""
        if self.samples is None:
            return [np.zeros((0, *column.shape)) for column in self.wanted.columns]
        return [self.samples.d(of.name, by) for by in self.wanted.by for of in self.wanted.of]

    def of_states(self, plant: Plant) -> np.ndarray:
        """The derivatives of all states, one column of them after the other, (times that it reached, all)."""
        if self.samples is None:
            return np.zeros((0, 0))
        labels = plant.system.labels["x"]
        return np.stack([self.samples.d(label, by) for by in self.wanted.by for label in labels], axis=1)
