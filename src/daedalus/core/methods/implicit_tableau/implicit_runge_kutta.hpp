// Any Runge-Kutta method for 0 = F(t, x', x, z): Gauss, Radau, Lobatto, diagonally implicit, or a tableau of one's own.
//
//   F(t + c_i h, K_i, x + h sum_j a_ij K_j, Z_i) = 0,   x_new = x + h sum_j b_j K_j
//
// A method that ends in its last stage takes z and x' at the end from there. For any other they are solved from
// F(t_new, x', x_new, z) = 0, so that z has the order of x where the index is 1; where that cannot be solved for them
// (a higher index, or derivatives that the equations do not give) they follow from the stages by z_new = z + b A^-1
// (Z - z), as in E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section VI.1. The estimate h sum_j
// (b - b_hat)_j K_j of a pair is filtered by (F_x' + h gamma F_x | F_z)^-1 F_x', which takes away what stiff
// components add to it (M. E. Hosea, L. F. Shampine, Appl. Numer. Math. 20 (1996)).
#pragma once

#include "methods/implicit/implicit_method.hpp"
#include "methods/implicit/mass_product.hpp"
#include "methods/implicit_tableau/stage_inside.hpp"
#include "methods/step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// A pair that goes on with the solution whose error it estimates leaves that error in every step, and it adds up over as many
// steps as the run has: 1/h of them, h like the tolerance to the power 1/(p+1). A step is given as much less, to the power
// 1/p from a coarse tolerance on, so that the error of the run goes with the tolerance (L. F. Shampine, Tolerance
// proportionality in ODE codes, Lecture Notes in Mathematics 1386 (1989)); never less than rounding resolves.
inline constexpr double coarse_run = 1e-3, finest_step = 1e-12;

inline double tolerance_of_step(double rtol, const ImplicitTableau& tableau) noexcept {
    if (tableau.control_order <= tableau.order || !(rtol < coarse_run)) return rtol;
    return std::fmin(rtol, std::fmax(finest_step, rtol * std::pow(rtol / coarse_run, 1.0 / tableau.order)));
}

struct ImplicitRungeKutta {
    static constexpr bool is_explicit = false;
    static constexpr double memory = 0.04, shrink = 0.2, grow = 5.0;  // of the controller, as for dopri5
    static StepState& of(Integration& s) { return static_cast<StepState&>(implicit_of(s)); }
    static const StepState& of(const Integration& s) {
        return *static_cast<const StepState*>(static_cast<const ImplicitState*>(s.implicit));
    }
    static int degree(Integration& s) { return of(s).tableau.degree(); }
    // Those of the stages are no factors of one step.
    static bool has_no_factors(Integration&) noexcept { return true; }
    static int control_order(const Integration& s) { return of(s).tableau.control_order; }

    // Fixed steps: stages to rounding. Otherwise to a hundredth of the tolerance, which no estimate notices.
    static void prepare(Integration& s) noexcept {
        StepState& m = of(s);
        const double epsilon = std::numeric_limits<double>::epsilon();
        const bool fixed = s.fixed_step > 0;
        m.rtol = fixed ? 4 * epsilon : tolerance_of_step(s.rtol, m.tableau);
        m.atol_factor = fixed ? 4 * epsilon / std::fmax(s.rtol, 4 * epsilon) : s.rtol > 0 ? m.rtol / s.rtol : 1;
        m.tolerance = fixed ? 1 : 0.01;
        m.rounding = fixed ? 1e5 : std::fmin(0.1, std::fmax(1e-3, 1e4 * epsilon / std::fmax(m.rtol, epsilon)));
        m.most_rounds = fixed ? 50 : 12;
        m.halvings = fixed ? most_halvings : halvings_of_step;
    }

    static double first_step(Integration& s) noexcept {
        StepState& m = of(s);
        weigh_stages(s, m, 1);
        return first_step_length(s, m, halfway, 1, nullptr);
    }

    // One attempt from t to t_new; going: look at s.accepted. On rejection s.h is the next length to try.
    static Status attempt(Integration& s) noexcept {
        StepState& m = of(s);
        const double h = s.t_new - s.t;
        s.accepted = false;
        NewtonOutcome outcome = solve_step(s, m);
        if (s.abort_called) return Status::aborted;
        if (outcome != NewtonOutcome::converged) return shorter(s, m, outcome);
        combine(s, m);
        double error = estimate(s, m);
        if (!(error <= 1)) return reject(s, m, error);
        outcome = find_end(s, m);
        if (s.abort_called) return Status::aborted;
        if (outcome != NewtonOutcome::converged) return shorter(s, m, outcome);
        error = std::fmax(error, counts_between(s, m) && can_look(m) ? look_between(s, m) : error_inside(s, m));
        if (s.abort_called) return Status::aborted;
        if (!(error <= 1)) return reject(s, m, error);
        s.accepted = true;
        s.h = h * growth_after_acceptance<ImplicitRungeKutta>(s, error);
        return Status::going;
    }

