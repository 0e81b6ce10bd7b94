// BDF of orders 1 to 5 with variable order, variable step and fixed leading coefficient, for 0 = F(t, x', x, z).
//
// Coefficients of a step are in bdf_history.hpp, Newton's method in bdf_newton.hpp, what a step leaves behind in
// bdf_estimates.hpp, and the choice of order and step in bdf_control.hpp. A restart begins at order 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/bdf/bdf_control.hpp"
#include "methods/bdf/bdf_estimates.hpp"
#include "methods/bdf/bdf_history.hpp"
#include "methods/bdf/bdf_last_step.hpp"
#include "methods/bdf/bdf_newton.hpp"
#include "methods/bdf/bdf_state.hpp"
#include "methods/implicit/blame.hpp"
#include "methods/implicit/implicit_method.hpp"
#include "methods/implicit/junction_step.hpp"
#include "methods/step_control.hpp"
#include "state/dense_output.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct Bdf {
    static constexpr bool is_explicit = false;
    static constexpr bool dense_on_demand = true;
    static BdfState& of(Integration& s) { return static_cast<BdfState&>(implicit_of(s)); }
    static int degree(Integration&) { return bdf_orders; }
    static int order_of_step(Integration& s) { return of(s).step.order; }
    static int degree_of_step(Integration& s) { return of(s).step.order; }
    static long long derived_columns(Integration& s) { return of(s).states; }

    static void prepare(Integration& s) noexcept {
        BdfState& m = of(s);
        // Newton's error must not disturb the estimates; multipliers magnify it by 1 / h.
        m.tolerance = m.model.higher_index ? 0.003 : 0.33;
    }

    // At order 1 steps are short.
    static double first_step(Integration& s) noexcept {
        BdfState& m = of(s);
        set_weights(s, m, s.x, s.rtol, 1, 1);
        return first_step_length(s, m, halfway, part_of_way, m.past.differential);
    }

    // One attempt from t to t_new; going: look at s.accepted. On rejection s.h is the next length to try.
    static Status attempt(Integration& s) noexcept {
        BdfState& m = of(s);
        s.accepted = false;
        if (m.restarted && restart_is_shorter(s, m)) return Status::going;
        plan(s, m);
        const NewtonOutcome outcome = BdfNewton::solve(s, m);
        if (s.abort_called) return Status::aborted;
        if (outcome != NewtonOutcome::converged)
            return crosses_junction(s, m) ? Status::going : shorter(s, m, outcome);
        const bool even = m.past.order == m.step.order && same_step(m.step.h, m.past.step, s.t_new);
        const int even_steps = even ? m.past.even_steps + 1 : 1;
        const BdfErrors errors = estimate(s, m, even_steps);
        if (!(errors.test <= 1)) return crosses_junction(s, m) ? Status::going : reject(s, m, errors);
        if (m.rounded && s.t_new == interval_end(s) && asks_too_much(s, m)) return Status::rounding;
        if (ends_run(s, m) && refuses_end(s, m, response_of(m))) return divide_end(s, m);
        m.past.even_steps = even_steps;
        s.h = m.step.h * choose_next(m.control, m.past, m.step, errors, size_above(s, m, errors));
        limit_order(s, m, s.t_new, errors.turned);
        if (m.model.higher_index) avoid_short_end(s);
        m.pending = s.accepted = true;
        note_step(m, m.step.h);
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
        predict(m.past, m, m.step, s.x_new);
        if (BdfNewton::solve(s, m) == NewtonOutcome::converged) return;
        ++m.newton_failures;
        evaluate_polynomial(s.coefficients, bdf_orders, s.lanes, h / m.whole_step, s.x_new);
        BdfNewton::note_change(s, m);
    }

    static void dense(Integration& s) noexcept {
        BdfState& m = of(s);
        interpolate(m.past, m, m.step, s.coefficients, s.lanes);
        m.whole_step = m.step.h;
    }
    // Whether a step that was taken can be written as a piece at once: (order + 1, unknowns).
    static bool writes_pieces(Integration& s) noexcept { return s.n == of(s).unknowns + of(s).states; }
    static void write_piece(Integration& s, double* out) noexcept {
        const BdfState& m = of(s);
        interpolate_unknowns(m.past, m, m.step, out);
    }

