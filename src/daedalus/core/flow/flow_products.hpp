// Products of sparse derivatives with rows of tangents, the inner loops of every flow.
#pragma once

#include "flow/flow_plan.hpp"

namespace daedalus::flows {

inline namespace DAEDALUS_ISA {

// What a stage function is called with; k, z and m may be missing.
struct StageArguments {
    const double *t, *x, *u, *p, *k, *z, *m;
};

DAEDALUS_INLINE int call_stage(FlowMemory& memory, StageFunction which, const StageArguments& a, double* first,
                               double* rest = nullptr) noexcept {
    Call& call = *memory.calls[memory.which][static_cast<int>(which)];
    call.arg[0] = a.t, call.arg[1] = a.x, call.arg[2] = a.u, call.arg[3] = a.p;
    call.arg[4] = a.k, call.arg[5] = a.z, call.arg[6] = a.m;
    call.res[0] = first;
    if (rest) call.res[1] = rest;
    return evaluate(call);
}

// Four doubles at any address; rows of tangents are full lanes of them. Where registers hold two, compilers keep vectors
// of four in memory and take them apart (measured: 48 µs instead of 13 for the tangents of a flight): they are pairs there.
#if defined(__AVX__)
using Four [[gnu::vector_size(32), gnu::aligned(8), gnu::may_alias]] = double;
#else
using Two [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = double;
struct [[gnu::may_alias]] Four {
    Two low, high;

    DAEDALUS_INLINE Four& operator+=(const Four& other) {
        low += other.low, high += other.high;
        return *this;
    }
};
DAEDALUS_INLINE Four operator*(double factor, const Four& other) { return {factor * other.low, factor * other.high}; }
#endif

DAEDALUS_INLINE Four& four(double* at) { return *reinterpret_cast<Four*>(at); }
DAEDALUS_INLINE const Four& four(const double* at) { return *reinterpret_cast<const Four*>(at); }

DAEDALUS_INLINE void set_zero(double* to, long long count) {
    DAEDALUS_SIMD
    for (long long i = 0; i < count; ++i) to[i] = 0;
}
DAEDALUS_INLINE void copy(double* to, const double* from, long long count) {
    DAEDALUS_SIMD
    for (long long i = 0; i < count; ++i) to[i] = from[i];
}
DAEDALUS_INLINE void add(double* to, double factor, const double* from, long long count) {
    DAEDALUS_SIMD
    for (long long i = 0; i < count; ++i) to[i] += factor * from[i];
}
// The same for full lanes.
DAEDALUS_INLINE void add_lanes(double* to, double factor, const double* from, long long lanes) {
    for (long long i = 0; i < lanes; i += lane_count) four(to + i) += factor * four(from + i);
}

// to = from + h Σ_j factors[j] · blocks[j], blocks `stride` apart; zero factors cost nothing.
DAEDALUS_INLINE void combine(double* to, const double* from, double h, const double* factors, int terms,
                             const double* blocks, long long stride, long long count) {
    long long i = 0;
    for (; i + 16 <= count; i += 16) {
        Four a = four(from + i), b = four(from + i + 4), c = four(from + i + 8), d = four(from + i + 12);
        for (int j = 0; j < terms; ++j) {
            if (factors[j] == 0) continue;
            const double factor = h * factors[j];
            const double* block = blocks + j * stride + i;
            a += factor * four(block), b += factor * four(block + 4);
            c += factor * four(block + 8), d += factor * four(block + 12);
        }
        four(to + i) = a, four(to + i + 4) = b, four(to + i + 8) = c, four(to + i + 12) = d;
    }
    for (; i + lane_count <= count; i += lane_count) {
        Four sum = four(from + i);
        for (int j = 0; j < terms; ++j)
            if (factors[j] != 0) sum += h * factors[j] * four(blocks + j * stride + i);
        four(to + i) = sum;
    }
    for (; i < count; ++i) {
        double sum = from[i];
        for (int j = 0; j < terms; ++j)
            if (factors[j] != 0) sum += h * factors[j] * blocks[j * stride + i];
        to[i] = sum;
    }
}

// Calls work(panel width in lanes, first lane) so that sums of a panel stay in registers.
template <class Work>
DAEDALUS_INLINE void in_panels(long long lanes, Work&& work) {
    long long begin = 0;
    for (; lanes - begin > 24; begin += 16) work(Lanes<16>(), begin);
    switch (lanes - begin) {
        case 4: return work(Lanes<4>(), begin);
        case 8: return work(Lanes<8>(), begin);
        case 12: return work(Lanes<12>(), begin);
        case 16: return work(Lanes<16>(), begin);
        case 20: return work(Lanes<20>(), begin);
        case 24: return work(Lanes<24>(), begin);
        default: return;
    }
}

template <long long width>
struct Panel {
    Four sums[width / lane_count];

    DAEDALUS_INLINE void clear() {
        // By index: a reference to a vector would promise more alignment than the type has.
        for (long long k = 0; k < width / lane_count; ++k) sums[k] = Four{};
    }
    DAEDALUS_INLINE void load(const double* row) {
        for (long long k = 0; k < width / lane_count; ++k) sums[k] = four(row + k * lane_count);
    }
    DAEDALUS_INLINE void add(double factor, const double* row) {
        for (long long k = 0; k < width / lane_count; ++k) sums[k] += factor * four(row + k * lane_count);
    }
    DAEDALUS_INLINE void store(double* row, double factor) const {
        for (long long k = 0; k < width / lane_count; ++k) four(row + k * lane_count) = factor * sums[k];
    }
};

// The same for four rows at a time, each a panel of at most twelve lanes.
template <long long width>
struct Group {
    Four sums[lane_count][width / lane_count];

    DAEDALUS_INLINE void clear() {
        for (long long a = 0; a < lane_count; ++a)
            for (long long k = 0; k < width / lane_count; ++k) sums[a][k] = Four{};
    }
    DAEDALUS_INLINE void load(const double* rows, long long stride) {
        for (long long a = 0; a < lane_count; ++a)
            for (long long k = 0; k < width / lane_count; ++k) sums[a][k] = four(rows + a * stride + k * lane_count);
    }
    DAEDALUS_INLINE void store(double* rows, long long stride) const {
        for (long long a = 0; a < lane_count; ++a)
            for (long long k = 0; k < width / lane_count; ++k) four(rows + a * stride + k * lane_count) = sums[a][k];
    }
    DAEDALUS_INLINE void add(double factor, const double* rows, long long stride) {
        for (long long a = 0; a < lane_count; ++a)
            for (long long k = 0; k < width / lane_count; ++k)
                sums[a][k] += factor * four(rows + a * stride + k * lane_count);
    }
    // One row to each of the four, with its own factor.
    DAEDALUS_INLINE void add_outer(const double* factors, const double* row) {
        for (long long a = 0; a < lane_count; ++a)
            for (long long k = 0; k < width / lane_count; ++k) sums[a][k] += factors[a] * four(row + k * lane_count);
    }
    DAEDALUS_INLINE void add_row(long long a, const double* row) {
        for (long long k = 0; k < width / lane_count; ++k) sums[a][k] += four(row + k * lane_count);
    }
};

// Calls work(width, first row, first lane) for the upper half of a symmetric matrix of `rows` by `lanes`.
template <class Work>
DAEDALUS_INLINE void in_groups(int rows, long long lanes, Work&& work) {
    for (int a = 0; a < rows; a += static_cast<int>(lane_count)) {
        long long begin = a;
        for (; lanes - begin >= 12; begin += 12) work(Lanes<12>(), a, begin);
        if (lanes - begin == 8) work(Lanes<8>(), a, begin);
        if (lanes - begin == 4) work(Lanes<4>(), a, begin);
    }
}

// rows[r] = sign Σ value · tangent over the nonzeros of row r, for every row.
DAEDALUS_INLINE void multiply(double* rows, double sign, const double* values, const Products& products,
                              const double* tangents, const double* units, long long lanes) {
    in_panels(lanes, [&]<long long width>(Lanes<width>, long long begin) {
        Panel<width> panel;
        const int* starts = products.starts;
        for (int row = 0; row < products.rows; ++row, starts += 2) {
            panel.clear();
            for (int e = starts[0]; e < starts[1]; ++e)
                panel.add(values[products.data[e].place], tangents + products.data[e].column * lanes + begin);
            for (int e = starts[1]; e < starts[2]; ++e)
                panel.add(values[products.data[e].place], units + ~products.data[e].column * lanes + begin);
            panel.store(rows + row * lanes + begin, sign);
        }
    });
}

// columns[column] += value · rows[row]: the transposed product with one vector, nonzeros column by column.
DAEDALUS_INLINE void multiply_transposed(double* columns, const double* values, const Nonzeros& entries,
                                         const double* rows) {
    for (int e = 0; e < entries.count;) {
        const int column = entries.data[e].column;
        double sum = 0;
        for (; e < entries.count && entries.data[e].column == column; ++e)
            sum += values[entries.data[e].place] * rows[entries.data[e].row];
        columns[column] += sum;
    }
}

// product = H Y, row by row of the variables that H touches.
DAEDALUS_INLINE void multiply_curvature(double* product, const Directions& along, const Curvature& curvature,
                                        const double* values, const double* tangents) {
    const long long lanes = along.active_lanes, full = along.lanes;
    in_panels(lanes, [&]<long long width>(Lanes<width>, long long begin) {
        Panel<width> panel;
        for (int touched = 0; touched < curvature.touched; ++touched) {
            panel.clear();
            for (int e = curvature.starts[touched]; e < curvature.starts[touched + 1]; ++e) {
                const int source = curvature.source[curvature.entries.data[e].column];
                const double* row = source >= 0 ? tangents + source * full : along.units + ~source * full;
                panel.add(values[curvature.entries.data[e].place], row + begin);
            }
            panel.store(product + touched * lanes + begin, 1.0);
        }
    });
}

// hessian += Yᵀ H Y with the rows of Y at `tangents` (or one direction).
DAEDALUS_INLINE void add_curvature(double* hessian, const Directions& along, const Curvature& curvature,
                                   const double* values, const double* tangents, double* product) {
    const long long lanes = along.active_lanes, full = along.lanes;
    multiply_curvature(product, along, curvature, values, tangents);
    in_groups(along.active, lanes, [&]<long long width>(Lanes<width>, int a, long long begin) {
        Group<width> group;
        group.load(hessian + a * lanes + begin, lanes);
        for (int touched = 0; touched < curvature.rows; ++touched)
            group.add_outer(tangents + curvature.source[touched] * full + a, product + touched * lanes + begin);
        group.store(hessian + a * lanes + begin, lanes);
    });
    for (int touched = curvature.rows; touched < curvature.touched; ++touched)
        add_lanes(hessian + ~curvature.source[touched] * lanes, 1.0, product + touched * lanes, lanes);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus::flows
