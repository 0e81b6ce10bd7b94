// Sums of rows with weights, as every stage of a method takes them: out = base + sum_j weights_j row_j.
#pragma once

#include "machine/lanes.hpp"
#include "state/recorder.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Rows, base and result have `lanes` entries, a multiple of lane_count. A few lanes stay in registers while the rows are
// added; the base may be nullptr for zeros, or the result itself. The last row may just have been written.
DAEDALUS_INLINE void add_rows(long long lanes, const double* base, const double* weights, int count, const double* rows,
                     double* out) noexcept {
    // Captured by value: through a reference each pointer would be read and written anew for every row.
    with_lanes(lanes, [=](auto known) {
        constexpr long long few = known.count(0) / wide;
        if constexpr (few > 0) {
            WideAnywhere sum[few];
            const double* row = rows;
            for (long long i = 0; i < few; ++i) sum[i] = base ? anywhere(base)[i] : WideAnywhere{};
            for (int j = 0; j + 1 < count; ++j, row += few * wide)
                for (long long i = 0; i < few; ++i) sum[i] += weights[j] * anywhere(row)[i];
            if (count > 0)
                for (long long i = 0; i < few; ++i) {
                    Wide fresh;
                    read_fresh(row + i * wide, fresh);
                    sum[i] += weights[count - 1] * fresh;
                }
            for (long long i = 0; i < few; ++i) anywhere(out)[i] = sum[i];
        } else {
            if (!base)
                for (long long i = 0; i < lanes; ++i) out[i] = 0;
            else if (base != out)
                copy(base, lanes, out);
            for (int j = 0; j < count; ++j) {
                const double *row = rows + j * lanes, weight = weights[j];
                if (weight == 0) continue;
                DAEDALUS_SIMD
                for (long long i = 0; i < lanes; ++i) out[i] += weight * row[i];
            }
        }
    });
}

// Two such sums over the same rows, the second without a base and times a factor: a few lanes are read once for both.
DAEDALUS_INLINE void add_rows_twice(long long lanes, const double* base, const double* weights, double factor,
                                    const double* others, int count, const double* rows, double* out,
                                    double* other) noexcept {
    with_lanes(lanes, [=](auto known) {
        constexpr long long few = known.count(0) / wide;
        if constexpr (few > 0) {
            WideAnywhere one[few], two[few];
            const double* row = rows;
            for (long long i = 0; i < few; ++i) one[i] = anywhere(base)[i], two[i] = WideAnywhere{};
            for (int j = 0; j + 1 < count; ++j, row += few * wide)
                for (long long i = 0; i < few; ++i) {
                    const WideAnywhere here = anywhere(row)[i];
                    one[i] += weights[j] * here, two[i] += others[j] * here;
                }
            for (long long i = 0; i < few; ++i) {
                Wide fresh;
                read_fresh(row + i * wide, fresh);
                anywhere(out)[i] = one[i] + weights[count - 1] * fresh;
                anywhere(other)[i] = factor * (two[i] + others[count - 1] * fresh);
            }
        } else {
            add_rows(lanes, base, weights, count, rows, out);
            add_rows(lanes, nullptr, others, count, rows, other);
            DAEDALUS_SIMD
            for (long long i = 0; i < lanes; ++i) other[i] *= factor;
        }
    });
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
