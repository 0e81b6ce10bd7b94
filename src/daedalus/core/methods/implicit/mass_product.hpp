// The product of dF/dx' with a vector of unknowns, for a model and its columns of derivatives.
#pragma once

#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// out += factor * raw, from an unknown to an equation of the block in every column.
inline void add_product(const ImplicitModel& model, long long row, double factor, long long column, const double* raw,
                        double* out) noexcept {
    if (model.columns.groups.empty()) {
        out[row] += factor * raw[column];
        return;
    }
    const long long other = row - model.block_states();
    for (const ColumnGroup& group : model.columns.groups) {
        const double* from = raw + group.states_at + column * group.width;
        double* to = out + (other < 0 ? group.states_at + row * group.width : group.others_at + other * group.width);
        for (long long j = 0; j < group.width; ++j) to[j] += factor * from[j];
    }
}

// out = factor * dF/dx' raw, by the last Jacobian.
inline void multiply_mass(const ImplicitState& m, double factor, const double* raw, double* out) noexcept {
    const ImplicitModel& model = m.model;
    const Pattern& pattern = model.matrix;
    for (long long i = 0; i < m.unknowns; ++i) out[i] = 0;
    // The columns of dF/dx' are the first ones of the matrix, each with its nonzeros in order.
    long long column = 0;
    for (std::size_t k = 0; k < model.dot_place.size(); ++k) {
        const long long place = model.dot_place[k];
        while (pattern.colind[static_cast<std::size_t>(column) + 1] <= place) ++column;
        add_product(model, pattern.rows[static_cast<std::size_t>(place)], factor * m.dot[k], column, raw, out);
    }
}

// Whether the derivatives alone cannot be solved for, as far as the pattern tells: an equation or an unknown without
// any, or sums of derivatives, which may depend on each other.
inline bool mass_may_be_singular(const ImplicitModel& model) noexcept {
    if (!model.constraints.empty() || model.block_unknowns() > model.block_states()) return true;
    if (static_cast<long long>(model.dot_place.size()) != model.block_states()) return true;
    for (const char has : model.has_derivative)
        if (!has) return true;
    return false;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
