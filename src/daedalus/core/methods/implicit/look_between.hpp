// How well the polynomial of a step meets the equations between its ends, and what is done where that is not well enough.
//
// Stiff and algebraic components have only the order of an interpolation between the steps, whatever order the ends have
// (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, IV.15 and VI.1), and an error estimate of the ends does
// not see them. With e what the polynomial p is off by, its residual F(t, p', p) is M e' + K e, and one step of Newton's
// method by the matrix a M + K of the step, a about 1/h, gives c = (a M + K)^-1 (M e' + K e). What of it belongs to slow
// components is no error of theirs, but part of e'; it is c - (a M + K)^-1 K c = (a M + K)^-1 a M c, and taken away. So the
// values c - (a M + K)^-1 a M c tell how far stiff and algebraic components are off, and mend the polynomial where they are
// known. A look at the mended polynomial counts in the control of the step.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>

#include "methods/implicit/first_step.hpp"
#include "methods/implicit/look_inside.hpp"
#include "methods/implicit/mass_product.hpp"
#include "methods/implicit/rounding_noise.hpp"
#include "state/dense_output.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Between the steps values may be off by this many tolerances, where they are looked at; elsewhere they may be a little worse.
inline constexpr double most_between = 3;
// A polynomial whose slopes promise less, in units of what is allowed, is not looked at; one that is off by less stays as it
// is; and single components likewise.
inline constexpr double worth_looking = 0.25, worth_mending = 0.05, worth_mending_alone = 0.01;
// A step that is refused because of this error, from one time again and again, has a smaller one each time by this factor.
inline constexpr double worth_refusing = 0.5;
inline constexpr int most_in_vain = 3;
// What rounding does to a look is sampled so often: two states may move together in a sample.
inline constexpr int noise_samples = 3;
// Behind a start or a jump a polynomial is looked at this close to it, too: what it leads over shows there alone.
inline constexpr double close_to_begin = 0.02;
// Of a polynomial that is right at both ends, and wrong in its slopes there by d, at most about this part of h d is wrong.
inline constexpr double reach_of_slopes = 0.25;

// What a look asks of a step, whose matrix is a M + K:
//   1. `correct(t, rate, w, off)`: one step of Newton's method from (rate, w) at t; false where the equations have no value.
//   2. `slow_part(c, out)`: out = (a M + K)^-1 a M c.
template <class L>
concept LookedBetween = requires(L& step, const double* given, double* out) {
    { step.correct(0.0, given, given, out) } noexcept -> std::same_as<bool>;
    { step.slow_part(given, out) } noexcept;
};

// Whether somebody may ask for values between the steps of this run.
inline bool wants_between(const Integration& s) noexcept {
    return s.recorder.pieces.capacity > 0 || s.recorder.save_count > 0 || s.guards.count > 0 || s.inputs.delayed;
}

// Over kinks that are not located no polynomial is right, and variables of a higher index have too low an order: steps are
// not refused for its sake there, it is mended only.
inline bool counts_between(const Integration& s, const ImplicitState& m) noexcept {
    return wants_between(s) && !m.model.higher_index && !(s.kinked && s.guards.switches.count == 0);
}

// One over what is allowed between the ends of this step, where variables of a higher index do not count.
inline void weigh_between(const Integration& s, ImplicitState& m) noexcept {
    for (long long i = 0; i < m.unknowns; ++i) {
        const double size = std::fmax(std::fabs(s.x[i]), std::fabs(s.x_new[i]));
        const bool counts = m.model.index[static_cast<std::size_t>(i)] < 2;
        m.between_weights[i] = counts ? 1 / (most_between * (s.atol[i] + s.rtol * size)) : 0;
    }
}

inline double largest_between(const ImplicitState& m, const double* off) noexcept {
    double largest = 0;
    for (long long i = 0; i < m.unknowns; ++i) {
        const double here = std::fabs(off[i]) * m.between_weights[i];
        if (!(here <= largest)) largest = here;
    }
    return largest;
}

// Whether a step is too short, by what is usual, to be worth a look: not the first one behind a start or a jump.
inline bool too_short_to_look(const Integration& s, const ImplicitState& m, double h, double usual) noexcept {
    return m.restart_time != s.t && std::fabs(h) < shortest_looked_into * std::fabs(usual);
}

