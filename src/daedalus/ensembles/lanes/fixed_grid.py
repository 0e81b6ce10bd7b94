"""Fixed steps on lanes: as many as fit between two stops, the last one shortened."""

from __future__ import annotations

from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.kernel_frame import KernelFrame


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
