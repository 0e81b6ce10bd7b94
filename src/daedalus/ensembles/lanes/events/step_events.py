"""Events in the steps of an explicit kernel: lanes that look for them, and lanes that take a step again up to one."""

from __future__ import annotations

from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.events.event_cells import EventCells
from daedalus.ensembles.lanes.events.event_cut import EventCut
from daedalus.ensembles.lanes.events.event_watch import EventWatch
from daedalus.ensembles.lanes.events.lane_events import LaneEvents
from daedalus.ensembles.lanes.events.step_guards import StepGuards
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.saved_inside import SavedInside


class StepEvents:
    """Events of all lanes, step by step."""

    def __init__(self, frame: KernelFrame, events: LaneEvents) -> None:
        self._frame, self._cells = frame, EventCells(frame, events)
        self._watch, self._cut = EventWatch(frame, self._cells), EventCut(frame, self._cells)
        self.begin, self.planned, self.fire = self._cells.begin, self._cut.planned, self._cut.fire

    def apart(self, running: Word, t: Word, t_new: Word, x_new: list[Word], error: Word) -> tuple[Word, Word]:
        """The lanes whose step is judged as usual, and those that have arrived at their event."""
        w, cutting = self._frame.w, self._cells.cutting.now
        arrived = self._cut.arrive(w.both(running, cutting), t, t_new, x_new, error)
        return w.both(running, w.unless(cutting)), arrived

    def look(self, good: Word, rows: SavedInside, x: list[Word], x_new: list[Word], slope: list[Word]) -> Word:
        """The lanes of a good step that stands whole."""
        w = self._frame.w
        cell = w.cell(w.truth)
        cell.set(self._frame.no_lane())
        polynomials = rows.known()
        with w.when(w.any(good)):
            step = StepGuards(self._frame, self._cells.events, rows.t, rows.t_new, x_new, polynomials)
            cell.set(self._watch.look(good, step, x, slope))
        return cell.now
