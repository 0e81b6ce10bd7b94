"""Kernels of explicit Runge–Kutta methods: fixed steps, and steps that adapt in every lane on its own.

k_i = f(t + c_i h, x + h Σ_j a_ij k_j),    x_new = x + h Σ_j b_j k_j
"""

from __future__ import annotations

import functools
import math

from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.combinations import advanced, combined, weighted
from daedalus.ensembles.lanes.dense_rows import DenseRows
from daedalus.ensembles.lanes.events.event_cells import EventCells
from daedalus.ensembles.lanes.events.event_cut import EventCut
from daedalus.ensembles.lanes.events.event_watch import EventWatch
from daedalus.ensembles.lanes.events.lane_events import LaneEvents
from daedalus.ensembles.lanes.events.step_guards import StepGuards
from daedalus.ensembles.lanes.explicit_numbers import ExplicitNumbers
from daedalus.ensembles.lanes.kernel_frame import SHARE_OF_TOLERANCE, KernelFrame
from daedalus.ensembles.lanes.lane_model import CarefulSlopes, LaneModel
from daedalus.ensembles.lanes.saved_inside import SavedInside
from daedalus.ensembles.lanes.step_control import StepControl
from daedalus.ensembles.lanes.stiffness import StiffnessWatch
from daedalus.reduction.forms.tearing import LARGEST_GROWTH
from daedalus.simulation.singular.singular_places import LOW, SEEN


def explicit_kernel(
    model: LaneModel,
    numbers: ExplicitNumbers,
    lanes: int,
    watch: bool = False,
    gpu: bool = False,
    inside: bool = True,
) -> str:
    """The text of a kernel: adaptive where the numbers have an error estimate, else with fixed steps.

    watch: lanes that stability holds back are left to the scalar core, which changes the method. inside: rows may be
    saved inside a step.
    """
    frame = KernelFrame(model, lanes, gpu, inside)
    step = _ExplicitStep(frame, numbers, watch)
    with frame.loop():
        step.begin_fresh()
        step.take()
    return frame.text()


