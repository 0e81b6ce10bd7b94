// The stages of a Radau step: start values, residuals, and Newton's method on transformed corrections.
//
// The control of the simplified method is that of E. Hairer, G. Wanner, Solving Ordinary Differential Equations II,
// section IV.8.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "column_newton.hpp"
#include "radau_state.hpp"
#include "weighted_rows.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Corrections of this size, in units of the tolerance, may be left where rounding errors are as large.
inline constexpr double most_noise = 0.3;

// The least rate of convergence that is believed before it is seen.
inline constexpr double least_promise = 1e-4;

struct RadauStages {
    enum class Newton { converged, diverged, not_finite };

    static Complex pair_factor(const CollocationTable& table, int k, double h) noexcept {
        return {table.alpha[k] / h, table.beta[k] / h};
    }

    // Factors of the matrices of this step; false where one is singular.
    static bool factor(RadauState& m, double h) noexcept {
        const CollocationTable& table = m.table;
        scale_by_index(m, std::fabs(h));
        m.factored = !table.has_real || factor_matrix(m, m.solver, table.gamma / h);
        for (int k = 0; k < table.pairs && m.factored; ++k)
            m.factored = factor_matrix(m, *m.pairs[k], pair_factor(table, k, h));
        m.factored_step = h;
        if (!m.factored) ++m.singular;
        return m.factored;
    }

    // The polynomial of the last step prolonged; nothing is known behind a jump.
    static void start_values(Integration& s, RadauState& m) noexcept {
        const int stages = m.table.stages;
        if (!m.step_known) {
            for (long long i = 0; i < stages * m.lanes; ++i) m.z[i] = 0;
            return;
        }
        if (m.step_in_z) std::swap(m.z, m.before);
        m.step_in_z = false;
        for (long long i = 0; i < m.unknowns; ++i) m.error[i] = m.begin[i] - s.x[i];
        for (int k = 0; k < stages; ++k) {
            // Row k of the matrix that takes the stages of the last step to this one's.
            const double theta = (s.t + m.table.c[k] * (s.t_new - s.t) - m.step_time) / m.step_length;
            double weights[most_stages];
            for (int i = 0; i < stages; ++i) {
                double sum = m.table.powers[stages - 1][i];
                for (int j = stages - 2; j >= 0; --j) sum = sum * theta + m.table.powers[j][i];
                weights[i] = sum * theta;
            }
            add_rows(m.lanes, m.error, weights, stages, m.before, m.z + k * m.lanes);
        }
    }

    // The derivative sum_j weights_j z_j / h.
    static void slope_of(const RadauState& m, const double* weights, double h, double* out) noexcept {
        double divided[most_stages];
        for (int j = 0; j < m.table.stages; ++j) divided[j] = weights[j] / h;
        add_rows(m.lanes, nullptr, divided, m.table.stages, m.z, out);
    }

    static bool residuals(Integration& s, RadauState& m, double h) noexcept {
        const double one = 1;
        for (int k = 0; k < m.table.stages; ++k) {
            add_rows(m.lanes, s.x, &one, 1, m.z + k * m.lanes, m.stage);
            slope_of(m, m.table.inverse[k], h, m.rate);
            double* row = m.change + k * m.lanes;
            if (!residual_at(s, m, s.t + m.table.c[k] * h, m.rate, m.stage, row)) return false;
            if (m.keeps_defect)
                for (const long long place : m.model.constraints) row[place] -= m.defect[place];
        }
        return true;
    }

    // change <- what z is to be corrected by: transform, solve the real and the complex parts, transform back.
    static void correct(Integration& s, RadauState& m) noexcept {
        const CollocationTable& table = m.table;
        const double h = m.factored_step;
        multiply(m, table.to, m.change, m.turned);
        if (table.has_real) solve_step_matrix(s, m, m.solver, table.gamma / h, m.turned);
        int row = table.has_real;
        for (int k = 0; k < table.pairs; ++k, row += 2)
            solve_step_matrix(s, m, *m.pairs[k], pair_factor(table, k, h), m.turned + row * m.lanes,
                              m.turned + (row + 1) * m.lanes);
        multiply(m, table.from, m.turned, m.change);
    }

    static void multiply(const RadauState& m, const double (&matrix)[most_stages][most_stages], const double* in,
                         double* out) noexcept {
        for (int k = 0; k < m.table.stages; ++k)
            add_rows(m.lanes, nullptr, matrix[k], m.table.stages, in, out + k * m.lanes);
    }

    // RMS of all corrections in units of the tolerance.
    static double size_of_change(const RadauState& m) noexcept {
        return with_lanes(m.lanes, [&](auto known) {
            const long long lanes = known.count(m.lanes);
            WideAnywhere sums{};
            for (int k = 0; k < m.table.stages; ++k)
                for (long long i = 0; i < lanes; i += wide) {
                    const WideAnywhere part = *anywhere(m.change + k * lanes + i) * *anywhere(m.weights + i);
                    sums += part * part;
                }
            double sum = 0;
            for (int i = 0; i < wide; ++i) sum += sums[i];
            return std::sqrt(sum / static_cast<double>(m.table.stages * std::max(m.model.counted(), 1LL)));
        });
    }

