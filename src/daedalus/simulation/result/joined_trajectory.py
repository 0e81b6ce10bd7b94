"""A run that consists of pieces, read as one: each piece is a trajectory with its own method, equations and rows.

A piece begins where the one before it stopped. Their common moment is one sample, that of the later piece; where an
event happened there too, or where it begins or ceases to slide on its way, the sample before it stays. An event that
ended a piece so that another could begin is not an event of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from daedalus.model.event_purpose import EventPurpose
from daedalus.model.lazy_values import cached_property
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.outcome import Outcome, Work
from daedalus.simulation.result.recorded_run import EventRecord
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_methods import BelowTolerance, FewDigits, GrowingModeMet, LongOscillation
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory

SMALL = (BelowTolerance, FewDigits)


class Joined(Samples):
    """Samples that consist of parts, in the order of the run unless `order` says which row of them comes when."""

    _parts: Sequence[Samples]
    _order: np.ndarray | None

    def keys(self) -> list[str]:
        """All names that every part has, in one shape."""
        return self._common

    @cached_property
    def _common(self) -> list[str]:
        first, *others = ({name: shape_of(part, name) for name in Samples.keys(part)} for part in self._parts)
        return [name for name, shape in first.items() if all(other.get(name) == shape for other in others)]

    def _values(self, name: str) -> np.ndarray:
        if name in ("t", "time"):
            return self._times
        return self._stacked([part._values(name) for part in self._filled])

    def _vector(self, letter: str) -> np.ndarray:
        return self._stacked([part._vector(letter) for part in self._filled])

    @cached_property
    def _filled(self) -> Sequence[Samples]:
        """The parts with samples; one without where no part has any, so that values have their shapes."""
        return [part for part in self._parts if len(part._times)] or self._parts[:1]

    def _stacked(self, values: list[np.ndarray]) -> np.ndarray:
        rows = np.concatenate(values)
        return rows if self._order is None else rows[self._order]

    def violations(self) -> dict[str, float]:
        """The largest violation of each equation without derivatives, invariant or watched constraint."""
        found: dict[str, float] = {}
        for part in self._filled:
            for name, value in part.violations().items():
                found[name] = max(value, found.get(name, 0.0))
        return found

    def violation_series(self) -> dict[str, np.ndarray]:
        """The violation of each in every row; NaN in pieces of the run that have no such equation."""
        series = [part.violation_series() for part in self._filled]
        names = list(dict.fromkeys(name for own in series for name in own))
        empty = [np.full(len(part._times), np.nan) for part in self._filled]
        return {n: self._stacked([own.get(n, gap) for own, gap in zip(series, empty)]) for n in names}


def shape_of(samples: Samples, name: str) -> tuple[int, ...]:
    """The shape of a name at one time."""
    plant = samples._plant
    return plant.output_slices[name][1] if name in plant.output_slices else plant.system.place(name).shape


class JoinedSamples(Joined):
    """Values at times that lie in several pieces of a run."""

    def __init__(self, parts: Sequence[Samples], order: np.ndarray, times: np.ndarray) -> None:
        first = parts[0]
        super().__init__(first._plant, first._drive, first._parameters, times, np.empty((len(times), 0)))
        self._parts, self._order = parts, order

    def __reduce__(self) -> tuple[Any, ...]:
        return JoinedSamples, (self._parts, self._order, self._times)


class JoinedTrajectory(Joined, Trajectory):
    """What `dd.simulate` returns where the method or the equations were changed on the way; `pieces` has the parts.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> first = dd.simulate(m, 1.0, method="tsit5")
    >>> whole = JoinedTrajectory([first, dd.simulate(m, (1.0, 2.0), start=first.end, method="radau5")])
    >>> whole.method, [round(float(x), 6) for x in whole.at([0.5, 1.5])["x"]]
    ('tsit5, then radau5', [0.606531, 0.22313])
    """

    def __init__(self, pieces: Sequence[Trajectory]) -> None:
        first, last = pieces[0], pieces[-1]
        self._pieces, self._order = tuple(pieces), None
        begin = next((piece._times[0] for piece in pieces if len(piece._times)), np.nan)
        self._parts = [*(_before(*pair, begin) for pair in pairwise(pieces)), last]
        times = np.concatenate([part._times for part in self._parts])
        arrays = (first._parameters, times, np.empty((len(times), 0)))
        super().__init__(first._plant, first._drive, *arrays, last.status, self._told, None)

    @property
    def pieces(self) -> tuple[Trajectory, ...]:
        """The runs that this one consists of."""
        return self._pieces

    def _told(self) -> Outcome:
        outcomes = [piece.outcome for piece in self._pieces]
        events = (e for piece in self._pieces[:-1] for e in piece.outcome.events[: _own_events(piece)])
        records = dict.fromkeys(record for outcome in outcomes for record in outcome.records)
        return Outcome(
            stop=outcomes[-1].stop,
            method=", then ".join(name for name, _ in groupby(outcome.method for outcome in outcomes)),
            work=sum((outcome.work for outcome in outcomes), Work()),
            # How large a state gets is seen in the whole run alone.
            records=(
                *_with_one_of_modes(
                    _with_one_of_places(
                        [record for record in records if not isinstance(record, (*SMALL, LongOscillation))]
                    )
                ),
                *_small_everywhere([outcome.records for outcome in outcomes]),
                *_oscillations([record for record in records if isinstance(record, LongOscillation)]),
            ),
            events=(*events, *outcomes[-1].events),
            turns=tuple(turn for outcome in outcomes for turn in outcome.turns),
        )

    @cached_property
    def events(self) -> list[EventRecord]:
        """The events in order of time; `.before["x"]` and `.after["x"]` give values by name."""
        *earlier, last = self._pieces
        return [*(event for piece in earlier for event in piece.first_events(_own_events(piece))), *last.events]

    @property
    def dense_spans(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each polynomial of the dense output begins and ends."""
        starts, ends = zip(*(piece.dense_spans for piece in self._pieces))
        return np.concatenate(starts), np.concatenate(ends)

    @property
    def end(self) -> Samples:
        """The last moment of the run."""
        found = self._pieces[-1].end
        if self.system.events:
            found._fired = self.fired_at_end(float(found._times[0]))
        return found

    def _of_instant(self, found: Samples) -> Samples:
        """One moment with what happened there in all pieces: the one before may have ended with it."""
        found._fired, ahead = self.happened(float(found._times[0]))
        found._later = None if ahead is None else lambda: self.at(ahead)
        return found

    def _between(self, times: np.ndarray, inside: np.ndarray, scalar: bool, project: bool) -> Samples:
        owner = self._owners(inside)
        asked = np.unique(owner)
        if len(asked) == 1:
            found = self._pieces[asked[0]]._between(times, inside, scalar, project)
            return self._of_instant(found) if scalar and self.system.events else found
        places = [np.flatnonzero(owner == k) for k in asked]
        parts = [self._pieces[k]._between(times[p], inside[p], False, project) for k, p in zip(asked, places)]
        return JoinedSamples(parts, np.argsort(np.concatenate(places)), times)

    def _owners(self, times: np.ndarray) -> np.ndarray:
        """The piece that each time belongs to: the latest that has begun."""
        joints = np.array([piece.dense_spans[0][0] for piece in self._pieces[1:]])
        if len(self.dense_spans[0]) and self.dense_spans[1][-1] < self.dense_spans[0][0]:
            return np.searchsorted(-joints, -times, side="right")
        return np.searchsorted(joints, times, side="right")

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return JoinedTrajectory, (self._pieces,)


