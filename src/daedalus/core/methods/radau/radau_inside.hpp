// How well the polynomial of a Radau step meets the equations inside the step.
//
// Stages meet equations without a derivative exactly, whatever lies between them, and the estimate of the error, which
// compares two formulas for x, does not see how much a long step leaves out there. A step of Newton's method in the
// middle, from the polynomial that the dense output has, tells how far z is off.
#pragma once

#include <cmath>
#include <limits>

#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/weighted_rows.hpp"
#include "methods/radau/radau_state.hpp"
#include "methods/step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The correction of Newton's method in the middle of a step, in units of what is allowed there; it is left in `off`.
// `nudge`: by which share of themselves unknowns are moved before, to and fro. Infinity where F has no value.
inline double correction_inside(Integration& s, RadauState& m, double h, double nudge, double* off) noexcept {
    const CollocationCoefficients& method = m.method;
    double place[most_stages] = {}, slope[most_stages] = {}, power = 1;
    for (int j = 0; j < method.stages; ++j, power *= 0.5)
        for (int k = 0; k < method.stages; ++k) {
            place[k] += 0.5 * power * method.powers[j][k];
            slope[k] += (j + 1) * power * method.powers[j][k];
        }
    add_rows_twice(m.lanes, s.x, place, 1 / h, slope, method.stages, m.z, m.stage, m.rate);
    for (long long i = 0; i < m.unknowns; ++i) m.stage[i] *= i % 2 ? 1 - nudge : 1 + nudge;
    if (!residual_at(s, m, s.t + 0.5 * h, m.rate, m.stage, off)) return std::numeric_limits<double>::infinity();
    const double factored = m.factored_step;
    if (method.has_real) {
        solve_step_matrix(s, m, m.solver, method.gamma / factored, off);
    } else {
        double* imaginary = m.stage;
        for (long long i = 0; i < m.lanes; ++i) imaginary[i] = 0;
        const Complex factor{method.alpha[0] / factored, method.beta[0] / factored};
        solve_step_matrix(s, m, *m.pairs[0], factor, off, imaginary);
    }
    return weighted_norm(m, off) / most_inside;
}

// The error in the middle of a step; 0 where nothing is to be seen: without equations that have no derivative, above
// index 1, where nothing moves by itself and no guard looks, or where rounding errors of the unknowns make it up. What
// is beyond 1 is left in m.error.
inline double error_inside(Integration& s, RadauState& m, double h) noexcept {
    if (m.first && !m.after_failure) m.usual_step = std::fabs(h);
    if (m.model.higher_index || m.model.constraints.empty()) return 0;
    if (m.model.autonomous && s.guards.count == 0) return 0;
    if (std::fabs(h) < shortest_looked_into * m.usual_step) return 0;
    double *off = m.turned, *nudged = m.turned + m.lanes;
    const double inside = correction_inside(s, m, h, 0, off);
    if (!(inside > 1)) return inside;
    if (!std::isfinite(inside)) return 0;
    if (!std::isfinite(correction_inside(s, m, h, 4 * std::numeric_limits<double>::epsilon(), nudged))) return 0;
    for (long long i = 0; i < m.unknowns; ++i) nudged[i] -= off[i];
    if (inside < above_rounding * weighted_norm(m, nudged) / most_inside) return 0;
    copy(off, m.unknowns, m.error);
    return inside;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
