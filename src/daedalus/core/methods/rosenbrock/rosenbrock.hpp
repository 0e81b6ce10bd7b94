// Rosenbrock methods for 0 = F(t, x', x, z) = M x' - f(t, x, z) of index 1, M constant and possibly singular.
//
//   (M / (h gamma) + dF/dw) k_i = -F(t + alpha_i h, v_i, w + sum_j a_ij k_j) - h gamma_i dF/dt
//   v_i = -(1/h) sum_j c_ij k_j (its states),   w_new = w + sum_j m_j k_j,   w = (x, z)
//
// No Newton method: s linear systems with one matrix a step, its Jacobian new at every step (E. Hairer, G. Wanner, Solving
// Ordinary Differential Equations II, IV.7 and VI.4). M never appears itself: F is linear in x', so v_i brings it in.
// A stiffly accurate method linearises F about its last stage W_s, and w_new = W_s + k_s; so the end has the derivative
//   x'_new = k_s / (h gamma) + v_s,   F(t_new, x'_new, w_new) = O(|k_s| (h + |k_s|))
// with no further evaluation. Inside the step x' is the derivative of the dense output.
//
// Where dF/dx' moves (charges of junctions, F nonlinear in x'), the method solves x' = y, 0 = F(t, y, x, z) with the slopes y
// as algebraic unknowns, which is of index 1 again. They leave the linear systems as they are:
//   (F_x' / (h gamma) + F_w) k_i = -F(t + alpha_i h, Y_i, W_i) - F_x' (v_i - Y_i) - h gamma_i dF/dt
//   l_i = k_i / (h gamma) + v_i - Y_i,   Y_i = y + sum_j a_ij l_j,   y_new = Y_s + l_s = x'_new as above
// with F_x', F_w, dF/dt at (t, y, w).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "methods/implicit/blame.hpp"
#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/implicit_method.hpp"
#include "methods/implicit/junction_step.hpp"
#include "methods/implicit/mass_product.hpp"
#include "methods/implicit/refined_solve.hpp"
#include "methods/implicit/weighted_rows.hpp"
#include "methods/rosenbrock/rosenbrock_coefficients.hpp"
#include "methods/step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct RosenbrockState : ImplicitState {
    const RosenbrockCoefficients& method;
    const long long lanes;  // of a vector of unknowns
    double* k;         // (stages, lanes)
    double* stage;     // one state (x, z)
    double* rate;      // one derivative x'
    double* none;      // the derivative 0
    double* first;     // F(t, 0, w): of the first stage, whatever the step
    double* next;      // the same at the end of the step
    double* drift_now; // dF/dt
    double* error;
    // Where dF/dx' moves: changes of the slopes by stages, the slopes of one stage, and dF/dx' times a vector.
    double *slope_changes, *begin_slopes, *slopes, *apart, *turned_mass;

    // What is known, and at what time, until a restart.
    bool first_known = false, next_known = false, linearised = false;
    double first_time = 0, next_time = 0, linearised_time = 0, factored_step = 0;
    bool is_line = false;                      // the last step was one over the end of a junction's current
    bool states_jump = false;                  // and its states moved, in a layer that time does not resolve
    long long bad_row = 0;                     // the equation that was not finite
    bool may_refine = false, refines = false;  // the sum in the matrix loses digits that count
    bool fresh = true, after_failure = false;  // for the predictive controller
    double accepted_step = 0, accepted_root = 1;
    double usual_step = 0;  // the length of the last accepted step, or of the first one tried
    // Smaller errors of the step before do not let the next one grow.
    static constexpr double least_error = 1e-2;
    const double least_root;  // that of such an error

    RosenbrockState(const ImplicitModel& m, const ImplicitCalls& calls, const RosenbrockCoefficients& t)
        : ImplicitState(m, calls),
          method(t),
          lanes(padded(m.unknowns)),
          least_root(std::pow(least_error, 1.0 / t.order)) {
        const double ends[] = {0, 1};
        between = between_nodes(ends, 2, t.degree);
        k = memory.carve(t.stages * lanes);
        stage = memory.carve(lanes), rate = memory.carve(lanes), none = memory.carve(lanes);
        first = memory.carve(lanes), next = memory.carve(lanes), drift_now = memory.carve(lanes);
        error = memory.carve(lanes);
        slope_changes = memory.carve(t.stages * lanes), begin_slopes = memory.carve(lanes);
        slopes = memory.carve(lanes), apart = memory.carve(lanes), turned_mass = memory.carve(lanes);
    }
};

