"""The first row of a case on lanes, and that behind a time of a table: x stays, z and x' follow from F = 0.

Newton's method as in the core (core/events/consistent_restart.hpp): its columns are ∂F/∂x' for a state whose derivative
occurs, else ∂F/∂(x, z), and a correction is halved while the next one, with the same factors, would be longer. A lane
in which it does not arrive is left to the scalar core.
"""

from __future__ import annotations

import math

from daedalus._core import shared_numbers
from daedalus.compilation.lanes.words import Cell, Word
from daedalus.ensembles.lanes.implicit_lane_model import ImplicitLaneModel
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.straight_elimination import StraightFactors
from daedalus.simulation.start.implicit_start import ATOL, RTOL, UNMOVED

# Of core/events/restart_by_short_steps.hpp.
MOST_CORRECTIONS, LEAST_PART = shared_numbers["most_corrections"], 0.5 ** shared_numbers["most_halvings"]
ENOUGH, ROUNDING_ENOUGH = shared_numbers["consistent_enough"], shared_numbers["rounding_enough"]


class SettledRows:
    """How rows of lanes become consistent."""

    def __init__(self, frame: KernelFrame, model: ImplicitLaneModel) -> None:
        self.frame, self.model, w = frame, model, frame.w
        self.places = [model.unknowns + k if moves else k for k, moves in enumerate(model.has_derivative)]
        self.open, self.trying = w.cell(w.truth), w.cell(w.truth)
        self.rounds, self.before, self.part = w.cell(), w.cell(), w.cell()
        self.open.set(frame.no_lane())

    def begin(self, mask: Word) -> None:
        """Lanes of a mask find their first row; given states do not move."""
        frame, w = self.frame, self.frame.w
        states = [k for k, nominal in enumerate(self.model.held) if nominal]
        given = {k: frame.x[k].now for k in states}
        self.settle(mask)
        for k, was in given.items():
            allowed = w.mul(w.num(UNMOVED), w.larger(w.abs(was), w.num(self.model.held[k])))
            near = w.compare("ole", w.abs(w.sub(frame.x[k].now, was)), allowed)
            frame.leave_where(w.both(mask, w.unless(near)))
            frame.x[k].set_where(mask, was)

    def settle(self, mask: Word) -> None:
        """Lanes of a mask solve for z and x'."""
        frame, w = self.frame, self.frame.w
        self.open.set(mask)
        self.rounds.set(w.num(0.0))
        self.before.set(w.num(math.inf))
        with w.repeat(lambda: w.any(self.open.now)):
            self._correct()
        frame.leave_where(w.both(mask, w.unless(frame.finite(frame.now()))))

    def _correct(self) -> None:
        """One correction of all open lanes, halved where the next one would be longer."""
        frame, w = self.frame, self.frame.w
        is_open, cells = self.open.now, [frame.x[k] for k in self.places]
        right, factors = self._factored()
        change, base = factors.solve(right), [cell.now for cell in cells]
        size = self._size(change, cells)
        small, rounding = (w.compare("ole", size, w.num(limit)) for limit in (ENOUGH, ROUNDING_ENOUGH))
        self.part.set(w.num(1.0))
        self.trying.set(is_open)
        with w.repeat(lambda: w.any(self.trying.now)):
            trying, part = self.trying.now, self.part.now
            for cell, step, before in zip(cells, change, base):
                cell.set_where(trying, w.fma(w.neg(part), step, before))
            fits = w.either(w.compare("ole", self._size(factors.solve(self._residual()), cells), size), small)
            over = w.both(w.both(trying, w.unless(fits)), w.compare("ole", part, w.num(LEAST_PART)))
            for cell, before in zip(cells, base):
                cell.set_where(over, before)
            frame.leave_where(w.both(over, w.unless(rounding)))
            self.trying.set(w.both(trying, w.unless(w.either(fits, over))))
            self.part.set_where(self.trying.now, w.mul(part, w.num(0.5)))
        self._close(is_open, w.mul(self.part.now, size))

    def _close(self, is_open: Word, size: Word) -> None:
        """Lanes whose correction was small enough are done; those with too many are left to the core."""
        frame, w = self.frame, self.frame.w
        shrinks = w.compare("ole", size, w.mul(w.num(0.5), self.before.now))
        stagnant = w.both(w.compare("ole", size, w.num(ROUNDING_ENOUGH)), w.unless(shrinks))
        arrived = w.either(w.compare("ole", size, w.num(ENOUGH)), stagnant)
        self.before.set(size)
        self.rounds.set(w.add(self.rounds.now, w.num(1.0)))
        going = w.both(w.both(is_open, w.unless(frame.ended.now)), w.unless(arrived))
        lost = w.both(going, w.compare("oge", self.rounds.now, w.num(MOST_CORRECTIONS)))
        frame.leave_where(lost)
        self.open.set(w.both(going, w.unless(lost)))

    def _residual(self) -> list[Word]:
        frame, t, row, m = self.frame, self.frame.t.now, self.frame.now(), self.model.unknowns
        given = frame.inputs(t), frame.parameters()
        return self.model.at(frame.w, "model.residual", t, row[:m], *given, rate=row[m:], rare=True)[0]

    def _factored(self) -> tuple[list[Word], StraightFactors]:
        """F and the factors of its matrix."""
        frame, w, model = self.frame, self.frame.w, self.model
        t, row, m = frame.t.now, frame.now(), model.unknowns
        given = frame.inputs(t), frame.parameters()
        right, rates, unknowns = model.at(w, "model.whole", t, row[:m], *given, rate=row[m:], rare=True)
        moves = model.has_derivative
        entries = {place: word for place, word in zip(model.pattern.unknowns, unknowns) if not moves[place[1]]}
        entries.update(zip(model.pattern.rates, rates))
        return right, StraightFactors(w, model.pattern.of_starts, entries)

    def _size(self, change: list[Word], cells: list[Cell]) -> Word:
        """The length of a correction in units far below those of a run."""
        frame, w = self.frame, self.frame.w
        total = w.num(0.0)
        for k, (step, cell) in enumerate(zip(change, cells)):
            extent = w.larger(w.abs(cell.now), w.abs(frame.x[k].now))
            part = w.div(step, w.fma(w.num(RTOL), extent, w.num(ATOL * self.model.nominal[k])))
            total = w.fma(part, part, total)
        return w.sqrt(w.mul(total, w.num(1.0 / len(change))))
