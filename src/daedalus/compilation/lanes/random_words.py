"""Random words and normal numbers on lanes, with the bits of the core: Philox 4x64 (J. K. Salmon et al., 2011), AS 241.

Words are whole words by their counter and key; a normal number is the quantile of the upper 53 bits of a word.
"""

from __future__ import annotations

from daedalus._core import philox_numbers, quantile_numbers
from daedalus.compilation.lanes.elementary import logarithm_of_normal
from daedalus.compilation.lanes.words import LaneText, Word

FACTORS, STEPS, ROUNDS = philox_numbers["factors"], philox_numbers["steps"], philox_numbers["rounds"]
MIDDLE, SQUARED_MIDDLE, SIDE_FROM, FAR_FROM = quantile_numbers["edges"]
LOW, HALF_WORD = 0xFFFFFFFF, 32
# Bits of a word that a number does not use.
UNUSED = 11


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


def normal_number(w: LaneText, word: Word) -> Word:
    """The quantile of the normal distribution for a word."""
    whole = w.put(f"uitofp {w.whole} {w.integer('lshr', word, w.whole_num(UNUSED))} to {w.real}")
    p = w.mul(w.add(whole, w.num(0.5)), w.num(2.0**-53))
    q = w.sub(p, w.num(0.5))
    central = w.compare("ole", w.abs(q), w.num(MIDDLE))
    tail = w.choose(w.compare("olt", p, w.num(0.5)), p, w.sub(w.num(1.0), p))
    r = w.sqrt(w.neg(logarithm_of_normal(w, tail)))
    # One quotient, whose numbers are those of the formula that holds.
    place = w.choose(central, w.sub(w.num(SQUARED_MIDDLE), w.mul(q, q)), w.sub(r, w.num(SIDE_FROM)))
    chosen = [
        [
            w.choose(central, w.num(a), w.num(b))
            for a, b in zip(quantile_numbers["middle"][k], quantile_numbers["side"][k])
        ]
        for k in range(2)
    ]
    size = w.cell()
    size.set(_quotient(w, place, *chosen))
    far = w.both(w.unless(central), w.compare("ogt", r, w.num(FAR_FROM)))
    with w.when(w.any(far), rarely=True):
        numbers = [[w.num(value) for value in part] for part in quantile_numbers["far"]]
        size.set_where(far, _quotient(w, w.sub(r, w.num(FAR_FROM)), *numbers))
    found = size.now
    return w.choose(central, w.mul(q, found), w.copysign(found, q))
