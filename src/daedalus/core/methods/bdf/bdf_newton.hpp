// Newton's method for a step of BDF.
//
//   F(t_new, x'_pred + alpha (x - x_pred), x, z) = 0   with a kept factor of alpha dF/dx' + dF/d(x, z)
//
// A factor made for another alpha still serves while the ratio r = alpha / alpha_then is near one, with corrections
// times 2 / (1 + r) (Brenan, Campbell, Petzold, section 5.2.2).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/bdf/bdf_rounding.hpp"
#include "methods/bdf/bdf_state.hpp"
#include "methods/implicit/careful_newton.hpp"
#include "methods/implicit/column_newton.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct BdfNewton {
    // Corrects the prediction in x_new, with a new Jacobian where the factor is too old or does not lead to convergence.
    static NewtonOutcome solve(Integration& s, BdfState& m) noexcept {
        const double ratio = m.factored ? m.step.alpha / m.factored_alpha : 0;
        m.fresh = false;
        const bool usable = ratio >= nearest_ratio && ratio <= 1 / nearest_ratio;
        if (!usable || m.slow || m.old_steps >= oldest_jacobian) {
            if (!factor(s, m)) return NewtonOutcome::singular;
        } else {
            const double way = std::fabs(s.t_new - m.factored_time);
            if (std::fabs(m.step.alpha - m.last_alpha) > 1e-6 * std::fabs(m.last_alpha))
                m.contraction = unknown_contraction, m.measured_way = way;
            else if (m.model.higher_index)
                age(m, way);
        }
        m.last_alpha = m.step.alpha;
        NewtonOutcome outcome = iterate(s, m);
        if (outcome == NewtonOutcome::converged || s.abort_called) return outcome;
        if (!m.fresh) {
            predict(m.past, m, m.step, s.x_new);
            outcome = factor(s, m) ? iterate(s, m) : NewtonOutcome::singular;
        }
        if (outcome != NewtonOutcome::diverged || s.abort_called) return outcome;
        note_failure_of_newton(m);
        return takes_care(s, m, m.control.failures) ? solve_carefully(s, m) : outcome;
    }

    // With a new Jacobian for every correction.
    static NewtonOutcome solve_carefully(Integration& s, BdfState& m) noexcept {
        CarefulEnd end{s, m};
        double rate = 0;
        const NewtonOutcome outcome = solve_with_care(s, end, rate);
        if (outcome == NewtonOutcome::converged) note_change(s, m);
        return outcome;
    }

    // How far the end of the step is from the prediction.
    static void note_change(Integration& s, BdfState& m) noexcept {
        predict(m.past, m, m.step, m.spare_row);
        for (long long i = 0; i < m.unknowns; ++i) m.past.change[i] = s.x_new[i] - m.spare_row[i];
    }

