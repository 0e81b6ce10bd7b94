// The middle of a step by any implicit tableau, for the look inside it.
#pragma once

#include <cmath>
#include <limits>

#include "methods/implicit/look_between.hpp"
#include "methods/implicit/mass_product.hpp"
#include "methods/implicit_tableau/stage_start.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The state in the middle of a step, and x' there.
inline void write_middle(const Integration& s, const StepState& m, double* state, double* rate) noexcept {
    const ImplicitTableau& tableau = m.tableau;
    const long long n = m.unknowns, nx = m.states;
    copy(s.x, n, state);
    for (long long i = 0; i < nx; ++i) rate[i] = 0;
    double half = 0.5;
    for (int power = 1; power <= tableau.x_degree; ++power, half *= 0.5)
        for (int j = 0; j < tableau.stages; ++j) {
            const double weight = tableau.x_weights[static_cast<std::size_t>((power - 1) * tableau.stages + j)];
            for (long long i = 0; i < nx; ++i) {
                state[i] += half * m.step * weight * m.rows[j * n + i];
                rate[i] += 2 * power * half * weight * m.rows[j * n + i];
            }
        }
    half = 0.5;
    for (int power = 1; power <= tableau.z_degree; ++power, half *= 0.5)
        for (int j = 0; j <= tableau.stages; ++j) {
            const auto place = static_cast<std::size_t>((power - 1) * (tableau.stages + 1) + j);
            const double weight = half * tableau.z_weights[place];
            const double* values = j < tableau.stages ? m.rows + j * n : s.x_new;
            for (long long i = nx; i < n; ++i) state[i] += weight * (values[i] - s.x[i]);
        }
}

// The middle of a step, corrected with the matrix that filtered the estimate.
struct MiddleOfStages {
    Integration& s;
    StepState& m;

    void write_middle() noexcept { daedalus::write_middle(s, m, m.stage, m.trial); }
    bool correct_middle(double* off) noexcept { return correct(s.t + 0.5 * m.step, m.trial, m.stage, off); }
    bool correct_end(double* off) noexcept { return correct(s.t_new, s.x_new + m.unknowns, s.x_new, off); }
    void slow_part(const double* c, double* out) noexcept {
        multiply_mass(m, 1, c, out);
        m.solver.solve_own(out);
        for (long long i = m.states; i < m.unknowns; ++i) out[i] /= m.step * m.tableau.gamma;
    }
    bool correct(double t, const double* rate, const double* state, double* off) noexcept {
        if (!residual_at(s, m, t, rate, state, off)) return false;
        const double scaled = m.step * m.tableau.gamma;
        for (long long i = 0; i < m.unknowns; ++i) off[i] *= scaled;
        m.solver.solve_own(off);
        for (long long i = m.states; i < m.unknowns; ++i) off[i] /= scaled;
        return true;
    }
};

// Only methods whose estimate has left such a matrix, and that end in a stage. Columns of derivatives follow the steps of
// their model.
inline bool can_look(const StepState& m) noexcept {
    const ImplicitTableau& tableau = m.tableau;
    return m.group_count <= 1 && !tableau.error.empty() && tableau.gamma != 0 && tableau.ends_in_last_stage;
}

inline double error_inside(Integration& s, StepState& m) noexcept {
    if (!mass_may_be_singular(m.model) || !can_look(m) || !worth_a_look(s, m, m.step, std::fabs(s.last_step))) return 0;
    return error_inside_of(m, MiddleOfStages{s, m}, m.change, m.error);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
