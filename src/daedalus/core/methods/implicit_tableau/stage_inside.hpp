// How well the polynomial of a step by any implicit tableau meets the equations inside the step, as for Radau methods.
//
// A pair compares two formulas for x at the end, and stages meet equations without a derivative whatever lies between
// them. A step of Newton's method in the middle, with the matrix that filtered the estimate, tells what was left out.
#pragma once

#include <cmath>
#include <limits>

#include "methods/implicit_tableau/stage_start.hpp"
#include "methods/step_control.hpp"

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

// The correction of Newton's method from a state, in units of what is allowed inside a step; it is left in `off`.
inline double correction_from(Integration& s, StepState& m, double t, const double* rate, const double* state,
                              double* off) noexcept {
    if (!residual_at(s, m, t, rate, state, off)) return std::numeric_limits<double>::infinity();
    const double scaled = m.step * m.tableau.gamma;
    for (long long i = 0; i < m.unknowns; ++i) off[i] *= scaled;
    m.solver.solve_own(off);
    for (long long i = m.states; i < m.unknowns; ++i) off[i] /= scaled;
    return weighted_norm(m, off) / most_inside;
}

// The error in the middle of a step; 0 where nothing is to be seen: without equations that have no derivative, above
// index 1, where nothing moves by itself and no guard looks, or where it is as large at the end, by rounding. What is
// beyond 1 is left in m.error. Columns of derivatives follow the steps of their model.
inline double error_inside(Integration& s, StepState& m) noexcept {
    const ImplicitModel& model = m.model;
    if (model.higher_index || model.constraints.empty() || m.group_count > 1) return 0;
    if (m.tableau.error.empty() || m.tableau.gamma == 0 || !m.tableau.ends_in_last_stage) return 0;
    if (model.autonomous && s.guards.count == 0) return 0;
    if (std::fabs(m.step) < shortest_looked_into * std::fabs(s.last_step)) return 0;
    write_middle(s, m, m.stage, m.trial);
    const double inside = correction_from(s, m, s.t + 0.5 * m.step, m.trial, m.stage, m.change);
    if (!(inside > 1)) return inside;
    const double at_end = correction_from(s, m, s.t_new, s.x_new + m.unknowns, s.x_new, m.next);
    if (!std::isfinite(inside) || inside < above_rounding * at_end) return 0;
    copy(m.change, m.unknowns, m.error);
    return inside;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
