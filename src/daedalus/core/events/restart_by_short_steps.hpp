// A restart by two short steps of implicit Euler, where the equations do not give x' to the states at hand.
//
//   F(t, (x − x₀) / δ, x, z) = 0
//
// What stands before a derivative vanishes there: the charge of a junction that blocks and has no depletion layer. In the
// limit such a state is algebraic. The first step, from the states before, finds it with z in no time worth mentioning;
// the second, from the states found, finds the slopes.
#pragma once

#include "events/limits.hpp"
#include "methods/implicit/implicit_state.hpp"
#include "model/damped_newton.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline bool is_enough(double size, double before) noexcept {
    return size <= consistent_enough || (size <= rounding_enough && size > 0.5 * before);
}

// The equations of one such step; a row y knows x' of its x.
struct ShortStep {
    Integration& s;
    ImplicitState& m;
    const double* before;
    double length;
    double *y, *change, *next;
    double taken = 0;

    void move_to(double part) noexcept {
        for (long long i = 0; i < m.unknowns; ++i) y[i] -= (part - taken) * change[i];
        for (long long i = 0; i < m.states; ++i) y[m.unknowns + i] = (y[i] - before[i]) / length;
        taken = part;
    }
    double size_behind() noexcept {
        if (!residual_at(s, m, s.t, y + m.unknowns, y, next)) return std::numeric_limits<double>::infinity();
        m.solver.solve_own(next);
        return weighted_norm(m, next);
    }
    bool is_small(double size, double next, double) const noexcept {
        return size <= consistent_enough && !std::isinf(next);
    }
    bool is_stopped() const noexcept { return s.abort_called; }
};

inline bool take_short_step(Integration& s, ImplicitState& m, const double* before, double length, double* y) noexcept {
    double *change = m.spare, *next = m.spare + m.unknowns;
    double last = std::numeric_limits<double>::infinity();
    for (long long i = 0; i < m.states; ++i) y[m.unknowns + i] = (y[i] - before[i]) / length;
    for (int round = 0; round < most_corrections && !s.abort_called; ++round) {
        set_weights(s, m, y, s.rtol, 1, std::fabs(length));
        if (!residual_at(s, m, s.t, y + m.unknowns, y, change) || !jacobian_at(s, m, s.t, y + m.unknowns, y) ||
            !factor_matrix(m, m.solver, 1 / length))
            return false;
        m.solver.solve_own(change);
        const double size = weighted_norm(m, change);
        if (!std::isfinite(size)) return false;
        ShortStep step{s, m, before, length, y, change, next};
        const Followed found = follow_correction(step, size, 1, most_halvings);
        if (!found.is_shorter && size > rounding_enough) return false;
        const double moved = found.is_shorter ? found.part * size : size;
        if (is_enough(moved, last)) return true;
        last = moved;
    }
    return false;
}

// Makes the row y consistent; false where it was not found, and y is as before then.
inline bool restart_by_short_steps(Integration& s, ImplicitState& m, double* y) noexcept {
    if (m.group_count > 1 || m.model.columns.products) return false;
    const double unit = s.last_step != 0 ? std::fabs(s.last_step) : std::fabs(s.t1 - s.t0);
    const double length = s.direction * short_part * unit;
    double *row = m.spare_row, *before = m.spare + 2 * m.unknowns;
    copy(y, s.n, row);
    for (int step = 0; step < 2; ++step) {
        copy(row, m.states, before);
        if (!take_short_step(s, m, before, length, row)) return false;
    }
    copy(row, s.n, y);
    return true;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
