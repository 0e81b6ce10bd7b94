// Solves with Newton's matrix of a model and its columns of derivatives, exactly: its own correction first, then what
// that changes in the equations of the columns, then all columns with the same factor.
//
//   A d = r,   A D = R - (d/de)(F_x' S' + F_w S + F_p)(x' + e d', w + e d)       d' = a d in steps with A = a F_x' + F_w
//
// Without the products below the diagonal (the simultaneous corrector of T. Maly, L. R. Petzold, Appl. Numer. Math. 20,
// 1996) Newton's method with kept factors needs many more iterations where the model is far from linear; counted on
// Radau of order 5 at rtol 1e-6: quadrotor 1317 for 580, robertson 2689 for 750, oregonator 3389 for 1685.
#pragma once

#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Calls work(begin, end) with the places of a group: of its states, then of its other unknowns.
template <class Work>
DAEDALUS_INLINE void for_places(const ImplicitModel& model, long long g, Work&& work) noexcept {
    const ColumnGroup& group = model.columns.groups.data()[g];
    const long long others = model.columns.unknowns - model.columns.states;
    work(group.states_at, group.states_at + model.columns.states * group.width);
    work(group.others_at, group.others_at + others * group.width);
}

// The direction of a change of group g alone: d = change, d' = factor * change + other_factor * other in the states.
inline void direct(ImplicitState& m, long long g, const double* change, double factor, const double* other,
                   double other_factor) noexcept {
    for (long long before = 0; before + 1 < m.group_count && m.group_count > 2; ++before)
        for_places(m.model, before, [&](long long begin, long long end) {
            for (long long k = begin; k < end; ++k) m.direction[k] = 0;
            for (long long k = begin; k < end && k < m.states; ++k) m.direction_rate[k] = 0;
        });
    for_places(m.model, g, [&](long long begin, long long end) {
        for (long long k = begin; k < end; ++k) m.direction[k] = change[k];
        for (long long k = begin; k < end && k < m.states; ++k)
            m.direction_rate[k] = factor * change[k] + (other ? other_factor * other[k] : 0);
    });
}

// out -= what the direction of group g changes in the equations of later groups at a point.
inline void subtract_below(Integration& s, ImplicitState& m, long long g, double t, const double* rate,
                           const double* w, double* out) noexcept {
    const ColumnGroups& columns = m.model.columns;
    if (!columns.below.function) return;
    set_time(s, t);
    m.below.arg[1] = rate, m.below.arg[2] = w, m.below.arg[3] = w + m.states;
    m.below.arg[6] = m.direction_rate, m.below.arg[7] = m.direction, m.below.arg[8] = m.direction + m.states;
    m.below.res[0] = m.column_values;
    if (const int failed = evaluate(m.below)) [[unlikely]]
        return note_failure(s, failed, out, m.unknowns);
    if (columns.products) return multiply_columns<true>(m.model, columns.below, m.column_values, {rate, w, s.inputs.u}, out);
    for (long long later = g + 1; later < m.group_count; ++later)
        for_places(m.model, later, [&](long long begin, long long end) {
            for (long long k = begin; k < end; ++k) out[k] -= m.column_values[k];
        });
}

// The columns, where the part of the model itself is solved. x' changes by factor * other beside a times the change of x.
inline void solve_columns(Integration& s, ImplicitState& m, BlockSolver<double>& solver, double a, double* b,
                          const double* other = nullptr, double factor = 0) noexcept {
    for (long long g = 1; g < m.group_count; ++g) {
        direct(m, g - 1, b, a, other, factor);
        subtract_below(s, m, g - 1, m.point_time, m.point_rate, m.point, b);
        solver.solve_group(g, b);
    }
}

// With a F_x' + F_w, linearised where the last Jacobians are from; in place, complex right-hand sides as two vectors.
inline void solve_step_matrix(Integration& s, ImplicitState& m, BlockSolver<double>& solver, double a, double* b,
                              const double* other = nullptr, double factor = 0) noexcept {
    solver.solve_own(b);
    solve_columns(s, m, solver, a, b, other, factor);
}
inline void solve_step_matrix(Integration& s, ImplicitState& m, BlockSolver<Complex>& solver, Complex a, double* real,
                              double* imaginary) noexcept {
    solver.solve_own(real, imaginary);
    // The change of the equations is linear in the direction: real and imaginary parts one after the other.
    for (long long g = 1; g < m.group_count; ++g) {
        direct(m, g - 1, real, a.real(), imaginary, -a.imag());
        subtract_below(s, m, g - 1, m.point_time, m.point_rate, m.point, real);
        direct(m, g - 1, imaginary, a.real(), real, a.imag());
        subtract_below(s, m, g - 1, m.point_time, m.point_rate, m.point, imaginary);
        solver.solve_group(g, real, imaginary);
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
