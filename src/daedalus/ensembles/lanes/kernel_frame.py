"""The frame of every kernel: cases taken from a list as lanes become free, saved rows, inputs, the ends of cases.

Number k of a case (start, inputs, parameters) is own[offset_k + stride_k · case], with offset and stride in `rows`, so
that what all cases share is there once. A kernel writes out[time][state][case] and ends[what][case], of n columns each.
Lanes with nothing to write use the last column, which belongs to no case. Nothing in a lane depends on the others: a
case has the same bits in whatever lane, block, thread or device it is run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from daedalus.compilation.lanes.words import MOST_COPIED, Cell, LaneModule, LaneText, Word
from daedalus.compilation.llvm_code import ENTRY
from daedalus.ensembles.lanes.drawn_noise import NoiseState
from daedalus.ensembles.lanes.lane_model import LaneModel

ARGUMENTS = (
    *(f"ptr {name}" for name in ("%own", "%rows", "%out", "%ends", "%times", "%stops", "%segments", "%settings")),
    *(f"i64 {name}" for name in ("%n", "%first", "%last", "%time_count", "%stop_count")),
)
# The first numbers of `settings`; absolute tolerances follow.
SETTINGS = ("t0", "direction", "rtol", "step", "first_step", "max_step", "limit", "watch_stiffness")
# What `ends` says of a case: how it ended, and the steps it took and rejected.
FINISHED, LEFT, STIFF, EVENT = 1.0, 2.0, 3.0, 4.0
ENDS = ("status", "steps", "rejected")
# And of a case that an event may end, when it ended and by which event.
ENDS_WITH_EVENTS = (*ENDS, "time", "event")
MOST_COPIED_ON_GPU = 20_000
# Linear systems on lanes are only sure to keep half of the digits: solves that are further off, or by more than this
# share of the tolerance, need other pivots, and "auto" takes no finer tolerances to them.
SURE_DIGITS, SHARE_OF_TOLERANCE = 2.0**-26, 1e-2
# Gauss–Newton's corrections converge quadratically: after one whose length, in nominal values, has a square below an
# eighth of the spacing of numbers at 1, what is left is lost in rounding, three times that square of a quaternion too.
_ARRIVED = 2.0**-55
# So many sums run beside each other, since each term of one waits for the term before.
_SUMS = 4
# A GPU's words for the thread in its block, the block, threads in a block, and blocks.
_OF_THREADS = ("tid", "ctaid", "ntid", "nctaid")


class KernelFrame:
    """Cells of all lanes and the parts of a kernel that do not depend on its method."""

    def __init__(self, model: LaneModel, lanes: int, gpu: bool = False, inside: bool = True) -> None:
        # inside: rows may be saved between the ends of steps, so that what interpolates a step is kept to its end.
        self.model, self.gpu, self.inside = model, gpu, inside
        # A GPU calls no functions if it can be helped: their arguments would go through memory.
        self.w = w = LaneText(LaneModule(lanes, MOST_COPIED_ON_GPU if gpu else MOST_COPIED, model.strict))
        self.settings = {name: w.spread(self._setting(k)) for k, name in enumerate(SETTINGS)}
        judged = model.states if model.judged is None else model.judged
        self.atol = [w.spread(self._setting(len(SETTINGS) + k)) for k in range(judged)]
        self.n = w.spread("%n", "i64")
        self.trash = w.integer("sub", self.n, w.whole_num(1))
        self.x = [w.cell() for _ in range(model.states)]
        self.constants = [w.cell() for _ in range(model.inputs + model.parameters)]
        self.fixed = [w.cell() for _ in range(model.fixed)]
        self.bases, self.rises = ([w.cell() for _ in model.tabled] for _ in range(2))
        self.t, self.begin, self.end, self.next_time = (w.cell() for _ in range(4))
        self.steps, self.rejected, self.status = (w.cell() for _ in range(3))
        self.case, self.interval, self.saved = (w.cell(w.whole) for _ in range(3))
        self.ended, self.active, self.fresh = (w.cell(w.truth) for _ in range(3))
        (self._event,) = self.cells(1)
        noises = model.noises
        self._noises = [] if noises is None else [NoiseState(w, noises, k) for k in range(len(noises.columns))]
        self._next = w.cell("i64")

    def cells(self, count: int, value: float = 0.0) -> list[Cell]:
        """New cells, all lanes of which begin with a number."""
        found = [self.w.cell() for _ in range(count)]
        for cell in found:
            cell.set(self.w.num(value))
        return found

    def _setting(self, k: int) -> Word:
        at = self.w.put(f"getelementptr double, ptr %settings, i64 {k}")
        return self.w.put(f"load double, ptr {at}, align 8")

    # -- the model ---------------------------------------------------------------------------------------------------

    def now(self) -> list[Word]:
        """The present states."""
        return [cell.now for cell in self.x]

    def inputs(self, t: Word) -> list[Word]:
        """The inputs at a time in the present interval."""
        u = [cell.now for cell in self.constants[: self.model.inputs]]
        if self.model.tabled:
            since = self.w.sub(t, self.begin.now)
            for slot, base, rise in zip(self.model.tabled, self.bases, self.rises):
                u[slot] = self.w.fma(rise.now, since, base.now)
        return u

    def input_slopes(self) -> list[Word]:
        """The derivatives of the inputs by time in the present interval."""
        slopes = [self.w.num(0.0)] * self.model.inputs
        for slot, rise in zip(self.model.tabled, self.rises):
            slopes[slot] = rise.now
        return slopes

    def parameters(self) -> list[Word]:
        """The parameters, and what of the formulas follows from numbers that stay."""
        return [cell.now for cell in (*self.constants[self.model.inputs :], *self.fixed)]

    def formulas(self, name: str, t: Word, x: list[Word], rare: bool = False) -> list[list[Word]]:
        """Formulas of the model by their name, at a time in the present interval; rare: this place is seldom reached.

        "model.slope": x'. "model.careful": x' by formulas that no value makes fail. "model.independence": log |det| of
        the constraints. "model.guards": those of the events. "model.resets": states and discrete variables behind each
        event, below each other.
        """
        return self.model.written(self.w, name, [[t], x, self.inputs(t), self.parameters()], rare)

    def slope(self, t: Word, x: list[Word], rare: bool = False) -> list[Word]:
        """x' at a time in the present interval."""
        return self.formulas("model.slope", t, x, rare)[0]

    def moved(self, t: Word, x: list[Word], rare: bool = False, near: bool = False) -> list[Word]:
        """x moved onto what the model keeps; as it is where that is nothing.

        Two corrections as in `daedalus.simulation.plant.projection`; the second one only where it changes a digit.
        near: that is seldom to be expected.
        """
        if self.model.kept is None:
            return x
        w, u, p = self.w, self.inputs(t), self.parameters()
        once, (length,) = self.model.written(w, "model.kept", [[t], x, u, p], rare)
        cells = {k: w.cell() for k in self.model.moved_states}
        for k, cell in cells.items():
            cell.set(once[k])
        far = w.compare("ogt", length, w.num(_ARRIVED))
        with w.when(w.any(far), rarely=near):
            twice, _ = self.model.written(w, "model.kept", [[t], once, u, p], rare=True)
            for k, cell in cells.items():
                cell.set_where(far, twice[k])
        return [cells[k].now if k in cells else x[k] for k in range(len(x))]

    @property
    def assigned(self) -> list[Cell]:
        """What events assign beside states: discrete variables and modes, the last of the parameters."""
        return self.constants[len(self.constants) - self.model.assigned :]

    def end_at_event(self, mask: Word, number: Word) -> None:
        """Cases of a mask end at an event; the row that they end with is saved behind those before it."""
        w = self.w
        with w.when(w.any(mask)):
            self._event.set_where(mask, number)
            self.save_now(mask)
            room = w.whole_compare("slt", self.saved.now, w.spread("%time_count", "i64"))
            self.save(w.both(mask, room), self.now())
            self.leave_where(mask, EVENT)

    def finite(self, words: list[Word]) -> Word:
        """Where all of some words are finite."""
        zero = self.w.num(0.0)
        totals = [zero] * _SUMS
        for k, word in enumerate(words):
            totals[k % _SUMS] = self.w.fma(word, zero, totals[k % _SUMS])
        return self.w.compare("oeq", functools.reduce(self.w.add, totals), zero)

    def running(self) -> Word:
        """The lanes that have a case which has not ended."""
        return self.w.both(self.active.now, self.w.unless(self.ended.now))

    # -- the loop ----------------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self) -> Iterator[None]:
        """What follows is done again and again until every case has ended; `fresh` marks lanes with new cases."""
        w = self.w
        self._begin()
        w.raw("br label %top")
        w.label("top")
        self.fresh.set(self.no_lane())
        with w.when(w.any(self.ended.now), rarely=True):
            self._write_ends()
            self._take_cases()
            w.raw(f"br i1 {w.any(self.active.now)}, label %go, label %exit")
            w.label("go")
            self._load_cases()
        yield
        w.raw("br label %top")
        w.label("exit")
        w.raw("ret void")

    def no_lane(self) -> Word:
        """A mask of no lane."""
        return "false" if self.w.module.lanes == 1 else "zeroinitializer"

    def _begin(self) -> None:
        w = self.w
        self.ended.set(w.everywhere())
        self.active.set(self.no_lane())
        self.case.set(w.whole_num(-1))
        for cell in (*self.x, *self.constants, self.t, self.steps, self.rejected, self.status):
            cell.set(w.num(0.0))
        for cell in (*self.fixed, *self.bases, *self.rises, self.begin, self.end, self.next_time):
            cell.set(w.num(0.0))
        for cell in (self.interval, self.saved):
            cell.set(w.whole_num(0))
        for noise in self._noises:
            noise.begin()
        if not self.gpu:
            return self._next.set("%first")
        w.module.declared |= {f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in _OF_THREADS}
        thread, block, width, blocks = (w.put(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()") for name in _OF_THREADS)
        number = w.put(f"add i32 {w.put(f'mul i32 {block}, {width}')}, {thread}")
        self._next.set(w.put(f"add i64 %first, {w.put(f'zext i32 {number} to i64')}"))
        self.stride = w.put(f"zext i32 {w.put(f'mul i32 {blocks}, {width}')} to i64")
        return None

    def _write_ends(self) -> None:
        w = self.w
        done = w.both(self.ended.now, self.active.now)
        with w.when(w.any(done)):
            place = w.choose_whole(done, self.case.now, self.trash)
            told = [self.status, self.steps, self.rejected]
            for k, cell in enumerate(told if self.model.events is None else [*told, self.t, self._event]):
                w.scatter("%ends", w.integer("add", place, w.integer("mul", w.whole_num(k), self.n)), cell.now)

    def _take_cases(self) -> None:
        """Every lane whose case has ended takes the next one of the list, if there is one left."""
        w, lanes = self.w, self.w.module.lanes
        if lanes == 1:
            following, stride = self._next.now, self.stride if self.gpu else "1"
            left = w.line(f"icmp slt i64 {following}, %last")
            self.case.set(w.line(f"select i1 {left}, i64 {following}, i64 -1"))
            self._next.set(w.line(f"add i64 {following}, {stride}"))
            self.active.set(left)
            return self.fresh.set(left)
        ended, cases, fresh, following = self.ended.now, self.case.now, self.no_lane(), self._next.now
        for lane in range(lanes):
            free = w.line(f"extractelement {w.truth} {ended}, i32 {lane}")
            old = w.line(f"extractelement {w.whole} {cases}, i32 {lane}")
            left = w.line(f"icmp slt i64 {following}, %last")
            takes = w.line(f"and i1 {free}, {left}")
            new = w.line(f"select i1 {left}, i64 {following}, i64 -1")
            chosen = w.line(f"select i1 {free}, i64 {new}, i64 {old}")
            cases = w.line(f"insertelement {w.whole} {cases}, i64 {chosen}, i32 {lane}")
            fresh = w.line(f"insertelement {w.truth} {fresh}, i1 {takes}, i32 {lane}")
            following = w.line(f"add i64 {following}, {w.line(f'zext i1 {takes} to i64')}")
        self._next.set(following)
        self.case.set(cases)
        self.fresh.set(fresh)
        return self.active.set(w.line(f"icmp sge {w.whole} {cases}, {w.whole_num(0)}"))

    def _load_cases(self) -> None:
        """The numbers of new cases into their lanes, which begin."""
        w, fresh = self.w, self.fresh.now
        place = w.choose_whole(self.active.now, self.case.now, w.spread("%first", "i64"))
        for row, cell in enumerate((*self.x, *self.constants)):
            at = w.integer("add", self._of_row(2 * row), w.integer("mul", place, self._of_row(2 * row + 1)))
            cell.set_where(fresh, w.gather("%own", at))
        own = [cell.now for cell in self.constants]
        u, p = own[: self.model.inputs], own[self.model.inputs :]
        for cell, word in zip(self.fixed, self.model.written_fixed(w, u, p)):
            cell.set_where(fresh, word)
        zero, t0 = w.num(0.0), self.settings["t0"]
        for cell, word in ((self.t, t0), (self.begin, t0), (self.steps, zero), (self.rejected, zero)):
            cell.set_where(fresh, word)
        for cell in (self.interval, self.saved):
            cell.set_where(fresh, w.whole_num(0))
        self.status.set_where(fresh, zero)
        self.ended.set(w.unless(self.active.now))
        self.enter_interval(fresh, first=True)
        self._next_saving(fresh)
        self.leave_where(w.both(fresh, w.unless(self.finite(self.now()))))

    def _of_row(self, k: int) -> Word:
        """A number of `rows` in all lanes."""
        at = self.w.put(f"getelementptr i64, ptr %rows, i64 {k}")
        return self.w.spread(self.w.line(f"load i64, ptr {at}, align 8"), "i64")

    def leave_where(self, mask: Word, why: float = LEFT) -> None:
        """Cases of a mask end here and are left to the scalar core, or to another kernel."""
        self.status.set_where(mask, self.w.num(why))
        self.ended.set(self.w.either(self.ended.now, mask))

    # -- intervals between the times of tables -------------------------------------------------------------------------

    def enter_interval(self, mask: Word, first: bool = False) -> None:
        """Lanes of a mask read where their interval ends and what the tables are there; first: with new cases."""
        w, interval = self.w, self.interval.now
        if self.w.module.lanes == 1:
            self._read_tables(mask, interval, w.gather)
        else:
            # Cases with fixed steps go side by side: one read serves all lanes.
            first_one = w.line(f"extractelement {w.whole} {interval}, i32 0")
            apart = w.line(f"icmp ne {w.whole} {interval}, {w.spread(first_one, 'i64')}")
            differ = w.any(apart)
            with w.when(w.line(f"xor i1 {differ}, true")):
                self._read_tables(mask, interval, lambda base, places: w.spread(self._at_first(base, places)))
            with w.when(differ, rarely=True):
                self._read_tables(mask, interval, w.gather)
        self._draw(mask, first)

    def _read_tables(self, mask: Word, interval: Word, read: Callable[[str, Word], Word]) -> None:
        """The end of an interval, and bases and rises of its tables, as `read` finds numbers by their places."""
        w, width = self.w, 2 * len(self.model.tabled)
        self.end.set_where(mask, read("%stops", interval))
        for k, (base, rise) in enumerate(zip(self.bases, self.rises)):
            at = w.integer("add", w.integer("mul", interval, w.whole_num(width)), w.whole_num(2 * k))
            base.set_where(mask, read("%segments", at))
            rise.set_where(mask, read("%segments", w.integer("add", at, w.whole_num(1))))

    def _at_first(self, base: str, places: Word) -> Word:
        """The number at the place of the first lane."""
        w = self.w
        place = w.line(f"extractelement {w.whole} {places}, i32 0")
        at = w.line(f"getelementptr double, ptr {base}, i64 {place}")
        return w.line(f"load double, ptr {at}, align 8")

    def _draw(self, mask: Word, first: bool) -> None:
        """Lanes of a mask draw their noise: a table has the number of its cell, or the nodes behind and before it."""
        w, noises = self.w, self.model.noises
        if noises is None:
            return
        seed = w.put(f"fptosi {w.real} {self.constants[self.model.inputs + noises.seed].now} to {w.whole}")
        for state, column, begin in zip(self._noises, noises.columns, noises.numbers):
            base, rise = self.bases[column], self.rises[column]
            numbers = w.put(f"getelementptr double, ptr %settings, i64 {len(SETTINGS) + len(self.atol) + begin}")
            fresh = mask if first else self.no_lane()
            if state.by_nodes:
                ends = rise.now, base.now
                base.set_where(mask, state.between(numbers, ends, seed, mask, fresh, rare=first))
                rise.set(w.num(0.0))
            else:
                base.set_where(mask, state.drawn(numbers, base.now, seed, mask, fresh, rare=first))

    def pass_stop(self, mask: Word) -> Word:
        """Lanes of a mask leave their interval: the last one ends their case; which of them enter another."""
        w = self.w
        self.interval.set_where(mask, w.integer("add", self.interval.now, w.whole_num(1)))
        inside = w.whole_compare("slt", self.interval.now, w.spread("%stop_count", "i64"))
        over = w.both(mask, w.unless(inside))
        self.status.set_where(over, w.num(FINISHED))
        self.ended.set(w.either(self.ended.now, over))
        going = w.both(mask, inside)
        self.begin.set_where(going, self.t.now)
        # Lanes that are through read the last interval once more.
        self.interval.set_where(over, w.integer("sub", self.interval.now, w.whole_num(1)))
        self.enter_interval(going)
        return going

    # -- saved rows ----------------------------------------------------------------------------------------------------

    def _next_saving(self, mask: Word) -> None:
        """Lanes of a mask look up the next time to save at; infinitely far where there is none."""
        w, count = self.w, self.w.spread("%time_count", "i64")
        left = w.whole_compare("slt", self.saved.now, count)
        time = w.gather("%times", w.choose_whole(left, self.saved.now, w.whole_num(0)))
        never = w.mul(self.settings["direction"], w.num(float("inf")))
        self.next_time.set_where(mask, w.choose(left, time, never))

    def save(self, mask: Word, row: list[Word]) -> None:
        """Lanes of a mask save a row and look up when to save the next."""
        w = self.w
        first = w.integer("mul", self.saved.now, w.whole_num(self.model.saved))
        column = w.choose_whole(mask, self.case.now, self.trash)
        count = 0 if self.model.events is None else self.model.events.discretes
        discretes = [cell.now for cell in self.assigned[:count]]
        for k, word in enumerate([*row[: self.model.saved - len(discretes)], *discretes]):
            offset = w.integer("mul", w.integer("add", first, w.whole_num(k)), self.n)
            w.scatter("%out", w.integer("add", column, w.choose_whole(mask, offset, w.whole_num(0))), word)
        self.saved.set_where(mask, w.integer("add", self.saved.now, w.whole_num(1)))
        self._next_saving(mask)

    def save_now(self, mask: Word) -> None:
        """Lanes of a mask that are at a time to save do so."""
        w = self.w
        due = w.both(mask, w.compare("oeq", self.next_time.now, self.t.now))
        with w.when(w.any(due), rarely=True):
            self.save(due, self.now())

    def text(self) -> str:
        """The whole kernel."""
        convention = "ptx_kernel " if self.gpu else ""
        head = f"define {convention}void @{ENTRY}({', '.join(ARGUMENTS)}) #0 {{"
        return self.w.module.text([head, *self.w.whole_text(), "}"])