class _ExplicitStep:
    """One step of all lanes."""

    def __init__(self, frame: KernelFrame, numbers: ExplicitNumbers, watch: bool) -> None:
        self.frame, self.numbers = frame, numbers
        self.control = StepControl(frame, numbers) if numbers.error else None
        self.grid = None if numbers.error else FixedGrid(frame)
        self.watch = StiffnessWatch(frame, numbers) if watch and numbers.stability_edge and numbers.error else None
        self.branches = BranchWatch(frame) if frame.model.independence is not None else None
        self.events = None if frame.model.events is None else StepEvents(frame, frame.model.events)
        # The slope at the end of a step is kept where the step needs it anyway and nothing moves the end.
        self.needs_end = bool(numbers.error) and (
            numbers.error_needs_end or self.watch is not None or self.events is not None
        )
        self.carries = self.needs_end and frame.model.kept is None
        self.k0 = frame.cells(len(frame.x)) if self.carries else []

    def begin_fresh(self) -> None:
        """New cases: their first slope and step."""
        frame, w = self.frame, self.frame.w
        with w.when(w.any(frame.fresh.now), rarely=True):
            frame.save_now(frame.fresh.now)
            fresh = w.both(frame.fresh.now, frame.running())
            if self.events is not None:
                self.events.begin(fresh)
            if frame.model.careful is not None:
                leave_other_slopes(frame, frame.model.careful, fresh)
            if self.control is not None:
                slope = frame.slope(frame.t.now, frame.now(), rare=True)
                frame.leave_where(w.both(fresh, w.unless(frame.finite(slope))))
                self.control.forget(fresh)
                self.control.first(fresh, slope)
                for cell, word in zip(self.k0, slope):
                    cell.set_where(fresh, word)
            if self.grid is not None:
                self.grid.restart(fresh)
            if self.watch is not None:
                self.watch.forget(fresh)
            if self.branches is not None:
                self.branches.begin(fresh)

    def take(self) -> None:
        """A step, judged; then all that follows from it."""
        frame, w, numbers = self.frame, self.frame.w, self.numbers
        t, x = frame.t.now, frame.now()
        reaches = ""
        if self.control is not None:
            t_new, reaches = self.control.plan()
        else:
            assert self.grid is not None
            t_new = self.grid.plan()
        if self.events is not None:
            t_new = self.events.planned(t_new)
        h = w.sub(t_new, t)
        slopes = [[cell.now for cell in self.k0] or frame.slope(t, x)]
        # The end grows with the stages: a slope that no later stage reads need not be kept.
        ends = numbers.a[numbers.inner]
        x_new = advanced(w, x, h, ends[0], slopes[0])
        for i in range(1, numbers.inner):
            stage = combined(w, x, h, numbers.a[i], slopes)
            slopes.append(frame.slope(w.fma(w.num(numbers.c[i]), h, t), stage))
            x_new = advanced(w, x_new, h, ends[i], slopes[i])
        if self.needs_end:
            slopes.append(frame.slope(t_new, x_new))
        good = frame.running()
        arrived = ""
        rows = DenseRows(frame, numbers, t, t_new, x, x_new, slopes, often=self.events is not None)
        if self.control is not None:
            error = self._error(h, x, x_new, slopes)
            if self.events is not None:
                good, arrived = self.events.apart(good, t, t_new, x_new, error)
            good = self.control.judge(error, h, good, reaches)
        if self.watch is not None:
            good = self.watch.look(good, t_new, h, x, x_new, slopes)
        if self.events is not None:
            good = w.either(self.events.look(good, rows, x, x_new, slopes[0]), arrived)
        if self.control is None:
            rows.save_inside(good)
        else:
            scales = [self.control.rough_scale(*given) for given in zip(x, x_new, frame.atol)]
            rows.save_judged(good, scales)
        if self.branches is not None:
            self.branches.look(good, t, h, x, slopes[0], x_new)
        self._complete(good, arrived, h, t_new, x_new, slopes)

    def _complete(
        self, good: Word, arrived: Word, h: Word, t_new: Word, x_new: list[Word], slopes: list[list[Word]]
    ) -> None:
        """Lanes of a good step move to its end, where events may have arrived, save there, and pass what lies there."""
        frame, w = self.frame, self.frame.w
        # Fixed steps are short for the most part.
        x_new = frame.moved(t_new, x_new, near=self.grid is not None)
        if self.grid is None:
            good = self._move(good, t_new, x_new, slopes)
        else:
            # Every lane with a case moves, and what the others do is never read.
            for cell, word in zip((*frame.x, frame.t), (*x_new, t_new)):
                cell.set(word)
            self.grid.advance()
        if self.events is not None:
            with w.when(w.any(arrived)):
                self.events.fire(arrived, h)
                self._restart(w.both(arrived, frame.running()))
            good = w.both(good, frame.running())
        frame.save_now(good)
        passed = w.both(good, w.compare("oeq", t_new, frame.end.now))
        with w.when(w.any(passed), rarely=True):
            if self.grid is not None:
                self.grid.count(passed)
            going = frame.pass_stop(passed)
            if self.grid is not None:
                # What is not finite once is not afterwards either: fixed steps are looked at in the end.
                frame.leave_where(w.both(passed, w.unless(frame.finite(frame.now()))))
            if self.branches is not None:
                over = w.both(passed, w.unless(going))
                frame.leave_where(w.both(over, self.branches.unclear()))
            with w.when(w.any(going)):
                self._restart(going)

    def _move(self, good: Word, t_new: Word, x_new: list[Word], slopes: list[list[Word]]) -> Word:
        """Lanes of a good step move to its end; which of them found one."""
        frame, w = self.frame, self.frame.w
        if frame.model.kept is not None:
            lost = w.both(good, w.unless(frame.finite(x_new)))
            frame.leave_where(lost)
            good = w.both(good, w.unless(lost))
        for cell, word in zip(frame.x, x_new):
            cell.set_where(good, word)
        if self.carries:
            for cell, word in zip(self.k0, slopes[-1]):
                cell.set_where(good, word)
        frame.t.set_where(good, t_new)
        frame.steps.set_where(good, w.add(frame.steps.now, w.num(1.0)))
        return good

    def _restart(self, mask: Word) -> None:
        """Behind a time of a table the slope and the controller's memory are stale."""
        frame = self.frame
        if self.control is not None:
            self.control.forget(mask)
        if self.grid is not None:
            self.grid.restart(mask)
        if self.carries:
            for cell, word in zip(self.k0, frame.slope(frame.t.now, frame.now(), rare=True)):
                cell.set_where(mask, word)

    def _error(self, h: Word, x: list[Word], x_new: list[Word], slopes: list[list[Word]]) -> Word:
        """The RMS norm of the estimate in units of the tolerance; not finite where anything of the step is not."""
        frame, w, control = self.frame, self.frame.w, self.control
        assert control is not None
        totals, finite = [w.num(0.0) for _ in self.numbers.error], w.num(0.0)
        for i, (before, after, atol) in enumerate(zip(x, x_new, frame.atol)):
            scale = control.rough_scale(before, after, atol)
            for m, weights in enumerate(self.numbers.error):
                part = w.mul(weighted(w, weights, [k[i] for k in slopes]), scale)
                totals[m] = w.fma(part, part, totals[m])
            finite = w.fma(after, w.num(0.0), finite)
        share = w.num(1.0 / max(len(frame.atol), 1))
        size = w.abs(h)
        if len(totals) == 1:
            return w.add(w.mul(size, w.sqrt(w.mul(totals[0], share))), finite)
        # E5² / √(E5² + 0.01 E3²) behaves like h⁸ (Hairer, Nørsett, Wanner, II.10).
        both = w.fma(w.num(0.01), totals[1], totals[0])
        norm = w.mul(w.div(totals[0], w.sqrt(both)), w.sqrt(share))
        norm = w.choose(w.compare("oeq", both, w.num(0.0)), w.num(0.0), norm)
        return w.add(w.mul(size, norm), finite)