struct Rosenbrock {
    static constexpr bool is_explicit = false;
    static constexpr bool dense_on_demand = true;
    static RosenbrockState& of(Integration& s) { return static_cast<RosenbrockState&>(implicit_of(s)); }
    static int degree(Integration& s) { return of(s).method.degree; }

    // Lost digits count where tolerances are below the rounding errors of numbers of size one.
    static void prepare(Integration& s) noexcept {
        RosenbrockState& m = of(s);
        for (long long i = 0; i < m.states; ++i)
            m.may_refine |= s.atol[i] < std::numeric_limits<double>::epsilon();
    }

    // The higher the order, the longer.
    static double first_step(Integration& s) noexcept {
        RosenbrockState& m = of(s);
        set_weights(s, m, s.x, s.rtol, 1, 1);
        return first_step_length(s, m, 1.0 / m.method.order, 1, nullptr);
    }

    // One attempt from t to t_new; going: look at s.accepted. On rejection s.h is the next length to try.
    static Status attempt(Integration& s) noexcept {
        RosenbrockState& m = of(s);
        const double h = s.t_new - s.t;
        s.accepted = m.is_line = false;
        const Outcome outcome = stages(s, m, h);
        if (s.abort_called) return Status::aborted;
        // At the beginning itself: no shorter step can help.
        if (outcome == Outcome::no_start) return blame(s, m);
        if (outcome == Outcome::singular) return shorter(s, m, 0.5, Status::singular);
        if (outcome == Outcome::not_finite) return shorter(s, m, cut_if_not_finite, Status::not_finite);
        write_end(s, m, h);
        if (m.fresh && !m.after_failure) m.usual_step = std::fabs(h);
        double error = estimate(s, m);
        if (error < 1) error = std::fmax(error, error_inside(s, m, h));
        if (s.abort_called) return Status::aborted;
        const double root = std::pow(error, 1.0 / m.method.order), growth = m.fresh ? first_growth : most_growth;
        const double quotient = std::clamp(root / safety, 1.0 / growth, most_shrinkage);
        if (!(error < 1)) {
            const bool finite = std::isfinite(error);
            if (finite && crosses_junction(s, m)) return Status::going;
            return shorter(s, m, finite ? 1 / quotient : cut_if_not_finite,
                           finite ? Status::step_too_small : Status::not_finite);
        }
        // The next step begins with this evaluation anyway; a step out of the domain of the model is no step.
        if (!finite_at(s, m, s.t_new, rate_known(s, m, s.x_new), s.x_new, m.next))
            return s.abort_called ? Status::aborted : shorter(s, m, cut_if_not_finite, Status::not_finite);
        if (s.junctions && m.factored_step == h && !(left_at_end(s, m, h) < most_left))
            return shorter(s, m, 0.5, Status::step_too_small);
        m.next_known = !s.has_projection, m.next_time = s.t_new;
        accept(s, m, h, root, quotient);
        return Status::going;
    }

    // The step to t_new whatever its error: at fixed step, and where an event cuts a step short.
    static void take(Integration& s) noexcept {
        RosenbrockState& m = of(s);
        const double h = s.t_new - s.t;
        const Outcome outcome = stages(s, m, h);
        s.taken = outcome != Outcome::singular;
        if (outcome == Outcome::done) return write_end(s, m, h);
        copy(s.x, s.n, s.x_new);
        if (!s.taken) return;
        for (long long i = 0; i < m.unknowns; ++i) s.x_new[i] = std::numeric_limits<double>::quiet_NaN();
    }