// Whether the slopes of the polynomial at both ends, where all unknowns have some, are those of the steps.
inline bool slopes_agree(const Integration& s, const ImplicitState& m, int degree) noexcept {
    if (mass_may_be_singular(m.model)) return false;
    const double reach = reach_of_slopes * std::fabs(s.t_new - s.t);
    for (long long i = 0; i < m.states; ++i) {
        const double* slope = s.coefficients + m.unknowns + i;
        double last = 0;
        for (int j = 0; j < degree; ++j) last += slope[j * s.lanes];
        const double miss = std::fmax(std::fabs(slope[0] - s.x[m.unknowns + i]), std::fabs(last - s.x_new[m.unknowns + i]));
        if (!(reach * miss * m.between_weights[i] <= worth_looking)) return false;
    }
    return true;
}

// off <- what of a step of Newton's method from a row at t belongs to stiff and algebraic components. The row is lost.
template <LookedBetween L>
inline bool correct_stiff(const ImplicitState& m, L& step, double t, double* row, double* off) noexcept {
    if (!step.correct(t, row + m.unknowns, row, off)) return false;
    step.slow_part(off, row);
    for (long long i = 0; i < m.unknowns; ++i) off[i] -= row[i];
    return true;
}

// The same from the polynomial at theta: by how much it is off there.
template <LookedBetween L>
inline bool look_at(Integration& s, ImplicitState& m, L& step, double theta, double* off) noexcept {
    evaluate_polynomial(s.coefficients, s.method->degree(s), s.lanes, theta, m.between_row);
    return correct_stiff(m, step, s.t + theta * (s.t_new - s.t), m.between_row, off);
}

// What is allowed grows by what rounding does to a look at theta, whose result is in `off`.
template <LookedBetween L>
inline bool allow_for_rounding(Integration& s, ImplicitState& m, L& step, double theta, const double* off) noexcept {
    double *row = m.between_row, *moved = m.between_off + (most_looks + most_checks) * m.between_lanes, *noise = m.spare;
    const double t = (s.t + theta * (s.t_new - s.t)) * (1 + last_digit);
    for (long long i = 0; i < m.unknowns; ++i) noise[i] = 0;
    const auto change_by = [&](int sample) -> const double* {
        evaluate_polynomial(s.coefficients, s.method->degree(s), s.lanes, theta, row);
        move_by_digits(row, m.unknowns, last_digit, sample, noise_samples, row);
        if (!correct_stiff(m, step, t, row, moved)) return nullptr;
        for (long long i = 0; i < m.unknowns; ++i) moved[i] -= off[i];
        return moved;
    };
    if (!sample_noise(m.unknowns, noise_samples, change_by, noise)) return false;
    for (long long i = 0; i < m.unknowns; ++i)
        m.between_weights[i] /= 1 + noise_margin * noise[i] * m.between_weights[i];
    return true;
}

// p -= factor * sum_k off_k basis_k in components that are off, and x' of them.
inline void mend(Integration& s, ImplicitState& m, double factor) noexcept {
    const BetweenNodes& nodes = m.between;
    const double h = s.t_new - s.t;
    for (long long i = 0; i < m.unknowns; ++i) {
        double largest = 0;
        for (int k = 0; k < nodes.looks; ++k) largest = std::fmax(largest, std::fabs(m.between_off[k * m.between_lanes + i]));
        if (!(largest * m.between_weights[i] > worth_mending_alone)) continue;
        for (int j = 1; j <= nodes.degree; ++j) {
            double* power = s.coefficients + j * s.lanes;
            for (int k = 0; k < nodes.looks; ++k)
                power[i] -= factor * m.between_off[k * m.between_lanes + i] * nodes.basis[k][j];
            if (i < m.states) (power - s.lanes)[m.unknowns + i] = j / h * power[i];
        }
    }
}

// Rounding errors at first sight, before a sample is taken: of the largest unknown, in the smallest tolerance.
inline double coarse_noise_between(const Integration& s, const ImplicitState& m) noexcept {
    double size = 0, weight = 0;
    for (long long i = 0; i < m.unknowns; ++i) {
        size = std::fmax(size, std::fabs(s.x[i]));
        weight = std::fmax(weight, m.between_weights[i]);
    }
    return coarse_digits * last_digit * size * weight;
}

