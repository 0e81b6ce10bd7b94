// BDF of orders 1 to 5 with variable order, variable step and fixed leading coefficient, for 0 = F(t, x', x, z).
//
//   F(t_new, x'_pred + alpha (x - x_pred), x, z) = 0   by Newton with a kept factor of alpha dF/dx' + dF/d(x, z)
//
// A factor made for another alpha still serves while the ratio r = alpha / alpha_then is near one, with corrections
// times 2 / (1 + r) (Brenan, Campbell, Petzold, section 5.2.2). A restart begins at order 1.
#pragma once

#include <algorithm>
#include <cmath>

#include "bdf_control.hpp"
#include "bdf_history.hpp"
#include "blame.hpp"
#include "column_newton.hpp"
#include "dense_output.hpp"
#include "implicit.hpp"
#include "modes.hpp"
#include "step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct BdfState : ImplicitState {
    BdfHistory past;
    BdfCoefficients step;   // of the attempt, or of the step that is not yet taken into the past
    BdfControl control;
    const bool algebraic_counts;
    double* correction;     // of Newton's method
    double* later;          // a row (x, z, x'), the end of a step
    double* error_weights;  // as the weights, zero for what is out of the error test
    double share = 0;       // one over the number of components in the error test
    bool pending = false;   // the last step is complete, but not yet in the past
    bool factored = false, fresh = false;  // fresh: the Jacobian belongs to this attempt
    double factored_alpha = 0, last_alpha = 0;
    double contraction = 1;  // rate / (1 - rate) of Newton's method
    double tolerance = 0;
    double whole_step = 0;   // length of the step that the dense output describes

    BdfState(const ImplicitModel& m, const ImplicitCalls& calls, const BdfSettings& settings)
        : ImplicitState(m, calls, (bdf_orders + 5) * padded(m.unknowns) + padded(m.unknowns + m.states)),
          algebraic_counts(settings.algebraic_in_error_test) {
        for (double*& row : past.phi) row = memory.carve(m.unknowns);
        past.change = memory.carve(m.unknowns), past.differential = memory.carve(m.unknowns);
        mark_differential(past, m);
        correction = memory.carve(m.unknowns), error_weights = memory.carve(m.unknowns);
        later = memory.carve(m.unknowns + m.states);
        control.max_order = std::clamp(settings.max_order, 1, bdf_orders);
    }
};

struct Bdf {
    static constexpr bool is_explicit = false;
    static constexpr bool dense_on_demand = true;
    static BdfState& of(Integration& s) { return static_cast<BdfState&>(implicit_of(s)); }
    static int degree(Integration&) { return bdf_orders; }

    static void prepare(Integration& s) noexcept {
        BdfState& m = of(s);
        // Newton's error must not disturb the estimates; multipliers magnify it by 1 / h.
        m.tolerance = m.model.higher_index ? 0.003 : 0.33;
        m.control.deaf_below = m.model.higher_index ? 0.3 : 0;
    }

    // Between a change of half a tolerance and a change of a hundredth of the state.
    static double first_step(Integration& s) noexcept {
        BdfState& m = of(s);
        set_weights(s, m, s.x, s.rtol, 1, 1);
        double slope = 0, size = 0;
        for (long long i = 0; i < m.states; ++i) {
            const double weight = m.weights[i] * m.past.differential[i];
            slope = std::fmax(slope, std::fabs(s.x[m.unknowns + i] * weight));
            size = std::fmax(size, std::fabs(s.x[i] * weight));
        }
        const double longest = std::fmin(std::fabs(interval_end(s) - s.t), s.max_step);
        if (!(slope > 0)) return 1e-3 * longest;
        const double wish = std::sqrt(0.5 / slope * (0.01 * std::fmax(size, 1.0) / slope));
        return std::fmax(std::fmin(wish, 1e-3 * longest), 1e-14 * longest);
    }

    // One attempt from t to t_new; going: look at s.accepted. On rejection s.h is the next length to try.
    static Status attempt(Integration& s) noexcept {
        BdfState& m = of(s);
        s.accepted = false;
        if (m.restarted && restart_is_shorter(s, m)) return Status::going;
        plan(s, m);
        const Newton outcome = solve(s, m);
        if (s.abort_called) return Status::aborted;
        if (outcome != Newton::converged) return shorter(s, m, outcome);
        const BdfErrors errors = estimate_errors(m.past, m.step, m.error_weights, m.share, m.unknowns);
        if (!(errors.test <= 1)) return reject(s, m, errors);
        const bool even = m.past.order == m.step.order && same_step(m.step.h, m.past.step, s.t_new);
        m.past.even_steps = even ? std::min(m.past.even_steps + 1, bdf_orders + 2) : 1;
        s.h = m.step.h * choose_next(m.control, m.past, m.step, errors, m.error_weights, m.share, m.unknowns);
        if (m.model.higher_index) avoid_short_end(s);
        m.pending = s.accepted = true;
        note_step(m);
        count_old_step(m);
        return Status::going;
    }