    // Coefficients of (x, z), and of x' as its derivative.
    static void dense(Integration& s) noexcept {
        RosenbrockState& m = of(s);
        const long long n = m.unknowns, nx = m.states;
        const int degree = m.method.degree;
        const double h = s.t_new - s.t;
        double* c = s.coefficients;
        copy(s.x, n, c);
        if (m.is_line) return write_line(s, m, h);
        for (int j = 0; j < degree; ++j) {
            // Whole lanes: what is written beyond (x, z) is overwritten by x' next.
            double* row = c + (j + 1) * s.lanes;
            combine(m, nullptr, m.method.powers[j], m.method.stages, row);
            for (long long i = 0; i < nx; ++i) c[j * s.lanes + n + i] = (j + 1) / h * row[i];
        }
        for (long long i = 0; i < nx; ++i) c[degree * s.lanes + n + i] = 0;
    }

    // The polynomial of the last step, mended between its ends, and its error there.
    static double look_between(Integration& s) noexcept {
        RosenbrockState& m = of(s);
        const double h = s.t_new - s.t;
        dense(s);
        s.dense_known = true;
        if (s.fixed_step > 0 || m.factored_step != h || too_short_to_look(s, m, h, m.usual_step)) return 0;
        weigh_between(s, m);
        return slopes_agree(s, m, degree(s)) ? 0 : error_between(s, m, MiddleOfRosenbrock{s, m, h});
    }

    // Hairer's rodas: the step grows at most six times and shrinks at most five times. The first one is a guess on the
    // safe side; behind it two such growths are taken at once.
    static constexpr double most_growth = 6, most_shrinkage = 5, first_growth = most_growth * most_growth;

private:
    static constexpr double tolerance_of_junction = 0.01;  // of the tolerance, what Newton's method may leave there
    static constexpr double most_left = 2;  // tolerances, at the end of a step: beyond the errors that a step may have
    enum class Outcome { done, singular, not_finite, no_start };

    // out = base + sum_j weights_j k_j; no base is zeros.
    static void combine(const RosenbrockState& m, const double* base, const double* weights, int count,
                        double* out) noexcept {
        add_rows(m.lanes, base, weights, count, m.k, out);
    }

    // Everything that belongs to (t, w) alone: F(t, 0, w), the Jacobian, dF/dt. After a rejection it is still there.
    static Outcome linearise(Integration& s, RosenbrockState& m, double h) noexcept {
        if (m.restarted) {
            m.first_known = m.next_known = m.linearised = m.restarted = m.after_failure = false;
            m.fresh = true, m.restart_time = s.t;
        }
        if (!m.first_known || m.first_time != s.t) {
            m.linearised = false;
            m.first_known = m.next_known && m.next_time == s.t;
            if (m.first_known)
                std::swap(m.first, m.next);
            else if (!finite_at(s, m, s.t, rate_known(s, m, s.x), s.x, m.first))
                return Outcome::no_start;
            m.first_known = true, m.next_known = false, m.first_time = s.t;
        }
        if (m.linearised && m.linearised_time == s.t) return Outcome::done;
        if (!drift_at(s, m, h)) return Outcome::not_finite;
        if (!jacobian_at(s, m, s.t, s.x + m.unknowns, s.x)) return Outcome::not_finite;
        m.linearised = true, m.linearised_time = s.t, m.factored_step = 0;
        return Outcome::done;
    }

