// The product of dF/dx' with a vector of unknowns, for a model and its columns of derivatives.
#pragma once

#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// out += factor * raw, from an unknown to an equation of the block in every column.
inline void add_product(const ImplicitModel& model, long long row, double factor, long long column, const double* raw,
                        double* out) noexcept {
    const long long other = row - model.block_states();
    for (const ColumnGroup& group : model.columns.groups) {
        const double* from = raw + group.states_at + column * group.width;
        double* to = out + (other < 0 ? group.states_at + row * group.width : group.others_at + other * group.width);
        for (long long j = 0; j < group.width; ++j) to[j] += factor * from[j];
    }
}

// out = factor * matrix raw, for a matrix on the pattern of dF/dx'.
inline void multiply_on_mass(const ImplicitState& m, const double* matrix, double factor, const double* raw,
                             double* out) noexcept {
    const ImplicitModel& model = m.model;
    for (long long i = 0; i < m.unknowns; ++i) out[i] = 0;
    const std::int32_t *row = model.dot_row.data(), *column = model.dot_column.data();
    const auto count = static_cast<long long>(model.dot_row.size());
    if (model.columns.groups.empty())
        for (long long k = 0; k < count; ++k) out[row[k]] += factor * matrix[k] * raw[column[k]];
    else
        for (long long k = 0; k < count; ++k) add_product(model, row[k], factor * matrix[k], column[k], raw, out);
}

// out = factor * dF/dx' raw, by the last Jacobian.
inline void multiply_mass(const ImplicitState& m, double factor, const double* raw, double* out) noexcept {
    multiply_on_mass(m, m.dot, factor, raw, out);
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
