// Radau IIA with s stages, for 0 = F(t, x', x, z): collocation by a transformed simplified Newton method.
//
//   F(t + c_i h, (1/h) sum_j a'_ij Z_j, w + Z_i) = 0,   w_new = w + Z_s,   a' = A^-1
//
// Control of Newton, of the Jacobian and of the step as in E. Hairer, G. Wanner, Solving Ordinary Differential Equations
// II, section IV.8, and E. Hairer, G. Wanner, J. Comput. Appl. Math. 111 (1999).
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/blame.hpp"
#include "methods/implicit/first_step.hpp"
#include "methods/radau/radau_inside.hpp"
#include "methods/radau/radau_last_step.hpp"
#include "methods/step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// A slope that changes the polynomial by more, in units of the tolerance, does not belong to it.
inline constexpr double fitting_slope = 10;
// After so many refused steps in a row what is left of the constraints stays for a step.
inline constexpr int many_refusals = 3;
// Steps that differ by rounding only share their factors.
inline constexpr double same_length = 1e-12;

struct Radau : RadauLastStep {
    static constexpr bool is_explicit = false;
    static constexpr bool dense_on_demand = true;
    static RadauState& of(Integration& s) { return static_cast<RadauState&>(implicit_of(s)); }
    static int degree(Integration& s) { return of(s).method.stages + 1; }

    static void prepare(Integration& s) noexcept {
        RadauState& m = of(s);
        const int stages = m.method.stages;
        // The estimate has order s + 1 and the method 2 s: a looser internal tolerance gives the error asked for.
        if (s.fixed_step > 0) {
            // The rtol asked for has no meaning then, and a coarse one must not make atol vanish.
            m.rtol = 1e-15, m.atol_factor = 1e-15 / std::clamp(s.rtol, 1e-12, 1e-6);
            m.most_iterations = 30;
        } else {
            // At index 3 positions have order s + 1 only, and nothing is gained; with three stages the error of
            // multipliers is the square root of that of positions.
            const double share = m.model.deepest > 2 ? (stages == 3 ? 0.15 : 0.3) : 0;
            m.rtol = share > 0 ? share * s.rtol : 0.03 * std::pow(s.rtol, (stages + 1.0) / (2.0 * stages));
            m.atol_factor = s.rtol > 0 ? m.rtol / s.rtol : 1;
            m.most_iterations = 7 + 2 * std::max(stages - 3, 0);
        }
        const double floor = 10 * std::numeric_limits<double>::epsilon() / m.rtol;
        m.newton_tolerance = std::fmax(floor, std::fmin(0.03, std::sqrt(m.rtol)));
        // A constraint violated by d makes velocities jump by d/h and multipliers by d/h^2 in the next step.
        if (m.model.higher_index) m.newton_tolerance = std::fmax(floor, 0.1 * m.newton_tolerance);
        if (s.fixed_step > 0) m.newton_tolerance = 1;
        m.rounding = s.fixed_step > 0 ? 1e4 : std::fmax(m.newton_tolerance, 2e-2);
    }

    static double first_step(Integration& s) noexcept {
        RadauState& m = of(s);
        set_weights(s, m, s.x, m.rtol, m.atol_factor, 1);
        return first_step_length(s, m, halfway, 1, nullptr);
    }

