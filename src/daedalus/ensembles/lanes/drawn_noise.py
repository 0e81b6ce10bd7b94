"""Noise drawn inside kernels: the value in a cell of time, with the bits that the core draws for a single run.

The increments over long cells are drawn first and halved by Lévy's bridge, as in `daedalus.simulation.noise`. A lane
keeps the chain of cells above its own, so that a step to the next cell draws one number on average. Number s of the
chain is the cell 2^s times as long as the finest; numbers from `kept` on are the same for the whole span and share one
place. Sampled noise is a chain of one cell.
"""

from __future__ import annotations

from typing import NamedTuple

from daedalus._core import philox_numbers
from daedalus.compilation.lanes.random_words import normal_number, philox
from daedalus.compilation.lanes.words import LaneText, Word

ORIGIN = philox_numbers["origin"]
# Words of a block of Philox, as a power of two, and the largest shift that still changes a place.
BLOCK, MOST_SHIFTED = 2, 62
DRAW = "noise.draw"
# What begins the numbers of a noise: its stream, the level of its cells, the length of the chain, and its spread;
# behind them what the normal numbers of the chain are multiplied by.
STREAM, LEVEL, DEPTH, SPREAD, FACTORS = range(5)


class DrawnNoise(NamedTuple):
    """The noises that a kernel draws."""

    columns: tuple[int, ...]  # among the tabled inputs
    seed: int  # among the parameters
    kept: int
    numbers: tuple[int, ...]  # where those of each noise begin behind the settings


class NoiseState:
    """What a kernel keeps of one noise in all lanes."""

    def __init__(self, w: LaneText, kept: int) -> None:
        # The cell; then the increment, the bridge and four normal numbers of each place of the chain.
        self.memory, self._w, self._kept = w.memory(1 + 6 * (kept + 1)), w, kept

    def begin(self) -> None:
        """No lane has a cell."""
        self._w.raw(f"store {self._w.whole} {self._w.whole_num(0)}, ptr {self.memory}")

    def drawn(self, numbers: Word, cell: Word, seed: Word, mask: Word, fresh: Word, rare: bool) -> Word:
        """The values in cells of the lanes of a mask; fresh: the lanes with new cases."""
        w, kept = self._w, self._kept
        known = w.module.routine(
            DRAW, "" if rare else w.name, _parameters(w), lambda body: _write_draw(body, kept), w.real
        )
        given = (
            f"ptr {self.memory}, ptr {numbers}, {w.whole} {cell}, {w.whole} {seed}, {w.truth} {mask}, {w.truth} {fresh}"
        )
        return w.line(f"call {w.real} @{known}({given}){' #2' if rare else ''}")


def _parameters(w: LaneText) -> str:
    return f"ptr %state, ptr %numbers, {w.whole} %cell, {w.whole} %seed, {w.truth} %mask, {w.truth} %fresh"


class _Memory:
    """The places of a noise, by the number of a cell of the chain."""

    def __init__(self, w: LaneText, kept: int) -> None:
        self._w, self.kept = w, kept

    def at(self, part: int, number: Word, kind: str) -> Word:
        """The address of a part (0 increment, 1 bridge, 2 to 5 normal numbers) of a number of the chain."""
        w = self._w
        place = w.line(f"call i64 @llvm.smin.i64(i64 {number}, i64 {self.kept})")
        where = w.line(f"add i64 {w.line(f'mul i64 {place}, 6')}, {1 + part}")
        return w.line(f"getelementptr {kind}, ptr %state, i64 {where}")

    def load(self, part: int, number: Word, kind: str) -> Word:
        """The value of a part."""
        return self._w.line(f"load {kind}, ptr {self.at(part, number, kind)}")

    def store(self, part: int, number: Word, kind: str, value: Word) -> None:
        """Another value for a part."""
        self._w.raw(f"store {kind} {value}, ptr {self.at(part, number, kind)}")


