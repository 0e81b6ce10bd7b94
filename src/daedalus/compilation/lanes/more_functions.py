"""Hyperbolic functions, remainders, lengths and the error function on lanes, within 4 ulp.

Most follow Sun's fdlibm: whatever is small goes through expm1 and log1p, so that nothing cancels.
"""

from __future__ import annotations

import math

from daedalus.compilation.lanes.elementary import exp, log, reduced_exponent, scaled
from daedalus.compilation.lanes.function_numbers import ERROR_FUNCTION, ERROR_FUNCTION_FAR, EXPONENTIAL
from daedalus.compilation.lanes.words import FRACTION, LaneText, Word, called

# From here on eˣ − 1 is eˣ, and e⁻ˣ nothing beside it.
_STEEP = 40.0
# From here on x² + 1 is x².
_LARGE = 2.0**28
_LN2 = 0.6931471805599453


@called("lane.expm1")
def expm1(w: LaneText, x: Word) -> Word:
    """eˣ − 1."""
    inner = w.larger(w.num(-_STEEP), w.smaller(x, w.num(_STEEP)))
    found = _expm1_inside(w, w.choose(w.compare("uno", x, x), x, inner))
    found = w.choose(w.compare("olt", w.abs(x), w.num(2.0**-54)), x, found)
    found = w.choose(w.compare("oge", x, w.num(_STEEP)), exp(w, x), found)
    return w.choose(w.compare("ole", x, w.num(-_STEEP)), w.num(-1.0), found)


def _expm1_inside(w: LaneText, x: Word) -> Word:
    """eˣ − 1 where e^|x| fits beside 1."""
    s, lost, k = reduced_exponent(w, x)
    y = w.add(s, w.fma(w.mul(s, s), w.polynomial(s, EXPONENTIAL), lost))
    power = scaled(w, w.num(1.0), k)
    return w.fma(power, y, w.sub(power, w.num(1.0)))


@called("lane.log1p")
def log1p(w: LaneText, x: Word) -> Word:
    """ln(1 + x)."""
    u = w.add(w.num(1.0), x)
    # Of x > 1 the one is what was rounded.
    lost = w.choose(w.compare("ogt", x, w.num(1.0)), w.sub(w.num(1.0), w.sub(u, x)), w.sub(x, w.sub(u, w.num(1.0))))
    found = w.add(log(w, u), w.div(lost, u))
    found = w.choose(w.compare("olt", w.abs(x), w.num(2.0**-54)), x, found)
    edge = w.either(w.compare("oeq", u, w.num(0.0)), w.compare("oeq", x, w.num(math.inf)))
    return w.choose(edge, log(w, u), found)


def _half_exp(w: LaneText, a: Word) -> Word:
    """eᵃ / 2 for large a, without overflow before its time."""
    root = exp(w, w.mul(a, w.num(0.5)))
    return w.mul(w.mul(root, w.num(0.5)), root)


def sinh(w: LaneText, x: Word) -> Word:
    """sinh x."""
    a = w.abs(x)
    t = expm1(w, w.smaller(a, w.num(_STEEP)))
    small = w.mul(w.num(0.5), w.add(t, w.div(t, w.add(t, w.num(1.0)))))
    found = w.choose(w.compare("olt", a, w.num(_STEEP)), small, _half_exp(w, a))
    return w.choose(w.compare("uno", x, x), x, w.copysign(found, x))


def cosh(w: LaneText, x: Word) -> Word:
    """cosh x."""
    a = w.abs(x)
    e = exp(w, w.smaller(a, w.num(_STEEP)))
    small = w.mul(w.num(0.5), w.add(e, w.div(w.num(1.0), e)))
    return w.choose(w.compare("olt", a, w.num(_STEEP)), small, w.choose(w.compare("uno", x, x), x, _half_exp(w, a)))


@called("lane.tanh")
def tanh(w: LaneText, x: Word) -> Word:
    """tanh x: t / (t + 2) of t = e^(2 |x|) − 1, and −t / (t + 2) of t = e^(−2 |x|) − 1 where that is not far from 0."""
    a = w.abs(x)
    large = w.compare("oge", a, w.num(1.0))
    twice = w.smaller(w.add(a, a), w.num(_STEEP))
    t = _expm1_inside(w, w.choose(large, twice, w.neg(twice)))
    found = w.div(w.choose(large, t, w.neg(t)), w.add(t, w.num(2.0)))
    return w.choose(w.compare("uno", x, x), x, w.copysign(found, x))


def asinh(w: LaneText, x: Word) -> Word:
    """asinh x."""
    a = w.abs(x)
    square = w.mul(a, a)
    near = log1p(w, w.add(a, w.div(square, w.add(w.num(1.0), w.sqrt(w.add(square, w.num(1.0)))))))
    far = w.add(log(w, a), w.num(_LN2))
    return w.copysign(w.choose(w.compare("olt", a, w.num(_LARGE)), near, far), x)


def acosh(w: LaneText, x: Word) -> Word:
    """acosh x."""
    t = w.sub(x, w.num(1.0))
    near = log1p(w, w.add(t, w.sqrt(w.fma(t, t, w.add(t, t)))))
    far = w.add(log(w, x), w.num(_LN2))
    return w.choose(w.compare("olt", x, w.num(_LARGE)), near, far)


def atanh(w: LaneText, x: Word) -> Word:
    """atanh x."""
    a = w.abs(x)
    twice = w.add(a, a)
    rest = w.sub(w.num(1.0), a)
    inside = w.fma(twice, w.div(a, rest), twice)
    share = w.choose(w.compare("olt", a, w.num(0.5)), inside, w.div(twice, rest))
    return w.copysign(w.mul(w.num(0.5), log1p(w, share)), x)