    // The step of the present order to a nearer end, where an event cuts it; the polynomial of the whole step where
    // Newton's method fails. A restart follows.
    static void take(Integration& s) noexcept {
        BdfState& m = of(s);
        const double h = s.t_new - s.t;
        m.step = coefficients_of_step(m.past.psi, m.step.order, h);
        if (m.past.order == 0) begin_from(m, h);
        s.taken = true;
        if (solve(s, m) == Newton::converged) return;
        ++m.newton_failures;
        evaluate_polynomial(s.coefficients, bdf_orders, s.lanes, h / m.whole_step, s.x_new);
        note_change(s, m);
    }

    static void dense(Integration& s) noexcept {
        BdfState& m = of(s);
        interpolate(m.past, m, m.step, s.coefficients, s.lanes);
        m.whole_step = m.step.h;
    }

private:
    enum class Newton { converged, diverged, not_finite, singular };
    static constexpr int most_iterations = 4;
    static constexpr double nearest_ratio = 2.0 / 3;  // of alpha to the one in the factor, or one over it

    // A last step much shorter than those before would magnify in the multipliers what is left of the constraints: the
    // way to the stop is divided evenly instead.
    static void avoid_short_end(Integration& s) noexcept {
        const double left = std::fabs(interval_end(s) - s.t_new), length = std::fabs(s.h);
        if (left > length && left < 2 * length) s.h = 0.5 * (interval_end(s) - s.t_new);
    }

    // At order 1 steps are short: what was planned before the restart may be far too long.
    static bool restart_is_shorter(Integration& s, BdfState& m) noexcept {
        m.restarted = m.pending = m.factored = false;
        m.control.order = 1, m.control.rising = true, m.control.failures = 0;
        m.past.order = 0;
        if (m.stale_time == s.t) renew_slopes(s, m);
        begin_history(m.past, m, s.x, s.t_new - s.t);
        if (s.steps == 0) return false;
        const double wish = first_step(s);
        if (std::fabs(s.t_new - s.t) <= wish) return false;
        s.h = s.direction * wish;
        return true;
    }

    // Behind a jump in a model of higher index x' and z are those of before, and a slope that is not true lets no first
    // step pass. Steps of order 1 need none: two of them, one twice as long as the other, tell x' and z at the beginning.
    static void renew_slopes(Integration& s, BdfState& m) noexcept {
        const double end = s.t_new, way = interval_end(s) - s.t;
        const long long n = m.unknowns, size = m.unknowns + m.states;
        for (double part = 1e-6; part >= 1e-12 && std::fabs(part * way) > 1e3 * spacing(s.t); part *= 1e-2) {
            bool solved = euler_step(s, m, 2 * part * way);
            copy(s.x_new, size, m.later);
            solved = solved && euler_step(s, m, part * way);
            if (s.abort_called) break;
            if (!solved) continue;
            for (long long i = 0; i < size; ++i) {
                if (i < n && m.past.differential[i] != 0) continue;
                s.x[i] = 2 * s.x_new[i] - m.later[i];
            }
            m.stale_time = std::numeric_limits<double>::quiet_NaN();
            keep_later_values(s);
            break;
        }
        s.t_new = end;
        m.factored = false;
    }

    static bool euler_step(Integration& s, BdfState& m, double length) noexcept {
        s.t_new = s.t + length;
        const double h = s.t_new - s.t;
        begin_history(m.past, m, s.x, h);
        m.step = coefficients_of_step(m.past.psi, 1, h);
        set_weights(s, m, s.x, s.rtol, 1, std::fabs(h));
        return solve(s, m) == Newton::converged || (!s.abort_called && solve_carefully(s, m) == Newton::converged);
    }

    // The first difference at a restart is the slope times the length of the step.
    static void begin_from(BdfState& m, double h) noexcept {
        const double factor = h / m.past.psi[0];
        if (factor == 1) return;
        for (long long i = 0; i < m.unknowns; ++i) m.past.phi[1][i] *= factor;
        m.past.psi[0] = h;
        m.step = coefficients_of_step(m.past.psi, 1, h);
    }

