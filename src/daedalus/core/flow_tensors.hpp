// Second derivatives of an explicit flow in full, ∂²x⁺/∂(directions)²: the tensors O, P, Q of one or more steps.
//
// X_i'' = O + h Σ a_ij K_j'', K_i'' = f_x X_i'' + f''[S_i, S_i]; only directions that a second derivative can depend on.
#pragma once

#include "flow_map.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// block += value · (aᵀb + bᵀa), or value · aᵀa for one and the same variable; a and b are tangents or directions.
DAEDALUS_INLINE void add_outer(double* block, double value, const Directions& along, const double* tangents, int first,
                               int second, bool same) {
    const long long lanes = along.active_lanes;
    if (first < 0 && second < 0) {
        block[~first * lanes + ~second] += value;
        if (!same) block[~second * lanes + ~first] += value;
        return;
    }
    if (first < 0 || second < 0) {
        const int direction = first < 0 ? ~first : ~second;
        const double* row = tangents + (first < 0 ? second : first) * along.lanes;
        add(block + direction * lanes, value, row, lanes);
        for (int a = 0; a < along.active; ++a) block[a * lanes + direction] += value * row[a];
        return;
    }
    const double* a_row = tangents + first * along.lanes;
    const double* b_row = tangents + second * along.lanes;
    for (int a = 0; a < along.active; ++a) {
        const long long begin = a & ~(lane_count - 1);
        double* to = block + a * lanes + begin;
        if (const double factor = value * a_row[a]; factor != 0) add(to, factor, b_row + begin, lanes - begin);
        if (same) continue;
        if (const double factor = value * b_row[a]; factor != 0) add(to, factor, a_row + begin, lanes - begin);
    }
}

// Leaves the tensors, upper half in the last two axes, at memory.tensors and M in its place.
inline int flow_tensors(const FlowPlan& plan, FlowMemory& memory, const double* x, const double* u, const double* p,
                        int which) {
    const Directions& along = plan.directions[which];
    const int n = plan.n, s = plan.stages;
    const long long block = along.active * along.active_lanes, size = n * block;
    double *total = memory.tensors, *sum = total + size, *of_x = sum + size, *of_k = of_x + size;
    set_start(plan, memory, x, &along);
    set_zero(total, size);
    for (int step = 0; step < plan.steps; ++step) {
        if (step_forward(plan, memory, {u, p}, step, Depth::tangents, along, false)) return flow_failed;
        for (int i = 0; i < s; ++i) {
            const double t = plan.t0 + (step + plan.c[i]) * plan.h;
            const StageArguments at{&t, memory.stage_x + i * n, u, p, nullptr, nullptr, nullptr};
            if (call_stage(memory, StageFunction::tensor, at, memory.second)) return flow_failed;
            double* k = of_k + i * size;
            const double* tangents = stage_tangent(plan, memory, along, i);
            const double* jacobian = memory.jacobian + i * plan.jacobian_size;
            set_zero(k, size);
            // In the first stage of the first step x moves with its own directions only.
            if (step > 0 || i > 0) {
                combine(of_x, total, plan.h, plan.A + i * s, i, of_k, size, size);
                for (int e = 0; e < along.jacobian.count; ++e) {
                    const Entry entry = along.jacobian.data[e];
                    if (entry.column >= 0)
                        add(k + entry.row * block, jacobian[entry.place], of_x + entry.column * block, block);
                }
            }
            for (int e = 0; e < along.tensor_count; ++e) {
                const int* entry = along.tensor + 4 * e;
                add_outer(k + entry[1] * block, memory.second[entry[0]], along, tangents, along.tensor_source[entry[2]],
                          along.tensor_source[entry[3]], entry[2] == entry[3]);
            }
        }
        combine(sum, total, plan.h, plan.b, s, of_k, size, size);
        copy(total, sum, size);
    }
    return 0;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
