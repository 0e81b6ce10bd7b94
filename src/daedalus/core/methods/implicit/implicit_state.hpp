// What every implicit method shares: residuals, Jacobians, matrices and norms.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "machine/arena.hpp"
#include "methods/implicit/between_nodes.hpp"
#include "methods/implicit/mode_search.hpp"
#include "model/block_solver.hpp"
#include "model/column_products.hpp"
#include "model/implicit_model.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// How Newton's method ended on the equations of a step.
enum class NewtonOutcome { converged, diverged, not_finite, singular };

// The part of an implicit run that does not depend on the method.
struct ImplicitState {
    const ImplicitModel& model;
    const long long states, unknowns;
    Call residual, jacobian, drift, below, product, charged, charged_jacobian;
    bool has_drift = false;
    bool restarted = true;  // nothing of the past holds: the start, a breakpoint, a reset
    double restart_time = std::numeric_limits<double>::quiet_NaN();  // the last time that this was so
    bool diagonal_restart = false;  // its matrix is diagonal
    bool row_factored = false;      // its factor is that of a row between steps
    bool singular_restart = false;  // behind a jump the equations do not determine z and x'
    // Behind a jump at this time z is still that of before: the first step finds it.
    double stale_time = std::numeric_limits<double>::quiet_NaN();
    long long old_steps = 0, jacobians_before = 0;  // steps with the last Jacobian, and how many there were then
    bool (*settle)(Integration& s, double* y) noexcept = nullptr;  // the method's own way to a consistent row

    Arena memory;
    double* dot;           // nonzeros of dF/dx' and of dF/d(x, z) at the last evaluation
    double* all;
    double* charged_dot;   // that part of dF/dx' which belongs to charges
    double* row_scale;     // powers of h
    double* column_scale;
    double* weights;       // one over the tolerance of each unknown, zeros up to full lanes
    double* reach;         // how far errors within the tolerance move unknowns of a higher index in a step
    bool reach_known = false;
    double* spare;         // three vectors of unknowns
    double* spare_row;     // a row (x, z, x')
    double* layer_begin;   // unknowns, where a step through a layer begins
    double* constraint_drift;  // dc/dt of constraints between states
    double* beside_point;  // three vectors of unknowns, for slopes by differences
    // For products, and for models with columns: where the last Jacobians are from; what the functions of columns give; a
    // direction d', d.
    const long long group_count;
    double point_time = 0;
    double *point_rate = nullptr, *point = nullptr, *point_inputs = nullptr, *column_own = nullptr, *column_values = nullptr;
    double *direction_rate = nullptr, *direction = nullptr;
    BlockSolver<double> solver;
    bool slopes_known = false;                // of a model whose slopes parameters alone change,
    double* slopes_parameters = nullptr;      // and these
    double answer_error = 0;   // backward errors of answers that are good enough, above rounding
    double solver_factor = 0;  // a of its factors of a F_x' + F_w, 0 where it holds another matrix or none
    ModeSearch modes;

    // For looks between the ends of a step: where, what they find, a row, and one over what is allowed.
    BetweenNodes between;
    const long long between_lanes;
    double *between_off, *between_row, *between_weights;
    double refused_time = std::numeric_limits<double>::quiet_NaN(), refused_error = 0;  // the last step refused because of them
    int refused_in_vain = 0;

    long long jacobians = 0, factorisations = 0, newton = 0, newton_failures = 0, singular = 0;
    int refused_ends = 0;  // last steps refused because of z alone
    int strain = 0;  // failures of Newton's method that come again and again
    bool condition_left = false;  // a condition that changed at zero has left it since the last Jacobian
    double longest_step = 0;  // that was taken

