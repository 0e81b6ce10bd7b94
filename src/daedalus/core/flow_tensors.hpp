// Second derivatives of an explicit flow in full, ∂²x⁺/∂(directions)²: the tensors O, P, Q of one or more steps.
//
// X_i'' = O + h Σ a_ij K_j'', K_i'' = f_x X_i'' + f''[S_i, S_i]; only directions that a second derivative can depend on.
#pragma once

#include "flow_map.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// k[r] = Σ f_x[r, c] · of_x[c], blocks of `size` numbers; u and p have no second derivative.
DAEDALUS_INLINE void multiply_blocks(double* k, const double* jacobian, const Products& products, const double* of_x,
                                     long long size) {
    for (long long begin = 0; begin < size;) {
        const long long width = size - begin > 16 ? 16 : size - begin;
        in_panels(width, [&]<long long known>(Lanes<known>, long long) {
            Panel<known> panel;
            const int* starts = products.starts;
            for (int row = 0; row < products.rows; ++row, starts += 2) {
                panel.clear();
                for (int e = starts[0]; e < starts[1]; ++e)
                    panel.add(jacobian[products.data[e].place], of_x + products.data[e].column * size + begin);
                panel.store(k + row * size + begin, 1.0);
            }
        });
        begin += width;
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
            // In the first stage of the first step x moves with its own directions only.
            if (step > 0 || i > 0) {
                combine(of_x, total, plan.h, plan.A + i * s, i, of_k, size, size);
                multiply_blocks(k, jacobian, along.jacobian, of_x, block);
            } else {
                set_zero(k, size);
            }
            for (int r = 0; r < n; ++r)
                add_curvature(k + r * block, along, along.tensor[r], memory.second, tangents, memory.product);
        }
        combine(sum, total, plan.h, plan.b, s, of_k, size, size);
        copy(total, sum, size);
    }
    return 0;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
