// How far rounding errors of the values move the solution of a step of BDF, where tolerances may be smaller than that.
//
// No step, however short, brings estimates below that: tolerances count with it added.
#pragma once

#include <cmath>

#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/rounding_noise.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// So many last digits, because differences of order 6 magnify independent errors thirty times and are divided by 6.
inline constexpr double digits_of_differences = 16 * last_digit;
inline constexpr int rounding_samples = 3;

// rounding <- the changes of (x, z) at a row (x, z, x'), with the factor at hand; false where they are not finite.
inline bool measure_rounding(Integration& s, ImplicitState& m, double alpha, const double* row,
                             double* rounding) noexcept {
    const long long n = m.unknowns, width = n + m.states;
    double *exact = m.spare, *moved = m.spare + n, *near = m.spare_row;
    for (long long i = 0; i < n; ++i) rounding[i] = digits_of_differences * std::fabs(row[i]);
    if (!residual_at(s, m, s.t_new, row + n, row, exact)) return false;
    const auto change_by = [&](int sample) -> const double* {
        move_by_digits(row, width, digits_of_differences, sample, rounding_samples, near);
        if (!residual_at(s, m, s.t_new, near + n, near, moved)) return nullptr;
        for (long long i = 0; i < n; ++i) moved[i] -= exact[i];
        solve_step_matrix(s, m, m.solver, alpha, moved);
        return moved;
    };
    return sample_noise(n, rounding_samples, change_by, rounding);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