    ImplicitState(const ImplicitModel& m, const ImplicitCalls& calls)
        : model(m),
          states(m.states),
          unknowns(m.unknowns),
          residual(calls.residual),
          jacobian(calls.jacobian),
          drift(calls.drift),
          below(calls.below),
          product(calls.product),
          charged(calls.charged),
          charged_jacobian(calls.charged_jacobian),
          has_drift(calls.has_drift),
          dot(memory.carve(static_cast<long long>(m.dot_place.size()))),
          all(memory.carve(static_cast<long long>(m.all_place.size()))),
          charged_dot(memory.carve(m.charged ? static_cast<long long>(m.dot_place.size()) : 0)),
          row_scale(memory.carve(m.unknowns)),
          column_scale(memory.carve(m.unknowns)),
          weights(memory.carve(padded(m.unknowns))),
          reach(memory.carve(m.unknowns)),
          spare(memory.carve(3 * m.unknowns)),
          spare_row(memory.carve(m.unknowns + m.states)),
          layer_begin(memory.carve(m.unknowns)),
          constraint_drift(memory.carve(m.state_constraints.empty() ? 0 : m.unknowns)),
          beside_point(memory.carve(3 * m.unknowns)),
          group_count(static_cast<long long>(m.columns.groups.size())),
          solver(m.matrix, m, 1),
          modes(memory, m.block_states(), m.unknowns, m.states,
                static_cast<long long>(m.dot_place.size() + m.all_place.size())),
          between_lanes(padded(m.unknowns)),
          between_off(memory.carve((most_looks + most_checks + 2) * between_lanes)),
          between_row(memory.carve(padded(m.unknowns + m.states))),
          between_weights(memory.carve(between_lanes)) {
        if (m.product) {
            point_rate = memory.carve(m.states), point = memory.carve(m.unknowns);
            point_inputs = memory.carve(m.product->size_in[4]);
            product.arg[0] = &point_time, product.arg[1] = point_rate, product.arg[2] = point;
            product.arg[3] = point + m.states, product.arg[4] = point_inputs;
        }
        if (m.constant_slopes) slopes_parameters = memory.carve(m.jacobian->size_in[5]);
        if (m.columns.groups.empty()) return;
        point_rate = memory.carve(m.states), point = memory.carve(m.unknowns);
        column_own = memory.carve(m.columns.unknowns), column_values = memory.carve(most_values(m));
        direction_rate = memory.carve(m.states), direction = memory.carve(m.unknowns);
    }

private:
    static long long most_values(const ImplicitModel& m) {
        const ColumnGroups& c = m.columns;
        const long long most = c.residual.values > c.below.values ? c.residual.values : c.below.values;
        return most > c.drift.values ? most : c.drift.values;
    }
};

// An equation may turn into 0 = 0 while the Jacobian of an earlier step is kept: after so many steps it is too old.
inline constexpr long long oldest_jacobian = 20;

inline ImplicitState& implicit_of(Integration& s) { return *static_cast<ImplicitState*>(s.implicit); }

DAEDALUS_INLINE void evaluate_residual(Integration& s, ImplicitState& m, double* out) noexcept {
    m.residual.res[0] = out;
    if (const int failed = evaluate(m.residual)) [[unlikely]]
        note_failure(s, failed, out, m.unknowns);
}

// A function of the model itself, and its products with the columns.
inline void evaluate_columns(Integration& s, ImplicitState& m, Call& call, const ColumnProducts& products,
                             const ColumnFactors& by, double* out) noexcept {
    call.res[0] = m.column_own, call.res[1] = m.column_values;
    if (const int failed = evaluate(call)) [[unlikely]]
        return note_failure(s, failed, out, m.unknowns);
    for (long long k = 0; k < m.model.columns.unknowns; ++k) out[m.model.place_of(k)] = m.column_own[k];
    multiply_columns<false>(m.model, products, m.column_values, by, out);
}

