// Which unknown to name where an equation is not finite, or where the matrix of a step is singular.
#pragma once

#include <cmath>

#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// An equation or unknown as one of a column; in a model without columns the group is none.
struct ColumnPlace {
    const ColumnGroup* group = nullptr;
    long long row = 0, column = 0;
};

inline ColumnPlace column_place(const ImplicitModel& model, long long place) noexcept {
    const long long nx = model.block_states(), others = model.block_unknowns() - nx;
    const ColumnGroup* group = model.columns.groups.data();
    for (const ColumnGroup* end = group + model.columns.groups.size(); group != end; ++group) {
        const long long in_states = place - group->states_at, in_others = place - group->others_at;
        if (in_states >= 0 && in_states < nx * group->width)
            return {group, in_states / group->width, in_states % group->width};
        if (in_others >= 0 && in_others < others * group->width)
            return {group, nx + in_others / group->width, in_others % group->width};
    }
    return {nullptr, place, 0};
}

inline long long place_of(const ImplicitModel& model, const ColumnPlace& place) noexcept {
    if (!place.group) return place.row;
    const long long other = place.row - model.block_states(), width = place.group->width;
    return (other < 0 ? place.group->states_at + place.row * width : place.group->others_at + other * width) +
           place.column;
}

// The unknown that an equation is about: the first one whose derivative it holds, else the first one without any
// derivative, else the first one at all.
inline long long unknown_of_block(const ImplicitModel& model, long long equation) noexcept {
    const Pattern& pattern = model.matrix;
    long long any = -1, algebraic = -1, column = 0;
    for (long long k = 0; k < pattern.nonzeros() && algebraic < 0; ++k) {
        while (k >= pattern.colind[static_cast<std::size_t>(column) + 1]) ++column;
        if (pattern.rows[static_cast<std::size_t>(k)] != equation) continue;
        if (any < 0) any = column;
        if (column >= model.block_states() || !model.has_derivative[static_cast<std::size_t>(column)]) algebraic = column;
    }
    column = 0;
    for (const long long k : model.dot_place) {
        while (k >= pattern.colind[static_cast<std::size_t>(column) + 1]) ++column;
        if (pattern.rows[static_cast<std::size_t>(k)] == equation) return column;
    }
    return algebraic >= 0 ? algebraic : any;
}

// The same where there are columns.
DAEDALUS_COLD long long unknown_of_equation(const ImplicitState& m, long long equation) noexcept {
    const ColumnPlace place = column_place(m.model, equation);
    const long long found = unknown_of_block(m.model, place.row);
    return found < 0 ? found : place_of(m.model, {place.group, found, place.column});
}

// An unknown with a derivative that is not finite, one that no equation depends on at this point, or that of an
// equation which depends on nothing; -1 where the reason is not that simple.
DAEDALUS_COLD long long unknown_of_singular(ImplicitState& m, bool& finite) noexcept {
    const Pattern& pattern = m.model.matrix;
    const double* values = m.solver.values();
    double* rows = m.spare;
    const long long size = m.model.block_unknowns();
    for (long long i = 0; i < size; ++i) rows[i] = 0;
    long long empty = -1, wild = -1;
    for (long long c = size - 1; c >= 0; --c) {
        double sum = 0;
        const auto column = static_cast<std::size_t>(c);
        for (long long k = pattern.colind[column]; k < pattern.colind[column + 1]; ++k) {
            sum += std::fabs(values[k]);
            rows[pattern.rows[static_cast<std::size_t>(k)]] += std::fabs(values[k]);
        }
        if (sum == 0) empty = m.model.place_of(c);
        if (!std::isfinite(sum)) wild = m.model.place_of(c);
    }
    finite = wild < 0;
    if (!finite) return wild;
    for (long long i = 0; i < size && empty < 0; ++i)
        if (rows[i] == 0) empty = unknown_of_equation(m, m.model.place_of(i));
    return empty;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