// Behind a start or a jump stiff components may move within a part of the step that their slopes there tell, and no shorter
// step is better before it is as short as that: a layer, over which a polynomial leads and whose end is right.
inline bool may_lead_over_layer(const Integration& s, const ImplicitState& m) noexcept {
    return m.restart_time == s.t && std::fabs(s.t_new - s.t) > first_step_length(s, m, halfway, 1, nullptr);
}

// A jump inside a step, and rounding errors, are no smaller in shorter steps: after some that were refused in vain one is
// not refused because of them.
inline bool shorter_helps(const Integration& s, ImplicitState& m, double error) noexcept {
    const bool helps = m.refused_time != s.t || error < worth_refusing * m.refused_error || may_lead_over_layer(s, m);
    m.refused_in_vain = helps ? 0 : m.refused_in_vain + 1;
    m.refused_time = s.t, m.refused_error = error;
    return m.refused_in_vain < most_in_vain;
}

// Behind a start or a jump, by how much the polynomial is off close to it, in units of what is allowed: stiff components that
// settle there within a part of the step are right at all looks behind. 0 where a shorter step would not help.
template <LookedBetween L>
inline double error_of_layer(Integration& s, ImplicitState& m, L& step) noexcept {
    if (m.restart_time != s.t) return 0;
    double* off = m.between_off;
    if (!look_at(s, m, step, close_to_begin, off)) return 0;
    const auto beyond = [&] { const double error = largest_between(m, off); return std::isfinite(error) ? error : 0; };
    if (!(beyond() > 1) || !allow_for_rounding(s, m, step, close_to_begin, off)) return 0;
    const double error = beyond();
    return error > 1 && shorter_helps(s, m, error) ? error : 0;
}

// The error of the polynomial in s.coefficients, in units of what is allowed, once it is mended where that is of use; 0
// where the equations have no value, and where a shorter step would not help.
template <LookedBetween L>
inline double error_between(Integration& s, ImplicitState& m, L&& step) noexcept {
    if (const double layer = error_of_layer(s, m, step); layer > 1) return layer;
    const BetweenNodes& nodes = m.between;
    double* off = m.between_off;
    const auto look = [&](int k) { return look_at(s, m, step, nodes.at[k], off + k * m.between_lanes); };
    const auto largest = [&](int first, int behind) {
        double found = 0;
        for (int k = first; k < behind; ++k) found = std::fmax(found, largest_between(m, off + k * m.between_lanes));
        return found;
    };
    double* late = off + (most_looks + most_checks + 1) * m.between_lanes;
    const auto look_late = [&] {
        const bool known = nodes.late > 0 && look_at(s, m, step, nodes.late, late);
        const double found = known ? largest_between(m, late) : 0;
        return std::isfinite(found) ? found : 0;
    };
    if (!look(0)) return 0;
    double error = largest(0, 1), error_late = look_late();
    if (error > worth_mending && error < coarse_noise_between(s, m) && allow_for_rounding(s, m, step, nodes.at[0], off))
        error = largest(0, 1);
    if (!std::isfinite(error)) return 0;
    if (!(error > worth_mending) && !(error_late > 1)) return error;
    int first = 0, behind = 1;
    if (nodes.looks > 0) {
        const int checked = nodes.looks + most_checks;
        for (int k = 1; k < nodes.looks; ++k)
            if (!look(k)) return 0;
        mend(s, m, 1);
        for (int k = nodes.looks; k < checked; ++k)
            if (!look(k)) return mend(s, m, -1), 0.0;
        const bool better = largest(nodes.looks, checked) < largest(0, nodes.looks);
        if (!better) mend(s, m, -1);
        first = better ? nodes.looks : 0, behind = better ? checked : nodes.looks;
        error = largest(first, behind);
        if (better) error_late = look_late();
    }
    if (!(error > 1) && error_late > 1) {
        if (!allow_for_rounding(s, m, step, nodes.late, late)) return 0;
        error_late = largest_between(m, late);
        return error_late > 1 && !shorter_helps(s, m, error_late) ? 0 : error_late;
    }
    if (!(error > 1)) return error;
    if (!allow_for_rounding(s, m, step, nodes.at[behind - 1], off + (behind - 1) * m.between_lanes)) return 0;
    error = largest(first, behind);
    return error > 1 && !shorter_helps(s, m, error) ? 0 : error;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
