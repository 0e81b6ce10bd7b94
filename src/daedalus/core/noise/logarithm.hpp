// The natural logarithm with the operations of kernels on lanes, in their order, so that both have the same bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace daedalus {

// With z = s² and s = (m − 1)/(m + 1), the remainder of ln m = 2 s + s³ P(z) for √½ ≤ m ≤ √2, lowest power first.
inline constexpr double LOGARITHM[8] = {0.6666666666666666,  0.4000000000000089,  0.28571428570795937,
                                        0.22222222393451754, 0.18181795454619548, 0.15386249783145214,
                                        0.13268503447792365, 0.1308944373626974};
// ln 2 in a part whose products with exponents are exact, and the rest.
inline constexpr double LN2_HIGH = 6.93147180369123816490e-01, LN2_LOW = 1.90821492927058770002e-10;

// ln x of a positive number that is not subnormal.
inline double logarithm(double x) {
    const auto bits = std::bit_cast<std::int64_t>(x);
    const std::int64_t k = (bits - std::bit_cast<std::int64_t>(0.7071067811865476)) >> 52;
    const double exponent = static_cast<double>(k), f = std::bit_cast<double>(bits - k * (std::int64_t{1} << 52)) - 1.0;
    const double s = f / (f + 2.0), z = s * s, half = (f * f) * 0.5;
    double rest = LOGARITHM[7];
    for (int j = 6; j >= 0; --j) rest = std::fma(rest, z, LOGARITHM[j]);
    const double inner = std::fma(s, half + z * rest, exponent * LN2_LOW);
    return std::fma(exponent, LN2_HIGH, f - (half - inner));
}

}  // namespace daedalus
