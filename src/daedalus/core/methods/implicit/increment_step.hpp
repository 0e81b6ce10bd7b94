// One step of a method of stage increments: when the Jacobian is new, when a step is too long, and how long the next is.
//
// Control of the Jacobian and of the step as in E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section
// IV.8, and E. Hairer, G. Wanner, J. Comput. Appl. Math. 111 (1999). What a method supplies is in implicit_method.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/implicit/blame.hpp"
#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/first_step.hpp"
#include "methods/implicit/increment_end.hpp"
#include "methods/implicit/junction_step.hpp"
#include "methods/implicit/look_between.hpp"
#include "methods/implicit/mass_product.hpp"
#include "methods/implicit/simplified_newton.hpp"
#include "methods/step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// After so many refused steps in a row what is left of the constraints at the beginning is let go bit by bit: as much in a
// step as makes an error of the second, in units of what is allowed. An error d in them moves velocities by d/h and multipliers
// by d/h^2, however short the step; kept whole it would meet every later step. After twice as many refusals it is kept whole.
inline constexpr int many_refusals = 3;
inline constexpr double error_of_release = 0.5;
// Steps that differ by rounding only share their factors.
inline constexpr double same_length = 1e-12;
// The step grows at most eight times and shrinks at most five times; a growth by less than a fifth is not worth new factors
// (Hairer's radau5).
inline constexpr double most_growth_of_step = 8, most_shrinkage_of_step = 5, worth_new_factors = 1.2;
// A first step that is refused was a guess.
inline constexpr double cut_of_first = 0.1;
// A Jacobian is kept while Newton's method converges that fast with it (radau5: 1e-3); at fixed step, solved to rounding, more
// corrections are cheaper than it.
inline constexpr double fast_enough = 1e-3, fast_enough_if_fixed = 1e-2;
// Corrections left at the end of a step, in units of the tolerance, that Newton's method cannot have meant.
inline constexpr double very_much_left = 100;
// Errors below do not count as smaller: the controller's memory of a step without any would be infinite.
inline constexpr double least_estimate = 1e-10, least_remembered = 1e-2;

// At index 3 errors of velocities count in units of this part of their reach, those of multipliers of its square. The rule:
// a tolerance d of places has the reach a d in velocities, a = 3.64 / h with three stages and 6.29 / h with five (the real
// eigenvalue of the inverse of A), so that an error of a velocity may move places by 0.36 d and 0.44 d in the next step. With
// more, errors of carts of a hundred-thousandth of their pole's mass pile up; with less, steps end in rounding errors and
// before dead centres (measured on carts and poles whose masses differ by up to six decades, in several units of time).
inline constexpr double reach_of_three_stages = 0.1, reach_of_many_stages = 0.07;
// Steps of coarse tolerances are too long for a reach that is linear: it counts more above this one, up to so much.
inline constexpr double coarse_rtol = 1e-3, most_reach = 0.25;
// The reach is sampled so often; states of index 1, 2 and 3 have sizes of their own.
inline constexpr int reach_samples = 3, kinds_of_index = 4;

template <class M, class State>
struct IncrementStep : StageNewton<M, State> {
    static constexpr bool is_explicit = false;
    static constexpr bool dense_on_demand = true;
    static State& of(Integration& s) { return static_cast<State&>(implicit_of(s)); }

    static double first_step(Integration& s) noexcept {
        State& m = of(s);
        set_weights(s, m, s.x, m.rtol, m.atol_factor, 1);
        const double length = first_step_length(s, m, halfway, 1, nullptr);
        return m.model.deepest > 2 && s.fixed_step <= 0 ? above_rounding_at_start(s, m, length) : length;
    }

