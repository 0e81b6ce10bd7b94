"""Random words and normal numbers on lanes, with the bits of the core: Philox 4x64 (J. K. Salmon et al., 2011), AS 241.

Words are whole words by their counter and key; a normal number is the quantile of the upper 53 bits of a word.
"""

from __future__ import annotations

from daedalus._core import philox_numbers, quantile_numbers
from daedalus.compilation.lanes.elementary import logarithm_of_normal
from daedalus.compilation.lanes.words import Cell, LaneText, Word

FACTORS, STEPS, ROUNDS = philox_numbers["factors"], philox_numbers["steps"], philox_numbers["rounds"]
MIDDLE, SQUARED_MIDDLE, SIDE_FROM, FAR_FROM = quantile_numbers["edges"]
# A word of 64 bits is two of 32.
LOW, HALF_WORD = 0xFFFFFFFF, 32
# Bits of a word that a number does not use.
UNUSED = 11
# So many lanes have AVX-512, which packs the lanes of a mask in one instruction.
PACKED_LANES = 8


def _signed(value: int) -> int:
    """The whole number of 64 bits as LLVM's text writes it."""
    return value - 2**64 if value >= 2**63 else value


def whole_product(w: LaneText, a: Word, factor: int) -> tuple[Word, Word]:
    """The upper and the lower half of a word times a constant."""
    if w.module.lanes == 1:
        wide = w.put(f"mul i128 {w.put(f'zext i64 {a} to i128')}, {factor}")
        high = w.put(f"trunc i128 {w.put(f'lshr i128 {wide}, 64')} to i64")
        return high, w.put(f"trunc i128 {wide} to i64")
    # Vectors multiply halves of words.
    shift, mask = w.whole_num(HALF_WORD), w.whole_num(LOW)
    a0, a1 = w.integer("and", a, mask), w.integer("lshr", a, shift)
    b0, b1 = w.whole_num(factor & LOW), w.whole_num(factor >> HALF_WORD)
    least = w.integer("mul", a0, b0)
    middle = w.integer("add", w.integer("mul", a1, b0), w.integer("lshr", least, shift))
    other = w.integer("add", w.integer("mul", a0, b1), w.integer("and", middle, mask))
    high = w.integer("add", w.integer("mul", a1, b1), w.integer("lshr", middle, shift))
    low = w.integer("or", w.integer("shl", other, shift), w.integer("and", least, mask))
    return w.integer("add", high, w.integer("lshr", other, shift)), low


def philox(w: LaneText, counter: tuple[Word, Word], key: tuple[Word, Word]) -> list[Word]:
    """The four words of a counter, whose two upper words are zero."""
    (a, b), (first, second) = counter, key
    c = d = w.whole_num(0)
    for _ in range(ROUNDS):
        p, q = whole_product(w, a, FACTORS[0]), whole_product(w, c, FACTORS[1])
        a, b = w.integer("xor", w.integer("xor", q[0], b), first), q[1]
        c, d = w.integer("xor", w.integer("xor", p[0], d), second), p[1]
        first, second = (w.integer("add", k, w.whole_num(_signed(step))) for k, step in zip((first, second), STEPS))
    return [a, b, c, d]


def _quotient(w: LaneText, r: Word, over: list[Word], under: list[Word]) -> Word:
    """A quotient of polynomials; the denominator begins with 1."""
    top, bottom = over[-1], under[-1]
    for c in over[-2::-1]:
        top = w.add(w.mul(top, r), c)
    for c in under[-2::-1]:
        bottom = w.add(w.mul(bottom, r), c)
    return w.div(top, w.add(w.mul(bottom, r), w.num(1.0)))


def normal_numbers(w: LaneText, words: list[Word]) -> list[Word]:
    """The quantiles of the normal distribution for words.

    Most lanes need the formula of the middle alone. Where the processor packs lanes in a register, those of all words
    that need the one with the logarithm are packed side by side first, so that few of its values are for nothing.
    """
    if w.module.lanes != PACKED_LANES:
        return [normal_number(w, word) for word in words]
    lanes = w.module.lanes
    room, count, sides = w.memory(len(words) + 1), w.cell("i64"), list[tuple[Word, Word, Word, Word]]()
    count.set("0")
    for word in words:
        p, q, central = _place(w, word)
        aside, here = w.unless(central), count.now
        sides.append((q, central, aside, here))
        packed = _packed(w, "compress", _nearer_end(w, p), aside)
        w.raw(f"store {w.real} {packed}, ptr {_numbered(w, room, here)}, align 8")
        count.set(w.line(f"add i64 {here}, {_held(w, aside)}"))
    w.raw(f"store {w.real} {w.num(0.25)}, ptr {_numbered(w, room, count.now)}, align 8")
    done = w.cell("i64")
    done.set("0")
    with w.repeat(lambda: w.line(f"icmp slt i64 {done.now}, {count.now}")):
        at = _numbered(w, room, done.now)
        tail = w.line(f"load {w.real}, ptr {at}, align 8")
        w.raw(f"store {w.real} {_size_of_tail(w, tail)}, ptr {at}, align 8")
        done.set(w.line(f"add i64 {done.now}, {lanes}"))
    found = []
    for q, central, aside, here in sides:
        read = w.line(f"load {w.real}, ptr {_numbered(w, room, here)}, align 8")
        middle = _quotient(w, _inside(w, q), *_constants(w, "middle"))
        found.append(w.choose(central, w.mul(q, middle), w.copysign(_packed(w, "expand", read, aside), q)))
    return found


