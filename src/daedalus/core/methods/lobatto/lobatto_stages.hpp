// The equations of a step of a method of momenta, solved to rounding: Newton's method, and the saddle system at a row.
//
// Most steps converge with the factors of an earlier step. Where that does not contract, every correction gets its own
// Jacobian and is followed as far as it helps. Corrections that stop shrinking at the level of rounding count as converged.
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/implicit_state.hpp"
#include "methods/lobatto/lobatto_step.hpp"
#include "model/caller.hpp"
#include "model/damped_newton.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline constexpr int lobatto_degree = 5, past_steps = 3;
inline constexpr int quick_rounds = 10, careful_rounds = 40, position_rounds = 25;
// Slower than this, the next step begins with a new Jacobian.
inline constexpr int cheap_rounds = 4;
inline constexpr double rounding_unit = std::numeric_limits<double>::epsilon();
// A correction that stops shrinking below this share of the largest velocity is made of rounding errors; with factors of
// another step below the second.
inline constexpr double rounding_level = 1e-10, rounding_noise = 4 * rounding_unit;
// Kept factors that contract by less than this are made anew.
inline constexpr double slow = 0.1;
// Steps that differ by rounding only share factors and starting values.
inline constexpr double equal_length = 1e-6;

inline bool settle_row(Integration& s, double* y) noexcept;

struct LobattoState : ImplicitState {
    const LobattoStep& pair;
    const long long freedoms, constraints, size, input_count;  // of q, of c, of w, of u
    Caller residual_caller, jacobian_caller, landing_caller, masses_caller, motion_caller;
    Call residual_call, jacobian_call, landing_call, masses_call, motion_call;
    LinearSolver<double> stage_solver, saddle_solver;
    double time = 0, length = 0;
    double *w, *start, *change, *trial, *inputs;
    double* past[past_steps];          // w of the last steps, the youngest first
    double *place, *momentum;          // at the end of the step
    double *own_momentum, *off_place;  // at a row; -c there
    double* right;                     // of the saddle system
    double* inverse_scale;             // of the velocities
    double largest = 1;
    int past_count = 0;
    double past_step = 0;
    bool factored = false;

    LobattoState(const ImplicitModel& model, const ImplicitCalls& calls, const LobattoStep& step)
        : ImplicitState(model, calls),
          pair(step),
          freedoms(static_cast<long long>(step.positions.size())),
          constraints(static_cast<long long>(step.multipliers.size())),
          size(step.stages.n),
          input_count(step.masses->size_in[2]),
          residual_caller(*step.residual, calls.residual.keeper),
          jacobian_caller(*step.jacobian, calls.residual.keeper),
          landing_caller(*step.landing, calls.residual.keeper),
          masses_caller(*step.masses, calls.residual.keeper),
          motion_caller(*step.motion, calls.residual.keeper),
          stage_solver(step.stages),
          saddle_solver(step.saddle) {
        w = memory.carve(size), start = memory.carve(size), change = memory.carve(size), trial = memory.carve(size);
        for (double*& row : past) row = memory.carve(size);
        inputs = memory.carve(static_cast<long long>(step.nodes.size()) * input_count);
        place = memory.carve(freedoms), momentum = memory.carve(freedoms), own_momentum = memory.carve(freedoms);
        off_place = memory.carve(constraints), right = memory.carve(freedoms + constraints);
        inverse_scale = memory.carve(freedoms);
        residual_call = connect_step(residual_caller, calls), jacobian_call = connect_step(jacobian_caller, calls);
        landing_call = connect_step(landing_caller, calls);
        masses_call = connect_row(masses_caller, calls), motion_call = connect_row(motion_caller, calls);
        settle = settle_row;
    }

private:
    Call connect_step(Caller& caller, const ImplicitCalls& calls) {
        Call& call = caller.call();
        call.arg[0] = &time, call.arg[1] = &length, call.arg[4] = inputs, call.arg[5] = calls.residual.arg[5];
        return call;
    }
    static Call connect_row(Caller& caller, const ImplicitCalls& calls) {
        Call& call = caller.call();
        call.arg[0] = calls.residual.arg[0], call.arg[2] = calls.residual.arg[4], call.arg[3] = calls.residual.arg[5];
        return call;
    }
};

// -- Newton's method -------------------------------------------------------------------------------------------