    // The step to t_new whatever its error: at fixed step, and where an event cuts a step short.
    static void take(Integration& s) noexcept {
        StepState& m = of(s);
        NewtonOutcome outcome = solve_step(s, m);
        if (outcome == NewtonOutcome::converged) {
            combine(s, m);
            outcome = find_end(s, m);
        }
        s.taken = outcome == NewtonOutcome::converged;
        if (s.taken) return;
        ++m.newton_failures;
        copy(s.x, s.n, s.x_new);
    }

    // x' is the derivative of the polynomial of x.
    static void dense(Integration& s) noexcept {
        StepState& m = of(s);
        const ImplicitTableau& tableau = m.tableau;
        const long long n = m.unknowns, nx = m.states, lanes = s.lanes;
        const int stages = tableau.stages, degree = tableau.degree();
        const double h = s.t_new - s.t;
        double* c = s.coefficients;
        copy(s.x, n, c);
        for (long long k = lanes; k < (degree + 1) * lanes; ++k) c[k] = 0;
        for (int power = 1; power <= tableau.x_degree; ++power)
            for (int j = 0; j < stages; ++j) {
                const double weight = h * tableau.x_weights[static_cast<std::size_t>((power - 1) * stages + j)];
                for (long long i = 0; i < nx; ++i) c[power * lanes + i] += weight * m.rows[j * n + i];
            }
        for (int power = 1; power <= tableau.z_degree; ++power)
            for (int j = 0; j <= stages; ++j) {
                const double weight = tableau.z_weights[static_cast<std::size_t>((power - 1) * (stages + 1) + j)];
                const double* values = j < stages ? m.rows + j * n : s.x_new;
                for (long long i = nx; i < n; ++i) c[power * lanes + i] += weight * (values[i] - s.x[i]);
            }
        for (int power = 0; power < degree; ++power)
            for (long long i = 0; i < nx; ++i) c[power * lanes + n + i] = (power + 1) / h * c[(power + 1) * lanes + i];
        m.polynomial_known = true;
        m.polynomial_time = s.t, m.polynomial_step = h;
    }

private:
    // The polynomial of the step, mended between its ends, and its error there.
    static double look_between(Integration& s, StepState& m) noexcept {
        dense(s);
        s.dense_known = true;
        if (too_short_to_look(s, m, m.step, s.last_step)) return 0;
        weigh_between(s, m);
        return slopes_agree(s, m, degree(s)) ? 0 : error_between(s, m, MiddleOfStages{s, m});
    }

    // After an error that is too large: a shorter step.
    static Status reject(Integration& s, StepState& m, double error) noexcept {
        const double h = s.t_new - s.t;
        ++s.rejected;
        s.h = h * (std::isfinite(error) ? shrinkage_after_rejection<ImplicitRungeKutta>(s, error) : cut_if_not_finite);
        s.after_rejection = true;
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        s.culprit = {worst_component(m, m.error), Culprit::What::nothing};
        return Status::step_too_small;
    }

    // Of one unknown over all stages.
    static double sum_of_stages(const StepState& m, const std::vector<double>& weights, long long i) noexcept {
        double sum = 0;
        for (int j = 0; j < m.tableau.stages; ++j)
            sum += weights[static_cast<std::size_t>(j)] * m.rows[j * m.unknowns + i];
        return sum;
    }

    static void combine(Integration& s, StepState& m) noexcept {
        for (long long i = 0; i < m.states; ++i) s.x_new[i] = s.x[i] + m.step * sum_of_stages(m, m.tableau.b, i);
    }

    // z and x' at the end of the step.
    static NewtonOutcome find_end(Integration& s, StepState& m) noexcept {
        const ImplicitTableau& tableau = m.tableau;
        const long long n = m.unknowns, nx = m.states;
        const int last = tableau.stages - 1;
        if (tableau.ends_in_last_stage) return write_end(s, m, last);
        double* end = m.rows + tableau.stages * n;
        NewtonOutcome outcome = NewtonOutcome::singular;
        if (!m.model.higher_index) {
            // The beginning and the stages prolonged, then the stages alone.
            copy(s.x_new, nx, m.base);
            bool found = false;
            for (const bool carries : {true, false}) {
                for (long long i = 0; i < n; ++i) end[i] = carries ? carried(s, m, i) : sum_of_stages(m, tableau.last_slope, i);
                m.strained = false;
                outcome = solve_part(s, m, {tableau.stages, 1, true, nullptr});
                const bool converged = outcome == NewtonOutcome::converged, straight = converged && !m.strained;
                if (straight || (converged && !found)) copy(end, n, m.error);
                found |= converged;
                if (straight || outcome == NewtonOutcome::singular || s.abort_called) break;
            }
            if (found) {
                copy(m.error, n, end);
                outcome = NewtonOutcome::converged;
            }
        }
        if (outcome == NewtonOutcome::singular && !s.abort_called) {
            for (long long i = 0; i < n; ++i) end[i] = carried(s, m, i);
            outcome = NewtonOutcome::converged;
        }
        return outcome == NewtonOutcome::converged ? write_end(s, m, tableau.stages) : outcome;
    }

