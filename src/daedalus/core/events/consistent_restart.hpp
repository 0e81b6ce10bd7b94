// Behind a jump x stays, and z and x' follow from F(t, x', x, z) = 0 by a damped Newton method.
//
// The columns of the matrix are dF/dx' for a state whose derivative occurs and dF/d(x, z) for every other unknown. A
// model of higher index asks the function that came with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "events/guards.hpp"
#include "events/restart_by_short_steps.hpp"
#include "events/state_constraints.hpp"
#include "methods/implicit/blame.hpp"
#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/rounding_noise.hpp"
#include "model/damped_newton.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The unknowns of the restart, moved by part * change.
inline void move_restart(const ImplicitState& m, double* y, double part, const double* change) noexcept {
    for (long long i = 0; i < m.unknowns; ++i) {
        const bool derivative = i < m.states && m.model.has_derivative[static_cast<std::size_t>(i)];
        y[derivative ? m.unknowns + i : i] -= part * change[i];
    }
}

// Whether the matrix of a restart is diagonal, as that of explicit equations is in the order of their states; the diagonal
// is kept in the third of the spare vectors then. Fields of explicit equations need no factors for their start.
inline bool read_diagonal(ImplicitState& m, const double* values) noexcept {
    const Pattern& matrix = m.model.matrix;
    if (m.group_count > 1) return false;
    double* diagonal = m.spare + 2 * m.unknowns;
    for (long long c = 0; c < m.unknowns; ++c) {
        diagonal[c] = 0;
        for (long long k = matrix.colind[static_cast<std::size_t>(c)]; k < matrix.colind[static_cast<std::size_t>(c) + 1]; ++k) {
            if (matrix.rows[static_cast<std::size_t>(k)] == c)
                diagonal[c] = values[k];
            else if (values[k] != 0)
                return false;
        }
        if (!(std::fabs(diagonal[c]) > std::numeric_limits<double>::min()) || !std::isfinite(diagonal[c])) return false;
    }
    return true;
}

inline bool factor_restart(ImplicitState& m) noexcept {
    const ImplicitModel& model = m.model;
    double* values = m.solver.values();
    m.solver_factor = 0;
    for (long long k = 0; k < model.matrix.nonzeros(); ++k) values[k] = 0;
    const auto alls = static_cast<long long>(model.all_place.size()), dots = static_cast<long long>(model.dot_place.size());
    long long column = 0;
    for (long long k = 0; k < alls; ++k) {
        const long long place = model.all_place[static_cast<std::size_t>(k)];
        while (model.matrix.colind[static_cast<std::size_t>(column) + 1] <= place) ++column;
        if (column >= model.block_states() || !model.has_derivative[static_cast<std::size_t>(column)]) values[place] = m.all[k];
    }
    for (long long k = 0; k < dots; ++k) values[model.dot_place[static_cast<std::size_t>(k)]] += m.dot[k];
    if (has_state_constraints(m))
        visit_state_constraints(m, [&](long long place, long long, long long, double slope) { values[place] = slope; });
    ++m.factorisations;
    m.diagonal_restart = read_diagonal(m, values);
    return m.diagonal_restart || m.solver.factor(nullptr, nullptr);
}

// In place; a state whose derivative occurs stays, and its part is a change of that.
inline void solve_restart_matrix(Integration& s, ImplicitState& m, double* b) noexcept {
    if (m.diagonal_restart) {
        const double* diagonal = m.spare + 2 * m.unknowns;
        for (long long i = 0; i < m.unknowns; ++i) b[i] /= diagonal[i];
        return;
    }
    m.solver.solve_own(b);
    for (long long g = 1; g < m.group_count; ++g) {
        direct(m, g - 1, b, 1, nullptr, 0);
        for (long long k = 0; k < m.states; ++k) (m.model.has_derivative.data()[k] ? m.direction : m.direction_rate)[k] = 0;
        subtract_below(s, m, g - 1, m.point_time, m.point_rate, m.point, b);
        m.solver.solve_group(g, b);
    }
}

// The equations of a restart, with a correction of y that is followed as far as it helps.
struct DampedRestart {
    Integration& s;
    ImplicitState& m;
    double *y, *change, *next;
    double taken = 0;  // the part of the correction that y has

    void move_to(double part) noexcept {
        if (taken != 0) move_restart(m, y, -taken, change);
        if (part != 0) move_restart(m, y, part, change);
        taken = part;
    }
    double size_behind() noexcept {
        if (!restart_residual(s, m, y, next)) return std::numeric_limits<double>::infinity();
        solve_restart_matrix(s, m, next);
        return weighted_norm(m, next);
    }
    bool is_small(double size, double next, double) const noexcept {
        return size <= consistent_enough && !std::isinf(next);
    }
    bool is_stopped() const noexcept { return s.abort_called; }
};

