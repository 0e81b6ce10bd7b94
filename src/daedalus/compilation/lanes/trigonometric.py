"""Sine, cosine, tangent and their inverses on lanes; arguments of any size are reduced to their last digit.

x = q π/2 + r with π/2 in three parts and exact products where |x| < 2^30 (W. J. Cody and W. Waite), by those digits of
2/π that matter beyond (M. Payne and R. Hanek). r is known in two parts.
"""

from __future__ import annotations

import math

from daedalus.compilation.lanes.elementary import Pair, double_product
from daedalus.compilation.lanes.function_numbers import ARCTANGENT, COSINE, HALF_PI, SINE, two_over_pi
from daedalus.compilation.lanes.words import FRACTION, LaneText, Word, called
from daedalus.compilation.operations import literal

# Beyond the first, multiples of π/2 have more digits than the parts that are taken off; below the second sin x is x.
_FAR = 2.0**30
_TINY = 2.0**-27
_GROUP = 4  # bits of the exponent that a row of `two_over_pi` serves


def _near_turn(w: LaneText, x: Word) -> tuple[Word, Word, Word]:
    q, _ = w.nearest(x, 2 / math.pi)
    p1, p2, p3 = (w.num(p) for p in HALF_PI)
    n = w.neg(q)
    first = w.fma(n, p1, x)
    product, lost = w.two_product(n, p2)
    r, e = w.two_sum(first, product)
    return r, w.add(e, w.fma(n, p3, lost)), q


def _far_turn(w: LaneText, x: Word) -> tuple[Word, Word, Word]:
    """The same for |x| ≥ 2^30."""
    table = [f"double {literal(digits)}" for digits in two_over_pi()]
    w.module.constants["two.over.pi"] = f"[{len(table)} x double] [{', '.join(table)}]"
    bits = w.as_int(w.abs(x))
    exponent = w.integer("sub", w.integer("ashr", bits, w.whole_num(FRACTION)), w.whole_num(1023))
    group = w.integer("ashr", exponent, w.whole_num(_GROUP))
    # Lanes with smaller numbers, infinity or NaN read some row of the table.
    group = w.choose_whole(w.whole_compare("slt", group, w.whole_num(1)), w.whole_num(1), group)
    group = w.choose_whole(w.whole_compare("slt", group, w.whole_num(64)), group, w.whole_num(63))
    row = w.integer("shl", w.integer("sub", group, w.whole_num(1)), w.whole_num(2))
    lowered = w.integer("shl", w.integer("shl", group, w.whole_num(_GROUP)), w.whole_num(FRACTION))
    a = w.as_real(w.integer("sub", bits, lowered))
    digits = [w.gather("@two.over.pi", w.integer("add", row, w.whole_num(j))) for j in range(4)]
    products = [w.two_product(a, d) for d in digits]
    head = products[0][0]
    head = w.sub(head, w.mul(w.floor(w.mul(head, w.num(0.25))), w.num(4.0)))
    terms = [head, products[0][1], products[1][0], products[1][1], products[2][0], products[2][1], products[3][0]]
    terms = _distilled(w, terms)
    q, _ = w.nearest(terms[0], 1.0)
    terms = _distilled(w, [w.sub(terms[0], q), *terms[1:]])
    part = (terms[0], w.add(terms[1], terms[2]))
    r, e = double_product(w, part, (w.num(HALF_PI[0]), w.num(HALF_PI[1])))
    # Sine and the quadrant change their sign with x.
    r, e = w.two_sum(r, e)
    sign = w.compare("olt", x, w.num(0.0))
    return w.choose(sign, w.neg(r), r), w.choose(sign, w.neg(e), e), w.choose(sign, w.neg(q), q)


def _far(w: LaneText, x: Word) -> list[Word]:
    return w.call("lane.far_turn", [x], 3, lambda body, a: _far_turn(body, a[0]), rare=True)


def _distilled(w: LaneText, terms: list[Word]) -> list[Word]:
    """The same sum with almost all of it in the first terms; each pass is exact (Ogita, Rump and Oishi 2005)."""
    for _ in range(3):
        total, lost = terms[-1], []
        for term in reversed(terms[:-1]):
            total, error = w.two_sum(term, total)
            lost.append(error)
        terms = [total, *reversed(lost)]
    return terms


def _turn(w: LaneText, x: Word) -> tuple[Word, Word, Word]:
    """r, what was rounded away of it, and q with x = q π/2 + r."""
    cells = [w.cell(), w.cell(), w.cell()]
    for cell, word in zip(cells, _near_turn(w, x)):
        cell.set(word)
    far = w.compare("oge", w.abs(x), w.num(_FAR))
    with w.when(w.any(far), rarely=True):
        for cell, word in zip(cells, _far(w, x)):
            cell.set_where(far, word)
    r, e, q = (cell.now for cell in cells)
    # There is no angle at infinity.
    endless = w.compare("oeq", w.abs(x), w.num(math.inf))
    return w.choose(endless, w.num(math.nan), r), e, w.nearest(q, 1.0)[1]