    // One attempt from t to t_new; going: look at s.accepted. On rejection s.h is the next length to try.
    static Status attempt(Integration& s) noexcept {
        State& m = of(s);
        const double h = s.t_new - s.t, length = std::fabs(h);
        s.accepted = m.estimate_known = false;
        if (m.restarted) forget(s, m);
        if (!begin_charges(s, m, m.charges, m.turned)) return shorter(s, m, cut_if_not_finite, Status::not_finite);
        if (!ready(s, m, h)) return s.abort_called ? Status::aborted : shorter(s, m, 0.5, Status::singular);
        set_weights(s, m, s.x, m.rtol, m.atol_factor, length);
        M::widen_if_noisy(m, h);
        start_stages(s, m);
        if (m.model.deepest > 2) keep_defect(s, m);
        double cut = 0.5;
        NewtonOutcome outcome = M::solve_stages(s, m, h, cut);
        if (m.charges.in_step && outcome != NewtonOutcome::converged && m.failures > 0 && !s.abort_called) {
            m.charges.in_step = false;
            start_stages(s, m);
            outcome = M::solve_stages(s, m, h, cut);
            if (outcome == NewtonOutcome::converged) m.charges.give_up();
        }
        if (outcome == NewtonOutcome::diverged) {
            note_failure_of_newton(m);
            if (takes_care(s, m, ++m.failures) && m.jacobian_fresh && !s.abort_called)
                outcome = M::solve_carefully(s, m, h);
        }
        if (s.abort_called) return Status::aborted;
        if (outcome == NewtonOutcome::not_finite) return shorter(s, m, cut_if_not_finite, Status::not_finite);
        if (outcome == NewtonOutcome::diverged) {
            ++m.newton_failures;
            if (crosses_junction(s, m)) return Status::going;
            return shorter(s, m, cut, Status::newton_failed);
        }
        double error = estimate(s, m, h);
        if (error < 1) error = std::fmax(error, error_inside(s, m, h));
        if (s.abort_called) return Status::aborted;
        if (error < 1 && !leaves_laws(s, m, h)) return accept(s, m, h, error);
        if (error < 1) return crosses_junction(s, m) ? Status::going : shorter(s, m, 0.5, Status::newton_failed);
        return crosses_junction(s, m) ? Status::going : reject(s, m, h, error);
    }

    // The step to t_new whatever its error: at fixed step, and where an event cuts a step short.
    static void take(Integration& s) noexcept {
        State& m = of(s);
        const double h = s.t_new - s.t;
        if (m.restarted) forget(s, m);
        s.taken = m.estimate_known = false;
        // A component that crosses zero keeps the rounding errors of its size before.
        for (long long i = 0; i < m.unknowns; ++i) m.largest[i] = std::fmax(m.largest[i], std::fabs(s.x[i]));
        set_weights(s, m, s.fixed_step > 0 ? m.largest : s.x, m.rtol, m.atol_factor, std::fabs(h));
        for (int round = 0; round < 2 && !s.taken && !s.abort_called; ++round) {
            if (round == 1) m.jacobian_known = false;
            if (!begin_charges(s, m, m.charges, m.turned) || !ready(s, m, h)) break;
            start_stages(s, m);
            double cut = 0;
            s.taken = M::solve_stages(s, m, h, cut) == NewtonOutcome::converged;
            if (!s.taken && round == 1 && !s.abort_called)
                s.taken = M::solve_carefully(s, m, h) == NewtonOutcome::converged;
            if (!s.taken) ++m.newton_failures;
        }
        m.jacobian_known = count_old_step(m) < oldest_jacobian && m.jacobian_known &&
                           m.rate_of_newton <= fast_enough_if_fixed;
        if (!s.taken) s.culprit = {worst_component(m, m.change), Culprit::What::nothing};
        write_end(s, m, h);
        keep_step(s, m, h);
    }

    // Whether a short step, whose error is small enough, ends where the laws of junctions do not hold.
    static bool leaves_laws(Integration& s, State& m, double h) noexcept {
        if (!may_lead_elsewhere(s, m, h)) return false;
        write_end(s, m, h);
        m.factored = m.jacobian_known = false;
        if (!ends_elsewhere(s, m, m.turned)) return false;
        note_failure_of_newton(m);
        ++m.newton_failures;
        return true;
    }

