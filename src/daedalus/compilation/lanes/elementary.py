"""Exponential, logarithm and power on lanes, within 1 ulp over the whole range.

exp: x = k ln 2 + s, |s| ≤ ln 2 / 2, in two parts; a polynomial; scaling by 2^k in two factors, down to subnormals.
log: x = 2^k m, √½ ≤ m < √2; ln m by s = (m − 1)/(m + 1), as in W. J. Cody and W. Waite's manual and Sun's fdlibm.
pow: the logarithm in twice the digits, times the exponent, into exp with a tail.
"""

from __future__ import annotations

import math

from daedalus.algebra.rank_decision import SMALLEST_NORMAL
from daedalus.compilation.lanes.function_numbers import EXPONENTIAL, LN2, LOGARITHM, LOGARITHM_TAIL
from daedalus.compilation.lanes.words import FRACTION, ROUNDER, LaneText, Word, bits_of, called

# ln 2 in a part whose products with exponents are exact, and the rest.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
UP = 54  # powers of two by which smaller numbers are raised: more than their digits
# Beyond these exp is zero, or infinite.
_LOWEST, _HIGHEST = -746.0, 710.0
Pair = tuple[Word, Word]


def scaled(w: LaneText, y: Word, k: Word) -> Word:
    """y · 2^k for whole k, in two factors."""
    half = w.integer("ashr", k, w.whole_num(1))
    for part in (half, w.integer("sub", k, half)):
        raised = w.integer("add", part, w.whole_num(1023))
        y = w.mul(y, w.as_real(w.integer("shl", raised, w.whole_num(FRACTION))))
    return y


def reduced_exponent(w: LaneText, x: Word, tail: Word | None = None) -> tuple[Word, Word, Word]:
    """s, what was rounded away of it, and k with x + tail = k ln 2 + s."""
    kf, k = w.nearest(x, 1.4426950408889634)
    r = w.fma(kf, w.num(-LN2_HIGH), x)
    small = w.mul(kf, w.num(-LN2_LOW)) if tail is None else w.fma(kf, w.num(-LN2_LOW), tail)
    s = w.add(r, small)
    return s, w.add(w.sub(r, s), small), k


def written_exp(w: LaneText, x: Word, tail: Word | None = None) -> Word:
    """exp(x + tail)."""
    x = w.choose(w.compare("olt", x, w.num(_LOWEST)), w.num(_LOWEST), x)
    x = w.choose(w.compare("ogt", x, w.num(_HIGHEST)), w.num(_HIGHEST), x)
    s, lost, k = reduced_exponent(w, x, tail)
    one = w.add(w.num(1.0), s)
    lost = w.add(lost, w.sub(s, w.sub(one, w.num(1.0))))
    return scaled(w, w.add(one, w.fma(w.mul(s, s), w.polynomial(s, EXPONENTIAL), lost)), k)


@called("lane.exp")
def exp(w: LaneText, x: Word) -> Word:
    """eˣ."""
    return written_exp(w, x)


def mantissa(w: LaneText, x: Word) -> Pair:
    """k as a real, and m with x = 2^k m, √½ ≤ m < √2, for x > 0."""
    tiny = w.compare("olt", x, w.num(SMALLEST_NORMAL))
    kf, m = mantissa_of_normal(w, w.choose(tiny, w.mul(x, w.num(2.0**UP)), x))
    return w.choose(tiny, w.sub(kf, w.num(UP)), kf), m


def mantissa_of_normal(w: LaneText, x: Word) -> Pair:
    """The same for an x that is not subnormal."""
    bits = w.as_int(x)
    k = w.integer("ashr", w.integer("sub", bits, w.whole_num(bits_of(math.sqrt(0.5)))), w.whole_num(FRACTION))
    m = w.as_real(w.integer("sub", bits, w.integer("shl", k, w.whole_num(FRACTION))))
    return w.sub(w.as_real(w.integer("add", k, w.whole_num(bits_of(ROUNDER)))), w.num(ROUNDER)), m


@called("lane.log")
def log(w: LaneText, x: Word) -> Word:
    """ln x."""
    y = _logarithm(w, mantissa(w, x))
    # Zero, negative numbers, infinity, NaN.
    y = w.choose(w.compare("oeq", x, w.num(0.0)), w.num(-math.inf), y)
    y = w.choose(w.compare("olt", x, w.num(0.0)), w.num(math.nan), y)
    return w.choose(w.compare("olt", x, w.num(math.inf)), y, x)


def logarithm_of_normal(w: LaneText, x: Word) -> Word:
    """ln x of a positive number that is not subnormal, with the bits of the core's."""
    return _logarithm(w, mantissa_of_normal(w, x))


def _logarithm(w: LaneText, parts: Pair) -> Word:
    k, m = parts
    f = w.sub(m, w.num(1.0))
    s = w.div(f, w.add(f, w.num(2.0)))
    z = w.mul(s, s)
    rest = w.mul(z, w.polynomial(z, LOGARITHM))
    half = w.mul(w.mul(f, f), w.num(0.5))
    inner = w.fma(s, w.add(half, rest), w.mul(k, w.num(LN2_LOW)))
    return w.fma(k, w.num(LN2_HIGH), w.sub(f, w.sub(half, inner)))


