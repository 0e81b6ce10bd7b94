// The stage equations of a method of increments: start values, slopes, residuals and sizes of corrections.
//
//   F(t + c_i h, (1/h) sum_j a'_ij Z_j, w + Z_i) = 0,   a' = A^-1
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/increment_state.hpp"
#include "methods/implicit/weighted_rows.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The polynomial of the last step prolonged; nothing is known behind a jump.
inline void start_stages(Integration& s, IncrementState& m) noexcept {
    const StageCoefficients& method = m.stage_numbers;
    const int stages = m.stages;
    if (!m.step_known) {
        for (long long i = 0; i < stages * m.lanes; ++i) m.z[i] = 0;
        return;
    }
    if (m.step_in_z) std::swap(m.z, m.before);
    m.step_in_z = false;
    for (long long i = 0; i < m.unknowns; ++i) m.error[i] = m.begin[i] - s.x[i];
    for (int k = 0; k < stages; ++k) {
        // Row k of the matrix that takes the stages of the last step to this one's.
        const double theta = (s.t + method.c[k] * (s.t_new - s.t) - m.step_time) / m.step_length;
        double weights[most_stages];
        for (int i = 0; i < stages; ++i) {
            double sum = method.powers[stages - 1][i];
            for (int j = stages - 2; j >= 0; --j) sum = sum * theta + method.powers[j][i];
            weights[i] = sum * theta;
        }
        add_rows(m.lanes, m.error, weights, stages, m.before, m.z + k * m.lanes);
        // Errors of index 3 count h^2 times, and Newton's method ends before it has solved for what is nonlinear in
        // these: prolonged from step to step their errors would grow.
        for (const long long place : m.model.curved) m.z[k * m.lanes + place] = 0;
    }
}

// The derivative sum_j weights_j z_j / h.
inline void slope_of(const IncrementState& m, const double* weights, double h, double* out) noexcept {
    double divided[most_stages];
    for (int j = 0; j < m.stages; ++j) divided[j] = weights[j] / h;
    add_rows(m.lanes, nullptr, divided, m.stages, m.z, out);
}

// Adds the slopes of charges to the residuals of their balances.
inline void add_currents_into_charges(IncrementState& m, double h) noexcept {
    const double* begin = m.charges.begin;
    for (int k = 0; k < m.stages; ++k) {
        double* row = m.change + k * m.lanes;
        const double* inverse = m.stage_numbers.inverse[k];
        for (const long long place : m.model.charged_rows) {
            double sum = 0;
            for (int j = 0; j < m.stages; ++j) sum += inverse[j] * (m.charges.of_stage(j)[place] - begin[place]);
            row[place] += sum / h;
        }
    }
}

// change <- F at the stages, whose times and values `move(k, t, stage)` may move before; false where not finite.
template <class Move>
inline bool stage_residuals(Integration& s, IncrementState& m, double h, Move&& move) noexcept {
    const double one = 1;
    for (int k = 0; k < m.stages; ++k) {
        add_rows(m.lanes, s.x, &one, 1, m.z + k * m.lanes, m.stage);
        slope_of(m, m.stage_numbers.inverse[k], h, m.rate);
        double t = s.t + m.stage_numbers.c[k] * h;
        move(k, t, m.stage);
        double* row = m.change + k * m.lanes;
        const bool finite = m.charges.in_step ? charged_at(s, m, t, m.rate, m.stage, row, m.charges.of_stage(k))
                                               : residual_at(s, m, t, m.rate, m.stage, row);
        if (!finite) return false;
        if (m.kept_part > 0)
            for (const long long place : m.model.constraints) row[place] -= m.kept_part * m.defect[place];
    }
    if (m.charges.in_step) add_currents_into_charges(m, h);
    return true;
}
inline bool stage_residuals(Integration& s, IncrementState& m, double h) noexcept {
    return stage_residuals(s, m, h, [](int, double&, double*) {});
}

// RMS of all corrections in units of the tolerance.
inline double size_of_change(const IncrementState& m) noexcept {
    return with_lanes(m.lanes, [&](auto known) {
        const long long lanes = known.count(m.lanes);
        WideAnywhere sums{};
        for (int k = 0; k < m.stages; ++k)
            for (long long i = 0; i < lanes; i += wide) {
                const WideAnywhere part = *anywhere(m.change + k * lanes + i) * *anywhere(m.weights + i);
                sums += part * part;
            }
        double sum = 0;
        for (int i = 0; i < wide; ++i) sum += sums[i];
        return std::sqrt(sum / static_cast<double>(m.stages * std::max(m.model.counted(), 1LL)));
    });
}

// z += part * by, over all stages.
inline void move_stages(IncrementState& m, double part, const double* by) noexcept {
    DAEDALUS_SIMD
    for (long long i = 0; i < m.stages * m.lanes; ++i) m.z[i] += part * by[i];
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
