"""A step that is taken again up to its event, and what happens there, on lanes.

As in the scalar core (core/events/events.hpp, core/events/instants.hpp): the end is corrected along the rate of the
guard until it is zero to rounding; resets read the values before the event and assign together. Where more follows from
them at the same moment, a lane leaves its case to that core.
"""

from __future__ import annotations

from daedalus._core import shared_numbers
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.events.event_cells import EventCells
from daedalus.ensembles.lanes.events.step_guards import crosses, direction_fits, guards_at
from daedalus.ensembles.lanes.kernel_frame import KernelFrame

# Of core/events/events.hpp and core/events/instants.hpp.
CORRECTIONS, CROWD_INTERVAL = shared_numbers["cut_corrections"], shared_numbers["negligible"]
# The step to the best end found is taken once more.
_LAST = 9.0


class EventCut:
    """Steps of lanes that end at an event."""

    def __init__(self, frame: KernelFrame, cells: EventCells) -> None:
        self.frame, self.cells, self.events = frame, cells, cells.events

    def planned(self, t_new: Word) -> Word:
        """Where the steps of all lanes end."""
        return self.frame.w.choose(self.cells.cutting.now, self.cells.end.now, t_new)

    def arrive(self, cutting: Word, t: Word, t_new: Word, x_new: list[Word], error: Word) -> Word:
        """Lanes of a mask have taken their step again; those whose event is at its end. Others correct it."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        bad = w.both(cutting, w.unless(w.compare("ole", error, w.num(1.0))))
        frame.leave_where(bad)
        cutting = w.both(cutting, w.unless(bad))
        arrived = w.cell(w.truth)
        arrived.set(frame.no_lane())
        with w.when(w.any(cutting)):
            value = cells.of_guard(guards_at(frame, self.events, t_new, x_new, rare=True))
            arrived.set(self._corrected(cutting, t, t_new, value))
            self._check_side(arrived.now, t_new, cells.best_value.now)
            arrived.set(w.both(arrived.now, frame.running()))
        return arrived.now

    def _corrected(self, cutting: Word, t: Word, t_new: Word, value: Word) -> Word:
        """The lanes whose end needs no correction."""
        w, cells, direction = self.frame.w, self.cells, self.frame.settings["direction"]
        tries, zero = cells.tries.now, self.frame.w.num(0.0)
        last = w.compare("oge", tries, w.num(_LAST))
        first = w.compare("oeq", tries, zero)
        nearer = w.compare("olt", w.abs(value), w.abs(cells.best_value.now))
        better = w.both(w.either(first, nearer), w.unless(last))
        for cell, word in ((cells.best_end, t_new), (cells.best_value, value)):
            cell.set_where(w.both(cutting, better), word)
        end = w.sub(t_new, w.div(value, cells.rate.now))
        spacing = w.larger(w.mul(w.abs(t_new), w.num(2.0**-52)), w.num(2.0**-1022))
        moves = w.compare("ogt", w.abs(w.sub(end, t_new)), spacing)
        behind = w.compare("ogt", w.mul(w.sub(end, t), direction), zero)
        within = w.compare("oge", w.mul(w.sub(cells.latest.now, end), direction), zero)
        goes_on = w.both(w.both(better, moves), w.both(behind, within))
        goes_on = w.both(w.both(cutting, goes_on), w.compare("olt", tries, w.num(CORRECTIONS)))
        back = w.both(cutting, w.unless(w.either(better, last)))
        cells.end.set_where(goes_on, end)
        cells.tries.set_where(goes_on, w.add(tries, w.num(1.0)))
        cells.end.set_where(back, cells.best_end.now)
        cells.tries.set_where(back, w.num(_LAST))
        return w.both(cutting, w.unless(w.either(goes_on, back)))

    def _check_side(self, arrived: Word, t_new: Word, value: Word) -> None:
        """A guard that is not beyond zero, nor as near to it as the tolerance tells, is a matter of the core."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        spacing = w.larger(w.mul(w.abs(t_new), w.num(2.0**-52)), w.num(2.0**-1022))
        near = w.larger(
            w.mul(frame.settings["rtol"], cells.largest.now),
            w.mul(w.mul(w.num(4.0), spacing), w.abs(cells.rate.now)),
        )
        short = w.compare("olt", w.mul(cells.side.now, value), w.neg(near))
        trusted = w.compare("une", cells.of_guard([cell.now for cell in cells.reference]), w.num(0.0))
        frame.leave_where(w.both(arrived, w.both(short, trusted)))

    # -- what happens there --------------------------------------------------------------------------------------------

    def fire(self, fired: Word, h: Word) -> None:
        """Lanes of a mask are at their event, a step of length h behind them: resets hold, references follow."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        cells.cutting.set(w.both(cells.cutting.now, w.unless(fired)))
        before = guards_at(frame, self.events, frame.t.now, frame.now(), rare=True)
        self._assign(fired)
        after = self._with_modes(fired)
        frame.leave_where(w.both(fired, w.unless(frame.finite([*frame.now(), *after]))))
        for k in range(self.events.count):
            own = w.both(fired, cells.is_guard(k))
            self._check_others(k, w.both(fired, w.unless(own)), before[k], after[k])
            self._rest(k, own, h, before[k], after[k])
            away = w.compare("une", cells.reference[k].now, w.num(0.0))
            frame.leave_where(w.both(w.both(fired, away), cells.wrong_mode(k, after[k])))
        self._check_crowd(fired)
        ends = frame.no_lane()
        for k, terminal in enumerate(self.events.terminal):
            ends = w.either(ends, w.both(fired, cells.is_guard(k))) if terminal else ends
        frame.end_at_event(w.both(ends, frame.running()), cells.guard.now)

    def _with_modes(self, fired: Word) -> list[Word]:
        """The guards behind an event, where modes follow what it has assigned; those that do not settle are left."""
        frame, w, cells, first = self.frame, self.frame.w, self.cells, self.events.count - self.events.modes
        after = guards_at(frame, self.events, frame.t.now, frame.now(), rare=True)
        for k, mode in enumerate(frame.assigned[self.events.discretes :], first):
            follows = w.both(w.both(fired, w.unless(cells.is_guard(k))), cells.wrong_mode(k, after[k]))
            mode.set_where(follows, w.sub(w.num(1.0), mode.now))
        return guards_at(frame, self.events, frame.t.now, frame.now(), rare=True) if self.events.modes else after

    def _assign(self, fired: Word) -> None:
        """What the events of lanes assign to states and discrete variables."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        first, discretes = self.events.count - self.events.modes, self.events.discretes
        places, modes = [*frame.x, *frame.assigned[:discretes]], frame.assigned[discretes:]
        rows = (
            [] if self.events.resets is None else frame.formulas("model.resets", frame.t.now, frame.now(), rare=True)[0]
        )
        on = w.choose(w.compare("ogt", cells.side.now, w.num(0.0)), w.num(1.0), w.num(0.0))
        for k, mode in enumerate(modes):
            mode.set_where(w.both(fired, cells.is_guard(first + k)), on)
        for j, place in enumerate(places):
            writers = [k for k, row in enumerate(self.events.writes) if row[j]]
            found = place.now
            for k in writers:
                found = w.choose(cells.is_guard(k), rows[k * len(places) + j], found)
            if writers:
                place.set_where(fired, found)

    def _check_others(self, k: int, mask: Word, before: Word, after: Word) -> None:
        """Guards of other events than the one that fired: what its reset carried across zero would fire too."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        reference, floor, zero = cells.reference[k].now, cells.floor[k].now, w.num(0.0)
        rested = w.compare("oeq", reference, zero)
        left = w.both(rested, w.compare("ogt", w.abs(before), floor))
        trusted = w.choose(left, before, reference)
        direction, passed = self.events.directions[k], crosses(frame, trusted, before)
        if not self.events.is_mode(k):
            passed = w.either(passed, crosses(frame, trusted, after))
            # One that went the other way before is carried back.
            carried = w.both(crosses(frame, before, after), direction_fits(frame, direction, before))
            frame.leave_where(w.both(mask, carried))
        frame.leave_where(w.both(w.both(mask, passed), direction_fits(frame, direction, trusted)))
        rests = w.both(rested, w.compare("ole", w.abs(after), floor))
        cells.reference[k].set_where(mask, w.choose(rests, zero, after))
        cells.floor[k].set_where(w.both(mask, w.unless(rests)), zero)
        cells.heading[k].set_where(mask, zero)

    def _rest(self, k: int, own: Word, h: Word, before: Word, after: Word) -> None:
        """A guard that fired rests at zero where its reset left it there, to rounding."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        rate, t, zero = cells.rate.now, frame.t.now, w.num(0.0)
        spacing = w.larger(w.mul(w.abs(t), w.num(2.0**-52)), w.num(2.0**-1022))
        level = w.fma(w.abs(rate), spacing, w.abs(before))
        now, way = w.abs(after), w.abs(w.mul(rate, h))
        near = w.compare("ole", now, w.mul(frame.settings["rtol"], way))
        floor = w.mul(w.num(4.0), w.choose(near, w.larger(level, now), level))
        rests = w.compare("ole", now, floor)
        cells.reference[k].set_where(own, w.choose(rests, zero, after))
        cells.floor[k].set_where(own, w.choose(rests, floor, zero))
        size = w.larger(w.abs(rate), w.num(2.0**-1022))
        heading = w.copysign(size, cells.side.now)
        cells.heading[k].set_where(own, w.choose(rests, heading, zero))
        cells.fresh[k].set(w.both(cells.fresh[k].now, w.unless(own)))

    def _check_crowd(self, fired: Word) -> None:
        """Events that follow each other within a tiny part of the span are for the core to judge."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        span = w.abs(w.sub(frame.end.now, frame.settings["t0"]))
        since = w.abs(w.sub(frame.t.now, cells.last_time.now))
        crowded = w.compare("olt", since, w.mul(w.num(CROWD_INTERVAL), span))
        frame.leave_where(w.both(fired, crowded))
        cells.last_time.set_where(fired, frame.t.now)