    // The polynomial of the last step, mended between its ends, and its error there.
    static double look_between(Integration& s) noexcept {
        State& m = of(s);
        const double h = s.t_new - s.t;
        M::dense(s);
        s.dense_known = true;
        if (s.fixed_step > 0 || !m.factored || too_short_to_look(s, m, h, m.usual_step)) return 0;
        weigh_between(s, m);
        if (M::slopes_agree(s, m)) return 0;
        return error_between(s, m, StepMatrix{s, m});
    }

private:
    struct StepMatrix {
        Integration& s;
        State& m;
        bool correct(double t, const double* rate, const double* w, double* off) noexcept {
            if (!residual_at(s, m, t, rate, w, off)) return false;
            M::solve_one(s, m, off);
            return true;
        }
        void slow_part(const double* c, double* out) noexcept {
            multiply_mass(m, 1, c, out);
            M::solve_slow(s, m, c, out);
        }
    };

    static void forget(const Integration& s, State& m) noexcept {
        m.restart_time = s.t;
        m.jacobian_known = m.factored = m.step_known = m.step_in_z = false;
        m.first = true, m.contraction = 1, m.restarted = m.noise_known = false;
        m.refusals = 0, m.kept_part = 0, m.defect_known = false;
        if (m.charges.has_some) m.charges.restart(s.t, s.x, m.states);
    }

    // What is left of the constraints at the beginning, and how much of it this step keeps.
    static void keep_defect(Integration& s, State& m) noexcept {
        if (m.refusals >= many_refusals && m.kept_part == 0) m.kept_part = part_to_keep(m);
        if (m.refusals >= 2 * many_refusals) m.kept_part = 1;
        if (m.kept_part == 0 || m.defect_known) return;
        m.defect_known = residual_at(s, m, s.t, s.x + m.unknowns, s.x, m.defect);
        if (!m.defect_known) m.kept_part = 0;
    }
    static double part_to_keep(const State& m) noexcept {
        return m.defect_error > error_of_release ? 1 - error_of_release / m.defect_error : 0;
    }
    // Behind a step that has let go a part of it.
    static void let_defect_go(State& m) noexcept {
        m.defect_known = false;
        if (m.kept_part == 0) return;
        m.defect_error *= m.kept_part;
        m.kept_part = part_to_keep(m);
    }

    // Jacobian and factors for this step; false where a matrix is singular.
    static bool ready(Integration& s, State& m, double h) noexcept {
        if (!m.jacobian_known || m.condition_left) {
            if (!jacobian_at(s, m, s.t, s.x + m.unknowns, s.x, m.charges.in_step)) return false;
            m.jacobian_known = m.jacobian_fresh = true;
            m.condition_left = false;
            m.factored = false;
        }
        if (m.factored && std::fabs(m.factored_step - h) <= same_length * std::fabs(h)) return true;
        if (!M::factor(m, h)) return false;
        if (m.model.deepest > 2) find_reach(s, m);
        return true;
    }

    // The largest unknown of each index.
    static void largest_by_index(const Integration& s, const State& m, double* largest) noexcept {
        for (int k = 0; k < kinds_of_index; ++k) largest[k] = 0;
        for (long long i = 0; i < m.unknowns; ++i)
            largest[kind_of(m, i)] = std::fmax(largest[kind_of(m, i)], std::fabs(s.x[i]));
    }
    static int index_of(const State& m, long long i) noexcept { return m.model.index[static_cast<std::size_t>(i)]; }
    static int kind_of(const State& m, long long i) noexcept { return std::clamp(index_of(m, i), 0, kinds_of_index - 1); }

