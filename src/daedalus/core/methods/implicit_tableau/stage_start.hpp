// From where Newton starts on the stages of a step, and by which road it gets to the solution that continues the run.
//
// Equations such as z^2 = x have several solutions, and a correction that had to be damped may have led to another
// one. So the polynomial of the step before is prolonged; where it leads astray, the stages start from the values at
// the beginning of the step; where those are too far away too, at fixed step, the solution is followed from short
// steps to the whole one.
#pragma once

#include "methods/implicit_tableau/stage_newton.hpp"
#include "state/dense_output.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct StepState : StageState {
    // The last polynomial.
    bool polynomial_known = false;
    double polynomial_time = 0, polynomial_step = 0;
    double* reached;           // (stages, unknowns): the stages of a shorter step
    double reach = 1;          // the stages' differences to the beginning grow by this from there
    double rtol = 0, atol_factor = 1;

    StepState(const ImplicitModel& m, const ImplicitCalls& calls, const ImplicitTableau& t)
        : StageState(m, calls, t), reached(memory.carve(t.stages * m.unknowns)) {
        const double ends[] = {0, 1};
        between = between_nodes(ends, 2, t.degree());
    }
};

enum class Start { prolonged, plain, reached };

// At fixed step a state passes zero without leaving the scale of what it moves by.
inline void weigh_stages(const Integration& s, StepState& m, double h) noexcept {
    set_weights(s, m, s.x, m.rtol, m.atol_factor, std::fabs(h));
    if (s.fixed_step <= 0 || m.model.higher_index) return;
    for (long long i = 0; i < m.unknowns; ++i) {
        const double moved = i < m.states ? std::fabs(h * s.x[m.unknowns + i]) : 0;
        const double scale = m.atol_factor * s.atol[i] + m.rtol * std::fmax(std::fabs(s.x[i]), moved);
        m.weights[i] = 1 / std::fmax(scale, 1e-150);
    }
}

inline void start_values(Integration& s, StepState& m, const Stages& part, Start start) noexcept {
    const long long n = m.unknowns, nx = m.states;
    for (int i = part.first; i < part.first + part.count; ++i) {
        double* row = m.rows + i * n;
        copy(s.x + n, nx, row);
        copy(s.x + nx, n - nx, row + nx);
        if (start == Start::reached)
            for (long long k = 0; k < n; ++k) row[k] += m.reach * (m.reached[i * n + k] - row[k]);
        if (start != Start::prolonged) continue;
        const double theta = (stage_time(s, m, i) - m.polynomial_time) / m.polynomial_step;
        evaluate_polynomial(s.coefficients, m.tableau.degree(), s.lanes, theta, s.stage);
        copy(s.stage + n, nx, row);
        copy(s.stage + nx, n - nx, row + nx);
    }
}

// A first stage at the beginning of the step: x' and z are there, and are solved for only behind a jump and where the
// step before was moved onto the invariants. Where the equations do not give them (a higher index) they are taken as
// they are.
inline NewtonOutcome first_slope(Integration& s, StepState& m, const Stages& part) noexcept {
    start_values(s, m, part, Start::plain);
    const bool stale = s.t == m.restart_time || s.has_projection;
    if (!stale || m.model.higher_index) return NewtonOutcome::converged;
    const NewtonOutcome outcome = solve_part(s, m, part);
    m.strained = false;
    if (outcome != NewtonOutcome::singular || s.abort_called) return outcome;
    start_values(s, m, part, Start::plain);
    return NewtonOutcome::converged;
}

// All stages of the step to t_new, group by group.
inline NewtonOutcome solve_stages(Integration& s, StepState& m, Start start) noexcept {
    const ImplicitTableau& tableau = m.tableau;
    const long long n = m.unknowns, nx = m.states;
    m.step = s.t_new - s.t;
    m.strained = false;
    weigh_stages(s, m, m.step);
    NewtonOutcome outcome = NewtonOutcome::converged;
    for (std::size_t g = 0; g < tableau.groups.size() && outcome == NewtonOutcome::converged; ++g) {
        const StageGroup& group = tableau.groups[g];
        const Stages part{group.first, group.count, group.known, &m.matrices[g]};
        for (int i = 0; i < group.count; ++i) {
            double* base = m.base + i * nx;
            copy(s.x, nx, base);
            for (int j = 0; j < group.first; ++j) {
                const double factor = m.step * tableau.entry(group.first + i, j);
                if (factor == 0) continue;
                for (long long k = 0; k < nx; ++k) base[k] += factor * m.rows[j * n + k];
            }
        }
        if (g == 0 && tableau.begins_with_known_slope) {
            outcome = first_slope(s, m, part);
            continue;
        }
        start_values(s, m, part, start);
        outcome = solve_part(s, m, part);
    }
    return outcome;
}

// From the longest part of the step that plain start values lead to without damping, on to the whole step: the stages
// of a longer step are about as much further from the beginning as it is longer.
inline bool follow(Integration& s, StepState& m) noexcept {
    constexpr int most_attempts = 40;
    const double end = s.t_new, whole = end - s.t, shortest = 1.0 / 256;
    const long long size = m.tableau.stages * m.unknowns;
    double part = 0, next = 0.5, growth = 2;
    for (int attempt = 0; attempt < most_attempts && part < 1 && !s.abort_called; ++attempt) {
        s.t_new = next == 1 ? end : s.t + next * whole;
        m.reach = part > 0 ? next / part : 1;
        const NewtonOutcome outcome = solve_stages(s, m, part > 0 ? Start::reached : Start::plain);
        if (outcome == NewtonOutcome::converged && !m.strained) {
            copy(m.rows, size, m.reached);
            part = next;
        } else if (part == 0) {
            next *= 0.5;
            if (next < shortest) break;
            continue;
        } else {
            growth = 1 + 0.5 * (growth - 1);
            if (growth < 1.05) break;
        }
        next = std::fmin(1.0, part * growth);
    }
    s.t_new = end;
    m.step = whole;
    return part == 1;
}

inline NewtonOutcome solve_step(Integration& s, StepState& m) noexcept {
    if (m.restarted) m.polynomial_known = m.restarted = false, m.restart_time = s.t;
    const bool prolongs = m.polynomial_known;
    NewtonOutcome outcome = NewtonOutcome::diverged;
    for (const Start start : {Start::prolonged, Start::plain}) {
        if (start == Start::prolonged && !prolongs) continue;
        outcome = solve_stages(s, m, start);
        if ((outcome == NewtonOutcome::converged && !m.strained) || s.abort_called) return outcome;
    }
    if (s.fixed_step <= 0) return outcome;
    if (follow(s, m)) return NewtonOutcome::converged;
    if (s.abort_called) return NewtonOutcome::diverged;
    // No undamped road: what damping finds.
    for (const Start start : {Start::prolonged, Start::plain}) {
        if (start == Start::prolonged && !prolongs) continue;
        outcome = solve_stages(s, m, start);
        if (outcome == NewtonOutcome::converged || s.abort_called) break;
    }
    return outcome;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
