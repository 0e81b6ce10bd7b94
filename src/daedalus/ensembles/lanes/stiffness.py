"""Whether stability and not accuracy limits the steps of a lane: then its case is left to the scalar core.

h |λ| as two slopes at the end of a step show it stays beyond the edge of the stability region while many steps of this
length are to come; the rule and its numbers are those of the core (core/run/stepper.hpp).
"""

from __future__ import annotations

from daedalus._core import shared_numbers
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.combinations import combined
from daedalus.ensembles.lanes.explicit_numbers import ExplicitNumbers
from daedalus.ensembles.lanes.kernel_frame import STIFF, KernelFrame

STIFF_ENOUGH, EASY_ENOUGH, ENDLESS = (
    shared_numbers["stiff_enough"],
    shared_numbers["easy_enough"],
    shared_numbers["endless"],
)
TIGHT, DAMPED = shared_numbers["tight"], shared_numbers["damped"]
NEAR_EDGE, FAR_FROM_EDGE = shared_numbers["near_edge"], shared_numbers["far_from_edge"]


class StiffnessWatch:
    """Counts of stiff, easy and damped steps in every lane."""

    def __init__(self, frame: KernelFrame, numbers: ExplicitNumbers) -> None:
        self.frame, self.numbers = frame, numbers
        self.stiff, self.easy, self.damped = frame.cells(3)

    def forget(self, mask: Word) -> None:
        """Lanes of a mask begin a new case."""
        for cell in (self.stiff, self.easy, self.damped):
            cell.set_where(mask, self.frame.w.num(0.0))

    def look(
        self, good: Word, t_new: Word, h: Word, x: list[Word], x_new: list[Word], slopes: list[list[Word]]
    ) -> Word:
        """The lanes that may go on, after a good step whose slope at the end is the last of `slopes`."""
        frame, w = self.frame, self.frame.w
        rest, length = self._to_come(t_new), w.abs(h)
        looked_at = w.both(good, w.compare("ogt", rest, w.mul(length, frame.settings["watch_stiffness"])))
        leaves = w.cell(w.truth)
        leaves.set(frame.no_lane())
        with w.when(w.any(looked_at), rarely=True):
            self._judge(looked_at, h, x, x_new, slopes)
            leaves.set(self._leaves(looked_at, w.compare("ogt", rest, w.mul(length, w.num(ENDLESS)))))
        return w.both(good, w.unless(leaves.now))

    def _judge(self, looked_at: Word, h: Word, x: list[Word], x_new: list[Word], slopes: list[list[Word]]) -> None:
        """Lanes with much to come count their steps near the edge of stability."""
        frame, w = self.frame, self.frame.w
        share, cosine = self._share(h, x, x_new, slopes)
        tight = w.compare("ole", frame.settings["rtol"], w.num(TIGHT))
        beyond = w.both(looked_at, w.compare("ogt", share, w.choose(tight, w.num(NEAR_EDGE), w.num(1.0))))
        is_easy = w.both(w.both(looked_at, w.unless(beyond)), w.compare("ogt", self.stiff.now, w.num(0.0)))
        self.easy.set_where(beyond, w.num(0.0))
        self.stiff.set_where(beyond, w.add(self.stiff.now, w.num(1.0)))
        self.easy.set_where(is_easy, w.add(self.easy.now, w.num(1.0)))
        calm = w.both(is_easy, w.compare("oge", self.easy.now, w.num(EASY_ENOUGH)))
        for cell in (self.stiff, self.easy):
            cell.set_where(calm, w.num(0.0))
        held = w.both(w.compare("ogt", share, w.num(FAR_FROM_EDGE)), w.compare("olt", cosine, w.num(DAMPED)))
        counted = w.choose(w.both(tight, held), w.add(self.damped.now, w.num(1.0)), w.num(0.0))
        self.damped.set_where(looked_at, counted)

    def _to_come(self, t_new: Word) -> Word:
        """How far the last stop is, whatever lies between."""
        w = self.frame.w
        last = w.spread(w.line("add i64 %stop_count, -1"), "i64")
        return w.abs(w.sub(w.gather("%stops", last), t_new))

    def _leaves(self, looked_at: Word, endless: Word) -> Word:
        """Lanes whose steps stability limits are left to the core; endless: those with very many to come."""
        frame, w = self.frame, self.frame.w
        stiff = w.compare("oge", self.stiff.now, w.num(STIFF_ENOUGH))
        damped = w.both(w.compare("oge", self.damped.now, w.num(STIFF_ENOUGH)), endless)
        leaves = w.both(looked_at, w.either(stiff, damped))
        frame.leave_where(leaves, STIFF)
        return leaves

    def _share(self, h: Word, x: list[Word], x_new: list[Word], slopes: list[list[Word]]) -> tuple[Word, Word]:
        """h |λ| as a share of the edge, and −1 for damping to 0 for an oscillation."""
        frame, w, numbers = self.frame, self.frame.w, self.numbers
        stage = combined(w, x, h, numbers.a[numbers.inner - 1], slopes[: numbers.inner - 1])
        of_slopes = of_states = product = w.num(0.0)
        for i, atol in enumerate(frame.atol):
            extent = w.larger(w.abs(x_new[i]), w.abs(w.mul(h, slopes[0][i])))
            weight = w.div(w.num(1.0), w.fma(frame.settings["rtol"], extent, atol))
            slope = w.mul(w.sub(slopes[-1][i], slopes[numbers.inner - 1][i]), weight)
            state = w.mul(w.sub(x_new[i], stage[i]), weight)
            of_slopes, of_states = w.fma(slope, slope, of_slopes), w.fma(state, state, of_states)
            product = w.fma(slope, state, product)
        size = w.mul(w.abs(h), w.sqrt(w.div(of_slopes, of_states)))
        cosine = w.div(w.mul(frame.settings["direction"], product), w.sqrt(w.mul(of_slopes, of_states)))
        known = w.both(w.compare("ogt", of_slopes, w.num(0.0)), w.compare("ogt", of_states, w.num(0.0)))
        share = w.mul(size, w.num(1.0 / numbers.stability_edge))
        return w.choose(known, share, w.num(0.0)), w.choose(known, cosine, w.num(0.0))
