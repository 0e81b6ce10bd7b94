// Solves with a dF/dx' + dF/d(x, z) where their sum loses digits of the smaller part: one step of refinement.
//
// Over a step much longer than the fast time scales, a is small beside dF/d(x, z), and what slow modes and conserved
// sums follow is in the lost digits. The residual keeps both parts apart and has twice the digits (T. Ogita, S. M.
// Rump, S. Oishi, SIAM J. Sci. Comput. 26 (2005), Dot2), so one correction with the same factor brings them back (N. J.
// Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, chapter 12).
#pragma once

#include <cmath>
#include <limits>

#include "methods/implicit/column_newton.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// A sum of products with about twice the digits.
struct LongSum {
    double high = 0, low = 0;

    void subtract_product(double a, double b) noexcept {
        const double product = -a * b, rest = std::fma(-a, b, -product);
        const double sum = high + product, other = sum - high;
        low += ((high - (sum - other)) + (product - other)) + rest;
        high = sum;
    }
};

// Whether the digits of a dF/dx' that the sum loses are worth more than an absolute tolerance in some state: sums that
// are conserved may become that small later, while a relative tolerance does not ask for them now.
inline bool sum_loses_digits(const Integration& s, const ImplicitState& m, double a) noexcept {
    const ImplicitModel& model = m.model;
    const long long* colind = model.matrix.colind.data();
    const auto dots = static_cast<long long>(model.dot_place.size());
    const auto alls = static_cast<long long>(model.all_place.size());
    const double unit = std::numeric_limits<double>::epsilon() / std::fabs(a);
    for (long long c = 0, d = 0, k = 0; c < model.block_states(); ++c) {
        double mass = 0, rest = 0;
        for (; d < dots && model.dot_place.data()[d] < colind[c + 1]; ++d) mass = std::fmax(mass, std::fabs(m.dot[d]));
        for (; k < alls && model.all_place.data()[k] < colind[c + 1]; ++k) rest = std::fmax(rest, std::fabs(m.all[k]));
        const long long place = model.place_of(c);
        if (mass > 0 && unit * rest * std::fabs(s.x[place]) > s.atol[place] * mass) return true;
    }
    return false;
}

// wanted <- wanted - (a dF/dx' + dF/d(x, z)) found, for the model itself; sums: room for twice its unknowns.
inline void own_residual(const ImplicitState& m, double a, const double* found, double* wanted, double* sums) noexcept {
    const ImplicitModel& model = m.model;
    const long long *colind = model.matrix.colind.data(), *rows = model.matrix.rows.data();
    const long long size = model.block_unknowns();
    const auto dots = static_cast<long long>(model.dot_place.size());
    const auto alls = static_cast<long long>(model.all_place.size());
    for (long long i = 0; i < size; ++i) sums[2 * i] = wanted[model.place_of(i)], sums[2 * i + 1] = 0;
    const auto subtract = [&](long long row, double entry, double value) {
        LongSum sum{sums[2 * row], sums[2 * row + 1]};
        sum.subtract_product(entry, value);
        sums[2 * row] = sum.high, sums[2 * row + 1] = sum.low;
    };
    for (long long c = 0, d = 0, k = 0; c < size; ++c) {
        const double value = found[model.place_of(c)];
        for (; d < dots && model.dot_place.data()[d] < colind[c + 1]; ++d)
            subtract(rows[model.dot_place.data()[d]], m.dot[d], a * value);
        for (; k < alls && model.all_place.data()[k] < colind[c + 1]; ++k)
            subtract(rows[model.all_place.data()[k]], m.all[k], value);
    }
    for (long long i = 0; i < size; ++i) wanted[model.place_of(i)] = sums[2 * i] + sums[2 * i + 1];
}

// As solve_step_matrix. Changes the three spare vectors.
inline void solve_refined(Integration& s, ImplicitState& m, BlockSolver<double>& solver, double a, double* b) noexcept {
    const long long n = m.unknowns;
    double *left = m.spare, *sums = m.spare + n;
    copy(b, n, left);
    solver.solve_own(b);
    own_residual(m, a, b, left, sums);
    solver.solve_own(left);
    for (long long i = 0; i < m.model.block_unknowns(); ++i) b[m.model.place_of(i)] += left[m.model.place_of(i)];
    solve_columns(s, m, solver, a, b);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
