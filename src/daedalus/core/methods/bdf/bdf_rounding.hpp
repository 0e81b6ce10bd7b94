// How far rounding errors of the values move the solution of a step, where tolerances may be smaller than that.
//
// In 0 = y1 + y2 + y3 - 1 a small y3 is as uncertain as y1 is in its last digit: no step, however short, brings its
// estimates below. The values are changed by some last digits of either sign, and what the equations make of it is
// measured: a stochastic estimate (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, section
// 26.3). Tolerances count with that added.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "methods/implicit/column_newton.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// So many last digits, because differences of order 6 magnify independent errors thirty times and are divided by 6.
inline constexpr double last_digits = 16 * std::numeric_limits<double>::epsilon();
inline constexpr int rounding_samples = 3;

// Digits of either sign, the same ones in every run.
inline double signed_digits(long long place, int sample) noexcept {
    const auto number = static_cast<std::uint64_t>(place * rounding_samples + sample + 1);
    std::uint64_t bits = number * 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    return (bits >> 40) & 1 ? last_digits : -last_digits;
}

// rounding <- the changes of (x, z) at a row (x, z, x'), with the factor at hand; false where they are not finite.
inline bool measure_rounding(Integration& s, ImplicitState& m, double alpha, const double* row,
                             double* rounding) noexcept {
    const long long n = m.unknowns, width = n + m.states;
    double *exact = m.spare, *moved = m.spare + n, *near = m.spare_row;
    for (long long i = 0; i < n; ++i) rounding[i] = last_digits * std::fabs(row[i]);
    if (!residual_at(s, m, s.t_new, row + n, row, exact)) return false;
    double sum = 0;
    for (int sample = 0; sample < rounding_samples; ++sample) {
        for (long long i = 0; i < width; ++i) near[i] = row[i] * (1 + signed_digits(i, sample));
        if (!residual_at(s, m, s.t_new, near + n, near, moved)) return false;
        for (long long i = 0; i < n; ++i) moved[i] -= exact[i];
        solve_step_matrix(s, m, m.solver, alpha, moved);
        for (long long i = 0; i < n; ++i) rounding[i] = std::fmax(rounding[i], std::fabs(moved[i])), sum += moved[i];
    }
    return std::isfinite(sum);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