# Whether constraints stay independent along a run: a lane whose case came near a singular configuration is left.
#
# Along the steps log |det| of the constraints is followed, as `daedalus.simulation.singular.singular_places` does for
# a whole run, and within them on the parabola through both ends with the first slope. A case is clear where det never
# fell below half of its largest value, or where many places saw it change by less than twice from one to the next;
# what happened otherwise only the scalar core can tell.

# Places within a step and its end.
PARTS = (0.25, 0.5, 0.75)


class BranchWatch:
    """The lowest and the highest log |det| of every lane, the largest change from step to step, and the last value."""

    def __init__(self, frame: KernelFrame) -> None:
        self.frame = frame
        self.lowest, self.highest, self.change, self.before = frame.cells(4)

    def begin(self, mask: Word) -> None:
        """Lanes of a mask begin a case."""
        value = self._independence(self.frame.t.now, self.frame.now())
        for cell in (self.lowest, self.highest, self.before):
            cell.set_where(mask, value)
        self.change.set_where(mask, self.frame.w.num(0.0))

    def _independence(self, t: Word, x: list[Word]) -> Word:
        return self.frame.formulas("model.independence", t, x)[0][0]

    def look(self, good: Word, t: Word, h: Word, x: list[Word], slope: list[Word], x_new: list[Word]) -> None:
        """Lanes of a good step from t see how the constraints are along it."""
        w = self.frame.w
        for part in PARTS:
            along = w.mul(h, w.num(part * (1 - part)))
            inside = [w.fma(along, k, w.fma(w.num(part * part), w.sub(b, a), a)) for a, k, b in zip(x, slope, x_new)]
            self._see(good, w.fma(w.num(part), h, t), inside)
        self._see(good, w.add(t, h), x_new)

    def _see(self, good: Word, t: Word, x: list[Word]) -> None:
        """Lanes of a mask are at a place of the run."""
        w = self.frame.w
        value = self._independence(t, x)
        jump = w.abs(w.sub(value, self.before.now))
        # What is no number stays none.
        jump = w.choose(w.compare("uno", value, value), w.num(math.inf), jump)
        self.lowest.set_where(good, w.smaller(value, self.lowest.now))
        self.highest.set_where(good, w.larger(value, self.highest.now))
        self.change.set_where(good, w.larger(jump, self.change.now))
        self.before.set_where(good, value)

    def unclear(self) -> Word:
        """The lanes whose case may have met a singular configuration."""
        w = self.frame.w
        flat = w.compare("olt", w.add(self.highest.now, w.num(float(LOW))), self.lowest.now)
        smooth = w.compare("olt", self.change.now, w.num(-float(LOW)))
        seen = w.compare("oge", self.frame.steps.now, w.num((SEEN - 1.0) / (len(PARTS) + 1)))
        finite = w.compare("olt", self.change.now, w.num(math.inf))
        return w.unless(w.both(finite, w.either(flat, w.both(smooth, seen))))