def double_product(w: LaneText, a: Pair, b: Pair) -> Pair:
    """The product of numbers in two parts."""
    p, e = w.two_product(a[0], b[0])
    return p, w.fma(a[0], b[1], w.fma(a[1], b[0], e))


def _double_log(w: LaneText, a: Word) -> Pair:
    """ln a in two parts, for a > 0."""
    k, m = mantissa(w, a)
    f = w.sub(m, w.num(1.0))
    d, d_low = w.two_sum(f, w.num(2.0))
    inverse = w.div(w.num(1.0), d)
    s = w.mul(f, inverse)
    left = w.fma(w.neg(s), d_low, w.fma(w.neg(s), d, f))
    pair = w.two_sum(s, w.mul(left, inverse))
    z = double_product(w, pair, pair)
    cube = double_product(w, z, pair)
    term = double_product(w, cube, (w.num(2 / 3), w.num(3.700743415417188e-17)))
    rest = w.mul(w.mul(cube[0], z[0]), w.polynomial(z[0], LOGARITHM_TAIL))
    high, low = double_product(w, (k, w.num(0.0)), (w.num(LN2[0]), w.num(LN2[1])))
    twice = (w.mul(pair[0], w.num(2.0)), w.mul(pair[1], w.num(2.0)))
    for part in (twice, term, (rest, w.num(0.0))):
        high, e = w.two_sum(high, part[0])
        low = w.add(low, w.add(e, part[1]))
    return high, low


@called("lane.pow")
def power(w: LaneText, x: Word, y: Word) -> Word:
    """xʸ, as C's pow."""
    zero, one, infinite = w.num(0.0), w.num(1.0), w.num(math.inf)
    a = w.abs(x)
    high, low = _double_log(w, a)
    p, e = w.two_product(y, high)
    tail = w.fma(y, low, e)
    # Where the result is zero or infinite, the tail may be anything.
    result = written_exp(w, p, w.choose(w.compare("olt", w.abs(p), w.num(800.0)), tail, zero))
    # Bases zero and infinity, exponents infinity.
    up = w.compare("ogt", y, zero)
    result = w.choose(w.compare("oeq", a, zero), w.choose(up, zero, infinite), result)
    result = w.choose(w.compare("oeq", a, infinite), w.choose(up, infinite, zero), result)
    outside = w.put(f"xor {w.truth} {w.compare('ogt', a, one)}, {up}")
    at_infinity = w.choose(w.compare("oeq", a, one), one, w.choose(outside, zero, infinite))
    result = w.choose(w.compare("oeq", w.abs(y), infinite), at_infinity, result)
    # The sign: of odd whole exponents; other exponents of a negative base give NaN.
    half = w.mul(y, w.num(0.5))
    is_whole = w.compare("oeq", w.floor(y), y)
    odd = w.both(is_whole, w.compare("une", w.floor(half), half))
    result = w.choose(odd, w.copysign(result, x), result)
    broken = w.both(w.compare("olt", x, zero), w.both(w.unless(is_whole), w.compare("olt", a, infinite)))
    result = w.choose(w.both(broken, w.compare("une", w.abs(y), infinite)), w.num(math.nan), result)
    result = w.choose(w.compare("uno", x, y), w.num(math.nan), result)
    return w.choose(w.either(w.compare("oeq", y, zero), w.compare("oeq", x, one)), one, result)


def rough_inverse(w: LaneText, x: Word) -> Word:
    """1/x to 4e-6 for x > 0, without a division: a guess to 0.13 by its bits, then r (1 + e + e²) and r (1 + e)."""
    r = w.as_real(w.integer("sub", w.whole_num(0x7FDE623822FC16E6), w.as_int(x)))
    e = w.fma(w.neg(x), r, w.num(1.0))
    r = w.fma(r, w.fma(e, e, e), r)
    return w.fma(r, w.fma(w.neg(x), r, w.num(1.0)), r)


def rough_log(w: LaneText, x: Word) -> Word:
    """ln x to 2e-6 for normal x > 0: for lengths of steps."""
    k, m = mantissa(w, x)
    f = w.sub(m, w.num(1.0))
    s = w.mul(f, rough_inverse(w, w.add(f, w.num(2.0))))
    z = w.mul(s, s)
    rest = w.fma(w.mul(s, z), w.polynomial(z, (2 / 3, 0.4, 2 / 7)), w.add(s, s))
    return w.fma(k, w.num(LN2[0]), rest)


def rough_exp(w: LaneText, x: Word) -> Word:
    """eˣ to 2e-7 for |x| < 700."""
    kf, k = w.nearest(x, 1.4426950408889634)
    r = w.fma(kf, w.num(-LN2[0]), x)
    y = w.polynomial(r, (1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720))
    power_of_two = w.as_real(w.integer("shl", w.integer("add", k, w.whole_num(1023)), w.whole_num(FRACTION)))
    return w.mul(y, power_of_two)