def _sine_and_cosine(w: LaneText, x: Word) -> Pair:
    r, e, k = _turn(w, x)
    z = w.mul(r, r)
    cube = w.mul(z, r)
    slope = w.fma(z, w.num(-0.5), w.num(1.0))
    sine = w.add(r, w.fma(cube, w.polynomial(z, SINE), w.mul(e, slope)))
    # -0 and numbers so small that they are their own sine.
    sine = w.choose(w.compare("olt", w.abs(r), w.num(_TINY)), r, sine)
    half = w.mul(z, w.num(0.5))
    top = w.sub(w.num(1.0), half)
    lost = w.sub(w.sub(w.num(1.0), top), half)
    rest = w.fma(w.mul(z, z), w.polynomial(z, COSINE), w.neg(w.mul(r, e)))
    cosine = w.add(top, w.add(lost, rest))
    return _quadrant(w, k, sine, cosine), _quadrant(w, w.integer("add", k, w.whole_num(1)), sine, cosine)


def _quadrant(w: LaneText, k: Word, even: Word, odd: Word) -> Word:
    def bit(n: int) -> Word:
        return w.whole_compare("ne", w.integer("and", k, w.whole_num(n)), w.whole_num(0))

    y = w.choose(bit(1), odd, even)
    return w.choose(bit(2), w.neg(y), y)


def sine_and_cosine(w: LaneText, x: Word) -> Pair:
    """sin x and cos x."""
    found = w.call("lane.sincos", [x], 2, lambda body, a: _sine_and_cosine(body, a[0]))
    return found[0], found[1]


def sin(w: LaneText, x: Word) -> Word:
    """sin x."""
    return sine_and_cosine(w, x)[0]


def cos(w: LaneText, x: Word) -> Word:
    """cos x."""
    return sine_and_cosine(w, x)[1]


def tan(w: LaneText, x: Word) -> Word:
    """tan x."""
    return w.div(*sine_and_cosine(w, x))


# -- inverses ----------------------------------------------------------------------------------------------------------


def _arctangent(w: LaneText, a: Word) -> Pair:
    """atan a for 0 ≤ a ≤ 1, in two parts."""
    steep = w.compare("ogt", a, w.num(math.tan(math.pi / 8)))
    t = w.choose(steep, w.div(w.sub(a, w.num(1.0)), w.add(a, w.num(1.0))), a)
    z = w.mul(t, t)
    rest = w.mul(w.mul(z, t), w.polynomial(z, ARCTANGENT))
    base = w.choose(steep, w.num(math.pi / 4), w.num(0.0))
    low = w.choose(steep, w.num(HALF_PI[1] / 2), w.num(0.0))
    s, e = w.two_sum(base, t)
    return s, w.add(e, w.add(rest, low))


@called("lane.atan2")
def atan2(w: LaneText, y: Word, x: Word) -> Word:
    """The angle of the point (x, y), as C's atan2."""
    b, a = w.abs(y), w.abs(x)
    steep = w.compare("ogt", b, a)
    small, large = w.choose(steep, a, b), w.choose(steep, b, a)
    share = w.div(small, large)
    share = w.choose(w.compare("oeq", large, w.num(0.0)), w.num(0.0), share)
    share = w.choose(w.compare("oeq", small, w.num(math.inf)), w.num(1.0), share)
    high, low = _arctangent(w, share)
    # From the other axis, then from the other side.
    for mask, (turn, rest) in (
        (steep, (HALF_PI[0], HALF_PI[1])),
        (w.whole_compare("slt", w.as_int(x), w.whole_num(0)), (2 * HALF_PI[0], 2 * HALF_PI[1])),
    ):
        s, e = w.two_sum(w.num(turn), w.neg(high))
        high, low = w.choose(mask, s, high), w.choose(mask, w.add(e, w.sub(w.num(rest), low)), low)
    found = w.copysign(w.add(high, low), y)
    return w.choose(w.compare("uno", x, y), w.add(x, y), found)


def atan(w: LaneText, x: Word) -> Word:
    """atan x."""
    return atan2(w, x, w.num(1.0))


def _leg(w: LaneText, x: Word) -> Word:
    """√(1 − x²)."""
    return w.sqrt(w.mul(w.sub(w.num(1.0), x), w.add(w.num(1.0), x)))


def asin(w: LaneText, x: Word) -> Word:
    """asin x."""
    return atan2(w, x, _leg(w, x))


def acos(w: LaneText, x: Word) -> Word:
    """acos x."""
    return atan2(w, _leg(w, x), x)
