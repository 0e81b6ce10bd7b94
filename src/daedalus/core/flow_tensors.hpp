// Second derivatives of an explicit flow in full, ∂²x⁺/∂(directions)²: the tensors O, P, Q of one or more steps.
//
// X_i'' = O + h Σ a_ij K_j'', K_i'' = f_x X_i'' + f''[S_i, S_i]; only directions that a second derivative can depend on.
#pragma once

#include "flow_map.hpp"

namespace daedalus {

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

// One step of the recursion for the pairs of direction a with a panel of others, starting at lane `begin`.
template <long long width>
DAEDALUS_INLINE void tensor_panel(const FlowPlan& plan, FlowMemory& memory, const Directions& along, int a,
                                  long long begin) {
    const int n = plan.n, s = plan.stages;
    const long long lanes = along.active_lanes, block = along.active * lanes, size = n * width;
    double *of_x = memory.panel, *of_k = of_x + size, *total = memory.tensors + a * lanes + begin;
    Panel<width> panel;
    for (int i = 0; i < s; ++i) {
        for (int r = 0; r < n; ++r) {
            panel.load(total + r * block);
            for (int j = 0; j < i; ++j)
                if (const double factor = plan.A[i * s + j]; factor != 0)
                    panel.add(plan.h * factor, of_k + j * size + r * width);
            panel.store(of_x + r * width, 1.0);
        }
        const double* jacobian = memory.jacobian + i * memory.jacobian_size;
        const double* tangents = stage_tangent(plan, memory, along, i) + a;
        const double* product = memory.tensor_product + i * along.tensor_rows * lanes + begin;
        const int* starts = along.jacobian.starts;
        for (int r = 0; r < n; ++r, starts += 2) {
            panel.clear();
            for (int e = starts[0]; e < starts[1]; ++e)
                panel.add(jacobian[along.jacobian.data[e].place], of_x + along.jacobian.data[e].column * width);
            const Curvature& curvature = along.tensor[r];
            for (int touched = 0; touched < curvature.rows; ++touched)
                panel.add(tangents[curvature.source[touched] * along.lanes], product + touched * lanes);
            for (int touched = curvature.rows; touched < curvature.touched; ++touched)
                if (~curvature.source[touched] == a) panel.add(1.0, product + touched * lanes);
            product += curvature.touched * lanes;
            panel.store(of_k + i * size + r * width, 1.0);
        }
    }
    for (int r = 0; r < n; ++r) {
        panel.load(total + r * block);
        for (int i = 0; i < s; ++i) panel.add(plan.h * plan.b[i], of_k + i * size + r * width);
        panel.store(total + r * block, 1.0);
    }
}

// Leaves the tensors, upper half in the last two axes, at memory.tensors and M in its place. The recursion is a step's
// own for every pair of directions, so pairs are taken in panels that fit the nearest memory.
inline int flow_tensors(const FlowPlan& plan, FlowMemory& memory, const double* x, const double* u, const double* p,
                        int which) {
    const Directions& along = plan.directions[which];
    set_start(plan, memory, x, which, true);
    set_zero(memory.tensors, plan.n * along.active * along.active_lanes);
    for (int step = 0; step < plan.steps; ++step) {
        if (step_forward(plan, memory, {u, p}, step, Depth::tangents, along, false)) return flow_failed;
        if (tensor_products(plan, memory, {u, p}, step, along)) return flow_failed;
        for (int a = 0; a < along.active; ++a) {
            const long long first = a & ~(lane_count - 1);
            in_panels(along.active_lanes - first, [&]<long long width>(Lanes<width>, long long begin) {
                tensor_panel<width>(plan, memory, along, a, first + begin);
            });
        }
    }
    return 0;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