// Corrections with the factor at hand, behind one that was taken whole: the next one is known (in the second spare vector)
// with its size. They go on while each is much shorter than the one before; returns the size of the last that was taken.
inline double simplified_corrections(Integration& s, ImplicitState& m, double* y, double size, double following) noexcept {
    double* next = m.spare + m.unknowns;
    for (int round = 0; round < most_corrections && following <= much_shorter * size; ++round) {
        move_restart(m, y, 1, next);
        size = following;
        if (size <= consistent_enough || !restart_residual(s, m, y, next)) break;
        solve_restart_matrix(s, m, next);
        following = weighted_norm(m, next);
    }
    return size;
}

// One damped correction of y, with simplified ones behind it for a row; returns the length of the last in units of the
// tolerance, infinity where it failed.
inline double correct_restart(Integration& s, ImplicitState& m, double* y, bool of_row) noexcept {
    const double failed = std::numeric_limits<double>::infinity();
    double *change = m.spare, *next = m.spare + m.unknowns;
    if (!jacobian_at(s, m, s.t, y + m.unknowns, y)) return failed;
    if (!restart_residual(s, m, y, change)) return failed;
    if (!factor_restart(m)) {
        s.culprit = {unknown_of_singular(m, m.singular_restart), Culprit::What::nothing};
        return failed;
    }
    solve_restart_matrix(s, m, change);
    const double size = weighted_norm(m, change);
    if (!std::isfinite(size)) return failed;
    DampedRestart restart{s, m, y, change, next};
    const Followed found = follow_correction(restart, size, 1, most_halvings);
    if (s.abort_called) return failed;
    if (found.is_shorter && of_row && found.part == 1) return simplified_corrections(s, m, y, size, found.next);
    if (found.is_shorter) return found.part * size;
    return size <= rounding_enough ? size : failed;
}

// Derivatives count by what they make of their states in a step as long as the last: the charge of a tiny capacitance leaves
// a rounding error in the rate of its voltage that no step ever sees.
inline void weigh_restart(const Integration& s, ImplicitState& m, const double* row) noexcept {
    const double unit = s.last_step != 0 ? std::fmax(1, 1 / std::fabs(s.last_step)) : 1;
    for (long long i = 0; i < m.unknowns; ++i) {
        const bool derivative = i < m.states && m.model.has_derivative[static_cast<std::size_t>(i)];
        const double own = s.atol[i] + s.rtol * std::fabs(row[i]);
        const double rate = derivative ? s.rtol * std::fabs(row[m.unknowns + i]) : 0;
        m.weights[i] = 1 / (derivative ? std::fmax(own * unit, rate) : own);
    }
}

// Whether what the equations leave at a row is rounding errors of their own terms,
//
//   |F|_i <= digits (|dF/dx'| |x'| + |dF/d(x, z)| |x, z|)_i,
//
// so that no correction makes it smaller: a node that hangs on a picofarad and on junctions of 1e-12 S has a rate that is
// known to the last digit of volts over a nanosecond. The Jacobian at hand is that of the row, or of one near it.
inline bool is_rounding_left(Integration& s, ImplicitState& m, const double* row, double digits) noexcept {
    const ImplicitModel& model = m.model;
    if (m.group_count > 1) return false;
    double *left = m.spare, *sums = m.spare + m.unknowns;
    if (!residual_at(s, m, s.t, row + m.unknowns, row, left)) return false;
    for (long long i = 0; i < m.unknowns; ++i) sums[i] = 0;
    const auto add = [&](const std::vector<long long>& places, const double* values, const double* factors) {
        long long column = 0;
        for (std::size_t k = 0; k < places.size(); ++k) {
            const long long place = places[k];
            while (model.matrix.colind[static_cast<std::size_t>(column) + 1] <= place) ++column;
            sums[model.matrix.rows[static_cast<std::size_t>(place)]] += std::fabs(values[k] * factors[column]);
        }
    };
    add(model.all_place, m.all, row);
    add(model.dot_place, m.dot, row + m.unknowns);
    for (long long i = 0; i < m.unknowns; ++i)
        if (!(std::fabs(left[i]) <= digits * last_digit * sums[i])) return false;
    return true;
}