// Whether values that were written just now are finite. A few are read one by one, as they were written (see read_fresh), in
// two sums, since each addition waits for the one before; many have left the processor by the time they are read.
inline bool all_finite(const double* values, long long n) noexcept {
    constexpr long long many = 256;
    double even = 0, odd = 0;
    if (n >= many) {
        DAEDALUS_SIMD_SUM(even)
        for (long long i = 0; i < n; ++i) even += 0 * values[i];
        return even == 0;
    }
    const volatile double* fresh = values;
    for (long long i = 0; i + 1 < n; i += 2) even += 0 * fresh[i], odd += 0 * fresh[i + 1];
    if (n & 1) even += 0 * fresh[n - 1];
    return even + odd == 0;
}

// out = F(t, rate, w); false where it is not finite.
inline bool residual_at(Integration& s, ImplicitState& m, double t, const double* rate, const double* w,
                        double* out) noexcept {
    ++s.rhs_calls;
    set_time(s, t);
    m.residual.arg[1] = rate, m.residual.arg[2] = w, m.residual.arg[3] = w + m.states;
    if (!m.model.columns.products)
        evaluate_residual(s, m, out);
    else
        evaluate_columns(s, m, m.residual, m.model.columns.residual, {rate, w, s.inputs.u}, out);
    return all_finite(out, m.unknowns);
}

// The same without the currents into charges, and the charges by equation.
inline bool charged_at(Integration& s, ImplicitState& m, double t, const double* rate, const double* w, double* out,
                       double* charges) noexcept {
    ++s.rhs_calls;
    set_time(s, t);
    m.charged.arg[1] = rate, m.charged.arg[2] = w, m.charged.arg[3] = w + m.states;
    m.charged.res[0] = out, m.charged.res[1] = charges;
    if (const int failed = evaluate(m.charged)) [[unlikely]]
        note_failure(s, failed, out, m.unknowns);
    const volatile double *fresh = out, *held = charges;
    double sum = 0;
    for (long long i = 0; i < m.unknowns; ++i) sum += 0 * fresh[i] + 0 * held[i];
    return sum == 0;
}

inline void keep_point(ImplicitState& m, double t, const double* rate, const double* w) noexcept {
    m.point_time = t;
    copy(rate, m.states, m.point_rate);
    copy(w, m.unknowns, m.point);
}

// A slope that is not finite, such as that of sqrt(max(h, 0)) at h <= 0, is taken by a difference: the columns of dF/d(x, z)
// that have such a slope, each by one evaluation. A slope that is too steep would let Newton's method end too soon.
DAEDALUS_COLD void mend_slopes(Integration& s, ImplicitState& m, double t, const double* rate, const double* w) noexcept {
    const Pattern& pattern = m.model.matrix;
    double *at_point = m.beside_point, *beside = at_point + m.unknowns, *moved = beside + m.unknowns;
    if (!residual_at(s, m, t, rate, w, at_point)) return;
    copy(w, m.unknowns, moved);
    const long long *place = m.model.all_place.data(), *ends = pattern.colind.data() + 1, *rows = pattern.rows.data();
    const auto count = static_cast<long long>(m.model.all_place.size());
    for (long long k = 0, next = 0, column = 0; k < count; k = next) {
        while (ends[column] <= place[k]) ++column;
        bool finite = true;
        for (next = k; next < count && place[next] < ends[column]; ++next) finite = finite && std::isfinite(m.all[next]);
        if (finite) continue;
        // Half its size away it is on the same side of zero; from zero, to where it goes.
        const bool goes_up = column < m.states && rate[column] * s.direction > 0;
        moved[column] = w[column] != 0 ? 0.5 * w[column] : goes_up ? s.atol[column] : -s.atol[column];
        if (residual_at(s, m, t, rate, moved, beside))
            for (long long j = k; j < next; ++j)
                m.all[j] = (beside[rows[place[j]]] - at_point[rows[place[j]]]) / (moved[column] - w[column]);
        moved[column] = w[column];
    }
}