private:
    static constexpr int most_iterations = 4;
    // theta / (1 - theta) before any is seen, with a factor for another alpha and with a new one; a rate above this does not
    // converge (DASSL: Brenan, Campbell, Petzold, section 5.2.2). A first correction this small needs no second one.
    static constexpr double unknown_contraction = 100, new_contraction = 20, slowest_rate = 0.9, at_once = 1e-4;
    static constexpr int suspicious = 2;              // failures in a row
    static constexpr double nearest_ratio = 2.0 / 3;  // of alpha to the one in the factor, or one over it

    // A contraction was measured where the Jacobian was younger, and grows in proportion to the time since then. What a
    // new Jacobian leaves says nothing about the steps that follow: there 1 is assumed, until it is measured. In models
    // of higher index what iterations leave is divided by h in the multipliers, and shows in all their differences.
    static void age(BdfState& m, double way) noexcept {
        m.contraction = m.measured_way > 0 ? m.contraction * way / m.measured_way : std::fmax(m.contraction, 1.0);
        m.measured_way = way;
    }

    // The end of the step as equations that are solved with care. It moves to one side of the prediction, x' with it.
    struct CarefulEnd {
        Integration& s;
        BdfState& m;
        double taken = 0;  // the part of the correction that x_new has

        void begin() noexcept { predict(m.past, m, m.step, s.x_new); }
        bool factor() noexcept { return BdfNewton::factor(s, m); }
        double correction() noexcept { return correct(m.correction); }
        void keep() noexcept { taken = 0; }
        void move_to(double part) noexcept {
            if (taken != 0) move_end(-taken, m.correction);
            if (part != 0) move_end(part, m.correction);
            taken = part;
        }
        double size_behind() noexcept { return correct(m.spare); }
        void add_next() noexcept { move_end(1, m.spare); }
        double tolerance() const noexcept { return m.tolerance; }
        bool is_small(double size, double next, double) const noexcept { return std::fmax(size, next) <= m.tolerance; }
        bool is_stopped() const noexcept { return s.abort_called; }
        // Weights have the rounding errors in them where those count.
        bool is_noise(double, double) const noexcept { return false; }
        bool explains(double) const noexcept { return false; }

    private:
        double correct(double* out) noexcept {
            ++m.newton;
            if (!residual_at(s, m, s.t_new, s.x_new + m.unknowns, s.x_new, out))
                return std::numeric_limits<double>::infinity();
            solve_step_matrix(s, m, m.solver, m.factored_alpha, out);
            return weighted_norm(m, out);
        }
        void move_end(double part, const double* correction) noexcept {
            for (long long i = 0; i < m.unknowns; ++i) s.x_new[i] -= part * correction[i];
            for (long long i = 0; i < m.states; ++i) s.x_new[m.unknowns + i] -= m.step.alpha * part * correction[i];
        }
    };

    static bool factor(Integration& s, BdfState& m) noexcept {
        m.fresh = true, m.slow = false;
        m.old_steps = 0;
        // Of linear equations one correction with their own factors leaves rounding errors.
        m.contraction = m.model.constant_slopes && !m.model.higher_index && !m.solver.one().iterates() ? 0 : new_contraction;
        m.factored = jacobian_at(s, m, s.t_new, s.x_new + m.unknowns, s.x_new);
        if (!m.factored) {
            note_failure(s, 0, m.solver.values(), m.model.matrix.nonzeros());
            return false;
        }
        scale_by_index(m, std::fabs(m.step.h));
        m.factored_alpha = m.step.alpha, m.factored_time = s.t_new, m.measured_way = 0;
        m.factored = factor_matrix(m, m.solver, m.step.alpha);
        if (!m.factored) ++m.singular;
        if (m.factored && (m.rounded || m.control.failures >= suspicious)) look_at_rounding(s, m);
        return m.factored;
    }

    // Steps that fail twice may ask for more digits than the equations have.
    static void look_at_rounding(Integration& s, BdfState& m) noexcept {
        m.rounded = false;
        if (!measure_rounding(s, m, m.factored_alpha, s.x_new, m.rounding)) return;
        weigh(s, m);
        double largest = 0;
        for (long long i = 0; i < m.unknowns; ++i) largest = std::fmax(largest, m.rounding[i] * m.weights[i]);
        m.rounded = largest > 0.01;
        if (m.rounded) weigh(s, m);
    }

    // A row (w, x') and the change so far move by a factor times the correction; gives the weighted sum of its squares.
    template <bool is_first>
    static double correct(BdfState& m, double scale, double alpha, double* row) noexcept {
        const long long n = m.unknowns, nx = m.states;
        double *rate_of = row + n, *change = m.past.change, sum = 0;
        const double *correction = m.correction, *weights = m.weights;
        DAEDALUS_SIMD_SUM(sum)
        for (long long i = 0; i < nx; ++i) {
            const double step = correction[i] * scale;
            change[i] = is_first ? step : change[i] + step;
            row[i] += step;
            rate_of[i] += alpha * step;
            const double part = step * weights[i];
            sum += part * part;
        }
        DAEDALUS_SIMD_SUM(sum)
        for (long long i = nx; i < n; ++i) {
            const double step = correction[i] * scale;
            change[i] = is_first ? step : change[i] + step;
            row[i] += step;
            const double part = step * weights[i];
            sum += part * part;
        }
        return sum;
    }

    // x_new holds the prediction at first, and the solution at the end.
    static NewtonOutcome iterate(Integration& s, BdfState& m) noexcept {
        const double alpha = m.step.alpha, scale = -2 / (1 + alpha / m.factored_alpha);
        double *w = s.x_new, *rate_of = s.x_new + m.unknowns, *correction = m.correction;
        double first = 0;
        for (int round = 0; round < most_iterations; ++round) {
            ++m.newton;
            if (!residual_at(s, m, s.t_new, rate_of, w, correction)) return NewtonOutcome::not_finite;
            solve_step_matrix(s, m, m.solver, m.factored_alpha, correction);
            const double sum = round == 0 ? correct<true>(m, scale, alpha, w) : correct<false>(m, scale, alpha, w);
            const double size = std::sqrt(sum / static_cast<double>(std::max(m.model.counted(), 1LL)));
            if (!std::isfinite(size)) return NewtonOutcome::not_finite;
            if (round == 0) {
                first = size;
                if (size <= at_once * m.tolerance) return NewtonOutcome::converged;
            } else {
                const double rate = round == 1 ? size / first : std::pow(size / first, 1.0 / round);
                if (rate > slowest_rate)
                    return m.rounded && size <= m.tolerance ? NewtonOutcome::converged : NewtonOutcome::diverged;
                m.contraction = rate / (1 - rate);
            }
            // A Jacobian that needs them all at higher index has served long enough.
            m.slow = m.model.higher_index && round == most_iterations - 1 && !m.fresh;
            if (m.contraction * size <= m.tolerance) return NewtonOutcome::converged;
        }
        return NewtonOutcome::diverged;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