    // One attempt from t to t_new; going: look at s.accepted. On rejection s.h is the next length to try.
    static Status attempt(Integration& s) noexcept {
        RadauState& m = of(s);
        const double h = s.t_new - s.t, length = std::fabs(h);
        s.accepted = false;
        if (m.restarted) forget(m);
        if (!ready(s, m, h)) return s.abort_called ? Status::aborted : shorter(s, m, 0.5, Status::singular);
        set_weights(s, m, s.x, m.rtol, m.atol_factor, length);
        widen_if_noisy(m, h);
        start_values(s, m);
        if (m.refusals >= many_refusals && m.model.deepest > 2 && !m.keeps_defect)
            m.keeps_defect = residual_at(s, m, s.t, s.x + m.unknowns, s.x, m.defect);
        double cut = 0.5;
        NewtonOutcome outcome = solve_stages(s, m, h, cut);
        if (outcome == NewtonOutcome::diverged) {
            note_failure_of_newton(m);
            if (takes_care(s, m, ++m.failures) && m.jacobian_fresh && !s.abort_called)
                outcome = solve_carefully(s, m, h);
        }
        if (s.abort_called) return Status::aborted;
        if (outcome == NewtonOutcome::not_finite) return shorter(s, m, cut_if_not_finite, Status::not_finite);
        if (outcome == NewtonOutcome::diverged) {
            ++m.newton_failures;
            return shorter(s, m, cut, Status::newton_failed);
        }
        double error = estimate(s, m, h);
        if (error < 1) error = std::fmax(error, error_inside(s, m, h));
        if (s.abort_called) return Status::aborted;
        const double exponent = 1.0 / (m.method.stages + 1);
        const double nit = m.most_iterations;
        const double factor = std::fmin(safety, safety * (1 + 2 * nit) / (m.iterations + 2 * nit));
        double quotient = std::clamp(std::pow(error, exponent) / factor, 1.0 / 8, 5.0);
        if (!(error < 1)) {
            ++s.rejected, ++m.refusals;
            m.jacobian_fresh = m.jacobian_fresh && m.jacobian_known;
            s.h = std::isfinite(error) ? (m.first ? 0.1 * h : h / quotient) : cut_if_not_finite * h;
            m.after_failure = true;
            if (m.noise_known && m.noisiest < 0) m.noisiest = worst_component(m, m.error);
            if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
            s.culprit = {m.noisiest >= 0 ? m.noisiest : worst_component(m, m.error), Culprit::What::nothing};
            return m.noisiest >= 0 ? Status::rounding : Status::step_too_small;
        }
        accept(s, m, h, error, quotient);
        return Status::going;
    }

    // The step to t_new whatever its error: at fixed step, and where an event cuts a step short.
    static void take(Integration& s) noexcept {
        RadauState& m = of(s);
        const double h = s.t_new - s.t;
        if (m.restarted) forget(m);
        s.taken = false;
        // A component that crosses zero keeps the rounding errors of its size before.
        for (long long i = 0; i < m.unknowns; ++i) m.largest[i] = std::fmax(m.largest[i], std::fabs(s.x[i]));
        set_weights(s, m, s.fixed_step > 0 ? m.largest : s.x, m.rtol, m.atol_factor, std::fabs(h));
        for (int round = 0; round < 2 && !s.taken && !s.abort_called; ++round) {
            if (round == 1) m.jacobian_known = false;
            if (!ready(s, m, h)) break;
            start_values(s, m);
            double cut = 0;
            s.taken = solve_stages(s, m, h, cut) == NewtonOutcome::converged;
            if (!s.taken && round == 1 && !s.abort_called)
                s.taken = solve_carefully(s, m, h) == NewtonOutcome::converged;
            if (!s.taken) ++m.newton_failures;
        }
        m.jacobian_known = count_old_step(m) < oldest_jacobian && m.jacobian_known && m.rate_of_newton <= 1e-2;
        if (!s.taken) s.culprit = {worst_component(m, m.change), Culprit::What::nothing};
        write_end(s, m, h);
        keep_step(s, m, h);
    }

    // The polynomial through the stages, and x' as its derivative. At index 1 the slopes of the stages and the one at
    // the beginning give x with one order more, which still ends at w_new: the weight of the first node is zero.
    static void dense(Integration& s) noexcept {
        RadauState& m = of(s);
        const CollocationCoefficients& method = m.method;
        const long long n = m.unknowns, nx = m.states;
        const int stages = method.stages;
        const double h = s.t_new - s.t;
        double* c = s.coefficients;
        copy(s.x, n, c);
        multiply(m, method.powers, m.z, m.turned);
        for (int j = 0; j <= stages; ++j) {
            double* row = c + (j + 1) * s.lanes;
            for (long long i = 0; i < n; ++i) row[i] = j < stages ? m.turned[j * m.lanes + i] : 0;
        }
        for (long long i = 0; i < (m.model.higher_index ? 0 : nx); ++i) {
            if (!slope_serves(s, m, h, i)) continue;
            for (int j = 0; j <= stages; ++j) {
                double sum = method.slope[j] * h * s.x[n + i];
                for (int k = 0; k < stages; ++k) sum += method.better[j][k] * m.z[k * m.lanes + i];
                c[(j + 1) * s.lanes + i] = sum;
            }
        }
        for (int j = 0; j <= stages; ++j)
            for (long long i = 0; i < nx; ++i) c[j * s.lanes + n + i] = (j + 1) / h * c[(j + 1) * s.lanes + i];
        for (long long i = 0; i < nx; ++i) c[(stages + 1) * s.lanes + n + i] = 0;
    }