// Whether slopes that parameters alone change are those of before.
inline bool slopes_are_known(ImplicitState& m) noexcept {
    if (!m.model.constant_slopes) return false;
    const double* now = m.jacobian.arg[5];
    const long long count = m.model.jacobian->size_in[5];
    if (m.slopes_known && std::equal(now, now + count, m.slopes_parameters)) return true;
    copy(now, count, m.slopes_parameters);
    return m.slopes_known = false;
}

inline bool jacobian_at(Integration& s, ImplicitState& m, double t, const double* rate, const double* w,
                        bool charged = false) noexcept {
    const bool known = slopes_are_known(m);
    m.jacobians += !known;
    set_time(s, t);
    Call& call = charged ? m.charged_jacobian : m.jacobian;
    call.arg[1] = rate, call.arg[2] = w, call.arg[3] = w + m.states;
    call.res[0] = m.dot, call.res[1] = m.all;
    if (charged) call.res[2] = m.charged_dot;
    const bool failed = !known && fails(s, call);
    if (m.group_count > 0 || m.model.product) keep_point(m, t, rate, w);
    if (m.model.product) copy(s.inputs.u, m.model.product->size_in[4], m.point_inputs);
    if (!failed && !known && m.group_count == 0 && !all_finite(m.all, static_cast<long long>(m.model.all_place.size())))
        [[unlikely]] mend_slopes(s, m, t, rate, w);
    m.slopes_known = m.model.constant_slopes && !failed;
    return !failed;
}

// How many steps the Jacobian at hand has served, after one more.
inline long long count_old_step(ImplicitState& m) noexcept {
    m.old_steps = m.jacobians == m.jacobians_before ? m.old_steps + 1 : 1;
    m.jacobians_before = m.jacobians;
    return m.old_steps;
}

// a dF/dx' + dF/d(x, z) on the pattern of the matrix.
template <class Number>
inline void fill_matrix(const ImplicitState& m, Number a, Number* values) noexcept {
    const ImplicitModel& model = m.model;
    const long long count = model.matrix.colind[static_cast<std::size_t>(model.block_unknowns())];
    const long long *dot_place = model.dot_place.data(), *all_place = model.all_place.data();
    const auto dots = static_cast<long long>(model.dot_place.size());
    const auto alls = static_cast<long long>(model.all_place.size());
    // Places rise: as many as there are entries are all of them.
    if (alls == count) {
        for (long long k = 0; k < count; ++k) values[k] = m.all[k];
    } else {
        for (long long k = 0; k < count; ++k) values[k] = 0;
        for (long long k = 0; k < alls; ++k) values[all_place[k]] = m.all[k];
    }
    for (long long k = 0; k < dots; ++k) values[dot_place[k]] += a * m.dot[k];
}

// h^k for the small k that occur.
inline double small_power(double h, int k) noexcept {
    double power = 1;
    for (; k > 0; --k) power *= h;
    return power;
}

// Scales that make the matrix of a higher-index model well conditioned for small h.
inline void scale_by_index(ImplicitState& m, double h) noexcept {
    if (!m.model.higher_index) return;
    for (long long i = 0; i < m.model.block_unknowns(); ++i) {
        const auto place = static_cast<std::size_t>(m.model.place_of(i));
        m.column_scale[i] = 1 / small_power(h, m.model.index[place] - 1);
        m.row_scale[i] = small_power(h, m.model.level[place]);
    }
}

// out = dF/dx' rate + dF/d(x, z) v at the last Jacobian's point.
inline void multiply_slopes(void* context, const double* rate, const double* v, double* out) noexcept {
    ImplicitState& m = *static_cast<ImplicitState*>(context);
    m.product.arg[6] = rate, m.product.arg[7] = v, m.product.arg[8] = v + m.states;
    m.product.res[0] = out;
    // Iterations that meet a number like this stop.
    if (evaluate(m.product) != 0) std::fill_n(out, m.unknowns, std::numeric_limits<double>::quiet_NaN());
}