    // How far errors at the beginning of a step move the unknowns in it: (a M + K)^-1 a M d, the largest of some d with
    // random signs; of so much of the tolerance, and of rounding errors: those of the largest unknown of an index.
    static double* moves_by_errors(Integration& s, State& m, double tolerated, const double* largest) noexcept {
        double *given = m.between_off, *found = given + m.between_lanes, *moves = found + m.between_lanes;
        for (long long i = 0; i < m.unknowns; ++i) moves[i] = 0;
        for (int sample = 0; sample < reach_samples; ++sample) {
            for (long long i = 0; i < m.unknowns; ++i) {
                const double allowed = tolerated * (m.atol_factor * s.atol[i] + m.rtol * std::fabs(s.x[i]));
                given[i] = random_sign(i, sample, reach_samples) *
                           (allowed + coarse_digits * last_digit * largest[kind_of(m, i)]);
            }
            StepMatrix{s, m}.slow_part(given, found);
            for (long long i = 0; i < m.unknowns; ++i) moves[i] = std::fmax(moves[i], std::fabs(found[i]));
        }
        return moves;
    }

    // How far errors within the tolerance move variables of a higher index in a step.
    static void find_reach(Integration& s, State& m) noexcept {
        const double usual = m.stages > 3 ? reach_of_many_stages : reach_of_three_stages;
        const double part = std::fmin(usual * std::sqrt(std::fmax(s.rtol / coarse_rtol, 1.0)), most_reach);
        double largest[kinds_of_index];
        largest_by_index(s, m, largest);
        const double* moves = moves_by_errors(s, m, 1, largest);
        for (long long i = 0; i < m.unknowns; ++i)
            m.reach[i] = index_of(m, i) > 1 ? small_power(part, index_of(m, i) - 1) * moves[i] : 0;
        m.reach_known = true;
    }

    // A first step at index 3 in which rounding errors of the beginning, which grow like h^(1-k) in variables of index k,
    // stay within the tolerance: from the moves in a step h, no longer than a part of the way. Shorter ones would end with
    // forces that are noise.
    static double above_rounding_at_start(Integration& s, State& m, double h) noexcept {
        const double longest = part_of_way * std::fmin(std::fabs(interval_end(s) - s.t), s.max_step);
        if (!(h < longest) || !jacobian_at(s, m, s.t, s.x + m.unknowns, s.x) || !M::factor(m, s.direction * h)) return h;
        double largest[kinds_of_index], factor = 1;
        largest_by_index(s, m, largest);
        const double* moves = moves_by_errors(s, m, 0, largest);
        for (long long i = 0; i < m.unknowns; ++i) {
            if (index_of(m, i) < 2) continue;
            const double beyond = moves[i] / (s.atol[i] + s.rtol * largest[kind_of(m, i)]);
            factor = std::fmax(factor, std::pow(beyond, 1.0 / (index_of(m, i) - 1)));
        }
        m.factored = false;
        return std::isfinite(factor) ? std::fmin(factor * h, longest) : h;
    }

    // The filtered estimate; once more filtered where it is too large at a first or repeated step, so that stiff components
    // do not count.
    static double estimate(Integration& s, State& m, double h) noexcept {
        if (!M::raw_estimate(s, m, h, false)) return std::numeric_limits<double>::infinity();
        filter(s, m);
        M::note_estimate(m);
        const double at_end = ends_run(s, m) ? error_at_end<M>(s, m, h) : 0;
        double error = std::fmax(weighted_norm(m, m.error), least_estimate);
        if (error >= 1 && (m.first || m.after_failure) && M::raw_estimate(s, m, h, true)) {
            filter(s, m);
            error = std::fmax(weighted_norm(m, m.error), least_estimate);
        }
        m.refused_ends += error < 1 && at_end >= 1;
        return std::fmax(error, at_end);
    }

    // What is left of a constraint at t_n is no error of this step, and 1/h^2 would magnify it.
    static void filter(Integration& s, State& m) noexcept {
        for (const long long place : m.model.constraints) m.error[place] = 0;
        M::filter(s, m, m.error);
    }

    // The middle of the step, corrected with the factor at hand.
    struct MiddleOfIncrements {
        Integration& s;
        State& m;
        double h;
        void write_middle() noexcept { M::write_middle(s, m, h); }
        bool correct_middle(double* off) noexcept {
            if (!residual_at(s, m, s.t + 0.5 * h, m.rate, m.stage, off)) return false;
            M::solve_one(s, m, off);
            return true;
        }
        bool correct_end(double* off) noexcept {
            write_end(s, m, h);
            if (!residual_at(s, m, s.t_new, s.x_new + m.unknowns, s.x_new, off)) return false;
            M::solve_one(s, m, off);
            return true;
        }
    };

