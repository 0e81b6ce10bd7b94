// The corrections of Newton's method on the stages of a Radau step: start values, residuals, transformed solves, sizes.
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/weighted_rows.hpp"
#include "methods/radau/radau_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct RadauCorrections {
    static Complex pair_factor(const CollocationCoefficients& method, int k, double h) noexcept {
        return {method.alpha[k] / h, method.beta[k] / h};
    }

    // Factors of the matrices of this step; false where one is singular.
    static bool factor(RadauState& m, double h) noexcept {
        const CollocationCoefficients& method = m.method;
        scale_by_index(m, std::fabs(h));
        m.factored = !method.has_real || factor_matrix(m, m.solver, method.gamma / h);
        for (int k = 0; k < method.pairs && m.factored; ++k)
            m.factored = factor_matrix(m, *m.pairs[k], pair_factor(method, k, h));
        m.factored_step = h;
        if (!m.factored) ++m.singular;
        return m.factored;
    }

    // The polynomial of the last step prolonged; nothing is known behind a jump.
    static void start_values(Integration& s, RadauState& m) noexcept {
        const int stages = m.method.stages;
        if (!m.step_known) {
            for (long long i = 0; i < stages * m.lanes; ++i) m.z[i] = 0;
            return;
        }
        if (m.step_in_z) std::swap(m.z, m.before);
        m.step_in_z = false;
        for (long long i = 0; i < m.unknowns; ++i) m.error[i] = m.begin[i] - s.x[i];
        for (int k = 0; k < stages; ++k) {
            // Row k of the matrix that takes the stages of the last step to this one's.
            const double theta = (s.t + m.method.c[k] * (s.t_new - s.t) - m.step_time) / m.step_length;
            double weights[most_stages];
            for (int i = 0; i < stages; ++i) {
                double sum = m.method.powers[stages - 1][i];
                for (int j = stages - 2; j >= 0; --j) sum = sum * theta + m.method.powers[j][i];
                weights[i] = sum * theta;
            }
            add_rows(m.lanes, m.error, weights, stages, m.before, m.z + k * m.lanes);
            // Errors of index 3 count h^2 times, and Newton's method ends before it has solved for what is nonlinear in
            // these: prolonged from step to step their errors would grow.
            for (const long long place : m.model.curved) m.z[k * m.lanes + place] = 0;
        }
    }

    // The derivative sum_j weights_j z_j / h.
    static void slope_of(const RadauState& m, const double* weights, double h, double* out) noexcept {
        double divided[most_stages];
        for (int j = 0; j < m.method.stages; ++j) divided[j] = weights[j] / h;
        add_rows(m.lanes, nullptr, divided, m.method.stages, m.z, out);
    }

    // change <- F at the stages, whose times and values `move(k, t, stage)` may move before; false where not finite.
    template <class Move>
    static bool residuals(Integration& s, RadauState& m, double h, Move&& move) noexcept {
        const double one = 1;
        for (int k = 0; k < m.method.stages; ++k) {
            add_rows(m.lanes, s.x, &one, 1, m.z + k * m.lanes, m.stage);
            slope_of(m, m.method.inverse[k], h, m.rate);
            double t = s.t + m.method.c[k] * h;
            move(k, t, m.stage);
            double* row = m.change + k * m.lanes;
            if (!residual_at(s, m, t, m.rate, m.stage, row)) return false;
            if (m.keeps_defect)
                for (const long long place : m.model.constraints) row[place] -= m.defect[place];
        }
        return true;
    }
    static bool residuals(Integration& s, RadauState& m, double h) noexcept {
        return residuals(s, m, h, [](int, double&, double*) {});
    }

    // change <- what z is to be corrected by: transform, solve the real and the complex parts, transform back.
    static void correct(Integration& s, RadauState& m) noexcept {
        const CollocationCoefficients& method = m.method;
        const double h = m.factored_step;
        multiply(m, method.to, m.change, m.turned);
        if (method.has_real) solve_step_matrix(s, m, m.solver, method.gamma / h, m.turned);
        int row = method.has_real;
        for (int k = 0; k < method.pairs; ++k, row += 2)
            solve_step_matrix(s, m, *m.pairs[k], pair_factor(method, k, h), m.turned + row * m.lanes,
                              m.turned + (row + 1) * m.lanes);
        multiply(m, method.from, m.turned, m.change);
    }

    static void multiply(const RadauState& m, const double (&matrix)[most_stages][most_stages], const double* in,
                         double* out) noexcept {
        for (int k = 0; k < m.method.stages; ++k)
            add_rows(m.lanes, nullptr, matrix[k], m.method.stages, in, out + k * m.lanes);
    }

    // z += part * by, over all stages.
    static void move_stages(RadauState& m, double part, const double* by) noexcept {
        DAEDALUS_SIMD
        for (long long i = 0; i < m.method.stages * m.lanes; ++i) m.z[i] += part * by[i];
    }

    // RMS of all corrections in units of the tolerance.
    static double size_of_change(const RadauState& m) noexcept {
        return with_lanes(m.lanes, [&](auto known) {
            const long long lanes = known.count(m.lanes);
            WideAnywhere sums{};
            for (int k = 0; k < m.method.stages; ++k)
                for (long long i = 0; i < lanes; i += wide) {
                    const WideAnywhere part = *anywhere(m.change + k * lanes + i) * *anywhere(m.weights + i);
                    sums += part * part;
                }
            double sum = 0;
            for (int i = 0; i < wide; ++i) sum += sums[i];
            return std::sqrt(sum / static_cast<double>(m.method.stages * std::max(m.model.counted(), 1LL)));
        });
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
