"""A run of which chosen variables are kept: their rows, the last moment in full, and how the run went.

`dd.simulate(..., save=["u"])` computes the whole run and hands this out. Of n unknowns, steps and rows go; what stays
is a row of each chosen variable per time, those on both sides of each event, and the one moment from which another run
can go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import flat_index, split_index
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.plain_record import PlainRecord
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.result.event_records import FiredEvent
from daedalus.simulation.result.held_values import HeldModes, HeldValues
from daedalus.simulation.result.labelled_samples import to_dataset
from daedalus.simulation.result.outcome import COUNTED
from daedalus.simulation.result.rebuilt_run import SavedArrays, run_of
from daedalus.simulation.result.recorded_run import EventRecord
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.saved_run import described_run
from daedalus.simulation.result.sealed_record import save_sealed
from daedalus.simulation.result.step_table import Steps
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.result.transitions import Transition

KIND = "saved variables"
COLUMNS = tuple(Steps.__dataclass_fields__)
Values = dict[str, np.ndarray]


class _Saved(Samples):
    """Samples that have chosen variables alone."""

    _kept: Values

    @property
    def _x(self) -> NoReturn:
        raise self._not_saved("all states")

    @_x.setter
    def _x(self, rows: object) -> None:
        """Rows of all states are not kept."""

    def keys(self) -> list[str]:
        """The names that were chosen, and the parameters."""
        return [*self._kept, *(v.name for v in self.system.of_kind("parameter") if v.name not in self._kept)]

    def _values(self, name: str) -> np.ndarray:
        stem, index = split_index(name)
        if name in self._kept:
            return self._kept[name].copy()
        if name in ("t", "time"):
            return self._times
        if stem in self._kept and index is not None:
            shape = self._kept[stem].shape[1:]
            # Elements are counted by columns.
            column = flat_index(shape, index)
            if column is None:
                raise InputError(f"{name} does not exist.", f"{stem} has shape {shape}")
            place: tuple[Any, ...] = (slice(None), *np.unravel_index(column, shape, order="F"))
            element: np.ndarray = self._kept[stem][place].copy()
            return element
        if name not in self.system.output_names and stem not in self.system.output_names:
            place_of = self.system.place(name)  # an unknown name is refused as everywhere
            if place_of.letter == "p" and stem in self.keys():
                values = self._parameters[place_of.positions].reshape(place_of.shape, order="F")
                return np.repeat(values[None], len(self._times), axis=0)
        raise self._not_saved(repr(name))

    def _vector(self, letter: str) -> np.ndarray:
        raise self._not_saved("all states")

    def violation_series(self) -> dict[str, np.ndarray]:
        """Constraints contain all states, which are not there."""
        raise self._not_saved("all states")

    def _not_saved(self, what: str) -> InputError:
        kept = list(self._kept)
        return InputError(
            f"This result does not have {what}.",
            f"it has {', '.join(kept[:8])}{f' and {len(kept) - 8} more' if len(kept) > 8 else ''}"
            if kept
            else "it has no variables",
            because="save= chose what to keep of the run.",
            remedy=f"dd.simulate(..., save=[{what}])" if what[0] in "'\"" else "dd.simulate without save=",
        )


class SavedSamples(_Saved):
    """Chosen variables at some times of a run, such as before and after an event."""

    def __init__(self, run: Trajectory, times: np.ndarray, kept: Values, scalar: bool) -> None:
        self._run, self._kept = run, kept
        moments = run.run_data
        super().__init__(moments.plant, moments.drive, moments.parameters, times, np.empty((len(times), 0)), scalar)
        self.saved = tuple(kept)

    def __reduce__(self) -> tuple[Any, ...]:
        return SavedSamples, (self._run, self._times, self._kept, self._scalar)


class SavedTrajectory(_Saved, Trajectory):
    """What `dd.simulate(..., save=["u"])` returns: `tr["u"]`, `tr.end` with all values, files, tables and plots.

    last: the last moment of the run with its outcome, as a run without steps. events: the name and time of each;
    beside: the chosen variables before and after all of them.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("chain")
    >>> u = m.state("u", 50, start=np.ones(50)); m.output("first", u[0])
    >>> m.equation(m.der(u), -u)
    >>> tr = dd.simulate(m, 1.0, save_at=[0.5, 1.0], save=["first"])
    >>> tr["first"].round(4).tolist(), tr.end["u"].shape
    ([0.6065, 0.3679], (50,))
    """

    def __init__(
        self,
        last: Trajectory,
        times: np.ndarray,
        kept: Values,
        steps: Steps,
        events: tuple[tuple[str, float], ...] = (),
        beside: tuple[Values, Values] | None = None,
    ) -> None:
        self._kept, self._last, self._table, self._told = kept, last, steps, events
        self._beside = beside or ({}, {})
        none = np.zeros(0)
        outcome = replace(last.outcome, events=tuple(FiredEvent(0, t, none, none) for _, t in events))
        data = last.run_data
        super().__init__(
            data.plant, data.drive, data.parameters, None, None, last.status, outcome, Dense.joined([]), None, None
        )
        self._times, self.saved, self.has_given_times = times, tuple(kept), True

    @staticmethod
    def of(whole: Trajectory, names: Sequence[str]) -> SavedTrajectory:
        """The chosen variables of a run; the run itself can be let go."""
        kept = {name: _copy(whole[name]) for name in names}
        events = whole.events
        told = tuple((event.name, float(event.time)) for event in events)
        before, after = (
            {name: _stacked([getattr(event, side)[name] for event in events], kept[name]) for name in names}
            for side in ("before", "after")
        )
        return SavedTrajectory(_last_moment(whole), _copy(whole.time), kept, whole.steps, told, (before, after))

    @property
    def end(self) -> Samples:
        """The last moment of the run with all its values, from which another run can go on."""
        return self._last.end

    @cached_property
    def events(self) -> list[EventRecord]:
        """The events in order of time, with the chosen variables before and after."""
        found = []
        for k, (name, t) in enumerate(self._told):
            sides = ({n: values[k : k + 1] for n, values in side.items()} for side in self._beside)
            found.append(EventRecord(name, t, *(SavedSamples(self._last, np.array([t]), v, True) for v in sides)))
        return found

    @cached_property
    def transitions(self) -> list[Transition]:
        """Transitions have all values before and after, which are not kept."""
        raise self._not_saved("all states")

    @property
    def dense(self) -> Dense:
        """Polynomials of the steps are not kept."""
        raise self._not_saved("values between its rows")

    @property
    def dense_spans(self) -> tuple[np.ndarray, np.ndarray]:
        """Where polynomials begin and end, of which there are none."""
        return np.zeros(0), np.zeros(0)

    @property
    def steps(self) -> Steps:
        """Each step of the run, as in a whole one."""
        return self._table

    def _reach(self) -> tuple[float, float]:
        return (min(self._times[[0, -1]]), max(self._times[[0, -1]])) if len(self._times) else (np.nan, np.nan)

    def _between(self, times: np.ndarray, inside: np.ndarray, scalar: bool, project: bool) -> Samples:
        own = self._times
        sign = -1.0 if own[-1] < own[0] else 1.0
        # Of two rows at one time, the later one.
        near = np.searchsorted(sign * own, sign * inside, side="right")
        choices = np.stack([np.clip(near - 1, 0, len(own) - 1), np.clip(near, 0, len(own) - 1)])
        rows = choices[np.argmin(np.abs(own[choices] - inside), axis=0), np.arange(len(inside))]
        low, high = self._reach()
        off = np.abs(own[rows] - inside) > same_instant(low, high)
        if off.any():
            raise InputError(
                "This result has no values between its rows.",
                f"asked for t = {times[off][0]:g}; the nearest row is at {own[rows][off][0]:g}",
                because="save= chose what to keep of the run: rows of variables, and no steps.",
                remedy="the time in save_at, or dd.simulate without save=",
            )
        return SavedSamples(self._last, times, {name: values[rows] for name, values in self._kept.items()}, scalar)

    def _discrete_rows(self) -> None:
        return None

    def save(self, path: str | Path) -> None:
        """Write the chosen variables and the last moment to a NetCDF file; `dd.load` reads it back."""
        save_sealed(Path(path), "run", 'tr.save("run.nc")', lambda: to_dataset(self), self._described)

    def _described(self) -> tuple[dict[str, Any], Values]:
        described, arrays = described_run([self._last])
        arrays = {f"last/{name}": values for name, values in arrays.items()} | {"times": self._times}
        for what, values in (("kept", self._kept), ("before", self._beside[0]), ("after", self._beside[1])):
            for k, name in enumerate(self._kept):
                arrays[f"{what}_{k}"] = values[name]
        arrays |= {f"steps_{name}": np.asarray(getattr(self._table, name), dtype=float) for name in COLUMNS}
        arrays["event_times"] = np.array([t for _, t in self._told])
        events = [name for name, _ in self._told]
        return {"kind": KIND, "last": described, "variables": list(self._kept), "events": events}, arrays

    def __reduce__(self) -> tuple[Any, ...]:
        return SavedTrajectory, (self._last, self._times, self._kept, self._table, self._told, self._beside)


def _copy(values: np.ndarray) -> np.ndarray:
    """Values of their own, which hold no larger array."""
    return np.array(values, dtype=float, order="C")


def _stacked(values: Sequence[np.ndarray], like: np.ndarray) -> np.ndarray:
    return np.stack([np.asarray(own, dtype=float) for own in values]) if values else np.zeros((0, *like.shape[1:]))


def _last_moment(whole: Trajectory) -> Trajectory:
    """The end of a run as a run over no time, with the outcome of the whole."""
    piece, end = whole.pieces[-1], whole.end
    moment, t = end.run_data, np.atleast_1d(np.asarray(end.time, dtype=float))
    row, held, modes = _copy(moment.rows), None, piece.run_data.held_modes
    full = row[0]
    if moment.held is not None:
        held, full = HeldValues(np.zeros(1), t, _copy(moment.held)), np.concatenate([row[0], moment.held[0]])
    if modes is not None:
        modes = HeldModes(modes.conditions, HeldValues(np.zeros(1), t, modes.at(float(t[0])).values[None]))
    fired = tuple(
        FiredEvent(k, float(t[0]), full, full)
        for k, event in enumerate(piece.system.events)
        if event.name in moment.fired and event.manner.schedule is None
    )
    none = np.zeros((0, COUNTED))
    outcome = replace(whole.outcome, events=fired, contacts=(), step_counts=none, step_times=none[:, 0])
    data = piece.run_data
    parameters = data.parameters
    if held is not None:
        parameters = np.concatenate([parameters[: len(parameters) - held.values.shape[1]], held.values[-1]])
    dense = Dense.joined([], row.shape[1])
    return Trajectory(data.plant, data.drive, parameters, t, row, whole.status, outcome, dense, held, modes)


def saved_variables(description: PlainRecord, arrays: Values) -> SavedTrajectory:
    """The saved variables that a file describes, every entry checked."""
    description.only(("kind", "last", "variables", "events"))
    own = {name.removeprefix("last/"): values for name, values in arrays.items() if name.startswith("last/")}
    last, given = run_of(description.part("last"), own), SavedArrays(arrays, description.place)
    names, times = description.texts("variables", distinct=True), given.get("times", None)
    if not np.all(np.isfinite(times)):
        raise description.misfit("times", "finite times", times.tolist()[:4])
    event_times = given.get("event_times", None)
    told = tuple(zip(description.texts("events", len(event_times)), event_times.tolist()))
    found: list[Values] = []
    for what, count in (("kept", len(times)), ("before", len(event_times)), ("after", len(event_times))):
        found.append({})
        for k, name in enumerate(names):
            shape = last.end[name].shape
            found[-1][name] = given.get(f"{what}_{k}", count, *shape)
    time = given.get("steps_time", None)
    columns = {name: given.get(f"steps_{name}", len(time)) for name in COLUMNS}
    counts = {name: columns[name].astype(int) for name in ("rejected", "newton", "order")}
    return SavedTrajectory(last, times, found[0], Steps(**(columns | counts)), told, (found[1], found[2]))