    // dF/dt, zero at first, with the slopes of tabulated inputs; a difference quotient where the model brings no function for it.
    static bool drift_at(Integration& s, RosenbrockState& m, double h) noexcept {
        if (m.model.autonomous) return true;
        if (!m.has_drift) {
            const double root = std::sqrt(std::numeric_limits<double>::epsilon());
            const double wish = std::fmax(root * std::fabs(h), 16 * spacing(s.t));
            const double later = s.t + std::copysign(wish, h), apart = later - s.t;
            if (!finite_at(s, m, later, rate_known(s, m, s.x), s.x, m.drift_now)) return false;
            for (long long i = 0; i < m.unknowns; ++i) m.drift_now[i] = (m.drift_now[i] - m.first[i]) / apart;
            return true;
        }
        set_time(s, s.t);
        write_rates(s.inputs, s.t);
        m.drift.arg[1] = rate_known(s, m, s.x), m.drift.arg[2] = s.x, m.drift.arg[3] = s.x + m.states;
        if (m.model.columns.products) {
            evaluate_columns(s, m, m.drift, m.model.columns.drift, {m.none, s.x, s.inputs.u}, m.drift_now);
            return !first_not_finite(m.drift_now, m.unknowns, m.bad_row);
        }
        m.drift.res[0] = m.drift_now;
        return !fails(s, m.drift) && !first_not_finite(m.drift_now, m.unknowns, m.bad_row);
    }

    static Outcome stages(Integration& s, RosenbrockState& m, double h) noexcept {
        if (const Outcome outcome = linearise(s, m, h); outcome != Outcome::done) return outcome;
        const RosenbrockCoefficients& method = m.method;
        const double matrix_factor = 1 / (h * method.gamma[0]);
        if (m.factored_step != h) {
            m.factored_step = 0;
            scale_by_index(m, std::fabs(h));
            if (!factor_matrix(m, m.solver, matrix_factor)) {
                ++m.singular;
                return Outcome::singular;
            }
            m.factored_step = h;
            m.refines = m.may_refine && sum_loses_digits(s, m, matrix_factor);
        }
        if (s.moving_mass) copy(s.x + m.unknowns, m.states, m.begin_slopes);
        for (int i = 0; i < method.stages; ++i) {
            double* k = m.k + i * m.lanes;
            const double* residual = m.first;
            if (i > 0) {
                // The rate stands for M sum_j c_ij k_j / h.
                add_rows_twice(m.lanes, s.x, method.a[i], -1 / h, method.c[i], i, m.k, m.stage, m.rate);
                if (s.moving_mass) add_rows(m.lanes, m.begin_slopes, method.a[i], i, m.slope_changes, m.slopes);
                const double* rate = s.moving_mass ? m.slopes : m.rate;
                if (!finite_at(s, m, s.t + method.alpha[i] * h, rate, m.stage, k)) return Outcome::not_finite;
                residual = k;
            } else if (s.moving_mass) {
                std::fill(m.rate, m.rate + m.lanes, 0.0);
                copy(m.begin_slopes, m.lanes, m.slopes);
            }
            if (s.moving_mass) turn_mass(m);
            const double part = h * method.gamma[i];
            DAEDALUS_SIMD
            for (long long r = 0; r < m.lanes; ++r) k[r] = -residual[r] - part * m.drift_now[r];
            if (s.moving_mass)
                for (long long r = 0; r < m.unknowns; ++r) k[r] -= m.turned_mass[r];
            if (m.refines)
                solve_refined(s, m, m.solver, matrix_factor, k);
            else
                solve_step_matrix(s, m, m.solver, matrix_factor, k);
            if (s.moving_mass) {
                double* change = m.slope_changes + i * m.lanes;
                for (long long r = 0; r < m.states; ++r) change[r] = matrix_factor * k[r] + m.rate[r] - m.slopes[r];
            }
        }
        return Outcome::done;
    }

    // The derivative that F is taken at: none where dF/dx' is constant, since x' stands for itself then.
    static const double* rate_known(const Integration& s, const RosenbrockState& m, const double* row) noexcept {
        return s.moving_mass ? row + m.unknowns : m.none;
    }

    // dF/dx' (v_i - Y_i), by the Jacobian of the step.
    static void turn_mass(RosenbrockState& m) noexcept {
        double* apart = m.apart;
        for (long long r = 0; r < m.states; ++r) apart[r] = m.rate[r] - m.slopes[r];
        multiply_mass(m, 1, apart, m.turned_mass);
    }

