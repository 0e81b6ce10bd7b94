// Which unknown to name where an equation is not finite, or where the matrix of a step is singular.
#pragma once

#include <cmath>

#include "implicit.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The unknown that an equation is about: the first one whose derivative it holds, else the first one without any
// derivative, else the first one at all.
DAEDALUS_COLD long long unknown_of_equation(const ImplicitState& m, long long equation) noexcept {
    const ImplicitModel& model = m.model;
    const Pattern& pattern = model.matrix;
    long long any = -1, algebraic = -1, column = 0;
    for (long long k = 0; k < pattern.nonzeros() && algebraic < 0; ++k) {
        while (k >= pattern.colind[static_cast<std::size_t>(column) + 1]) ++column;
        if (pattern.rows[static_cast<std::size_t>(k)] != equation) continue;
        if (any < 0) any = column;
        if (column >= m.states || !model.has_derivative[static_cast<std::size_t>(column)]) algebraic = column;
    }
    column = 0;
    for (const long long k : model.dot_place) {
        while (k >= pattern.colind[static_cast<std::size_t>(column) + 1]) ++column;
        if (pattern.rows[static_cast<std::size_t>(k)] == equation) return column;
    }
    return algebraic >= 0 ? algebraic : any;
}

// An unknown with a derivative that is not finite, one that no equation depends on at this point, or that of an
// equation which depends on nothing; -1 where the reason is not that simple.
DAEDALUS_COLD long long unknown_of_singular(ImplicitState& m, bool& finite) noexcept {
    const Pattern& pattern = m.model.matrix;
    const double* values = m.solver.values();
    double* rows = m.spare;
    for (long long i = 0; i < m.unknowns; ++i) rows[i] = 0;
    long long empty = -1, wild = -1;
    for (long long c = m.unknowns - 1; c >= 0; --c) {
        double sum = 0;
        const auto column = static_cast<std::size_t>(c);
        for (long long k = pattern.colind[column]; k < pattern.colind[column + 1]; ++k) {
            sum += std::fabs(values[k]);
            rows[pattern.rows[static_cast<std::size_t>(k)]] += std::fabs(values[k]);
        }
        if (sum == 0) empty = c;
        if (!std::isfinite(sum)) wild = c;
    }
    finite = wild < 0;
    if (!finite) return wild;
    for (long long i = 0; i < m.unknowns && empty < 0; ++i)
        if (rows[i] == 0) empty = unknown_of_equation(m, i);
    return empty;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