// A correction by its velocities: the largest in units of each velocity, and in units of the largest one.
struct CorrectionSize {
    double own = 0, common = 0;
};

inline CorrectionSize correction_size(const LobattoState& m, const double* change) noexcept {
    CorrectionSize found;
    const auto stages = static_cast<long long>(m.pair.nodes.size());
    double finite = 0;
    for (long long i = 0; i < stages; ++i)
        for (long long k = 0; k < m.freedoms; ++k) {
            const double part = std::fabs(change[i * m.freedoms + k]);
            found.own = std::fmax(found.own, part * m.inverse_scale[k]);
            found.common = std::fmax(found.common, part);
            finite += 0 * part;
        }
    found.common /= m.largest;
    if (finite != 0) found.own = found.common = std::numeric_limits<double>::infinity();
    return found;
}

inline long long worst_velocity(const LobattoState& m) noexcept {
    long long worst = 0;
    double largest = 0;
    const auto stages = static_cast<long long>(m.pair.nodes.size());
    for (long long i = 0; i < stages * m.freedoms; ++i) {
        const double part = std::fabs(m.change[i]) * m.inverse_scale[i % m.freedoms];
        if (part > largest) largest = part, worst = i % m.freedoms;
    }
    return worst;
}

// out = residual of the step at w; false where it is not finite.
inline bool step_residual(Integration& s, LobattoState& m, const double* w, double* out) noexcept {
    ++s.rhs_calls;
    m.residual_call.arg[3] = w, m.residual_call.res[0] = out;
    if (const int failed = evaluate(m.residual_call)) [[unlikely]]
        note_failure(s, failed, out, m.size);
    double finite = 0;
    for (long long i = 0; i < m.size; ++i) finite += 0 * out[i];
    return finite == 0;
}

inline bool factor_step(Integration& s, LobattoState& m, const double* w) noexcept {
    ++m.jacobians, ++m.factorisations;
    m.jacobian_call.arg[3] = w, m.jacobian_call.res[0] = m.stage_solver.values();
    m.factored = !fails(s, m.jacobian_call) && m.stage_solver.factor(nullptr, nullptr);
    return m.factored;
}

// With the factors at hand, new ones where they contract slowly; false where those do not contract.
inline bool solve_quickly(Integration& s, LobattoState& m) noexcept {
    copy(m.start, m.size, m.w);
    if (!m.factored && !factor_step(s, m, m.w)) return false;
    double before = 0;  // the last correction; 0: none with these factors
    bool renewed = false;
    for (int round = 1; round <= quick_rounds; ++round) {
        ++m.newton;
        if (!step_residual(s, m, m.w, m.change)) return false;
        m.stage_solver.solve(m.change);
        const CorrectionSize size = correction_size(m, m.change);
        const double ratio = before > 0 ? size.own / before : 0;
        const bool rounded = ratio > slow && size.common <= (renewed ? rounding_level : rounding_noise);
        if (rounded && ratio > 0.5) return true;
        before = size.own;
        if (ratio > slow && !rounded) {
            if (renewed || !factor_step(s, m, m.w)) return false;
            renewed = true, before = 0;
            continue;
        }
        for (long long i = 0; i < m.size; ++i) m.w[i] -= m.change[i];
        if (rounded || size.own <= rounding_unit || (ratio > 0 && ratio * size.own <= rounding_unit * (1 - ratio))) {
            m.factored = round <= cheap_rounds;
            return true;
        }
    }
    return false;
}

// The equations of the step, with a correction of w that is followed as far as it helps.
struct CarefulStep {
    Integration& s;
    LobattoState& m;

    void move_to(double part) noexcept {
        for (long long i = 0; i < m.size; ++i) m.trial[i] = m.w[i] - part * m.change[i];
    }
    double size_behind() noexcept {
        // The memory of the oldest step is free: nothing of the past is used once a step needs this much care.
        double* next = m.past[past_steps - 1];
        if (!step_residual(s, m, m.trial, next)) return std::numeric_limits<double>::infinity();
        m.stage_solver.solve(next);
        return correction_size(m, next).own;
    }
    bool is_small(double, double, double) const noexcept { return false; }
    bool is_stopped() const noexcept { return s.abort_called; }
};

