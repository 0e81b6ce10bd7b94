// Second derivatives of an explicit flow in full, ∂²x⁺/∂(directions)²: the tensors O, P, Q of one or more steps.
//
// X_i'' = O + h Σ a_ij K_j'', K_i'' = f_x X_i'' + f''[S_i, S_i]; only directions that a second derivative can depend on.
#pragma once

#include "flow/flow_map.hpp"

namespace daedalus::flows {

inline namespace DAEDALUS_ISA {

// The products H_r S of every equation r with the tangents of every stage, for one step.
inline int tensor_products(const FlowPlan& plan, FlowMemory& memory, Drive drive, int step,
                           const Directions& along) noexcept {
    for (int i = 0; i < plan.stages; ++i) {
        const double t = plan.t0 + (step + plan.c[i]) * plan.h;
        const StageArguments at{&t, memory.stage_x + i * plan.n, drive.u, drive.p, nullptr, nullptr, nullptr};
        if (call_stage(memory, StageFunction::tensor, at, memory.second)) return flow_failed;
        double* product = memory.tensor_product + i * along.tensor_rows * along.active_lanes;
        for (int r = 0; r < plan.n; ++r) {
            multiply_curvature(product, along, along.tensor[r], memory.second, stage_tangent(plan, memory, along, i));
            product += along.tensor[r].touched * along.active_lanes;
        }
    }
    return 0;
}

// One step of the recursion for the pairs of four directions from a on with a panel of others from lane `begin` on.
template <long long width>
DAEDALUS_INLINE void tensor_group(const FlowPlan& plan, FlowMemory& memory, const Directions& along, bool first, int a,
                                  long long begin) {
    const int n = plan.n, s = plan.stages;
    const long long lanes = along.active_lanes, block = lanes * lanes, piece = lane_count * width, size = n * piece;
    double *of_x = memory.panel, *of_k = of_x + size, *total = memory.tensors + a * lanes + begin;
    Group<width> group;
    for (int i = 0; i < s; ++i) {
        // In the first stage of all, x moves with its own directions only.
        const bool straight = first && i == 0;
        for (int r = 0; r < n && !straight; ++r) {
            group.load(total + r * block, lanes);
            for (int j = 0; j < i; ++j)
                if (const double factor = plan.A[i * s + j]; factor != 0)
                    group.add(plan.h * factor, of_k + j * size + r * piece, width);
            group.store(of_x + r * piece, width);
        }
        const double* jacobian = memory.jacobian + i * memory.jacobian_size;
        const double* tangents = stage_tangent(plan, memory, along, i) + a;
        const double* product = memory.tensor_product + i * along.tensor_rows * lanes + begin;
        const int* starts = along.jacobian.starts;
        for (int r = 0; r < n; ++r, starts += 2) {
            group.clear();
            for (int e = starts[0]; e < starts[1] && !straight; ++e)
                group.add(jacobian[along.jacobian.data[e].place], of_x + along.jacobian.data[e].column * piece, width);
            const Curvature& curvature = along.tensor[r];
            for (int touched = 0; touched < curvature.rows; ++touched)
                group.add_outer(tangents + curvature.source[touched] * along.lanes, product + touched * lanes);
            group.store(of_k + i * size + r * piece, width);
            for (int touched = curvature.rows; touched < curvature.touched; ++touched)
                if (const int row = ~curvature.source[touched] - a; row >= 0 && row < lane_count)
                    add_lanes(of_k + i * size + r * piece + row * width, 1.0, product + touched * lanes, width);
            product += curvature.touched * lanes;
        }
    }
    for (int r = 0; r < n; ++r) {
        group.load(total + r * block, lanes);
        for (int i = 0; i < s; ++i) group.add(plan.h * plan.b[i], of_k + i * size + r * piece, width);
        group.store(total + r * block, lanes);
    }
}

// Leaves the tensors, upper half in the last two axes, at memory.tensors and M in its place. The recursion is a step's
// own for every pair of directions, so pairs are taken in groups that fit the nearest memory.
inline int flow_tensors(const FlowPlan& plan, FlowMemory& memory, const double* x, const double* u, const double* p,
                        int which) {
    const Directions& along = plan.directions[which];
    set_start(plan, memory, x, which, true);
    set_zero(memory.tensors, plan.n * along.active_lanes * along.active_lanes);
    for (int step = 0; step < plan.steps; ++step) {
        if (step_forward(plan, memory, {u, p}, step, Depth::tangents, along, false)) return flow_failed;
        if (tensor_products(plan, memory, {u, p}, step, along)) return flow_failed;
        in_groups(along.active, along.active_lanes, [&]<long long width>(Lanes<width>, int a, long long begin) {
            tensor_group<width>(plan, memory, along, step == 0, a, begin);
        });
    }
    return 0;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus::flows