    // Whether corrections that do not shrink are rounding errors: of the largest state, in the smallest tolerance.
    static bool is_noise(const Integration& s, const RadauState& m, double first, double size) noexcept {
        if (size > most_noise || (first > most_noise && size > 1e-4 * first)) return false;
        double largest = 0, weight = 0;
        for (long long i = 0; i < m.states; ++i) {
            largest = std::fmax(largest, std::fabs(s.x[i]));
            weight = std::fmax(weight, m.weights[i]);
        }
        return size <= 64 * std::numeric_limits<double>::epsilon() * largest * weight;
    }

    // Simplified Newton; `cut` is by how much the step should shrink where it does not converge.
    static Newton solve_stages(Integration& s, RadauState& m, double h, double& cut) noexcept {
        const int most = m.most_iterations;
        const bool fixed = s.fixed_step > 0;
        m.contraction = std::pow(std::fmax(m.contraction, std::numeric_limits<double>::epsilon()), 0.8);
        double before = 0, ratio_before = 0, theta = 0, first = 0;
        for (int round = 1; round <= most; ++round) {
            m.iterations = round;
            ++m.newton;
            if (!residuals(s, m, h)) return Newton::not_finite;
            correct(s, m);
            const double size = size_of_change(m);
            if (!std::isfinite(size)) return Newton::not_finite;
            if (round == 1) first = size;
            if (round > 1) {
                const double ratio = size / before;
                theta = round == 2 ? ratio : std::sqrt(ratio * ratio_before);
                ratio_before = ratio;
                m.rate_of_newton = theta;
                if (theta < 0.99) {
                    m.contraction = theta / (1 - theta);
                    const double left = m.contraction * size * small_power(theta, most - 1 - round) / m.newton_tolerance;
                    if (!fixed && left >= 1 && size > m.rounding && !is_noise(s, m, first, size)) {
                        const double excess = std::clamp(left, 1e-4, 20.0);
                        cut = 0.8 * std::pow(excess, -1.0 / (4.0 + most - 1 - round));
                        return Newton::diverged;
                    }
                } else if (size > m.rounding && !is_noise(s, m, first, size)) {
                    cut = 0.5;
                    return Newton::diverged;
                } else {
                    return Newton::converged;
                }
            }
            before = std::fmax(size, std::numeric_limits<double>::min());
            DAEDALUS_SIMD
            for (long long i = 0; i < m.table.stages * m.lanes; ++i) m.z[i] -= m.change[i];
            // The rate of the step before may promise too much: behind a quiet time everything moves at once.
            const double promised = round == 1 ? std::fmax(m.contraction, least_promise) : m.contraction;
            if (promised * size <= m.newton_tolerance) {
                if (round == 1) m.rate_of_newton = 0;
                return Newton::converged;
            }
        }
        cut = 0.5;
        return Newton::diverged;
    }

    // Newton's method with the Jacobian of the end as far as it is known, new for every correction, and corrections that
    // are halved until the next one would be shorter (P. Deuflhard, Newton Methods for Nonlinear Problems, 2004, section
    // 3.3): over a kink the Jacobian at the beginning belongs to the other side, however short the step.
    static Newton solve_carefully(Integration& s, RadauState& m, double h) noexcept {
        const long long count = m.table.stages * m.lanes;
        const double one = 1;
        start_values(s, m);
        m.jacobian_known = false;
        for (int round = 0; round < most_careful; ++round) {
            add_rows(m.lanes, s.x, &one, 1, m.z + (m.table.stages - 1) * m.lanes, m.stage);
            slope_of(m, m.table.inverse[m.table.stages - 1], h, m.rate);
            if (!jacobian_at(s, m, s.t_new, m.rate, m.stage) || !factor(m, h)) return Newton::diverged;
            ++m.newton;
            if (!residuals(s, m, h)) return Newton::not_finite;
            correct(s, m);
            const double size = size_of_change(m);
            if (!std::isfinite(size)) return Newton::not_finite;
            copy(m.change, count, m.kept);
            double part = 1, next = 0;
            for (;; part *= 0.5) {
                if (s.abort_called) return Newton::diverged;
                if (part < least_part) return is_noise(s, m, size, size) ? Newton::converged : Newton::diverged;
                DAEDALUS_SIMD
                for (long long i = 0; i < count; ++i) m.z[i] -= part * m.kept[i];
                ++m.newton;
                const bool finite = residuals(s, m, h);
                if (finite) correct(s, m);
                next = finite ? size_of_change(m) : std::numeric_limits<double>::infinity();
                if (next <= (1 - 0.25 * part) * size || std::fmax(size, next) <= m.newton_tolerance) break;
                DAEDALUS_SIMD
                for (long long i = 0; i < count; ++i) m.z[i] += part * m.kept[i];
            }
            const double theta = next / std::fmax(size, std::numeric_limits<double>::min());
            if (part < 1 || !(theta < 0.5 || next <= m.newton_tolerance)) continue;
            DAEDALUS_SIMD
            for (long long i = 0; i < count; ++i) m.z[i] -= m.change[i];
            if (next * theta > m.newton_tolerance) continue;
            m.rate_of_newton = theta, m.contraction = 1, m.iterations = m.most_iterations;
            m.jacobian_known = true, m.jacobian_fresh = false;
            return Newton::converged;
        }
        return Newton::diverged;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
