// The charges of a step: what the balances of currents into them discretise, in the place of C(v) v'.
//
//   (1/h) sum_j a'_kj (P(W_j) - P_n) + R(t + c_k h, W_k) = 0,   P_(n+1) = P(W_s) + dP/dw dZ_s
//
// with the last correction dZ of Newton's method. So P_(n+1) obeys the linear equations of that correction to rounding: where
// no current leaves, charge is kept to rounding, whatever the tolerance of Newton's method. P(w_(n+1)) differs from it by what
// that leaves, which the next step corrects: nothing adds up.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/implicit/implicit_state.hpp"
#include "methods/implicit/mass_product.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Of a step that is this part of the longest one, differences of charges have half of their digits; where time itself has
// as few left, stages of a thin layer are told apart by no more than those. Increments of voltages keep theirs: shorter steps
// are taken with these.
inline constexpr double half_the_digits = 1e-8, spacings_of_layer = 1e6;
// What Newton's method leaves of charges where a step ends at a stop, in parts of what it leaves elsewhere.
inline constexpr double left_of_charges = 1e-4;
// Where Newton's method fails with charges and does not without, where steps are refused again and again though shorter ones
// have no smaller errors, and behind a step over what time does not resolve, the next ones are tried without: one at first, up to so many where that comes again.
inline constexpr int most_steps_without = 63;

struct StepCharges {
    bool has_some = false;  // the model
    bool in_step = false;   // and the step at hand discretises them
    long long size = 0;
    double* begin = nullptr;     // P_n
    double* next = nullptr;      // P_(n+1)
    double* at_stage = nullptr;  // P of every stage
    double* last = nullptr;      // of the last stage where Newton's method evaluated it
    double* turned = nullptr;    // dP/dw dZ_s
    double* states = nullptr;    // x at t_(n+1)
    double refused_with = 0;            // the error that the last step was refused with
    int without = 0, last_without = 0;  // so many steps more, and how many they were when that was set
    double begin_time = std::numeric_limits<double>::quiet_NaN(), next_time = begin_time;

    void make(Arena& memory, const ImplicitModel& model, int stages) {
        has_some = model.charged != nullptr;
        if (!has_some) return;
        size = model.unknowns;
        for (double** row : {&begin, &next, &last, &turned}) *row = memory.carve(size);
        states = memory.carve(model.states);
        at_stage = memory.carve(stages * size);
    }
    void give_up() noexcept {
        in_step = false;
        without = last_without = std::min(2 * last_without + 1, most_steps_without);
    }
    void note_success() noexcept {
        if (in_step) last_without = 0;
        without -= !in_step && without > 0;
    }
    // Behind a restart: where z and x' alone have jumped, charges have not.
    void restart(double t, const double* x, long long count) noexcept {
        constexpr double never = std::numeric_limits<double>::quiet_NaN();
        begin_time = never;
        if (next_time != t || !std::equal(x, x + count, states)) next_time = never;
    }
    double* of_stage(int k) noexcept { return at_stage + k * size; }
};

// P_n for a step from s.t; `room` for unknowns.
inline bool begin_charges(Integration& s, ImplicitState& m, StepCharges& charges, double* room) noexcept {
    const double shortest = std::fmax(half_the_digits * m.longest_step, spacings_of_layer * spacing(s.t));
    charges.in_step = charges.has_some && charges.without == 0 && std::fabs(s.t_new - s.t) > shortest;
    if (!charges.in_step || charges.begin_time == s.t) return true;
    if (charges.next_time == s.t)
        std::swap(charges.begin, charges.next);
    else if (!charged_at(s, m, s.t, s.x + m.unknowns, s.x, room, charges.begin))
        return false;
    charges.begin_time = s.t, charges.next_time = std::numeric_limits<double>::quiet_NaN();
    return true;
}

// P_(n+1) for a step by `way` to s.t_new that ends behind the correction -`change` of the last stage, (x, z).
inline void end_charges(const Integration& s, const ImplicitState& m, StepCharges& charges, const double* change,
                        const double* way) noexcept {
    if (!charges.in_step) return;
    for (long long i = 0; i < m.states; ++i) charges.states[i] = s.x[i] + way[i];
    multiply_on_mass(m, m.charged_dot, -1, change, charges.turned);
    for (const long long row : m.model.charged_rows) charges.next[row] = charges.last[row] + charges.turned[row];
    charges.next_time = s.t_new;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