    static double error_inside(Integration& s, State& m, double h) noexcept {
        if (m.first && !m.after_failure) m.usual_step = std::fabs(h);
        write_end(s, m, h);
        const bool looked = mass_may_be_singular(m.model) && worth_a_look(s, m, h, m.usual_step);
        const double left = looked ? left_at_end(s, m) : 0;
        if (left > 1) return left;
        if (counts_between(s, m)) return std::fmax(left, look_between(s));
        return looked ? std::fmax(left, error_inside_of(m, MiddleOfIncrements{s, m, h}, m.turned, m.error)) : 0;
    }

    // What Newton's method has left of z at the end. It may believe in the pace of the step before and stop with its first
    // correction, though this one has led to where the equations are others: then very much is left.
    static double left_at_end(Integration& s, State& m) noexcept {
        if (!residual_at(s, m, s.t_new, s.x_new + m.unknowns, s.x_new, m.turned)) return 0;
        M::solve_one(s, m, m.turned);
        const double left = weighted_norm(m, m.turned);
        return std::isfinite(left) ? left / very_much_left : 0;
    }

    static void write_end(Integration& s, State& m, double h) noexcept {
        const double* last = m.z + (m.stages - 1) * m.lanes;
        for (long long i = 0; i < m.unknowns; ++i) s.x_new[i] = s.x[i] + last[i];
        slope_of(m, m.stage_numbers.inverse[m.stages - 1], h, m.rate);
        copy(m.rate, m.states, s.x_new + m.unknowns);
    }

    static void keep_step(const Integration& s, State& m, double h) noexcept {
        copy(s.x, m.unknowns, m.begin);
        m.step_known = m.step_in_z = true;
        m.step_time = s.t, m.step_length = h;
    }

    // Takes the step as one over the end of a junction's current, its stages on the line to the end. A restart follows: the
    // past does not tell how z goes on.
    static bool crosses_junction(Integration& s, State& m) noexcept {
        if (!s.junctions) return false;
        const bool solved = solves_junction_step(s, m, m.newton_tolerance, m.turned);
        m.factored = m.jacobian_known = false;
        return solved && takes_line(s, m, false);
    }
    // Takes it as one over a layer that time does not resolve; states move then.
    static bool crosses_layer(Integration& s, State& m) noexcept {
        if (!s.junctions) return false;
        const bool solved = solves_layer(s, m, m.newton_tolerance, m.turned);
        m.factored = m.jacobian_known = false;
        return solved && takes_line(s, m, true);
    }
    static bool takes_line(Integration& s, State& m, bool states_move) noexcept {
        const double h = s.t_new - s.t;
        for (int k = 0; k < m.stages; ++k)
            for (long long i = 0; i < m.unknowns; ++i) {
                const bool by_rate = i < m.states && !states_move;
                const double way = by_rate ? h * s.x_new[m.unknowns + i] : s.x_new[i] - s.x[i];
                m.z[k * m.lanes + i] = m.stage_numbers.c[k] * way;
            }
        if (!states_move) write_end(s, m, h);
        keep_step(s, m, h);
        std::fill(m.error, m.error + m.lanes, 0.0);
        M::note_estimate(m);
        m.restarted = s.accepted = true;
        m.charges.give_up();
        m.failures = m.refusals = 0, m.noisiest = -1;
        s.h = h;
        return true;
    }

    // By how much the next step is shorter than this one; many iterations count against it.
    static double quotient_of(const State& m, double error) noexcept {
        const double nit = m.most_iterations;
        const double factor = std::fmin(safety, safety * (1 + 2 * nit) / (m.iterations + 2 * nit));
        return within_limits(std::pow(error, 1.0 / M::estimate_order(m)) / factor);
    }
    static double within_limits(double quotient) noexcept {
        return std::clamp(quotient, 1.0 / most_growth_of_step, most_shrinkage_of_step);
    }

