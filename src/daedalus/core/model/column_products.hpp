// Products of the columns of derivatives with numbers of the model: F_x' S' + F_w S + F_p, and derivatives of that.
//
// The numbers come from compiled functions that do not depend on how many columns there are; a product costs one
// multiplication for each of them and each column.
#pragma once

#include "machine/lanes.hpp"
#include "model/implicit_model.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// What the products are taken with: derivatives, unknowns and inputs.
struct ColumnFactors {
    const double *rate = nullptr, *w = nullptr, *u = nullptr;
};

// The sum of the terms of one row, or minus it added, for `width` columns from `first` on; of these only those from `from`
// on are written.
template <int width, bool subtracts>
DAEDALUS_INLINE void sum_terms(const ColumnTerm* term, const ColumnTerm* end, const double* values,
                               const ColumnFactors& by, long long first, double* out, long long from) noexcept {
    if constexpr (width < wide) {
        double sum = 0;
        for (; term != end; ++term) sum += values[term->source] * (term->of_rate ? by.rate : by.w)[term->place + first];
        out[first] = subtracts ? out[first] - sum : sum;
    } else {
        constexpr int parts = width / wide;
        WideAnywhere sum[parts] = {};
        for (; term != end; ++term) {
            const double factor = values[term->source];
            const double* row = (term->of_rate ? by.rate : by.w) + term->place + first;
            for (int k = 0; k < parts; ++k) sum[k] += factor * *anywhere(row + k * wide);
        }
        if (from > first) {
            for (long long j = from; j < first + width; ++j) {
                const double one = sum[(j - first) / wide][(j - first) % wide];
                out[j] = subtracts ? out[j] - one : one;
            }
            return;
        }
        for (int k = 0; k < parts; ++k) {
            WideAnywhere* to = anywhere(out + first + k * wide);
            *to = subtracts ? *to - sum[k] : sum[k];
        }
    }
}

// out = the products in every equation of the columns, or out minus them.
template <bool subtracts>
inline void multiply_columns(const ImplicitModel& m, const ColumnProducts& products, const double* values,
                             const ColumnFactors& by, double* out) noexcept {
    constexpr int many = 16, few = 4;
    const ColumnGroup& group = m.columns.groups.data()[1];
    const ColumnTerm* terms = products.terms.data();
    const long long *begin = products.begin.data(), width = group.width, states = m.columns.states;
    for (long long k = 0; k < m.columns.unknowns; ++k) {
        const ColumnTerm *first = terms + begin[k], *end = terms + begin[k + 1];
        if (subtracts && first == end) continue;
        double* row = out + (k < states ? group.states_at + k * width : group.others_at + (k - states) * width);
        long long j = 0;
        for (; j + many <= width; j += many) sum_terms<many, subtracts>(first, end, values, by, j, row, j);
        for (; j + few <= width; j += few) sum_terms<few, subtracts>(first, end, values, by, j, row, j);
        // The last ones together with some before them, where there are any.
        if (j < width && width > few) {
            sum_terms<few, subtracts>(first, end, values, by, width - few, row, j);
            continue;
        }
        for (; j < width; ++j) sum_terms<1, subtracts>(first, end, values, by, j, row, j);
    }
    const ColumnSeed* seed = products.seeds.data();
    for (const ColumnSeed* end = seed + products.seeds.size(); seed != end; ++seed) {
        const double value = values[seed->source] * (seed->slot < 0 ? 1 : by.u[seed->slot]);
        out[seed->place] += subtracts ? -value : value;
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