def joined(pieces: Sequence[Trajectory]) -> Trajectory:
    """One trajectory of several; a single one stays itself."""
    return pieces[0] if len(pieces) == 1 else JoinedTrajectory(pieces)


def _with_one_of_places(records: list[Record]) -> tuple[Record, ...]:
    """Records with those of the dead centres of all pieces in one, where the first of them is."""
    places = [k for k, record in enumerate(records) if isinstance(record, DeadCentresPassed)]
    if len(places) > 1:
        times = tuple(t for record in records if isinstance(record, DeadCentresPassed) for t in record.times)
        records[places[0]] = DeadCentresPassed(times)
    return tuple(record for k, record in enumerate(records) if k not in places[1:])


def _with_one_of_modes(records: tuple[Record, ...]) -> Iterator[Record]:
    """Records with the first alone of each kind of growing mode: pieces meet the same one again."""
    told = set()
    for record in records:
        if isinstance(record, GrowingModeMet):
            if record.kind in told:
                continue
            told.add(record.kind)
        yield record


def _small_everywhere(records: Sequence[Sequence[Record]]) -> tuple[Record, ...]:
    """What is told of small states in every piece: the larger kind where a state is larger in one of them."""
    told = [[record for record in own if isinstance(record, SMALL)] for own in records]
    small, few = (
        [{name for r in own if isinstance(r, kind) for name in r.variables} for own in told] for kind in SMALL
    )
    everywhere = [
        name for record in told[0] for name in record.variables if all(name in a | b for a, b in zip(small, few))
    ]
    largest = max((record.tolerance for own in told for record in own), default=0.0)
    larger = {name for own in few for name in own}
    names = (tuple(n for n in everywhere if n not in larger), tuple(n for n in everywhere if n in larger))
    return tuple(kind(own, largest) for kind, own in zip(SMALL, names) if own)


def _oscillations(told: list[LongOscillation]) -> tuple[LongOscillation, ...]:
    """What is told of long oscillations in single pieces, in one."""
    if not told:
        return ()
    names = tuple(dict.fromkeys(name for record in told for name in record.variables))
    periods, steps = sum(record.periods for record in told), sum(record.steps for record in told)
    return (LongOscillation(names, periods, steps, max(record.rtol for record in told)),)


def _own_events(piece: Trajectory) -> int:
    """How many events of a piece that another follows are events of the run: not the one that ended the piece."""
    return len(piece.outcome.events) - (piece.status is Ending.EVENT)


def _before(piece: Trajectory, later: Trajectory, begin: float) -> Samples:
    """The samples of a piece without the moment that the later one begins with; a run has none before its own."""
    times, stop = piece._times, float(piece.end.time)
    # Each time of save_at belongs to one piece already.
    if not len(later._times) or later._times[0] != stop:
        return piece
    keep = len(times) - int(np.sum(times == stop))
    changes = _surfaces(piece) != _surfaces(later)
    changes = changes or any(t == stop for _, t, *_ in piece.outcome.events[: _own_events(piece)])
    keep += changes and stop != begin
    return piece._some(slice(keep))


def _surfaces(piece: Trajectory) -> int:
    """How many events a piece has that end its stay on surfaces."""
    return sum(event.purpose is EventPurpose.LEAVES_SURFACE for event in piece.system.events)
