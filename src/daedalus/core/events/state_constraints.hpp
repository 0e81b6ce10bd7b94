// Constraints between states alone, c(t, x) = 0, as a loop of capacitors has, behind a jump where x stays.
//
//   dc/dx x' + dc/dt = 0
//
// stands in the place of c in the equations of a restart. x is the same in all its corrections, and so are dc/dx and
// dc/dt. Models of higher index, and those with columns of derivatives, have other ways.
#pragma once

#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline bool has_state_constraints(const ImplicitState& m) noexcept {
    return !m.model.state_constraints.empty() && !m.model.higher_index && m.group_count <= 1 && !m.model.columns.products;
}

// Visits the entries of dF/dx' as they stand in a restart behind a constraint: place in the matrix, row, column, slope.
template <class Visit>
inline void visit_state_constraints(const ImplicitState& m, Visit&& visit) noexcept {
    const Pattern& matrix = m.model.matrix;
    long long column = 0;
    for (std::size_t k = 0; k < m.model.all_place.size(); ++k) {
        const long long place = m.model.all_place[k];
        while (matrix.colind[static_cast<std::size_t>(column) + 1] <= place) ++column;
        const long long row = matrix.rows[static_cast<std::size_t>(place)];
        if (m.model.is_state_constraint[static_cast<std::size_t>(row)]) visit(place, row, column, m.all[k]);
    }
}

// dc/dt of every constraint, by a difference in the direction of the run; false where the states at hand break one by more
// than their tolerance: no slope mends that.
inline bool find_constraint_drift(Integration& s, ImplicitState& m, const double* row) noexcept {
    double *now = m.beside_point, *later = now + m.unknowns, *allowed = later + m.unknowns;
    if (!jacobian_at(s, m, s.t, row + m.unknowns, row) || !residual_at(s, m, s.t, row + m.unknowns, row, now)) return false;
    for (const long long c : m.model.state_constraints) allowed[c] = 0;
    visit_state_constraints(m, [&](long long, long long c, long long i, double slope) {
        allowed[c] += std::fabs(slope) * (s.atol[i] + s.rtol * std::fabs(row[i]));
    });
    for (const long long c : m.model.state_constraints)
        if (!(std::fabs(now[c]) <= allowed[c])) return false;
    for (const long long c : m.model.state_constraints) m.constraint_drift[c] = 0;
    if (m.model.autonomous) return true;
    const double root = std::sqrt(std::numeric_limits<double>::epsilon());
    const double unit = s.last_step != 0 ? std::fabs(s.last_step) : std::fabs(s.t1 - s.t0);
    const double beside = s.t + std::copysign(std::fmax(root * unit, 16 * spacing(s.t)), s.direction), apart = beside - s.t;
    if (!residual_at(s, m, beside, row + m.unknowns, row, later)) return false;
    for (const long long c : m.model.state_constraints) m.constraint_drift[c] = (later[c] - now[c]) / apart;
    return true;
}

// What the equations of a restart leave at a row.
inline bool restart_residual(Integration& s, ImplicitState& m, const double* row, double* out) noexcept {
    if (!residual_at(s, m, s.t, row + m.unknowns, row, out)) return false;
    if (!has_state_constraints(m)) return true;
    for (const long long c : m.model.state_constraints) out[c] = m.constraint_drift[c];
    visit_state_constraints(
        m, [&](long long, long long c, long long i, double slope) { out[c] += slope * row[m.unknowns + i]; });
    return true;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