    static Status reject(Integration& s, State& m, double h, double error) noexcept {
        ++s.rejected, ++m.refusals;
        const bool hopeless = !(error < m.charges.refused_with) || m.refusals >= 2 * many_refusals;
        if (m.charges.in_step && m.refusals >= many_refusals && hopeless) m.charges.give_up();
        m.charges.refused_with = error;
        if (m.kept_part == 0 && std::isfinite(error)) m.defect_error = error;
        m.jacobian_fresh = m.jacobian_fresh && m.jacobian_known;
        s.h = std::isfinite(error) ? (m.first ? cut_of_first * h : h / quotient_of(m, error)) : cut_if_not_finite * h;
        m.after_failure = true;
        if (m.noise_known && m.noisiest < 0) m.noisiest = worst_component(m, m.error);
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        s.culprit = {m.noisiest >= 0 ? m.noisiest : worst_component(m, m.error), Culprit::What::nothing};
        if (crosses_layer(s, m)) return Status::going;
        return m.noisiest >= 0 ? Status::rounding : Status::step_too_small;
    }

    // Gustafsson's predictive controller; factors are kept while the step would grow by little.
    static Status accept(Integration& s, State& m, double h, double error) noexcept {
        s.accepted = true;
        write_end(s, m, h);
        keep_step(s, m, h);
        double quotient = quotient_of(m, error);
        // What a step has let go of a defect does not tell how its error falls.
        if (!m.first && m.kept_part == 0) {
            const double exponent = 1.0 / M::estimate_order(m);
            const double ratio = std::fabs(m.accepted_step / h) * std::pow(error * error / m.accepted_error, exponent);
            quotient = std::fmax(quotient, within_limits(ratio / safety));
        }
        m.accepted_step = h, m.usual_step = std::fabs(h);
        m.accepted_error = std::fmax(least_remembered, error);
        double wish = h / quotient;
        if (m.after_failure && std::fabs(wish) > std::fabs(h)) wish = h;
        m.first = m.after_failure = false;
        m.jacobian_fresh = false;
        m.failures = m.refusals = 0, m.noisiest = -1;
        m.charges.note_success();
        M::let_noise_decay(m);
        note_step(m, h);
        let_defect_go(m);
        m.jacobian_known = count_old_step(m) < oldest_jacobian && m.rate_of_newton <= fast_enough;
        const double growth = wish / h;
        if (m.jacobian_known && growth >= 1 && growth <= worth_new_factors) wish = h;
        s.h = wish;
        return Status::going;
    }

    // After a step without success: a shorter one, with a new Jacobian unless it is new already.
    static Status shorter(Integration& s, State& m, double factor, Status why) noexcept {
        ++s.rejected;
        s.h = factor * (s.t_new - s.t);
        m.after_failure = true;
        if (!m.jacobian_fresh) m.jacobian_known = false;
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        s.culprit = {worst_component(m, m.change), Culprit::What::nothing};
        if (crosses_layer(s, m)) return Status::going;
        if (m.noisiest >= 0) {
            s.culprit.component = m.noisiest;
            return Status::rounding;
        }
        if (why == Status::not_finite) name_equation(s, m);
        if (why == Status::singular) name_undetermined(s, m);
        return why;
    }

    // The unknown that the equations do not determine, where that is simple to see.
    static void name_undetermined(Integration& s, State& m) noexcept {
        fill_matrix(m, 1 / (s.t_new - s.t), m.solver.values());
        bool finite = true;
        const long long found = unknown_of_singular(m, finite);
        if (found >= 0) s.culprit.component = found;
    }

    // The first equation whose residual is not finite, where Newton's method met one.
    static void name_equation(Integration& s, const State& m) noexcept {
        for (int k = 0; k < m.stages; ++k) {
            if (!first_not_finite(m.change + k * m.lanes, m.unknowns, s.culprit.component)) continue;
            s.culprit.what = Culprit::What::derivative;
            return;
        }
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
