"""Lengths of the steps of Rosenbrock methods on lanes, as in the core (core/methods/rosenbrock/rosenbrock.hpp).

Gustafsson's predictive controller, by roots r = err^(1/k) of the errors: h_new = 0.9 h / max(r, |h_before / h| r² /
r_before), within bounds; no growth behind a rejection.
"""

from __future__ import annotations

import math

from daedalus.compilation.lanes.elementary import rough_exp, rough_log
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.step_plan import CUT_IF_NOT_FINITE, LARGEST_COUNTED, SAFETY, SMALLEST_COUNTED, StepPlan

MOST_GROWTH, MOST_SHRINKAGE = 6.0, 5.0
FIRST_GROWTH = MOST_GROWTH * MOST_GROWTH
LEAST_ERROR = 1e-2


class RosenbrockControl(StepPlan):
    """The planned step of every lane, and what the controller remembers of the last good one."""

    def __init__(self, frame: KernelFrame, order: int) -> None:
        super().__init__(frame)
        self.order = order
        w = frame.w
        self.step, self.root, self.usual = w.cell(), w.cell(), w.cell()
        for cell in (self.step, self.root, self.usual):
            cell.set(w.num(1.0))
        self.is_first, self.after_failure = w.cell(w.truth), w.cell(w.truth)
        for cell in (self.is_first, self.after_failure):
            cell.set(frame.no_lane())

    def forget(self, mask: Word) -> None:
        """Lanes of a mask begin anew."""
        w = self.frame.w
        self.is_first.set(w.either(self.is_first.now, mask))
        self.after_failure.set(w.both(self.after_failure.now, w.unless(mask)))

    def begin_step(self, length: Word) -> None:
        """The first length tried is usual until a step is accepted."""
        w = self.frame.w
        tried = w.both(self.is_first.now, w.unless(self.after_failure.now))
        self.usual.set_where(tried, w.abs(length))

    def _root(self, error: Word) -> Word:
        """error^(1/k)."""
        w = self.frame.w
        counted = w.larger(w.smaller(error, w.num(LARGEST_COUNTED)), w.num(SMALLEST_COUNTED))
        return rough_exp(w, w.mul(w.num(1.0 / self.order), rough_log(w, counted)))

    def _bounded(self, quotient: Word, growth: Word) -> Word:
        w = self.frame.w
        return w.larger(w.smaller(quotient, w.num(MOST_SHRINKAGE)), growth)

    def judge(self, error: Word, length: Word, running: Word, reaches: Word) -> Word:
        """The lanes whose step is good; all running ones plan their next step by the error of this one."""
        w = self.frame.w
        good = w.both(running, w.compare("olt", error, w.num(1.0)))
        bad = w.both(running, w.unless(good))
        root, first = self._root(error), self.is_first.now
        growth = w.choose(first, w.num(1.0 / FIRST_GROWTH), w.num(1.0 / MOST_GROWTH))
        quotient = self._bounded(w.mul(root, w.num(1.0 / SAFETY)), growth)
        shorter = w.div(w.num(1.0), quotient)
        cut = w.choose(w.compare("uno", error, error), w.num(CUT_IF_NOT_FINITE), shorter)
        before = w.abs(w.div(self.step.now, length))
        ratio = w.div(w.mul(before, w.mul(root, root)), self.root.now)
        predicted = self._bounded(w.mul(ratio, w.num(1.0 / SAFETY)), w.num(1.0 / MOST_GROWTH))
        both = w.choose(first, quotient, w.larger(quotient, predicted))
        both = w.choose(self.after_failure.now, w.larger(both, w.num(1.0)), both)
        wish = w.div(length, both)
        # A step shortened by a stop says nothing against the length that was planned.
        shortened = w.both(reaches, w.compare("olt", w.abs(wish), w.abs(self.h.now)))
        self.h.set_where(good, w.choose(shortened, self.h.now, wish))
        self.h.set_where(bad, w.mul(length, cut))
        self.step.set_where(good, length)
        self.usual.set_where(good, w.abs(length))
        self.root.set_where(good, w.larger(root, w.num(LEAST_ERROR ** (1.0 / self.order))))
        self.is_first.set(w.both(first, w.unless(good)))
        self.after_failure.set(w.either(w.both(self.after_failure.now, w.unless(good)), bad))
        self.count(bad)
        return good

    def first(self, mask: Word, y: list[Word], rate: list[Word]) -> None:
        """Between a change of half a tolerance and one of a hundredth of the state, by the order."""
        w, frame = self.frame.w, self.frame
        slope, size = w.num(0.0), w.num(1.0)
        for at, speed, atol in zip(y, rate, frame.atol):
            scale = w.fma(frame.settings["rtol"], w.abs(at), atol)
            slope = w.larger(w.div(w.abs(speed), scale), slope)
            size = w.larger(w.div(w.abs(at), scale), size)
        longest = w.smaller(w.abs(w.sub(frame.end.now, frame.t.now)), frame.settings["max_step"])
        part = 1.0 / self.order
        changed = rough_exp(w, w.mul(w.num(1.0 - part), rough_log(w, w.mul(w.num(0.01), size))))
        moving = w.compare("ogt", slope, w.num(0.0))
        wish = w.div(w.mul(w.num(math.pow(0.5, part)), changed), w.choose(moving, slope, w.num(1.0)))
        wish = w.larger(w.smaller(wish, longest), w.mul(w.num(1e-14), longest))
        wish = w.choose(moving, wish, w.mul(w.num(1e-3), longest))
        given = frame.settings["first_step"]
        wish = w.choose(w.compare("ogt", given, w.num(0.0)), given, wish)
        self.h.set_where(mask, w.mul(frame.settings["direction"], wish))