// Whole corrections, where damped ones lead nowhere: a diode that takes over a current when a switch opens has its answer
// behind voltages that no damping admits. The answer counts where corrections have become as small as ever.
inline bool restart_by_whole(Integration& s, ImplicitState& m, double* y) noexcept {
    copy(y, s.n, m.spare_row);
    double *row = m.spare_row, *change = m.spare, before = std::numeric_limits<double>::infinity();
    for (int round = 0; round < most_corrections && !s.abort_called; ++round) {
        weigh_restart(s, m, row);
        if (!jacobian_at(s, m, s.t, row + m.unknowns, row) || !restart_residual(s, m, row, change) || !factor_restart(m))
            return false;
        solve_restart_matrix(s, m, change);
        const double size = weighted_norm(m, change);
        if (!std::isfinite(size)) return false;
        move_restart(m, row, 1, change);
        if (is_enough(size, before)) {
            copy(row, s.n, y);
            return true;
        }
        if (size > 0.5 * before && jacobian_at(s, m, s.t, row + m.unknowns, row) &&
            is_rounding_left(s, m, row, rounded_digits)) {
            copy(row, s.n, y);
            return true;
        }
        before = size;
    }
    return false;
}

// Asks the model for what lies behind an event, whose row and discrete variables before it are given, and for that row as
// it obeys the equations; false where it has no answer. Its parameters hold the discrete variables behind it.
inline bool ask_restart(Integration& s, long long guard, const double* before, const double* held, double* y) noexcept {
    Guards& guards = s.guards;
    set_time(s, s.t);
    guards.calls.event = static_cast<double>(guard);
    Call& restart = guards.calls.restart;
    restart.arg[1] = before, restart.arg[5] = held;
    restart.res[0] = guards.assigned.reset_rows, restart.res[1] = guards.calls.renewed;
    long long component = 0;
    if (fails(s, restart) || first_not_finite(guards.assigned.reset_rows, s.n, component)) {
        s.culprit = {guard, Culprit::What::event};
        return false;
    }
    copy(guards.assigned.reset_rows, s.n, y);
    return true;
}

// Guards before a round, at the row that the model gave for it, with the discrete variables before the round.
inline void renew_guards(Integration& s) noexcept {
    Guards& guards = s.guards;
    Assigned& assigned = guards.assigned;
    double* held_before = assigned.row_before + s.n;
    const auto exchange = [&] { std::swap_ranges(held_before, held_before + assigned.discretes, assigned.held); };
    exchange();
    guards_at(s, s.t, assigned.row_before, guards.now);
    for (long long i = 0; i < guards.count; ++i) guards.each[i].renewal = -guards.now[i];
    guards_at(s, s.t, guards.calls.renewed, guards.now);
    for (long long i = 0; i < guards.count; ++i) {
        guards.each[i].renewed = guards.now[i];
        guards.each[i].renewal += guards.now[i];
    }
    exchange();
}

inline bool has_code(const Clocks& clocks, long long clock) { return clocks.calls && clocks.calls[clock].is_present; }

// Whether the round has an actor that the model can be asked about: what code assigns is known to the code alone.
inline bool has_actor(const Integration& s) noexcept {
    const Guards& guards = s.guards;
    const Clocks& clocks = s.clocks;
    for (long long r = guards.roots.early; r < guards.roots.count; ++r)
        if (guards.roots[r].acts && guards.calls.has_resets) return true;
    for (long long k = clocks.round_begin; k < clocks.due_next; ++k)
        if (!has_code(clocks, clocks.due[k])) return true;
    return false;
}

// Whether the model is asked for what lies behind a round that moved states or changed discrete variables that equations
// read: with these z and x' of a higher index change, which no solve at the states alone finds.
inline bool asks_restart(Integration& s, bool moved) noexcept {
    if (!s.guards.calls.has_restart) return false;
    const bool deep = s.implicit && implicit_of(s).model.higher_index;
    return has_actor(s) ? moved || deep : deep && !moved;
}

// What lies behind each actor of the round, asked of the model: of several one after the other. Behind none of them nothing
// is assigned, and what follows from the discrete variables is asked for.
inline Status ask_restarts(Integration& s) noexcept {
    Guards& guards = s.guards;
    Assigned& assigned = guards.assigned;
    const Clocks& clocks = s.clocks;
    const long long events = guards.first_switch();
    copy(assigned.row_before, s.n, s.stage);
    const double* held = assigned.row_before + s.n;
    const auto ask = [&](long long actor) {
        const bool first = held != assigned.held, answered = ask_restart(s, actor, s.stage, held, s.x);
        if (answered && first && s.implicit && guards.count > 0) renew_guards(s);
        if (answered) copy(s.x, s.n, s.stage);
        held = assigned.held;  // the row behind the first one obeys what holds behind all of them
        return answered;
    };
    bool going = true;
    for (long long r = guards.roots.early; r < guards.roots.count && going; ++r)
        if (guards.roots[r].acts && guards.calls.has_resets) going = ask(guards.roots[r].guard);
    // Clocks of this round lie before due_next; what code assigns is known to the code alone.
    for (long long k = clocks.round_begin; k < clocks.due_next && going; ++k)
        if (!has_code(clocks, clocks.due[k])) going = ask(events + clocks.due[k]);
    if (going && held != assigned.held) going = ask(-1);
    if (going) return Status::going;
    copy(assigned.row_before, s.n, s.x);  // the run ends before the instant
    return s.abort_called ? Status::aborted : Status::inconsistent;
}

