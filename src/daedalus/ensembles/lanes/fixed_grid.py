"""Fixed steps on lanes: as many as fit between two stops, the last one shortened."""

from __future__ import annotations

from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.kernel_frame import KernelFrame


class FixedGrid:
    """Where the grid of every lane began, which step it is at, and how many there are up to the next stop."""

    def __init__(self, frame: KernelFrame) -> None:
        self.frame = frame
        self.begin, self.index, self.steps = (frame.w.cell() for _ in range(3))
        for cell in (self.begin, self.index, self.steps):
            cell.set(frame.w.num(0.0))

    def restart(self, mask: Word) -> None:
        """Lanes of a mask begin a grid here; rounding must not add a tiny step."""
        w, frame = self.frame.w, self.frame
        share = w.div(w.abs(w.sub(frame.end.now, frame.t.now)), frame.settings["step"])
        steps = w.own("ceil", w.sub(share, w.num(1e-9)))
        self.begin.set_where(mask, frame.t.now)
        self.index.set_where(mask, w.num(0.0))
        self.steps.set_where(mask, w.larger(steps, w.num(1.0)))

    def plan(self) -> Word:
        """Where the step ends."""
        w, frame = self.frame.w, self.frame
        following = w.add(self.index.now, w.num(1.0))
        travelled = w.mul(frame.settings["direction"], w.mul(frame.settings["step"], following))
        last = w.compare("oge", following, self.steps.now)
        return w.choose(last, frame.end.now, w.add(self.begin.now, travelled))

    def count(self, mask: Word) -> None:
        """Lanes of a mask have taken a step; those with too many are left to the scalar core."""
        w = self.frame.w
        self.index.set_where(mask, w.add(self.index.now, w.num(1.0)))
        limit = self.frame.settings["limit"]
        self.frame.leave_where(w.both(mask, w.compare("ogt", self.frame.steps.now, limit)))
