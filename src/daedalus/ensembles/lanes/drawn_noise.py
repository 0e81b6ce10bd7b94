"""Noise drawn inside kernels: the value in a cell of time, with the bits that the core draws for a single run.

The increments over long cells are drawn first and cut in two or five by bridges, as in `daedalus.simulation.noise`. A
lane keeps the chain of cells above its own, so that a step to the next cell draws one number on average. Number s of
the chain is s cuts above the finest; numbers from `kept` on are the same for the whole span and share one place. Where
a step is no cell of the tree, the path itself is computed at its ends. Sampled noise is a chain of one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from daedalus._core import bridge_numbers, philox_numbers
from daedalus.compilation.lanes.random_words import normal_number, normal_numbers, philox
from daedalus.compilation.lanes.words import LaneText, Word
from daedalus.compilation.operations import literal
from daedalus.simulation.noise.noise_signals import DrawingLaw

ORIGIN = philox_numbers["origin"]
SHARES, SPREADS = bridge_numbers
# Numbers of a block of Philox.
BLOCK = 4
# Numbers of a chain that are kept come in so many.
SPARE = 4
CELL, POINT = "noise.cell", "noise.point"
# What begins the numbers of a noise: its stream, the level of its cells, the length of the chain, and its spread;
# behind them what the normal numbers of the chain are multiplied by.
STREAM, LEVEL, DEPTH, SPREAD, FACTORS = range(5)
# What is kept of a number of the chain: its increment, the path at its end nearer to zero, the block of its numbers,
# and these.
INCREMENT, AT, DRAWN, NUMBERS = range(4)
PARTS = NUMBERS + BLOCK
# What is kept beside the chain of a noise whose steps are no cells: the last two nodes, and the path there.
EARLIER, LATER, AT_EARLIER, AT_LATER = range(4)


class DrawnNoise(NamedTuple):
    """The noises that a kernel draws."""

    columns: tuple[int, ...]  # among the tabled inputs
    seed: int  # among the parameters
    kept: int
    cells: int  # of the longest chain
    numbers: tuple[int, ...]  # where those of each noise begin behind the settings
    by_nodes: tuple[bool, ...]  # whether the ends of its cells are given


def drawn_noise(columns: tuple[int, ...], seed: int, laws: Sequence[DrawingLaw], numbers: Sequence[int]) -> DrawnNoise:
    """Noises with the laws given. Chains have some room to spare, so that sweeps with other steps share a kernel."""
    kept = max(law.kept for law in laws)
    cells = max(law.depth for law in laws) + 1
    by_nodes = tuple(law.nodes is not None for law in laws)
    return DrawnNoise(columns, seed, kept + -kept % SPARE, cells + -cells % (4 * SPARE), tuple(numbers), by_nodes)


class NoiseState:
    """What a kernel keeps of one noise in all lanes."""

    def __init__(self, w: LaneText, noises: DrawnNoise, which: int) -> None:
        self._w, self._kept, self._cells, self.by_nodes = w, noises.kept, noises.cells, noises.by_nodes[which]
        self.memory = w.memory(self._cells + PARTS * (noises.kept + 1))
        self._ends = [w.cell() for _ in range(4)] if self.by_nodes else []

    def begin(self) -> None:
        """No lane has a cell."""
        for k in range(self._cells):
            at = self._w.line(f"getelementptr {self._w.real}, ptr {self.memory}, i64 {k}")
            self._w.raw(f"store {self._w.real} {self._w.num(0.0)}, ptr {at}")
        for cell in self._ends:
            cell.set(self._w.num(0.0))

    def drawn(self, numbers: Word, cell: Word, seed: Word, mask: Word, fresh: Word, rare: bool) -> Word:
        """The values in cells of the lanes of a mask; fresh: the lanes with new cases."""
        increment = self._call(CELL, numbers, cell, seed, mask, fresh, rare)
        return self._w.mul(self._w.spread(_number(self._w, SPREAD, "double", numbers)), increment)

    def between(self, numbers: Word, nodes: tuple[Word, Word], seed: Word, mask: Word, fresh: Word, rare: bool) -> Word:
        """The values between two nodes in the lanes of a mask."""
        w, (earlier, later, at_earlier, at_later) = self._w, self._ends
        goes_on = w.compare("oeq", nodes[0], later.now)
        stays = w.compare("oeq", nodes[0], earlier.now)
        known = w.both(w.unless(fresh), w.either(goes_on, stays))
        begins = w.cell()
        begins.set(w.choose(goes_on, at_later.now, at_earlier.now))
        missing = w.both(mask, w.unless(known))
        with w.when(w.any(missing), rarely=True):
            begins.set_where(missing, self._call(POINT, numbers, nodes[0], seed, missing, fresh, True))
        at_earlier.set_where(mask, begins.now)
        # The chain is that of the case by now.
        nobody = w.line(f"xor {w.truth} {fresh}, {fresh}")
        at_later.set_where(mask, self._call(POINT, numbers, nodes[1], seed, mask, nobody, rare))
        earlier.set_where(mask, nodes[0])
        later.set_where(mask, nodes[1])
        return w.mul(w.spread(_number(w, SPREAD, "double", numbers)), w.sub(at_later.now, at_earlier.now))

    def _call(self, name: str, numbers: Word, place: Word, seed: Word, mask: Word, fresh: Word, rare: bool) -> Word:
        w, kept, cells = self._w, self._kept, self._cells
        caller = "" if rare else w.name
        known = w.module.routine(
            name, caller, _parameters(w), lambda body: _written_draw(body, kept, cells, name == POINT), w.real
        )
        given = (
            f"ptr {self.memory}, ptr {numbers}, {w.real} {place}, {w.whole} {seed}, {w.truth} {mask}, {w.truth} {fresh}"
        )
        return w.line(f"call {w.real} @{known}({given}){' #2' if rare else ''}")


def _parameters(w: LaneText) -> str:
    return f"ptr %state, ptr %numbers, {w.real} %place, {w.whole} %seed, {w.truth} %mask, {w.truth} %fresh"


class _Memory:
    """The places of a noise, by the number of a cell of the chain."""

    def __init__(self, w: LaneText, kept: int, cells: int) -> None:
        self._w, self.kept, self._cells = w, kept, cells

    def address(self, part: int, number: Word) -> Word:
        """Where a part of a number of the chain is."""
        w = self._w
        place = w.line(f"call i64 @llvm.smin.i64(i64 {number}, i64 {self.kept})")
        where = w.line(f"add i64 {w.line(f'mul i64 {place}, {PARTS}')}, {self._cells + part}")
        return w.line(f"getelementptr {w.real}, ptr %state, i64 {where}")

    def load(self, part: int, number: Word) -> Word:
        """The value of a part of a number of the chain."""
        return self._w.line(f"load {self._w.real}, ptr {self.address(part, number)}")

    def store(self, part: int, number: Word, value: Word) -> None:
        """Another value for a part."""
        self._w.raw(f"store {self._w.real} {value}, ptr {self.address(part, number)}")

    def cell(self, number: Word) -> Word:
        """The cell of a number of the chain."""
        at = self._w.line(f"getelementptr {self._w.real}, ptr %state, i64 {number}")
        return self._w.line(f"load {self._w.real}, ptr {at}")

    def set_cell(self, number: Word, cell: Word) -> None:
        """Another cell for a number of the chain."""
        at = self._w.line(f"getelementptr {self._w.real}, ptr %state, i64 {number}")
        self._w.raw(f"store {self._w.real} {cell}, ptr {at}")


def _written_draw(w: LaneText, kept: int, cells: int, by_nodes: bool) -> Word:
    """The increment over a cell, or the path at a node."""
    w.module.declared.add("declare i64 @llvm.smin.i64(i64, i64)")
    memory, zero = _Memory(w, kept, cells), w.num(0.0)
    level, depth = (_number(w, k, "i64") for k in (LEVEL, DEPTH))
    place = "%place"
    if by_nodes:
        # A node before zero is the end of a cell.
        place = w.choose(w.compare("olt", place, zero), w.sub(place, w.num(1.0)), place)
    first = w.choose("%mask", place, memory.cell("0"))
    before, anew = w.compare("olt", first, zero), w.any("%fresh")
    number, now, passed = w.cell("i64"), w.cell(), w.cell("i1")
    now.set(first)
    number.set("0")
    passed.set("true")
    with w.repeat(lambda: passed.now):
        s, cell = number.now, now.now
        differs = w.line(f"or i1 {anew}, {w.any(w.compare('une', cell, memory.cell(s)))}")
        with w.when(differs):
            memory.set_cell(s, cell)
            number.set(w.line(f"add i64 {s}, 1"))
            now.set(_quotient(w, cell, _halves(w, level, s)))
        passed.set(w.line(f"and i1 {differs}, {w.line(f'icmp sle i64 {number.now}, {depth}')}"))
    with w.repeat(lambda: w.line(f"icmp sgt i64 {number.now}, 0")):
        s = w.line(f"add i64 {number.now}, -1")
        number.set(s)
        inside = w.line(f"icmp slt i64 {s}, {depth}")
        with w.when(inside):
            _step_down(w, memory, s, w.line(f"sub i64 {level}, {s}"), anew, before if by_nodes else None)
        with w.when(w.line(f"xor i1 {inside}, true"), rarely=True):
            _draw_longest(w, memory, s, w.line(f"sub i64 {level}, {s}"))
    return memory.load(AT if by_nodes else INCREMENT, "0")


def _halves(w: LaneText, level: Word, s: Word) -> Word:
    """Whether a number of the chain is half of the one above, as a single truth."""
    return w.line(f"trunc i64 {w.line(f'sub i64 {level}, {s}')} to i1")


def _quotient(w: LaneText, cell: Word, halves: Word) -> Word:
    """The cell that a cell is a part of. Halves keep the products of whole numbers below 2^50 apart."""
    share = w.line(f"select i1 {halves}, double 0.5, double {literal(0.2)}")
    return w.floor(w.mul(w.add(cell, w.num(0.5)), w.spread(share)))


def _words(w: LaneText, block: Word, level: Word) -> list[Word]:
    """The words of a block of a level: four numbers by their place."""
    place = w.integer("add", w.put(f"fptosi {w.real} {block} to {w.whole}"), w.whole_num(ORIGIN // BLOCK + 1))
    stream = w.spread(_number(w, STREAM, "i64"), "i64")
    return philox(w, (place, w.spread(level, "i64")), ("%seed", stream))


def _fourth(w: LaneText, cell: Word) -> tuple[Word, list[Word]]:
    """The block of a cell that has one number, and where it is the second, third and fourth."""
    block = w.floor(w.mul(cell, w.num(0.25)))
    place = w.sub(cell, w.mul(block, w.num(4.0)))
    return block, [w.compare("oeq", place, w.num(float(k))) for k in range(1, BLOCK)]


def _number_of(w: LaneText, cell: Word, level: Word) -> Word:
    """The number of a cell that has one."""
    block, chosen = _fourth(w, cell)
    word, *others = _words(w, block, level)
    for mask, other in zip(chosen, others):
        word = w.choose_whole(mask, other, word)
    return w.call("noise.number", [w.as_real(word)], 1, _written_number)[0]


def _draw_block(w: LaneText, memory: _Memory, s: Word, block: Word, level: Word) -> None:
    """The four numbers of a block into the place of a number of the chain."""

    def written(body: LaneText) -> Word:
        numbers = normal_numbers(body, _words(body, "%block", "%level"))
        for k, number in enumerate(numbers):
            at = body.line(f"getelementptr {body.real}, ptr %place, i64 {k}")
            body.raw(f"store {body.real} {number}, ptr {at}")
        return numbers[0]

    taken = f"ptr %place, ptr %numbers, {w.real} %block, i64 %level, {w.whole} %seed"
    name = w.module.routine("noise.block", w.name, taken, written, w.real)
    given = f"ptr {memory.address(NUMBERS, s)}, ptr %numbers, {w.real} {block}, i64 {level}, {w.whole} %seed"
    w.raw(f"call {w.real} @{name}({given})")


def _draw_longest(w: LaneText, memory: _Memory, s: Word, level: Word) -> None:
    number = _number_of(w, memory.cell(s), level)
    memory.store(INCREMENT, s, w.mul(_factor(w, s), number))
    memory.store(AT, s, w.num(0.0))


def _step_down(w: LaneText, memory: _Memory, s: Word, level: Word, anew: Word, before: Word | None) -> None:
    """The cell of a number of the chain, from the one above."""
    above = w.line(f"add i64 {s}, 1")
    parent, child, whole, factor = memory.cell(above), memory.cell(s), memory.load(INCREMENT, above), _factor(w, s)
    at = memory.load(AT, above)
    low, high = w.cell(), w.cell()
    low.set(w.num(0.0))
    high.set(whole)
    halves = w.line(f"trunc i64 {level} to i1")
    with w.when(halves):
        block, chosen = _fourth(w, parent)
        if before is None:
            # Its neighbours come next.
            with w.when(_is_missing(w, memory, s, block, anew)):
                _draw_block(w, memory, s, block, level)
            number = memory.load(NUMBERS, s)
            for k, mask in enumerate(chosen):
                number = w.choose(mask, memory.load(NUMBERS + 1 + k, s), number)
        else:
            with w.when(_is_missing(w, memory, s, parent, anew)):
                memory.store(NUMBERS, s, _number_of(w, parent, level))
            number = memory.load(NUMBERS, s)
        middle = w.add(w.mul(w.num(0.5), whole), w.mul(factor, number))
        second = w.compare("one", child, w.add(parent, parent))
        low.set(w.choose(second, middle, w.num(0.0)))
        high.set(w.choose(second, whole, middle))
    with w.when(w.line(f"xor i1 {halves}, true")):
        with w.when(_is_missing(w, memory, s, parent, anew)):
            _draw_block(w, memory, s, parent, level)
            end = w.num(0.0)
            for k in range(BLOCK):
                mean = w.add(end, w.mul(w.sub(whole, end), w.num(SHARES[k])))
                end = w.add(mean, w.mul(w.mul(factor, w.num(SPREADS[k])), memory.load(NUMBERS + k, s)))
                memory.store(NUMBERS + k, s, end)
        part = w.sub(child, w.mul(parent, w.num(5.0)))
        ends = [memory.load(NUMBERS + k, s) for k in range(BLOCK)]
        lower, upper = w.num(0.0), ends[0]
        for k, end in enumerate(ends):
            mask = w.compare("oeq", part, w.num(float(k + 1)))
            lower, upper = w.choose(mask, end, lower), w.choose(mask, [*ends, whole][k + 1], upper)
        low.set(lower)
        high.set(upper)
    memory.store(INCREMENT, s, w.sub(high.now, low.now))
    if before is not None:
        back = w.sub(at, w.sub(whole, high.now))
        memory.store(AT, s, w.choose(before, back, w.add(at, low.now)))


def _is_missing(w: LaneText, memory: _Memory, s: Word, block: Word, anew: Word) -> Word:
    """Whether a block of numbers is not there in any lane; from now on it is."""
    missing = w.line(f"or i1 {anew}, {w.any(w.compare('une', block, memory.load(DRAWN, s)))}")
    memory.store(DRAWN, s, block)
    return missing


def _factor(w: LaneText, s: Word) -> Word:
    at = w.line(f"getelementptr double, ptr %numbers, i64 {w.line(f'add i64 {s}, {FACTORS}')}")
    return w.spread(w.line(f"load double, ptr {at}, align 8"))


def _written_number(w: LaneText, word: list[Word]) -> list[Word]:
    return [normal_number(w, w.as_int(word[0]))]


def _number(w: LaneText, k: int, kind: str, numbers: Word = "%numbers") -> Word:
    return w.line(f"load {kind}, ptr {w.line(f'getelementptr double, ptr {numbers}, i64 {k}')}, align 8")
