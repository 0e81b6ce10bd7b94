// Products of sparse derivatives with rows of tangents, the inner loops of every flow.
#pragma once

#include "flow_plan.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// What a stage function is called with; k, z and m may be missing.
struct StageArguments {
    const double *t, *x, *u, *p, *k, *z, *m;
};

DAEDALUS_INLINE int call_stage(FlowMemory& memory, StageFunction which, const StageArguments& a, double* first,
                               double* rest = nullptr) noexcept {
    Call& call = *memory.calls[static_cast<int>(which)];
    call.arg[0] = a.t, call.arg[1] = a.x, call.arg[2] = a.u, call.arg[3] = a.p;
    call.arg[4] = a.k, call.arg[5] = a.z, call.arg[6] = a.m;
    call.res[0] = first;
    if (rest) call.res[1] = rest;
    return evaluate(call);
}

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

// to = from + h Σ_j factors[j] · blocks[j], blocks `stride` apart; zero factors cost nothing.
DAEDALUS_INLINE void combine(double* to, const double* from, double h, const double* factors, int terms,
                             const double* blocks, long long stride, long long count) {
    copy(to, from, count);
    for (int j = 0; j < terms; ++j)
        if (factors[j] != 0) add(to, h * factors[j], blocks + j * stride, count);
}

// rows[row] += sign · value · tangent(column) for every nonzero; lanes are full rows.
DAEDALUS_INLINE void multiply(double* rows, double sign, const double* values, const Entries& entries,
                              const double* tangents, long long lanes) {
    for (int e = 0; e < entries.count; ++e) {
        const Entry entry = entries.data[e];
        const double value = sign * values[entry.place];
        if (entry.column >= 0)
            add(rows + entry.row * lanes, value, tangents + entry.column * lanes, lanes);
        else
            rows[entry.row * lanes + ~entry.column] += value;
    }
}

// columns[column] += value · rows[row]: the transposed product with one vector.
DAEDALUS_INLINE void multiply_transposed(double* columns, const double* values, const Entries& entries,
                                         const double* rows) {
    for (int e = 0; e < entries.count; ++e) {
        const Entry entry = entries.data[e];
        columns[entry.column] += values[entry.place] * rows[entry.row];
    }
}

// hessian += Yᵀ H Y with the rows of Y at `tangents` (or one direction) and H given by its lower half.
DAEDALUS_INLINE void add_curvature(double* hessian, const Directions& along, const Curvature& curvature,
                                   const double* values, const double* tangents, double* product) {
    const long long lanes = along.active_lanes, full = along.lanes;
    set_zero(product, curvature.touched * lanes);
    for (int e = 0; e < curvature.entries.count; ++e) {
        const Entry entry = curvature.entries.data[e];
        const double value = values[entry.place];
        const int ways = entry.row == entry.column ? 1 : 2;
        for (int way = 0; way < ways; ++way) {
            double* to = product + (way ? entry.column : entry.row) * lanes;
            const int source = curvature.source[way ? entry.row : entry.column];
            if (source >= 0)
                add(to, value, tangents + source * full, lanes);
            else
                to[~source] += value;
        }
    }
    for (int touched = 0; touched < curvature.touched; ++touched) {
        const double* row = product + touched * lanes;
        const int source = curvature.source[touched];
        if (source < 0) {
            add(hessian + ~source * lanes, 1.0, row, lanes);
            continue;
        }
        const double* tangent = tangents + source * full;
        // Symmetric: below the diagonal only what shares a lane with it.
        for (int a = 0; a < along.active; ++a) {
            const long long begin = a & ~(lane_count - 1);
            add(hessian + a * lanes + begin, tangent[a], row + begin, lanes - begin);
        }
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
