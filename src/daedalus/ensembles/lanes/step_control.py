"""Lengths of steps on lanes: the controller and the first guess of the core, every lane with its own.

h_new = h · 0.9 · err^−(1/k − 0.75 β) · err_before^β (Gustafsson's controller in Hairer's form), within bounds; after a
rejection no growth. The first step comes from the size of the solution and its slopes (Hairer, Nørsett, Wanner, II.4).
"""

from __future__ import annotations

import math

from daedalus._core import shared_numbers
from daedalus.compilation.lanes.elementary import rough_exp, rough_log
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.explicit_numbers import ExplicitNumbers
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.step_plan import CUT_IF_NOT_FINITE, LARGEST_COUNTED, SAFETY, SMALLEST_COUNTED, StepPlan

# Of core/methods/step_control.hpp.
SMALLEST_ERROR = shared_numbers["smallest_error"]


class StepControl(StepPlan):
    """The planned step of every lane, and what the controller remembers."""

    def __init__(self, frame: KernelFrame, numbers: ExplicitNumbers) -> None:
        super().__init__(frame)
        self.numbers = numbers
        w = frame.w
        self.log_before, self.after_rejection = w.cell(), w.cell(w.truth)
        self.log_before.set(w.num(math.log(SMALLEST_ERROR)))
        self.after_rejection.set(frame.no_lane())

    def forget(self, mask: Word) -> None:
        """Lanes of a mask begin anew: derivatives of the solution may have jumped."""
        w = self.frame.w
        self.log_before.set_where(mask, w.num(math.log(SMALLEST_ERROR)))
        self.after_rejection.set(w.both(self.after_rejection.now, w.unless(mask)))

    def _exponent(self) -> float:
        return 1.0 / self.numbers.control_order - 0.75 * self.numbers.memory

    def judge(self, error: Word, length: Word, running: Word, reaches: Word) -> Word:
        """The lanes whose step is good; all running ones plan their next step by the error of this one."""
        w, numbers = self.frame.w, self.numbers
        good = w.both(running, w.compare("ole", error, w.num(1.0)))
        counted = w.larger(w.smaller(error, w.num(LARGEST_COUNTED)), w.num(SMALLEST_COUNTED))
        log_error = rough_log(w, counted)
        plain = w.fma(w.num(-self._exponent()), log_error, w.num(math.log(SAFETY)))
        grown = w.fma(w.num(numbers.memory), self.log_before.now, plain)
        free = w.both(good, w.unless(self.after_rejection.now))
        most = w.choose(free, w.num(numbers.grow), w.num(1.0))
        factor = w.smaller(rough_exp(w, w.choose(good, grown, plain)), most)
        factor = w.larger(factor, w.num(numbers.shrink))
        wish = w.mul(length, factor)
        # A step shortened by a stop says nothing against the length that was planned.
        shortened = w.both(reaches, w.compare("olt", w.abs(wish), w.abs(self.h.now)))
        cut = w.choose(w.compare("uno", error, error), w.mul(length, w.num(CUT_IF_NOT_FINITE)), wish)
        self.h.set_where(running, w.choose(good, w.choose(shortened, self.h.now, wish), cut))
        remembered = w.larger(log_error, w.num(math.log(SMALLEST_ERROR)))
        self.log_before.set_where(good, remembered)
        bad = w.both(running, w.unless(good))
        self.after_rejection.set(w.either(w.both(self.after_rejection.now, w.unless(good)), bad))
        self.count(bad)
        return good

    # -- the first step ----------------------------------------------------------------------------------------------

    def _norm(self, words: list[Word], x: list[Word]) -> Word:
        """RMS norm in units of the tolerance at x."""
        w, frame = self.frame.w, self.frame
        total = w.num(0.0)
        for word, at, atol in zip(words, x, frame.atol):
            part = w.div(word, w.fma(frame.settings["rtol"], w.abs(at), atol))
            total = w.fma(part, part, total)
        return w.sqrt(w.mul(total, w.num(1.0 / max(len(frame.atol), 1))))

    def first(self, mask: Word, slope: list[Word]) -> None:
        """Lanes of a mask guess the length of their first step."""
        w, frame = self.frame.w, self.frame
        x, direction = frame.now(), frame.settings["direction"]
        longest = w.smaller(w.abs(w.sub(frame.end.now, frame.t.now)), frame.settings["max_step"])
        shortest = w.mul(w.num(1e-12), longest)
        size, speed = self._norm(x, x), self._norm(slope, x)
        small = w.either(w.compare("olt", size, w.num(1e-5)), w.compare("olt", speed, w.num(1e-5)))
        guess = w.choose(small, w.num(1e-6), w.mul(w.num(0.01), w.div(size, speed)))
        guess = w.smaller(w.larger(guess, shortest), longest)
        signed = w.mul(direction, guess)
        probe = [w.fma(signed, k, at) for k, at in zip(slope, x)]
        there = frame.slope(w.add(frame.t.now, signed), probe, rare=True)
        curvature = w.div(self._norm([w.sub(a, b) for a, b in zip(there, slope)], x), guess)
        largest = w.larger(speed, curvature)
        flat = w.compare("ole", largest, w.num(1e-15))
        safe = w.larger(w.mul(largest, w.num(100.0)), w.num(1e-300))
        root = rough_exp(w, w.mul(w.num(-1.0 / self.numbers.control_order), rough_log(w, safe)))
        wish = w.choose(flat, w.larger(w.num(1e-6), w.mul(w.num(1e-3), guess)), root)
        wish = w.smaller(w.mul(w.num(100.0), guess), wish)
        wish = w.smaller(w.larger(wish, shortest), longest)
        # Where the probe leaves the domain of the model, start very small.
        finite = w.compare("olt", curvature, w.num(math.inf))
        wish = w.choose(finite, wish, w.mul(w.num(1e-3), guess))
        given = frame.settings["first_step"]
        wish = w.choose(w.compare("ogt", given, w.num(0.0)), given, wish)
        self.h.set_where(mask, w.mul(direction, wish))
