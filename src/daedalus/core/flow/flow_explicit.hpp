// One step of an explicit method with its derivatives: stages, tangents, adjoint, second derivatives.
//
// With X_i = x + h Σ a_ij K_j and K_i = f(X_i): tangents K_i' = f_x X_i' + f_u u' + f_p p'; adjoint
// μ_i = h b_i λ + h Σ_j a_ji f_xᵀ μ_j, x̄ = λ + Σ f_xᵀ μ_i; second derivative λᵀ∇²φ = Σ_i S_iᵀ (μ_iᵀ∇²f) S_i with
// S_i = (X_i', u', p') (E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, II.6;
// J. M. Sanz-Serna, SIAM Review 58 (2016)).
#pragma once

#include <cmath>

#include "flow/flow_products.hpp"

namespace daedalus::flows {

inline namespace DAEDALUS_ISA {

// How much of a stage is wanted.
enum class Depth { values, jacobians, tangents };

// Inputs and parameters of a step; with a stride each stage, and the end of the step behind them, has inputs of its own.
struct Drive {
    const double *u, *p;
    long long stride = 0;
    const double* at(int stage) const { return u + stage * stride; }
};

DAEDALUS_INLINE double* stage_tangent(const FlowPlan& plan, FlowMemory& memory, const Directions& along, int i) {
    return memory.tangent + i * plan.rows * along.lanes;
}

// X_i' = M + h Σ a_ij K_j' for the first `terms` stages.
DAEDALUS_INLINE void state_tangent(const FlowPlan& plan, FlowMemory& memory, const Directions& along, const double* M,
                                   int i, int terms) {
    const long long size = plan.n * along.lanes;
    combine(stage_tangent(plan, memory, along, i), M, plan.h, plan.A + i * plan.stages, terms, memory.tangent + size,
            plan.rows * along.lanes, size);
}

// rows = the Jacobian, each nonzero in the column of its direction.
DAEDALUS_INLINE void scatter(double* rows, const double* jacobian, const Directions& along) {
    set_zero(rows, along.jacobian.rows * along.lanes);
    const int count = along.jacobian.starts[2 * along.jacobian.rows];
    for (int e = 0; e < count; ++e) {
        const Nonzero entry = along.jacobian.data[e];
        const int direction = entry.column >= 0 ? along.direction_of[entry.column] : ~entry.column;
        rows[entry.row * along.lanes + direction] = jacobian[entry.place];
    }
}

inline int explicit_stages(const FlowPlan& plan, FlowMemory& memory, Drive drive, int step, Depth depth,
                           const Directions& along, const double* M) noexcept {
    double* w = memory.stage_w + static_cast<long long>(step) * plan.stages * plan.unknowns;
    const double* x = memory.x + static_cast<long long>(step) * plan.n;
    for (int i = 0; i < plan.stages; ++i) {
        const double t = plan.t0 + (step + plan.c[i]) * plan.h;
        double* stage_x = memory.stage_x + i * plan.n;
        combine(stage_x, x, plan.h, plan.A + i * plan.stages, i, w, plan.n, plan.n);
        const StageArguments at{&t, stage_x, drive.at(i), drive.p, nullptr, nullptr, nullptr};
        double* jacobian = depth == Depth::values ? nullptr : memory.jacobian + i * memory.jacobian_size;
        const auto which = jacobian ? StageFunction::linear : StageFunction::value;
        if (call_stage(memory, which, at, w + i * plan.n, jacobian)) return flow_failed;
        if (depth != Depth::tangents) continue;
        state_tangent(plan, memory, along, M, i, i);
        double* tangent = stage_tangent(plan, memory, along, i);
        double* k = tangent + plan.n * along.lanes;
        // At the start x moves with its own directions, and the product is the Jacobian itself.
        if (step == 0 && i == 0)
            scatter(k, jacobian, along);
        else
            multiply(k, 1.0, jacobian, along.jacobian, tangent, along.units, along.lanes);
    }
    return 0;
}

// The multipliers μ of the stages from λ; adds to the adjoints of u and p and turns λ into that of x.
inline void explicit_adjoint(const FlowPlan& plan, FlowMemory& memory, const Directions& along) noexcept {
    const int n = plan.n;
    double* total = memory.cotangent;
    for (int i = plan.stages - 1; i >= 0; --i) {
        double* mu = memory.multipliers + i * n;
        for (int r = 0; r < n; ++r) mu[r] = plan.h * plan.b[i] * memory.lambda[r];
        for (int j = i + 1; j < plan.stages; ++j)
            if (const double a = plan.A[j * plan.stages + i]; a != 0)
                add(mu, plan.h * a, memory.through_x + j * n, n);
        set_zero(total, n + plan.nu + plan.np);
        multiply_transposed(total, memory.jacobian + i * memory.jacobian_size, along.transposed, mu);
        copy(memory.through_x + i * n, total, n);
        add(memory.adjoint + n, 1.0, total + n, plan.nu + plan.np);
    }
    for (int i = 0; i < plan.stages; ++i) add(memory.lambda, 1.0, memory.through_x + i * n, n);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus::flows