@called("lane.erf")
def erf(w: LaneText, x: Word) -> Word:
    """The error function."""
    a = w.smaller(w.abs(x), w.num(6.0))
    near = w.mul(a, w.polynomial(w.mul(a, a), ERROR_FUNCTION))
    outer = w.larger(a, w.num(1.0))
    t = w.div(w.sub(outer, w.num(2.0)), w.add(outer, w.num(2.0)))
    rest = w.mul(exp(w, w.neg(w.mul(outer, outer))), w.polynomial(t, ERROR_FUNCTION_FAR))
    found = w.choose(w.compare("olt", a, w.num(1.0)), near, w.sub(w.num(1.0), rest))
    return w.choose(w.compare("uno", x, x), x, w.copysign(found, x))


def hypot(w: LaneText, x: Word, y: Word) -> Word:
    """√(x² + y²) without overflow on the way."""
    a, b = w.abs(x), w.abs(y)
    large, small = w.choose(w.compare("ogt", a, b), a, b), w.choose(w.compare("ogt", a, b), b, a)
    up, down = w.num(2.0**600), w.num(2.0**-600)
    high, low = w.compare("ogt", large, w.num(2.0**500)), w.compare("olt", large, w.num(2.0**-400))
    factor = w.choose(high, down, w.choose(low, up, w.num(1.0)))
    back = w.choose(high, up, w.choose(low, down, w.num(1.0)))
    p, q = w.mul(large, factor), w.mul(small, factor)
    found = w.mul(w.sqrt(w.fma(p, p, w.mul(q, q))), back)
    endless = w.either(w.compare("oeq", a, w.num(math.inf)), w.compare("oeq", b, w.num(math.inf)))
    return w.choose(endless, w.num(math.inf), w.choose(w.compare("uno", x, y), w.num(math.nan), found))


# -- remainders, exact -----------------------------------------------------------------------------------------------


def _step_down(w: LaneText, a: Word, d: Word) -> Word:
    """a less a multiple of d, exact, where a/d < 2^52."""
    q = w.floor(w.div(a, d))
    # A quotient that was rounded up is one too many.
    q = w.choose(w.compare("olt", w.fma(w.neg(q), d, a), w.num(0.0)), w.sub(q, w.num(1.0)), q)
    return w.fma(w.neg(q), d, a)


@called("lane.fmod")
def _modulo(w: LaneText, x: Word, y: Word) -> Word:
    """|x| modulo |y|, with divisors |y| · 2^k first where the quotient is large."""
    a, d = w.abs(x), w.abs(y)
    sound = w.both(
        w.both(w.compare("olt", a, w.num(math.inf)), w.compare("ogt", d, w.num(0.0))), w.compare("ole", d, d)
    )
    left = w.cell()
    left.set(w.choose(sound, a, w.num(0.0)))
    divisor = w.choose(w.both(sound, w.compare("olt", d, w.num(math.inf))), d, w.num(1.0))
    still = w.cell(w.truth)

    def too_long() -> Word:
        far = w.compare("oge", w.mul(left.now, w.num(2.0**-50)), divisor)
        still.set(far)
        return w.any(far)

    with w.repeat(too_long):
        now = left.now
        gap = w.integer("sub", w.as_int(now), w.as_int(divisor))
        raised = w.integer("sub", w.integer("ashr", gap, w.whole_num(FRACTION)), w.whole_num(48))
        raised = w.choose_whole(w.whole_compare("slt", raised, w.whole_num(0)), w.whole_num(0), raised)
        larger = scaled(w, divisor, raised)
        left.set_where(still.now, _step_down(w, now, larger))
    found = _step_down(w, left.now, divisor)
    found = w.choose(w.compare("oeq", d, w.num(math.inf)), a, found)
    return w.choose(sound, found, w.num(math.nan))


def fmod(w: LaneText, x: Word, y: Word) -> Word:
    """x less the multiple of y next to it towards zero, as C's fmod."""
    return w.copysign(_modulo(w, x, y), x)


def remainder(w: LaneText, x: Word, y: Word) -> Word:
    """x less the multiple of y nearest to it (the even one of two), as C's remainder."""
    d = w.abs(y)
    # Modulo 2 d it shows whether the multiple below is even; where that overflows, x is below it already.
    twice = w.add(d, d)
    a = w.choose(w.compare("olt", twice, w.num(math.inf)), _modulo(w, x, twice), w.abs(x))
    above = w.sub(a, d)
    odd = w.compare("oge", a, d)
    beyond = w.sub(above, d)
    from_odd = w.choose(w.compare("oge", w.add(above, above), d), beyond, above)
    from_even = w.choose(w.compare("ogt", w.add(a, a), d), above, a)
    found = w.choose(odd, from_odd, from_even)
    found = w.choose(w.compare("oeq", d, w.num(math.inf)), _modulo(w, x, y), found)
    sign = w.copysign(w.num(1.0), x)
    found = w.choose(w.compare("oeq", found, w.num(0.0)), w.copysign(found, x), w.mul(found, sign))
    return w.choose(w.compare("oeq", d, w.num(0.0)), w.num(math.nan), found)


def fmin(w: LaneText, a: Word, b: Word) -> Word:
    """The smaller one; the other one of a NaN."""
    return w.choose(w.either(w.compare("olt", a, b), w.compare("uno", b, b)), a, b)


def fmax(w: LaneText, a: Word, b: Word) -> Word:
    """The larger one; the other one of a NaN."""
    return w.choose(w.either(w.compare("ogt", a, b), w.compare("uno", b, b)), a, b)