// A row between steps by the factor of the row before it, in the place of a Jacobian of its own: where its corrections
// shrink fast they end at the same values, when they leave as little as Newton's own would: the square of what is small
// enough. False where they do not; y has moved then.
inline bool solve_row_by_factor_before(Integration& s, ImplicitState& m, double* y) noexcept {
    double *change = m.spare, before = std::numeric_limits<double>::infinity();
    weigh_restart(s, m, y);
    for (int round = 0; round < most_corrections && !s.abort_called; ++round) {
        if (!restart_residual(s, m, y, change)) return false;
        solve_restart_matrix(s, m, change);
        const double size = weighted_norm(m, change);
        if (!(size <= much_shorter * before))
            return is_enough(size, before) || is_rounding_left(s, m, y, noise_margin);
        move_restart(m, y, 1, change);
        const double rate = std::isinf(before) ? much_shorter : size / before;
        if (rate * size <= consistent_enough * consistent_enough) return true;
        before = size;
    }
    return false;
}

// Makes the row y consistent; false where no values were found, and y is as before then. Where only an input jumped,
// the states of a model of higher index stay, and the first step finds z. What the model gave behind a reset stays.
inline bool solve_restart(Integration& s, double* y, bool moved) noexcept {
    ImplicitState& m = implicit_of(s);
    m.restarted = true;
    m.singular_restart = false;
    m.stale_time = std::numeric_limits<double>::quiet_NaN();
    if (m.settle) return m.settle(s, y);
    if (s.guards.calls.has_restart && moved) return true;
    if (m.model.higher_index) {
        m.stale_time = s.t;
        return true;
    }
    if (has_state_constraints(m) && !find_constraint_drift(s, m, y)) {
        s.culprit = {unknown_of_block(m.model, m.model.state_constraints.front()), Culprit::What::nothing};
        m.singular_restart = true;
        return false;
    }
    // Rows between steps, which no run goes on from, need no corrections below the rounding errors of their terms.
    const bool of_row = s.t0 == s.t1 && s.last_step != 0;
    copy(y, s.n, m.spare_row);
    if (of_row && m.row_factored && solve_row_by_factor_before(s, m, m.spare_row)) {
        copy(m.spare_row, s.n, y);
        return true;
    }
    m.row_factored = false;
    copy(y, s.n, m.spare_row);
    double before = std::numeric_limits<double>::infinity();
    for (int round = 0; round < most_corrections; ++round) {
        weigh_restart(s, m, m.spare_row);
        const double size = correct_restart(s, m, m.spare_row, of_row);
        if (!std::isfinite(size)) break;
        const bool small = is_enough(size, before);
        before = size;
        if (!small && !(of_row && is_rounding_left(s, m, m.spare_row, noise_margin))) continue;
        copy(m.spare_row, s.n, y);
        // The diagonal of a restart lies in room that others use.
        m.row_factored = of_row && m.group_count <= 1 && !m.diagonal_restart;
        return true;
    }
    if (s.abort_called) return false;
    return m.singular_restart ? restart_by_short_steps(s, m, y) : restart_by_whole(s, m, y);
}

// Why no consistent values were found.
inline Status restart_failure(Integration& s) noexcept {
    if (s.abort_called) return Status::aborted;
    return implicit_of(s).singular_restart ? Status::singular : Status::inconsistent;
}

// At the end of a run whose Jacobian is that of an earlier step: whether the equations still determine all unknowns.
inline bool regular_at_end(Integration& s) noexcept {
    ImplicitState& m = implicit_of(s);
    if (m.old_steps < 2 || m.jacobians != m.jacobians_before || s.last_step == 0) return true;
    if (!jacobian_at(s, m, s.t, s.x + m.unknowns, s.x)) return true;
    scale_by_index(m, std::fabs(s.last_step));
    if (factor_matrix(m, m.solver, 1 / s.last_step)) return true;
    bool finite = true;
    s.culprit = {unknown_of_singular(m, finite), Culprit::What::nothing};
    return !finite;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