    // Takes the last step into the past, and makes coefficients and weights for the next.
    static void plan(Integration& s, BdfState& m) noexcept {
        const double h = s.t_new - s.t;
        if (m.pending) advance_history(m.past, m, m.step, s.x, m.control.max_order);
        m.pending = false;
        m.step = coefficients_of_step(m.past.psi, m.control.order, h);
        if (m.past.order == 0) begin_from(m, h);
        set_weights(s, m, s.x, s.rtol, 1, std::fabs(h));
        // Without a slope at the restart a difference is a change, not an error.
        const bool all_count = m.algebraic_counts && m.past.order > 0;
        // What is zero by structure has no error to share.
        double count = static_cast<double>(m.model.counted() - m.unknowns);
        for (long long i = 0; i < m.unknowns; ++i) {
            const double counts = all_count ? 1 : m.past.differential[i];
            m.error_weights[i] = counts * m.weights[i];
            count += counts;
        }
        m.share = 1 / std::fmax(count, 1);
    }

    // Predicts and corrects, with a new Jacobian where the factor is too old or does not lead to convergence.
    static Newton solve(Integration& s, BdfState& m) noexcept {
        predict(m.past, m, m.step, s.x_new);
        const double ratio = m.factored ? m.step.alpha / m.factored_alpha : 0;
        m.fresh = false;
        if (!(ratio >= nearest_ratio && ratio <= 1 / nearest_ratio) || m.old_steps >= oldest_jacobian) {
            if (!factor(s, m)) return Newton::singular;
        } else if (std::fabs(m.step.alpha - m.last_alpha) > 1e-6 * std::fabs(m.last_alpha)) {
            m.contraction = 100;
        }
        m.last_alpha = m.step.alpha;
        Newton outcome = iterate(s, m);
        if (outcome == Newton::converged || s.abort_called) return outcome;
        if (!m.fresh) {
            predict(m.past, m, m.step, s.x_new);
            outcome = factor(s, m) ? iterate(s, m) : Newton::singular;
        }
        if (outcome != Newton::diverged || s.abort_called) return outcome;
        note_failure_of_newton(m);
        if (m.control.failures < many_failures && m.strain < strained) return outcome;
        return solve_carefully(s, m);
    }

    // With a new Jacobian for every correction, and corrections that are halved until the next one would be shorter (P.
    // Deuflhard, Newton Methods for Nonlinear Problems, 2004, section 3.3): over a kink the Jacobian of the prediction
    // belongs to the other side, however short the step.
    static Newton solve_carefully(Integration& s, BdfState& m) noexcept {
        if (solve_by_whole(s, m)) return Newton::converged;
        const long long n = m.unknowns;
        double* next_correction = m.spare;
        predict(m.past, m, m.step, s.x_new);
        for (int round = 0; round < most_careful; ++round) {
            if (!factor(s, m)) return Newton::singular;
            ++m.newton;
            if (!residual_at(s, m, s.t_new, s.x_new + n, s.x_new, m.correction)) return Newton::not_finite;
            solve_step_matrix(s, m, m.solver, m.factored_alpha, m.correction);
            const double size = weighted_norm(m, m.correction);
            if (!std::isfinite(size)) return Newton::not_finite;
            double part = 1, next = 0;
            for (;; part *= 0.5) {
                if (part < least_part || s.abort_called) return Newton::diverged;
                move_end(s, m, part, m.correction);
                ++m.newton;
                const bool finite = residual_at(s, m, s.t_new, s.x_new + n, s.x_new, next_correction);
                if (finite) solve_step_matrix(s, m, m.solver, m.factored_alpha, next_correction);
                next = finite ? weighted_norm(m, next_correction) : std::numeric_limits<double>::infinity();
                if (next <= (1 - 0.25 * part) * size || std::fmax(size, next) <= m.tolerance) break;
                move_end(s, m, -part, m.correction);
            }
            if (part < 1 || !(next < 0.5 * size || next <= m.tolerance)) continue;
            move_end(s, m, 1, next_correction);
            if (next * next > m.tolerance * size) continue;
            note_change(s, m);
            return Newton::converged;
        }
        return Newton::diverged;
    }

    // The same with whole corrections.
    static bool solve_by_whole(Integration& s, BdfState& m) noexcept {
        predict(m.past, m, m.step, s.x_new);
        for (int round = 0; round < most_whole && !s.abort_called; ++round) {
            ++m.newton;
            if (!factor(s, m) || !residual_at(s, m, s.t_new, s.x_new + m.unknowns, s.x_new, m.correction)) return false;
            solve_step_matrix(s, m, m.solver, m.factored_alpha, m.correction);
            const double size = weighted_norm(m, m.correction);
            if (!std::isfinite(size)) return false;
            move_end(s, m, 1, m.correction);
            if (size > m.tolerance) continue;
            note_change(s, m);
            return true;
        }
        return false;
    }

    // How far the end of the step is from the prediction.
    static void note_change(Integration& s, BdfState& m) noexcept {
        predict(m.past, m, m.step, m.spare_row);
        for (long long i = 0; i < m.unknowns; ++i) m.past.change[i] = s.x_new[i] - m.spare_row[i];
    }

