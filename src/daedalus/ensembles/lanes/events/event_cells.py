"""What every lane remembers of the events of its case."""

from __future__ import annotations

from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.events.lane_events import LaneEvents
from daedalus.ensembles.lanes.events.step_guards import guards_at
from daedalus.ensembles.lanes.kernel_frame import KernelFrame


class EventCells:
    """Of every guard its last value with a trusted sign, and of a step that is cut where and for which guard.

    A guard that fired rests on zero: its reference is 0 until it is above its floor. Its heading is the rate with which
    it came, where its reset may send it back; one that is zero at the start is fresh.
    """

    def __init__(self, frame: KernelFrame, events: LaneEvents) -> None:
        self.frame, self.events, w = frame, events, frame.w
        self.reference, self.floor, self.heading = (frame.cells(events.count) for _ in range(3))
        self.fresh = [w.cell(w.truth) for _ in events.directions]
        self.cutting = w.cell(w.truth)
        # The guard of a cut by its number, its rate, the side that it goes to, and its largest size in the whole step.
        self.guard, self.rate, self.side, self.largest = frame.cells(4)
        # Where the cut step ends, where the whole one did, the best end up to now with the guard there, and its number.
        self.end, self.latest, self.best_end, self.best_value, self.tries, self.last_time = frame.cells(6)
        for cell in (self.cutting, *self.fresh):
            cell.set(frame.no_lane())

    def begin(self, mask: Word) -> None:
        """Lanes of a mask begin a case."""
        frame, w = self.frame, self.frame.w
        values = self._begin_modes(mask)
        for k, value in enumerate(values):
            self.reference[k].set_where(mask, value)
            for cell in (self.floor[k], self.heading[k]):
                cell.set_where(mask, w.num(0.0))
            zero = w.both(mask, w.compare("oeq", value, w.num(0.0)))
            zero = frame.no_lane() if self.events.is_mode(k) else zero
            self.fresh[k].set(w.either(w.both(self.fresh[k].now, w.unless(mask)), zero))
        frame.leave_where(w.both(mask, w.unless(frame.finite(values))))
        self.cutting.set(w.both(self.cutting.now, w.unless(mask)))
        never = w.mul(frame.settings["direction"], w.num(float("-inf")))
        self.last_time.set_where(mask, never)

    def _begin_modes(self, mask: Word) -> list[Word]:
        """The guards at the start of a case, with which modes are made to agree; a lane in which none do is left."""
        frame, w, first = self.frame, self.frame.w, self.events.count - self.events.modes
        modes = frame.assigned[self.events.discretes :]
        # A condition inside another one needs a round more.
        for _ in range(self.events.modes + 1 if modes else 0):
            values = guards_at(frame, self.events, frame.t.now, frame.now(), rare=True)
            for mode, value in zip(modes, values[first:]):
                mode.set_where(mask, w.choose(w.compare("ogt", value, w.num(0.0)), w.num(1.0), w.num(0.0)))
        values = guards_at(frame, self.events, frame.t.now, frame.now(), rare=True)
        for mode, value in zip(modes, values[first:]):
            frame.leave_where(w.both(mask, self._against(value, mode.now)))
        return values

    def _against(self, value: Word, mode: Word) -> Word:
        """Where a guard says that its mode is the wrong one."""
        w, zero = self.frame.w, self.frame.w.num(0.0)
        off, on = w.compare("oeq", mode, zero), w.compare("une", mode, zero)
        up = w.both(w.compare("ogt", value, zero), off)
        return w.either(up, w.both(w.compare("olt", value, zero), on))

    def wrong_mode(self, guard: int, value: Word) -> Word:
        """Where the guard of a mode is on the side where it must not be; nowhere for those of events."""
        if not self.events.is_mode(guard):
            return self.frame.no_lane()
        place = self.events.discretes + guard - (self.events.count - self.events.modes)
        return self._against(value, self.frame.assigned[place].now)

    def is_guard(self, k: int) -> Word:
        """Lanes whose step is cut for a guard."""
        return self.frame.w.compare("oeq", self.guard.now, self.frame.w.num(float(k)))

    def of_guard(self, words: list[Word]) -> Word:
        """Of words of all guards the one for whose guard a lane cuts its step."""
        w, found = self.frame.w, words[0]
        for k, word in enumerate(words[1:], 1):
            found = w.choose(self.is_guard(k), word, found)
        return found