    // z + b A^-1 (Z - z), and the same for x'.
    static double carried(const Integration& s, const StepState& m, long long i) noexcept {
        const ImplicitTableau& tableau = m.tableau;
        const double before = i < m.states ? s.x[m.unknowns + i] : s.x[i];
        if (tableau.to_end.empty()) return m.rows[(tableau.stages - 1) * m.unknowns + i];
        double sum = before;
        for (int j = 0; j < tableau.stages; ++j)
            sum += tableau.to_end[static_cast<std::size_t>(j)] * (m.rows[j * m.unknowns + i] - before);
        return sum;
    }

    static NewtonOutcome write_end(Integration& s, const StepState& m, int row) noexcept {
        const long long n = m.unknowns, nx = m.states;
        copy(m.rows + row * n, nx, s.x_new + n);
        copy(m.rows + row * n + nx, n - nx, s.x_new + nx);
        return NewtonOutcome::converged;
    }

    static double estimate(Integration& s, StepState& m) noexcept {
        const ImplicitTableau& tableau = m.tableau;
        const long long n = m.unknowns, nx = m.states;
        if (tableau.error.empty()) return 0;
        double* raw = m.stage;
        for (long long i = 0; i < nx; ++i) raw[i] = m.step * sum_of_stages(m, tableau.error, i);
        if (tableau.gamma == 0 || !filter(s, m, raw)) {
            copy(raw, nx, m.error);
            for (long long i = nx; i < n; ++i) m.error[i] = 0;
        }
        // Both ends count, so that a component on its way from zero is not asked for too much.
        for (long long i = 0; i < nx; ++i) {
            const double size = std::fmax(std::fabs(s.x[i]), std::fabs(s.x_new[i]));
            const double relative = (s.atol[i] + s.rtol * std::fabs(s.x[i])) / (s.atol[i] + s.rtol * size);
            m.error[i] *= std::isfinite(relative) ? relative : 1;
        }
        return weighted_norm(m, m.error);
    }

    // m.error <- (e_x, e_z) with (F_x' + h gamma F_x) e_x + h gamma F_z e_z = F_x' raw, by the last Jacobians.
    static bool filter(Integration& s, StepState& m, const double* raw) noexcept {
        const ImplicitModel& model = m.model;
        const double scaled = m.step * m.tableau.gamma;
        if (!m.tableau.last_matrix_filters) {
            double* values = m.solver.values();
            m.solver_factor = 0;
            const long long first_z = model.matrix.colind[static_cast<std::size_t>(model.block_states())];
            for (long long k = 0; k < model.matrix.nonzeros(); ++k) values[k] = 0;
            for (std::size_t k = 0; k < model.all_place.size(); ++k)
                values[model.all_place[k]] = model.all_place[k] < first_z ? scaled * m.all[k] : m.all[k];
            for (std::size_t k = 0; k < model.dot_place.size(); ++k) values[model.dot_place[k]] += m.dot[k];
            ++m.factorisations;
            if (!m.solver.factor(nullptr, nullptr)) return false;
        }
        multiply_mass(m, 1, raw, m.error);
        m.solver.solve_own(m.error);
        // The right side is a derivative by x' too.
        for (long long g = 1; g < m.group_count; ++g) {
            direct(m, g - 1, m.error, 1, raw, -1);
            for_places(model, g - 1, [&](long long begin, long long end) {
                for (long long k = begin; k < end && k < m.states; ++k) m.direction[k] *= scaled;
            });
            subtract_below(s, m, g - 1, m.point_time, m.point_rate, m.point, m.error);
            m.solver.solve_group(g, m.error);
        }
        for (long long i = m.states; i < m.unknowns; ++i) m.error[i] /= scaled;
        double sum = 0;
        for (long long i = 0; i < m.unknowns; ++i) sum += m.error[i];
        return std::isfinite(sum);
    }

    // After stages without a solution: a shorter step.
    static Status shorter(Integration& s, StepState& m, NewtonOutcome outcome) noexcept {
        ++s.rejected;
        ++m.newton_failures;
        s.h = (outcome == NewtonOutcome::not_finite ? cut_if_not_finite : 0.5) * (s.t_new - s.t);
        s.after_rejection = true;
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        if (outcome == NewtonOutcome::singular) return Status::singular;
        if (outcome == NewtonOutcome::diverged) return Status::newton_failed;
        if (s.culprit.component < 0) s.culprit.component = 0;
        s.culprit.what = Culprit::What::derivative;
        return Status::not_finite;
    }
};
static_assert(ImplicitMethod<ImplicitRungeKutta>);

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