    // Where z jumped at the beginning, its value there is the one that the polynomial through the stages alone begins
    // with. Variables of index 1 that have not jumped keep theirs, which is exact.
    static void renew_begin(Integration& s) noexcept {
        RadauState& m = of(s);
        const int stages = m.method.stages;
        double product = -1;
        for (int k = 0; k < stages; ++k) product *= -m.method.c[k];
        for (long long i = 0; i < m.unknowns; ++i) {
            const auto place = static_cast<std::size_t>(i);
            if (i < m.states && m.model.has_derivative[place]) continue;
            double highest = 0;
            for (int k = 0; k < stages; ++k) highest += m.method.powers[stages - 1][k] * m.z[k * m.lanes + i];
            const double jump = product * highest;
            if (m.model.index[place] < 2 && std::fabs(jump) * m.weights[i] <= fitting_slope) continue;
            s.x[i] += jump;
            for (int k = 0; k < stages; ++k) m.z[k * m.lanes + i] -= jump;
        }
        copy(s.x, m.unknowns, m.begin);
    }

private:
    // Whether x'_n fits to the stages. In a stiff component it is an error of x_n magnified, and the estimate before it
    // is filtered shows that; steps of fixed length have no tolerance to compare with.
    static bool slope_serves(const Integration& s, const RadauState& m, double h, long long i) noexcept {
        if (!m.model.has_derivative[static_cast<std::size_t>(i)]) return false;
        if (s.fixed_step > 0) return true;
        double raw = m.method.weight * h * s.x[m.unknowns + i];
        for (int k = 0; k < m.method.stages; ++k) raw += m.method.error[k] * m.z[k * m.lanes + i];
        return std::fabs(raw) * m.weights[i] <= fitting_slope;
    }

    static void forget(RadauState& m) noexcept {
        m.jacobian_known = m.factored = m.step_known = m.step_in_z = false;
        m.first = true, m.contraction = 1, m.restarted = m.noise_known = false;
        m.refusals = 0, m.keeps_defect = false;
    }

    static Complex pair_factor(const CollocationCoefficients& method, int k, double h) noexcept {
        return {method.alpha[k] / h, method.beta[k] / h};
    }

    // Jacobian and factors for this step; false where a matrix is singular.
    static bool ready(Integration& s, RadauState& m, double h) noexcept {
        if (!m.jacobian_known) {
            if (!jacobian_at(s, m, s.t, s.x + m.unknowns, s.x)) return false;
            m.jacobian_known = m.jacobian_fresh = true;
            m.factored = false;
        }
        if (m.factored && std::fabs(m.factored_step - h) <= same_length * std::fabs(h)) return true;
        return factor(m, h);
    }

    // After a step without success: a shorter one, with a new Jacobian unless it is new already.
    static Status shorter(Integration& s, RadauState& m, double factor, Status why) noexcept {
        ++s.rejected;
        s.h = factor * (s.t_new - s.t);
        m.after_failure = true;
        if (!m.jacobian_fresh) m.jacobian_known = false;
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        s.culprit = {worst_component(m, m.change), Culprit::What::nothing};
        if (m.noisiest >= 0) {
            s.culprit.component = m.noisiest;
            return Status::rounding;
        }
        if (why == Status::not_finite) name_equation(s, m);
        if (why == Status::singular) name_undetermined(s, m);
        return why;
    }

    // The unknown that the equations do not determine, where that is simple to see.
    static void name_undetermined(Integration& s, RadauState& m) noexcept {
        fill_matrix(m, 1 / (s.t_new - s.t), m.solver.values());
        bool finite = true;
        const long long found = unknown_of_singular(m, finite);
        if (found >= 0) s.culprit.component = found;
    }

