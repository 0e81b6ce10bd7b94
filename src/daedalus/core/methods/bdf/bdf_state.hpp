// What a BDF run keeps from step to step, and its weights of errors.
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/bdf/bdf_control.hpp"
#include "methods/bdf/bdf_history.hpp"
#include "methods/bdf/bdf_stability.hpp"
#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct BdfState : ImplicitState {
    BdfHistory past;
    BdfCoefficients step;   // of the attempt, or of the step that is not yet taken into the past
    BdfControl control;
    BdfStability stability;
    const int largest_order;
    const bool algebraic_counts;
    const bool responds;    // estimates hold what the equations make of a difference
    double* correction;     // of Newton's method
    double* later;          // a row (x, z, x'), the end of a step
    double* error_weights;  // as the weights, zero for what is out of the error test; these themselves where all count
    double* chosen_weights;
    bool all_differential = true;
    double* rounding;       // what rounding errors alone change in each unknown
    bool rounded = false;   // and whether tolerances are so small that it counts
    double share = 0;       // one over the number of components in the error test
    bool pending = false;   // the last step is complete, but not yet in the past
    bool factored = false, fresh = false;  // fresh: the Jacobian belongs to this attempt
    double factored_alpha = 0, last_alpha = 0;
    bool slow = false;       // the last step needed every iteration that it may have, with an old Jacobian
    double contraction = 1;  // rate / (1 - rate) of Newton's method
    double factored_time = 0, measured_way = 0;  // where the Jacobian is from, and how far from there that was measured
    double tolerance = 0;
    double whole_step = 0;   // length of the step that the dense output describes

    BdfState(const ImplicitModel& m, const ImplicitCalls& calls, const BdfSettings& settings)
        : ImplicitState(m, calls),
          largest_order(std::clamp(settings.max_order, 1, bdf_orders)),
          algebraic_counts(settings.algebraic_in_error_test),
          responds(mass_may_be_singular(m)) {
        for (double*& row : past.phi) row = memory.carve(m.unknowns);
        past.change = memory.carve(m.unknowns), past.differential = memory.carve(m.unknowns);
        mark_differential(past, m);
        for (long long i = 0; i < m.unknowns; ++i) all_differential = all_differential && past.differential[i] != 0;
        correction = memory.carve(m.unknowns), chosen_weights = memory.carve(m.unknowns);
        error_weights = chosen_weights;
        rounding = memory.carve(m.unknowns), later = memory.carve(m.unknowns + m.states);
        control.max_order = largest_order;
    }
};

// For the step at hand, piece by piece behind other work; where rounding errors count, tolerances are larger by them.
template <class Before>
inline void weigh(Integration& s, BdfState& m, Before&& before) noexcept {
    // Without a slope at the restart a difference is a change, not an error.
    const bool all_count = m.all_differential || (m.algebraic_counts && m.past.order > 0);
    m.error_weights = all_count ? m.weights : m.chosen_weights;
    // What is zero by structure has no error to share.
    double count = static_cast<double>(m.model.counted() - m.unknowns);
    for_pieces(m.unknowns, [&](long long begin, long long end) {
        before(begin, end);
        set_weights(s, m, s.x, s.rtol, 1, std::fabs(m.step.h), begin, end);
        if (m.rounded)
            for (long long i = begin; i < end; ++i) m.weights[i] /= 1 + m.weights[i] * m.rounding[i];
        if (all_count) {
            count += static_cast<double>(end - begin);
            return;
        }
        for (long long i = begin; i < end; ++i) {
            m.error_weights[i] = m.past.differential[i] * m.weights[i];
            count += m.past.differential[i];
        }
    });
    m.share = 1 / std::fmax(count, 1);
}
inline void weigh(Integration& s, BdfState& m) noexcept {
    weigh(s, m, [](long long, long long) {});
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