    static void write_end(Integration& s, RosenbrockState& m, double h) noexcept {
        const RosenbrockCoefficients& method = m.method;
        const int last = method.stages - 1;
        combine(m, s.x, method.end, method.stages, m.stage);
        copy(m.stage, m.unknowns, s.x_new);
        const double* k = m.k + last * m.lanes;
        for (long long i = 0; i < m.states; ++i) s.x_new[m.unknowns + i] = k[i] / (h * method.gamma[0]) + m.rate[i];
    }

    static double estimate(const Integration& s, RosenbrockState& m) noexcept {
        for (long long i = 0; i < m.unknowns; ++i) m.stage[i] = larger(std::fabs(s.x[i]), std::fabs(s.x_new[i]));
        combine(m, nullptr, m.method.error, m.method.stages, m.error);
        set_weights(s, m, m.stage, s.rtol, 1, std::fabs(s.t_new - s.t));
        return std::fmax(weighted_norm(m, m.error), smallest_counted);
    }

    // What the equations leave at the end of a step (`next` is known there), as a correction in units of the tolerance. A step
    // over the voltage at which a junction begins to conduct, whose stages all lie before it, ends beyond volts that no
    // junction has, and its estimate knows nothing of it.
    static double left_at_end(Integration& s, RosenbrockState& m, double h) noexcept {
        const double* rate = s.x_new + m.unknowns;
        if (!s.moving_mass) multiply_mass(m, 1, rate, m.turned_mass);
        for (long long i = 0; i < m.unknowns; ++i) m.error[i] = m.next[i] + (s.moving_mass ? 0 : m.turned_mass[i]);
        solve_step_matrix(s, m, m.solver, 1 / (h * m.method.gamma[0]), m.error);
        return weighted_norm(m, m.error);
    }

    // The middle of the step, corrected with the matrix of the step.
    struct MiddleOfRosenbrock {
        Integration& s;
        RosenbrockState& m;
        double h;
        void write_middle() noexcept {
            const RosenbrockCoefficients& method = m.method;
            add_rows_twice(m.lanes, s.x, method.middle, 1 / h, method.middle_slope, method.stages, m.k, m.stage, m.rate);
        }
        bool correct_middle(double* off) noexcept { return correct(s.t + 0.5 * h, m.rate, m.stage, off); }
        bool correct_end(double* off) noexcept { return correct(s.t_new, s.x_new + m.unknowns, s.x_new, off); }
        void slow_part(const double* c, double* out) noexcept {
            const double a = 1 / (h * m.method.gamma[0]);
            multiply_mass(m, a, c, out);
            solve_step_matrix(s, m, m.solver, a, out, c, -a);
        }
        bool correct(double t, const double* rate, const double* w, double* off) noexcept {
            if (!residual_at(s, m, t, rate, w, off)) return false;
            solve_step_matrix(s, m, m.solver, 1 / (h * m.method.gamma[0]), off);
            return true;
        }
    };

    // A dense output of much lower order tells of itself alone.
    static double error_inside(Integration& s, RosenbrockState& m, double h) noexcept {
        if (counts_between(s, m)) return look_between(s);
        const bool tells = m.method.degree + 1 >= m.method.order;
        if (!tells || !worth_a_look(s, m, h, m.usual_step)) return 0;
        return error_inside_of(m, MiddleOfRosenbrock{s, m, h}, m.next, m.error);
    }

    static bool finite_at(Integration& s, RosenbrockState& m, double t, const double* rate, const double* w,
                          double* out) noexcept {
        if (residual_at(s, m, t, rate, w, out)) [[likely]]
            return true;
        first_not_finite(out, m.unknowns, m.bad_row);
        return false;
    }

