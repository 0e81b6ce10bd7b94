// The zero of a function inside a bracket, to rounding.
#pragma once

#include <algorithm>
#include <cmath>

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// ITP: as fast as the secant rule on smooth functions, never more evaluations than bisection plus one (Oliveira,
// Takahashi: An enhancement of the bisection method average performance preserving minmax optimality, ACM Transactions
// on Mathematical Software 47 (2021) article 5; constants as proposed there: k1 = 0.2 / (b - a), k2 = 2, n0 = 1).
// value_a and value_b have opposite signs; value_b may be zero. Returns a point within `tolerance` of a sign change.
template <class Function>
inline double find_zero(Function&& value_at, double a, double value_a, double b, double value_b,
                        double tolerance) noexcept {
    if (value_b == 0) return b;
    const double width = b - a, k1 = 0.2 / width;
    const double limit = std::ceil(std::log2(std::max(width / (2 * tolerance), 1.0))) + 1;
    for (double round = 0; b - a > 2 * tolerance && round <= limit; ++round) {
        const double middle = 0.5 * (a + b);
        const double secant = (value_b * a - value_a * b) / (value_b - value_a);
        const double to_middle = middle > secant ? 1 : -1;
        const double push = std::min(k1 * (b - a) * (b - a), std::fabs(middle - secant));
        const double pushed = secant + to_middle * push;
        const double radius = std::max(tolerance * std::exp2(limit - round) - 0.5 * (b - a), 0.0);
        double x = std::fabs(pushed - middle) <= radius ? pushed : middle - to_middle * radius;
        if (!(x > a && x < b)) x = middle;
        const double value = value_at(x);
        if (value == 0) return x;
        if ((value > 0) == (value_b > 0))
            b = x, value_b = value;
        else
            a = x, value_a = value;
    }
    return std::fabs(value_a) < std::fabs(value_b) ? a : b;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