    // The first equation whose residual is not finite, where Newton's method met one.
    static void name_equation(Integration& s, const RadauState& m) noexcept {
        for (int k = 0; k < m.method.stages; ++k) {
            if (!first_not_finite(m.change + k * m.lanes, m.unknowns, s.culprit.component)) continue;
            s.culprit.what = Culprit::What::derivative;
            return;
        }
    }

    static void keep_step(const Integration& s, RadauState& m, double h) noexcept {
        copy(s.x, m.unknowns, m.begin);
        m.step_known = m.step_in_z = true;
        m.step_time = s.t, m.step_length = h;
    }

    // The filtered difference to a formula of order s that uses x'_n too; once more filtered where it is too large at a
    // first or repeated step, so that stiff components do not count.
    static double estimate(Integration& s, RadauState& m, double h) noexcept {
        slope_of(m, m.method.error, -m.method.weight * h, m.rate);
        if (!residual_at(s, m, s.t, m.rate, s.x, m.error)) return std::numeric_limits<double>::infinity();
        filter(s, m);
        const double at_end = ends_run(s, m) ? error_at_end(s, m, h, m.error) : 0;
        double error = std::fmax(weighted_norm(m, m.error), 1e-10);
        if (error >= 1 && (m.first || m.after_failure)) {
            for (long long i = 0; i < m.unknowns; ++i) m.stage[i] = s.x[i] - m.error[i];
            if (residual_at(s, m, s.t, m.rate, m.stage, m.error)) {
                filter(s, m);
                error = std::fmax(weighted_norm(m, m.error), 1e-10);
            }
        }
        m.refused_ends += error < 1 && at_end >= 1;
        return std::fmax(error, at_end);
    }

    // What is left of a constraint at t_n is no error of this step, and 1/h^2 would magnify it.
    static void filter(Integration& s, RadauState& m) noexcept {
        const CollocationCoefficients& method = m.method;
        for (std::size_t k = 0; k < m.model.constraints.size(); ++k) m.error[m.model.constraints[k]] = 0;
        const double h = m.factored_step;
        if (method.has_real) return solve_step_matrix(s, m, m.solver, method.gamma / h, m.error);
        for (long long i = 0; i < m.unknowns; ++i) m.stage[i] = 0;
        solve_step_matrix(s, m, *m.pairs[0], pair_factor(method, 0, h), m.error, m.stage);
        for (long long i = 0; i < m.unknowns; ++i)
            m.error[i] = method.weight * (method.alpha[0] * m.error[i] - method.beta[0] * m.stage[i]);
    }

    static void write_end(Integration& s, RadauState& m, double h) noexcept {
        const long long n = m.unknowns;
        const double* last = m.z + (m.method.stages - 1) * m.lanes;
        for (long long i = 0; i < n; ++i) s.x_new[i] = s.x[i] + last[i];
        slope_of(m, m.method.inverse[m.method.stages - 1], h, m.rate);
        copy(m.rate, m.states, s.x_new + n);
    }

    // Gustafsson's predictive controller; factors are kept while the step would grow by little.
    static void accept(Integration& s, RadauState& m, double h, double error, double quotient) noexcept {
        s.accepted = true;
        write_end(s, m, h);
        keep_step(s, m, h);
        if (!m.first) {
            const double exponent = 1.0 / (m.method.stages + 1);
            const double ratio = std::fabs(m.accepted_step / h) * std::pow(error * error / m.accepted_error, exponent);
            quotient = std::fmax(quotient, std::clamp(ratio / safety, 1.0 / 8, 5.0));
        }
        m.accepted_step = h, m.usual_step = std::fabs(h);
        m.accepted_error = std::fmax(1e-2, error);
        double wish = h / quotient;
        if (m.after_failure && std::fabs(wish) > std::fabs(h)) wish = h;
        m.first = m.after_failure = false;
        m.jacobian_fresh = false;
        m.failures = m.refusals = 0, m.noisiest = -1;
        let_noise_decay(m);
        note_step(m);
        m.keeps_defect = false;
        const bool keeps = count_old_step(m) < oldest_jacobian && m.rate_of_newton <= 1e-3;
        m.jacobian_known = keeps;
        const double growth = wish / h;
        if (keeps && growth >= 1 && growth <= 1.2) wish = h;
        s.h = wish;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
