"""Whether constraints stay independent along a run: a lane whose case came near a singular configuration is left.

Along the steps log |det| of the constraints is followed, as `daedalus.simulation.singular.singular_places` does for a
whole run, and within them on the parabola through both ends with the first slope. A case is clear where det never fell
below half of its largest value, or where many places saw it change by less than twice from one to the next; what
happened otherwise only the scalar core can tell.
"""

from __future__ import annotations

import math

from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.simulation.singular.singular_places import LOW, SEEN

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