    // Takes a part of a correction off the end of the step and its derivative.
    static void move_end(Integration& s, const BdfState& m, double part, const double* correction) noexcept {
        for (long long i = 0; i < m.unknowns; ++i) s.x_new[i] -= part * correction[i];
        for (long long i = 0; i < m.states; ++i) s.x_new[m.unknowns + i] -= m.step.alpha * part * correction[i];
    }

    static bool factor(Integration& s, BdfState& m) noexcept {
        m.fresh = true;
        m.old_steps = 0;
        m.contraction = 20;
        m.factored = jacobian_at(s, m, s.t_new, s.x_new + m.unknowns, s.x_new);
        if (!m.factored) {
            note_failure(s, 0, m.solver.values(), m.model.matrix.nonzeros());
            return false;
        }
        scale_by_index(m, std::fabs(m.step.h));
        m.factored_alpha = m.step.alpha;
        m.factored = factor_matrix(m, m.solver, m.step.alpha);
        if (!m.factored) ++m.singular;
        return m.factored;
    }

    // x_new holds the prediction at first, and the solution at the end.
    static Newton iterate(Integration& s, BdfState& m) noexcept {
        const long long n = m.unknowns, nx = m.states;
        const double alpha = m.step.alpha, scale = -2 / (1 + alpha / m.factored_alpha);
        double *w = s.x_new, *rate_of = s.x_new + n, *change = m.past.change, *correction = m.correction;
        for (long long i = 0; i < n; ++i) change[i] = 0;
        double first = 0;
        for (int round = 0; round < most_iterations; ++round) {
            ++m.newton;
            if (!residual_at(s, m, s.t_new, rate_of, w, correction)) return Newton::not_finite;
            solve_step_matrix(s, m, m.solver, m.factored_alpha, correction);
            double sum = 0;
            DAEDALUS_SIMD_SUM(sum)
            for (long long i = 0; i < n; ++i) {
                correction[i] *= scale;
                change[i] += correction[i];
                w[i] += correction[i];
                const double part = correction[i] * m.weights[i];
                sum += part * part;
            }
            DAEDALUS_SIMD
            for (long long i = 0; i < nx; ++i) rate_of[i] += alpha * correction[i];
            const double size = std::sqrt(sum / static_cast<double>(std::max(m.model.counted(), 1LL)));
            if (!std::isfinite(size)) return Newton::not_finite;
            if (round == 0) {
                first = size;
                if (size <= 1e-4 * m.tolerance) return Newton::converged;
            } else {
                const double rate = std::pow(size / first, 1.0 / round);
                if (rate > 0.9) return Newton::diverged;
                m.contraction = rate / (1 - rate);
            }
            if (m.contraction * size <= m.tolerance) return Newton::converged;
        }
        return Newton::diverged;
    }

    static Status reject(Integration& s, BdfState& m, const BdfErrors& errors) noexcept {
        ++s.rejected;
        const bool finite = std::isfinite(errors.test);
        const double cut = choose_after_rejection(m.control, errors, m.past.order == 0);
        s.h = m.step.h * (finite ? cut : cut_if_not_finite);
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        copy(m.error_weights, m.unknowns, m.weights);
        s.culprit = {worst_component(m, m.past.change), Culprit::What::nothing};
        return Status::step_too_small;
    }

    static Status shorter(Integration& s, BdfState& m, Newton outcome) noexcept {
        ++s.rejected;
        if (outcome == Newton::diverged) ++m.newton_failures;
        m.control.rising = false;
        if (++m.control.failures > 3) m.control.order = 1;
        s.h = cut_if_not_finite * m.step.h;
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        return blame(s, m, outcome);
    }

    // Why no step was short enough, and which unknown to look at.
    DAEDALUS_COLD static Status blame(Integration& s, BdfState& m, Newton outcome) noexcept {
        s.culprit = {worst_component(m, m.correction), Culprit::What::nothing};
        if (outcome == Newton::diverged) return Status::newton_failed;
        if (outcome == Newton::singular) {
            bool finite = true;
            s.culprit.component = unknown_of_singular(m, finite);
            if (finite) return Status::singular;
            s.culprit.what = Culprit::What::derivative;
            return Status::not_finite;
        }
        long long row = 0;
        s.culprit.what = Culprit::What::state;
        if (!first_not_finite(s.x_new, m.unknowns, s.culprit.component)) {
            s.culprit.what = Culprit::What::derivative;
            if (first_not_finite(m.correction, m.unknowns, row)) s.culprit.component = unknown_of_equation(m, row);
        }
        return Status::not_finite;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