    // Takes the step as one over the end of a junction's current. A restart follows.
    static bool crosses_junction(Integration& s, RosenbrockState& m) noexcept {
        if (!s.junctions) return false;
        // Of a step that failed the end says nothing of sizes: volts that no junction has would allow for any step here.
        set_weights(s, m, s.x, s.rtol, 1, std::fabs(s.t_new - s.t));
        const bool solved = solves_junction_step(s, m, tolerance_of_junction, m.error);
        return takes_line(s, m, solved, false);
    }
    // Takes it as one over a layer that time does not resolve; states move then.
    static bool crosses_layer(Integration& s, RosenbrockState& m) noexcept {
        return s.junctions && takes_line(s, m, solves_layer(s, m, tolerance_of_junction, m.error), true);
    }
    static bool takes_line(Integration& s, RosenbrockState& m, bool solved, bool states_move) noexcept {
        m.linearised = false, m.factored_step = 0;
        if (!solved) return false;
        m.states_jump = states_move;
        m.is_line = m.restarted = s.accepted = true;
        s.h = s.t_new - s.t;
        return true;
    }

    static void write_line(Integration& s, const RosenbrockState& m, double h) noexcept {
        double* c = s.coefficients;
        for (int j = 1; j <= m.method.degree; ++j)
            for (long long i = 0; i < m.unknowns + m.states; ++i) c[j * s.lanes + i] = 0;
        for (long long i = 0; i < m.states; ++i) c[m.unknowns + i] = s.x_new[m.unknowns + i];
        for (long long i = 0; i < m.unknowns; ++i)
            c[s.lanes + i] = i < m.states && !m.states_jump ? h * s.x_new[m.unknowns + i] : s.x_new[i] - s.x[i];
    }

    // The variable that the equation which was not finite is solved for: one whose derivative it has, else its last one.
    static Status blame(Integration& s, const RosenbrockState& m) noexcept {
        const ImplicitModel& model = m.model;
        const long long *colind = model.matrix.colind.data(), *rows = model.matrix.rows.data();
        const auto dots = static_cast<long long>(model.dot_place.size());
        const ColumnPlace bad = column_place(model, m.bad_row);
        long long found = 0;
        for (long long c = 0; c < model.block_unknowns(); ++c)
            for (long long k = colind[c]; k < colind[c + 1]; ++k)
                if (rows[k] == bad.row) found = c;
        for (long long c = 0, d = 0; c < model.block_states(); ++c)
            for (; d < dots && model.dot_place.data()[d] < colind[c + 1]; ++d)
                if (rows[model.dot_place.data()[d]] == bad.row) found = c;
        s.culprit = {place_of(model, {bad.group, found, bad.column}), Culprit::What::derivative};
        return Status::not_finite;
    }

    static Status shorter(Integration& s, RosenbrockState& m, double factor, Status why) noexcept {
        ++s.rejected;
        s.h = factor * (s.t_new - s.t);
        m.after_failure = true;
        if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
        if (crosses_layer(s, m)) return Status::going;
        if (why == Status::not_finite) return blame(s, m);
        s.culprit = {worst_component(m, m.error), Culprit::What::nothing};
        bool finite = true;
        const long long undetermined = why == Status::singular ? unknown_of_singular(m, finite) : -1;
        if (undetermined >= 0) s.culprit.component = undetermined;
        return why;
    }

    // Gustafsson's predictive controller, by roots of the errors; no growth behind a rejection.
    static void accept(Integration& s, RosenbrockState& m, double h, double root, double quotient) noexcept {
        s.accepted = true;
        if (!m.fresh) {
            const double ratio = std::fabs(m.accepted_step / h) * root * root / m.accepted_root;
            quotient = std::fmax(quotient, std::clamp(ratio / safety, 1.0 / most_growth, most_shrinkage));
        }
        if (m.after_failure) quotient = std::fmax(quotient, 1.0);
        m.accepted_step = h, m.accepted_root = std::fmax(m.least_root, root), m.usual_step = std::fabs(h);
        m.fresh = m.after_failure = false;
        m.longest_step = std::fmax(m.longest_step, std::fabs(h));
        s.h = h / quotient;
    }
};
static_assert(ImplicitMethod<Rosenbrock>);

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
