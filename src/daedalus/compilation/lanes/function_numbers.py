"""Numbers behind the elementary functions on lanes: polynomials, π/2 and ln 2 in parts, the digits of 2/π.

The polynomials interpolate at Chebyshev points, lowest power first: (eˢ − 1 − s)/s² for |s| ≤ ln 2 / 2; with z = s² and
s = (m − 1)/(m + 1) the remainder of ln m = 2 s + s³ P(z) for √½ ≤ m ≤ √2, and its own remainder; sin r = r + r³ P(r²)
and cos r = 1 − r²/2 + r⁴ P(r²) for |r| ≤ π/4; atan t = t + t³ P(t²) for |t| ≤ tan(π/8); erf x = x P(x²) for |x| ≤ 1;
erfc x = exp(−x²) P(t), t = (x − 2)/(x + 2) for 1 ≤ x ≤ 6. A test compares the functions made of them with mpmath.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from daedalus._core import logarithm_numbers

EXPONENTIAL = (
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662348,
    0.008333333333330011,
    0.0013888888917538296,
    0.00019841269863303223,
    2.4801520792572694e-05,
    2.75572680728901e-06,
    2.762032742826824e-07,
    2.5100569275813683e-08,
)
LOGARITHM = logarithm_numbers  # of the core, which draws noise with it
LOGARITHM_TAIL = (
    0.4,
    0.28571428571429375,
    0.22222222221649282,
    0.18181818336888536,
    0.15384594802856283,
    0.13334813369111848,
    0.11706004250300112,
    0.11725603260192677,
)
SINE = (
    -0.16666666666666666,
    0.008333333333330901,
    -0.00019841269836686008,
    2.7557316064986773e-06,
    -2.505112403138208e-08,
    1.59175674789068e-10,
)
COSINE = (
    0.041666666666666664,
    -0.0013888888888887367,
    2.480158729872029e-05,
    -2.7557317248229367e-07,
    2.0876141380294955e-09,
    -1.1382280957702634e-11,
)
ARCTANGENT = (
    -0.3333333333333333,
    0.19999999999999796,
    -0.142857142856578,
    0.11111111104958202,
    -0.09090908743705418,
    0.07692296092382546,
    -0.06666419819291472,
    0.05878870860729701,
    -0.05230026943710193,
    0.04549647855540948,
    -0.03452063114274352,
    0.01623053257627337,
)
ERROR_FUNCTION = (
    1.1283791670955126,
    -0.37612638903183754,
    0.11283791670955119,
    -0.026866170645129684,
    0.00522397762542141,
    -0.0008548327021799754,
    0.00012055332896705783,
    -1.4925647378433174e-05,
    1.6462041494400115e-06,
    -1.6364585736775698e-07,
    1.4791857980184993e-08,
    -1.216119306825887e-09,
    8.696914869509161e-11,
    -4.211645973279951e-12,
)
ERROR_FUNCTION_FAR = (
    0.25539567631050575,
    -0.4271858474139584,
    0.24165819424246635,
    -0.07897858101573312,
    0.0037328924043450165,
    0.006997461739294057,
    -0.0008471432520133931,
    -0.0009819770302602721,
    4.355563777487973e-05,
    0.000174361235301249,
    2.7524819609205997e-05,
    -2.758046502798232e-05,
    -1.3960863250756434e-05,
    1.393439667993715e-06,
    3.7443735332653078e-06,
    1.1995052231035317e-06,
    -3.9035732044924444e-07,
    -5.494144104124559e-07,
    -1.632065834667942e-07,
    1.892763506249027e-07,
)
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
LN2 = (0.6931471805599453, 2.3190468138462996e-17)

# As many bits of 2/π as the largest doubles need: 1023 of their exponent, and those of four numbers behind it.
_BITS = 1400


@cache
def two_over_pi() -> tuple[float, ...]:
    """2/π for doubles of exponent 16 (k + 1) and above, in rows of four numbers that add up.

    Row k is 2/π less all that gives whole turns when it is multiplied by such a double, times 2 to that exponent (M.
    Payne and R. Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18, 1983).
    """
    one = 1 << (_BITS + 64)
    pi = 16 * _arctangent_of_inverse(5, one) - 4 * _arctangent_of_inverse(239, one)  # Machin
    digits = (2 * one * one // pi) >> 64
    found = []
    for exponent in range(16, 1024, 16):
        kept = digits & ((1 << (_BITS - max(exponent - 54, 0))) - 1)
        rest = Fraction(kept, 1 << (_BITS - exponent))
        for _ in range(4):
            found.append(float(rest))
            rest -= Fraction(found[-1])
    return tuple(found)


def _arctangent_of_inverse(n: int, one: int) -> int:
    """atan(1/n) in units of 1/one, by its series."""
    total, power, k = 0, one // n, 1
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power, k = power // n**2, k + 2
    return total