def _write_draw(w: LaneText, kept: int) -> Word:
    module, whole, real = w.module, w.whole, w.real
    module.declared |= {"declare i64 @llvm.smin.i64(i64, i64)", "declare i64 @llvm.ctlz.i64(i64, i1)"}
    before = w.line(f"load {whole}, ptr %state")
    cell = w.choose_whole("%mask", "%cell", before)
    w.raw(f"store {whole} {cell}, ptr %state")
    # Bits of the cells' places that have changed in any lane: so far up the chain is another one.
    changed = _any_bits(w, w.choose_whole("%fresh", w.whole_num(-1), w.integer("xor", cell, before)))
    level, depth = (_number(w, k, "i64") for k in (LEVEL, DEPTH))
    length = w.line(f"sub i64 64, {w.line(f'call i64 @llvm.ctlz.i64(i64 {changed}, i1 false)')}")
    above = w.line(f"add i64 {depth}, 1")
    number = w.cell("i64")
    number.set(w.line(f"call i64 @llvm.smin.i64(i64 {length}, i64 {above})"))
    with w.repeat(lambda: w.line(f"icmp sgt i64 {number.now}, 0")):
        s = w.line(f"add i64 {number.now}, -1")
        number.set(s)
        inside = w.line(f"icmp slt i64 {s}, {depth}")
        # A bridge halves the cell above; the last one has none.
        up = w.line(f"add i64 {s}, {w.line(f'zext i1 {inside} to i64')}")
        memory = _Memory(w, kept)
        with w.when(_changes(w, changed, up)):
            _draw_number(w, memory, s, up, cell, w.line(f"sub i64 {level}, {s}"), changed)
        bridge = memory.load(1, s, real)
        odd = w.whole_compare("ne", w.integer("and", _shifted(w, cell, s), w.whole_num(1)), w.whole_num(0))
        half = w.mul(w.num(0.5), memory.load(0, w.line(f"add i64 {s}, 1"), real))
        halved = w.add(half, w.choose(odd, w.neg(bridge), bridge))
        memory.store(0, s, real, w.line(f"select i1 {inside}, {real} {halved}, {real} {bridge}"))
    finest = w.line(f"load {real}, ptr {_Memory(w, kept).at(0, '0', real)}")
    return w.mul(w.spread(_number(w, SPREAD, "double")), finest)


def _draw_number(w: LaneText, memory: _Memory, s: Word, up: Word, cell: Word, level: Word, changed: Word) -> None:
    """The normal number of a cell of the chain, times its factor; they are drawn four at a time."""
    place = w.integer("add", _shifted(w, cell, up), w.whole_num(ORIGIN))
    which = w.integer("and", place, w.whole_num(3))
    chosen = [w.whole_compare("eq", which, w.whole_num(k)) for k in range(1, 4)]
    with w.when(_changes(w, changed, w.line(f"add i64 {up}, {BLOCK}"))):
        counter = w.integer("add", w.integer("lshr", place, w.whole_num(BLOCK)), w.whole_num(1))
        stream = w.spread(_number(w, STREAM, "i64"), "i64")
        words = philox(w, (counter, w.spread(level, "i64")), ("%seed", stream))
        alone = w.line(f"icmp sge i64 {s}, {memory.kept}")
        with w.when(alone, rarely=True):
            # The others of its block are cells that no run of this span meets.
            word = words[0]
            for mask, other in zip(chosen, words[1:]):
                word = w.choose_whole(mask, other, word)
            memory.store(2, s, w.real, w.call("noise.number", [w.as_real(word)], 1, _written_number, rare=True)[0])
            for k in range(1, 4):
                memory.store(2 + k, s, w.real, memory.load(2, s, w.real))
        with w.when(w.line(f"xor i1 {alone}, true")):
            for k, word in enumerate(words):
                memory.store(2 + k, s, w.real, normal_number(w, word))
    number = memory.load(2, s, w.real)
    for k, mask in enumerate(chosen):
        number = w.choose(mask, memory.load(3 + k, s, w.real), number)
    factor = w.line(f"add i64 {s}, {FACTORS}")
    factor = w.line(f"load double, ptr {w.line(f'getelementptr double, ptr %numbers, i64 {factor}')}, align 8")
    memory.store(1, s, w.real, w.mul(w.spread(factor), number))


def _written_number(w: LaneText, word: list[Word]) -> list[Word]:
    return [normal_number(w, w.as_int(word[0]))]


def _number(w: LaneText, k: int, kind: str) -> Word:
    return w.line(f"load {kind}, ptr {w.line(f'getelementptr double, ptr %numbers, i64 {k}')}, align 8")


def _any_bits(w: LaneText, words: Word) -> Word:
    """The bits that are set in any lane, as one whole number."""
    lanes = w.module.lanes
    if lanes == 1:
        return words
    w.module.declared.add(f"declare i64 @llvm.vector.reduce.or.v{lanes}i64({w.whole})")
    return w.line(f"call i64 @llvm.vector.reduce.or.v{lanes}i64({w.whole} {words})")


def _changes(w: LaneText, changed: Word, shift: Word) -> Word:
    """Whether a place that is a cell's without its last bits has changed in any lane."""
    kept = w.line(f"lshr i64 {changed}, {w.line(f'call i64 @llvm.smin.i64(i64 {shift}, i64 63)')}")
    return w.line(f"icmp ne i64 {kept}, 0")


def _shifted(w: LaneText, cell: Word, shift: Word) -> Word:
    """The cell of the chain that is so many halvings above."""
    least = w.line(f"call i64 @llvm.smin.i64(i64 {shift}, i64 {MOST_SHIFTED})")
    return w.integer("ashr", cell, w.spread(least, "i64"))