private:
    static constexpr double most_rounding = 1e5;  // that a tolerance is widened by, of sixteen last digits

    static BdfResponse response_of(const BdfState& m) noexcept {
        return {m.factored_alpha, m.step.alpha, m.step.alpha * m.step.h};
    }

    static BdfErrors estimate(Integration& s, BdfState& m, int even_steps) noexcept {
        const BdfNorm norm{m.error_weights, m.share, m.unknowns};
        BdfSizes sizes = sizes_of_differences(m.past, m.step, norm);
        if (!m.responds) return judge(m.step, sizes);
        const BdfResponse response = response_of(m);
        const bool low = judge(m.step, sizes).order_lowered;
        const int k = m.step.order;
        double *difference = m.spare, *error = m.spare + m.unknowns;
        sizes.present = response(s, m, norm, m.past.change, sizes.present, error);
        // Neighbours cost a solve each: looked at behind k steps of one length, every k + 1 steps from there on, and
        // where the differences alone ask for a lower order.
        const bool turn = even_steps >= k && (even_steps - k) % (k + 1) == 0;
        const bool look = m.control.rising || turn || low || !(m.step.error * sizes.present <= 1);
        if (!look) sizes.lower = sizes.lowest = std::numeric_limits<double>::infinity();
        if (!look || k == 1) return judge(m.step, sizes);
        copy(m.past.change, m.unknowns, difference);
        add_scaled(m.step.beta[k], m.past.phi[k], m.unknowns, difference);
        sizes.lower = response(s, m, norm, difference, sizes.lower, error);
        if (k == 2) return judge(m.step, sizes);
        add_scaled(m.step.beta[k - 1], m.past.phi[k - 1], m.unknowns, difference);
        sizes.lowest = response(s, m, norm, difference, sizes.lowest, error);
        return judge(m.step, sizes);
    }

    // The size of the difference that belongs to the order above; infinite where the order will not rise.
    static double size_above(Integration& s, BdfState& m, const BdfErrors& errors) noexcept {
        const bool looked = std::isfinite(errors.lower);
        if (!looked || errors.order_lowered || m.control.rising || !may_rise(m.control, m.past, m.step))
            return std::numeric_limits<double>::infinity();
        const BdfNorm norm{m.error_weights, m.share, m.unknowns};
        next_difference(m.past, m.step, m.spare, m.unknowns);
        const double size = norm(m.spare);
        if (!m.responds) return size;
        return response_of(m)(s, m, norm, m.spare, size, m.spare + m.unknowns);
    }

    // Near the limit of stability orders above 2 are taken away, or given back.
    static void limit_order(Integration& s, BdfState& m, double t, double turned) noexcept {
        if (!m.stability.count(m.step.order, m.step.h, t, turned)) return;
        m.control.max_order = m.stability.largest(m.largest_order);
        // The difference for the order above was not kept.
        m.past.even_steps = 0;
        if (m.control.order <= m.control.max_order) return;
        m.control.order = m.control.max_order, m.control.rising = false;
        s.h = 0.5 * m.step.h;
    }

    // Tolerances that rounding errors exceed so much are let pass on the way, where a variable comes from zero. At the
    // end the answer is not the one that was asked for.
    static bool asks_too_much(Integration& s, const BdfState& m) noexcept {
        s.culprit = {worst_component(m, m.rounding), Culprit::What::nothing};
        const long long worst = s.culprit.component;
        // The weights have the rounding errors in them.
        const double part = m.rounding[worst] * m.weights[worst];
        return part > most_rounding * (1 - part);
    }

    static Status divide_end(Integration& s, BdfState& m) noexcept {
        ++s.rejected, ++m.refused_ends;
        m.control.rising = false;
        s.h = 0.25 * m.step.h;
        return Status::going;
    }

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
        m.stability.restart(s.t);
        m.control.max_order = m.stability.largest(m.largest_order);
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
        predict(m.past, m, m.step, s.x_new);
        return BdfNewton::solve(s, m) == NewtonOutcome::converged ||
               (!s.abort_called && BdfNewton::solve_carefully(s, m) == NewtonOutcome::converged);
    }

    // The first difference at a restart is the slope times the length of the step.
    static void begin_from(BdfState& m, double h) noexcept {
        const double factor = h / m.past.psi[0];
        if (factor == 1) return;
        for (long long i = 0; i < m.unknowns; ++i) m.past.phi[1][i] *= factor;
        m.past.psi[0] = h;
        m.step = coefficients_of_step(m.past.psi, 1, h);
    }

    // Takes the step as one of order 1 over the end of a junction's current. A restart follows.
    static bool crosses_junction(Integration& s, BdfState& m) noexcept {
        if (!s.junctions) return false;
        const bool solved = solves_junction_step(s, m, m.tolerance, m.correction);
        m.factored = false;
        return solved && takes_line(s, m);
    }
    // Takes it as one over a layer that time does not resolve.
    static bool crosses_layer(Integration& s, BdfState& m) noexcept {
        if (!s.junctions) return false;
        const bool solved = solves_layer(s, m, m.tolerance, m.correction);
        m.factored = false;
        return solved && takes_line(s, m);
    }
    static bool takes_line(Integration& s, BdfState& m) noexcept {
        const double h = s.t_new - s.t;
        begin_history(m.past, m, s.x, h);
        m.step = coefficients_of_step(m.past.psi, 1, h);
        BdfNewton::note_change(s, m);
        m.pending = s.accepted = m.restarted = true;
        s.h = h;
        return true;
    }

    // Takes the last step into the past, and makes coefficients, prediction and weights for the next.
    static void plan(Integration& s, BdfState& m) noexcept {
        const double h = s.t_new - s.t;
        const bool pending = m.pending;
        const BdfTakenStep taken = pending ? advance_history(m.past, m.step, m.control.max_order) : BdfTakenStep{};
        m.pending = false;
        m.step = coefficients_of_step(m.past.psi, m.control.order, h);
        if (m.past.order == 0) begin_from(m, h);
        weigh(s, m, [&](long long begin, long long end) {
            if (pending) advance_differences(m.past, taken, s.x, begin, end);
            predict(m.past, m, m.step, s.x_new, begin, end);
        });
    }

    static Status reject(Integration& s, BdfState& m, const BdfErrors& errors) noexcept {
        ++s.rejected;
        const bool finite = std::isfinite(errors.test);
        const double cut = choose_after_rejection(m.control, errors, m.past.order == 0);
        s.h = m.step.h * (finite ? cut : cut_if_not_finite);
        limit_order(s, m, s.t, errors.turned);
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        if (m.error_weights != m.weights) copy(m.error_weights, m.unknowns, m.weights);
        if (crosses_layer(s, m)) return Status::going;
        s.culprit = {worst_component(m, m.past.change), Culprit::What::nothing};
        return Status::step_too_small;
    }

    static Status shorter(Integration& s, BdfState& m, NewtonOutcome outcome) noexcept {
        ++s.rejected;
        if (outcome == NewtonOutcome::diverged) ++m.newton_failures;
        m.control.rising = false;
        if (++m.control.failures > 3) m.control.order = 1;
        s.h = cut_if_not_finite * m.step.h;
        limit_order(s, m, s.t, 1);
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        return crosses_layer(s, m) ? Status::going : blame(s, m, outcome);
    }

    // Why no step was short enough, and which unknown to look at.
    DAEDALUS_COLD static Status blame(Integration& s, BdfState& m, NewtonOutcome outcome) noexcept {
        s.culprit = {worst_component(m, m.correction), Culprit::What::nothing};
        if (outcome == NewtonOutcome::diverged) return Status::newton_failed;
        if (outcome == NewtonOutcome::singular) {
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
static_assert(ImplicitMethod<Bdf>);

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