# A look at the slopes where a case begins: formulas that divide by its parameters have to give what careful ones give.
#
# Where a parameter is zero, or so small that dividing by it costs digits, the case is left to the scalar core, which
# solves the equations by orthogonal factors. Parameters stay, so that once a case is enough.

# Slopes may differ by a share of the tolerance, and by the growth of rounding errors that tearing allows.
SLOPE_ROUNDING = LARGEST_GROWTH * 2.0**-52


def leave_other_slopes(frame: KernelFrame, careful: CarefulSlopes, mask: Word) -> None:
    """Lanes of a mask whose two slopes differ are left to the core."""
    w, t, x = frame.w, frame.t.now, frame.now()
    found = frame.slope(t, x, rare=True)
    (right,) = frame.formulas("model.careful", t, x, rare=True)
    allowed = w.larger(w.mul(frame.settings["rtol"], w.num(SHARE_OF_TOLERANCE)), w.num(SLOPE_ROUNDING))
    # In nominal values: the largest slope, or as much as one along the first interval.
    lengths = [w.abs(w.mul(slope, w.num(1.0 / nominal))) for slope, nominal in zip(right, careful.nominal)]
    along = w.div(w.num(1.0), w.abs(w.sub(frame.end.now, t)))
    size = w.mul(allowed, functools.reduce(w.larger, lengths, along))
    for a, b, nominal in zip(found, right, careful.nominal):
        alike = w.compare("ole", w.abs(w.sub(a, b)), w.mul(size, w.num(nominal)))
        frame.leave_where(w.both(mask, w.unless(alike)))


# Fixed steps on lanes: as many as fit between two stops, the last one shortened.


class FixedGrid:
    """Where the grid of every lane began, which step it is at, and how many there are up to the next stop."""

    def __init__(self, frame: KernelFrame) -> None:
        self.frame = frame
        self.length = frame.w.mul(frame.settings["direction"], frame.settings["step"])
        self.begin, self.index, self.steps = frame.cells(3)

    def restart(self, mask: Word) -> None:
        """Lanes of a mask begin a grid here; rounding must not add a tiny step.

        Those that would take too many steps are left to the scalar core.
        """
        w, frame = self.frame.w, self.frame
        share = w.div(w.abs(w.sub(frame.end.now, frame.t.now)), frame.settings["step"])
        steps = w.larger(w.own("ceil", w.sub(share, w.num(1e-9))), w.num(1.0))
        limit = w.compare("ogt", w.add(frame.steps.now, steps), frame.settings["limit"])
        frame.leave_where(w.both(mask, limit))
        self.begin.set_where(mask, frame.t.now)
        self.index.set_where(mask, w.num(0.0))
        self.steps.set_where(mask, steps)

    def plan(self) -> Word:
        """Where the step ends."""
        w, frame = self.frame.w, self.frame
        following = w.add(self.index.now, w.num(1.0))
        last = w.compare("oge", following, self.steps.now)
        return w.choose(last, frame.end.now, w.add(self.begin.now, w.mul(self.length, following)))

    def advance(self) -> None:
        """All lanes have taken a step; what those without a case do is never read."""
        self.index.set(self.frame.w.add(self.index.now, self.frame.w.num(1.0)))

    def count(self, mask: Word) -> None:
        """Lanes of a mask have come to a stop."""
        frame = self.frame
        frame.steps.set_where(mask, frame.w.add(frame.steps.now, self.index.now))


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