def _numbered(w: LaneText, room: Word, k: Word) -> Word:
    """The address of a number in some room."""
    return w.line(f"getelementptr double, ptr {room}, i64 {k}")


def _packed(w: LaneText, how: str, words: Word, mask: Word) -> Word:
    """The lanes of a mask side by side ("compress"), or back in their places ("expand"), by AVX-512."""
    name = f"llvm.x86.avx512.mask.{how}.v{w.module.lanes}f64"
    w.module.declared.add(f"declare {w.real} @{name}({w.real}, {w.real}, {w.truth})")
    return w.line(f"call {w.real} @{name}({w.real} {words}, {w.real} {w.num(0.25)}, {w.truth} {mask})")


def _held(w: LaneText, mask: Word) -> Word:
    """In how many lanes a mask holds."""
    bits = f"i{w.module.lanes}"
    w.module.declared.add(f"declare {bits} @llvm.ctpop.{bits}({bits})")
    whole = w.line(f"bitcast {w.truth} {mask} to {bits}")
    return w.line(f"zext {bits} {w.line(f'call {bits} @llvm.ctpop.{bits}({bits} {whole})')} to i64")


def _place(w: LaneText, word: Word) -> tuple[Word, Word, Word]:
    """A word as a number p in (0, 1), p − ½, and where the formula of the middle holds."""
    whole = w.put(f"uitofp {w.whole} {w.integer('lshr', word, w.whole_num(UNUSED))} to {w.real}")
    p = w.mul(w.add(whole, w.num(0.5)), w.num(2.0**-53))
    q = w.sub(p, w.num(0.5))
    return p, q, w.compare("ole", w.abs(q), w.num(MIDDLE))


def _nearer_end(w: LaneText, p: Word) -> Word:
    """How far a number in (0, 1) is from the nearer end."""
    return w.choose(w.compare("olt", p, w.num(0.5)), p, w.sub(w.num(1.0), p))


def _inside(w: LaneText, q: Word) -> Word:
    return w.sub(w.num(SQUARED_MIDDLE), w.mul(q, q))


def _constants(w: LaneText, formula: str) -> list[list[Word]]:
    """The numbers of a formula, over and under the line."""
    return [[w.num(value) for value in part] for part in quantile_numbers[formula]]


def _size_of_tail(w: LaneText, tail: Word) -> Word:
    """|quantile| where the formula of the middle does not hold."""
    r, size = w.sqrt(w.neg(logarithm_of_normal(w, tail))), w.cell()
    size.set(_quotient(w, w.sub(r, w.num(SIDE_FROM)), *_constants(w, "side")))
    _correct_far(w, size, r, w.compare("ogt", r, w.num(FAR_FROM)))
    return size.now


def _correct_far(w: LaneText, size: Cell, r: Word, far: Word) -> None:
    """The formula of the far end in the lanes of a mask."""
    with w.when(w.any(far), rarely=True):
        size.set_where(far, _quotient(w, w.sub(r, w.num(FAR_FROM)), *_constants(w, "far")))


def normal_number(w: LaneText, word: Word) -> Word:
    """The quantile of the normal distribution for a word."""
    p, q, central = _place(w, word)
    r = w.sqrt(w.neg(logarithm_of_normal(w, _nearer_end(w, p))))
    # One quotient, whose numbers are those of the formula that holds.
    place = w.choose(central, _inside(w, q), w.sub(r, w.num(SIDE_FROM)))
    middle, side = (_constants(w, formula) for formula in ("middle", "side"))
    chosen = [[w.choose(central, a, b) for a, b in zip(*parts)] for parts in zip(middle, side)]
    size = w.cell()
    size.set(_quotient(w, place, *chosen))
    _correct_far(w, size, r, w.both(w.unless(central), w.compare("ogt", r, w.num(FAR_FROM))))
    found = size.now
    return w.choose(central, w.mul(q, found), w.copysign(found, q))
