"""How far the next step of every lane goes: within the end of its interval, neither too short nor too long."""

from __future__ import annotations

from daedalus._core import shared_numbers
from daedalus.compilation.lanes.elementary import rough_inverse
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.kernel_frame import KernelFrame

# Of core/methods/step_control.hpp and core/run/stepper.hpp.
SAFETY, STRETCH = shared_numbers["safety"], shared_numbers["stretch"]
FEWEST_SPACINGS, CUT_IF_NOT_FINITE = shared_numbers["fewest_spacings"], shared_numbers["cut_if_not_finite"]
# Errors count within these; the upper one keeps their logarithm finite.
SMALLEST_COUNTED, LARGEST_COUNTED = shared_numbers["smallest_counted"], 1e100


class StepPlan:
    """The planned step of every lane; halves_rest: the last two steps of an interval are equal, none is short."""

    halves_rest = False

    def __init__(self, frame: KernelFrame) -> None:
        self.frame = frame
        (self.h,) = frame.cells(1)

    def shortest(self) -> Word:
        """The shortest step: a few times the distance of the present time to the next number, or up to twice that."""
        w = self.frame.w
        return w.fma(w.abs(self.frame.t.now), w.num(FEWEST_SPACINGS * 2.0**-52), w.num(FEWEST_SPACINGS * 2.0**-1022))

    def plan(self) -> tuple[Word, Word]:
        """Where the step ends, and the lanes in which that is the end of their interval."""
        w, frame = self.frame.w, self.frame
        t, end, direction, longest = frame.t.now, frame.end.now, frame.settings["direction"], frame.settings["max_step"]
        length = w.smaller(w.larger(w.abs(self.h.now), self.shortest()), longest)
        h = w.mul(direction, length)
        self.h.set(h)
        beyond = w.mul(w.sub(w.fma(w.num(STRETCH), h, t), end), direction)
        close = w.compare("ole", w.abs(w.sub(end, t)), w.mul(longest, w.num(1 + 1e-6)))
        reaches = w.both(w.compare("oge", beyond, w.num(0.0)), close)
        goes_on = w.add(t, h)
        if self.halves_rest:
            left = w.sub(end, t)
            near = w.compare("olt", w.abs(left), w.mul(w.num(2.0), length))
            goes_on = w.choose(near, w.fma(w.num(0.5), left, t), goes_on)
        return w.choose(reaches, end, goes_on), reaches

    def count(self, bad: Word, lost: Word = "") -> None:
        """Rejected steps are counted; a lane whose steps become too short, or too many, is left to the core.

        lost: lanes that are left anyway.
        """
        w, frame = self.frame.w, self.frame
        frame.rejected.set_where(bad, w.add(frame.rejected.now, w.num(1.0)))
        short = w.both(bad, w.compare("olt", w.abs(self.h.now), self.shortest()))
        tried = w.add(frame.steps.now, frame.rejected.now)
        many = w.both(frame.running(), w.compare("oge", tried, frame.settings["limit"]))
        left = w.either(short, many)
        frame.leave_where(w.either(left, lost) if lost else left)

    def rough_scale(self, before: Word, after: Word, atol: Word) -> Word:
        """One over the tolerance of a component, roughly."""
        w = self.frame.w
        size = w.larger(w.abs(before), w.abs(after))
        return rough_inverse(w, w.fma(self.frame.settings["rtol"], size, atol))