// A new Jacobian for every correction.
inline bool solve_carefully(Integration& s, LobattoState& m) noexcept {
    copy(m.start, m.size, m.w);
    m.past_count = 0;
    CarefulStep step{s, m};
    double before = std::numeric_limits<double>::infinity();
    for (int round = 1; round <= careful_rounds; ++round) {
        ++m.newton;
        if (!factor_step(s, m, m.w) || !step_residual(s, m, m.w, m.change)) return false;
        m.stage_solver.solve(m.change);
        const CorrectionSize size = correction_size(m, m.change);
        if (!std::isfinite(size.own)) return false;
        if (size.common <= rounding_level && size.own > 0.5 * before) return true;
        if (size.own <= 1e-8) {
            for (long long i = 0; i < m.size; ++i) m.w[i] -= m.change[i];
            if (size.own <= rounding_unit) return true;
        } else {
            if (!follow_correction(step, size.own, 1, most_halvings).is_shorter) return false;
            copy(m.trial, m.size, m.w);
        }
        before = size.own;
    }
    return false;
}

// -- the saddle system at a row --------------------------------------------------------------------------------

// K, the momentum, -c' and -c at (t, y); false where K is singular.
inline bool factor_saddle(Integration& s, LobattoState& m, double t, const double* y) noexcept {
    ++m.factorisations;
    set_time(s, t);
    m.masses_call.arg[1] = y;
    m.masses_call.res[0] = m.saddle_solver.values(), m.masses_call.res[1] = m.own_momentum;
    m.masses_call.res[2] = m.right + m.freedoms, m.masses_call.res[3] = m.off_place;
    return !fails(s, m.masses_call) && m.saddle_solver.factor(nullptr, nullptr);
}

// Velocities of the row that meet the constraints with a given momentum, or nearest in the metric of the masses to
// those in the row; then accelerations and multipliers.
inline bool settle_velocities(Integration& s, LobattoState& m, double t, double* y, const double* momentum) noexcept {
    if (!factor_saddle(s, m, t, y)) return false;
    for (long long k = 0; k < m.freedoms; ++k) m.right[k] = momentum ? momentum[k] - m.own_momentum[k] : 0;
    m.saddle_solver.solve(m.right);
    for (long long k = 0; k < m.freedoms; ++k) y[m.pair.velocities[static_cast<std::size_t>(k)]] += m.right[k];
    m.motion_call.arg[1] = y, m.motion_call.res[0] = m.right;
    if (fails(s, m.motion_call)) return false;
    m.saddle_solver.solve(m.right);
    for (long long k = 0; k < m.freedoms; ++k) {
        const long long q = m.pair.positions[static_cast<std::size_t>(k)];
        const long long v = m.pair.velocities[static_cast<std::size_t>(k)];
        y[m.unknowns + q] = y[v], y[m.unknowns + v] = m.right[k];
    }
    for (long long k = 0; k < m.constraints; ++k)
        y[m.states + m.pair.multipliers[static_cast<std::size_t>(k)]] = m.right[m.freedoms + k];
    return true;
}

// Behind a jump: positions back onto the constraints along the inverse masses, then velocities by an impulse.
inline bool settle_row(Integration& s, double* y) noexcept {
    LobattoState& m = static_cast<LobattoState&>(implicit_of(s));
    m.restarted = true;
    copy(y, s.n, m.spare_row);
    double before = std::numeric_limits<double>::infinity();
    for (int round = 0; m.constraints > 0 && round < position_rounds; ++round) {
        if (!factor_saddle(s, m, s.t, m.spare_row)) return false;
        double off = 0;
        for (long long k = 0; k < m.constraints; ++k) off = std::fmax(off, std::fabs(m.off_place[k]));
        if (!std::isfinite(off)) return false;
        if (off == 0 || (off >= 0.5 * before && before < rounding_level)) break;
        before = off;
        for (long long k = 0; k < m.freedoms; ++k) m.right[k] = 0;
        copy(m.off_place, m.constraints, m.right + m.freedoms);
        m.saddle_solver.solve(m.right);
        for (long long k = 0; k < m.freedoms; ++k)
            m.spare_row[m.pair.positions[static_cast<std::size_t>(k)]] += m.right[k];
    }
    if (m.constraints > 0 && before > 1e-8 && std::isfinite(before)) return false;
    if (!settle_velocities(s, m, s.t, m.spare_row, nullptr)) return false;
    long long component = 0;
    if (first_not_finite(m.spare_row, s.n, component)) return false;
    copy(m.spare_row, s.n, y);
    return true;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