// Conductances of junctions lie ten powers of ten apart and change with every step, so that nearly every answer has lost
// some digits. A correction is good enough without them: the next residual is exact, and Jacobians are far less so.
inline constexpr double error_of_correction = 1e-12;
inline void choose_answer_error(const Integration& s, ImplicitState& m) noexcept {
    m.answer_error = s.junctions && !m.model.higher_index ? error_of_correction : 0;
}

template <class Number>
inline bool factor_matrix(ImplicitState& m, BlockSolver<Number>& solver, Number a) noexcept {
    ++m.factorisations;
    fill_matrix(m, a, solver.values());
    const GivenPreconditioner& given = m.model.preconditioner.given;
    if (given.prepare && !given.prepare(given.context, m.all, 1 / std::abs(a))) return false;
    const bool scaled = m.model.higher_index;
    if (m.model.product && !solver.multiply_by({&m, multiply_slopes, a, m.states})) return false;
    // Where Newton's method has just failed, iterations are no part of the reason.
    solver.accept(m.answer_error);
    solver.weigh_by(m.strain == 0 && m.group_count == 0 ? m.weights : nullptr);
    const bool done = solver.factor(scaled ? m.row_scale : nullptr, scaled ? m.column_scale : nullptr);
    if constexpr (!is_complex<Number>) m.solver_factor = done ? a : 0;
    return done;
}

// The unit of time in which short steps are short. A run of microseconds has no second in it: measured in seconds, errors
// of its variables of index 2 would not count at all.
inline double time_unit(const Integration& s, const ImplicitModel& model) noexcept {
    if (model.deepest > 2) return 1;
    const double latest = std::fmax(std::fabs(s.t0), std::fabs(s.t1));
    return latest > 0 ? std::fmin(latest, 1.0) : 1;
}

// Weights of the norm at the state w. Errors of variables of index k count less in short steps: in units of their reach,
// which grows like h^(1-k) and knows how fast the model is, where a method has found it; h^(k-1) times elsewhere.
inline void set_weights(const Integration& s, ImplicitState& m, const double* w, double rtol, double atol_factor,
                        double h, long long begin, long long end) noexcept {
    DAEDALUS_SIMD
    for (long long i = begin; i < end; ++i) m.weights[i] = 1 / (atol_factor * s.atol[i] + rtol * std::fabs(w[i]));
    if (!m.model.higher_index) return;
    if (m.reach_known) {
        for (long long i = begin; i < end; ++i) m.weights[i] /= 1 + m.weights[i] * m.reach[i];
        return;
    }
    const double shorter = std::fmin(h / time_unit(s, m.model), 1.0);
    for (long long i = begin; i < end; ++i)
        m.weights[i] *= small_power(shorter, m.model.index[static_cast<std::size_t>(i)] - 1);
}
inline void set_weights(const Integration& s, ImplicitState& m, const double* w, double rtol, double atol_factor,
                        double h) noexcept {
    set_weights(s, m, w, rtol, atol_factor, h, 0, m.unknowns);
}

// RMS of a vector of unknowns in units of the tolerance.
inline double weighted_norm(const ImplicitState& m, const double* values) noexcept {
    double even = 0, odd = 0;
    for (long long i = 0; i + 1 < m.unknowns; i += 2) {
        const double first = values[i] * m.weights[i], second = values[i + 1] * m.weights[i + 1];
        even += first * first, odd += second * second;
    }
    if (m.unknowns & 1) {
        const double last = values[m.unknowns - 1] * m.weights[m.unknowns - 1];
        even += last * last;
    }
    return std::sqrt((even + odd) / static_cast<double>(m.model.counted() > 0 ? m.model.counted() : 1));
}

// The component that a vector of unknowns is largest in, in units of the tolerance.
inline long long worst_component(const ImplicitState& m, const double* values) noexcept {
    long long worst = 0;
    for (long long i = 1; i < m.unknowns; ++i)
        if (std::fabs(values[i] * m.weights[i]) > std::fabs(values[worst] * m.weights[worst])) worst = i;
    return worst;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
