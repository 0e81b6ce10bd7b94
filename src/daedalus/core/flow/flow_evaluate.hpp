// A flow and its derivatives behind CasADi's calling convention: arrays of pointers to nonzeros, null for "zero" or "not
// wanted". A failed step gives NaN and a non-zero return value.
//
//   φ          (x, u, p) -> x⁺
//   Jacobian   (x, u, p, x⁺) -> ∂x⁺/∂x, ∂x⁺/∂u, ∂x⁺/∂p
//   reverse    (x, u, p, x⁺, λ) -> λᵀ∂x⁺/∂x, λᵀ∂x⁺/∂u, λᵀ∂x⁺/∂p as columns
//   second     (x, u, p, x⁺, λ, …) -> the Jacobian of each of the three by x, u, p, x⁺, λ: fifteen matrices
#pragma once

#include <limits>

#include "flow/flow_owner.hpp"

namespace daedalus::flows {

enum class FlowPart : int { value, jacobian, reverse, second };
inline constexpr int flow_part_count = 4;

struct FlowPoint {
    const double *x, *u, *p, *seed;

    FlowPoint(const double** arg, const FlowMemory& memory, bool with_seed)
        : x(arg[0] ? arg[0] : memory.zeros),
          u(arg[1] ? arg[1] : memory.zeros),
          p(arg[2] ? arg[2] : memory.zeros),
          seed(with_seed && arg[4] ? arg[4] : memory.zeros) {}
};

// Writes the nonzeros of one output, or NaN.
inline void write_nonzeros(double* to, const Gather& gather, const double* from, bool failed) {
    if (!to) return;
    for (int k = 0; k < gather.count; ++k)
        to[k] = failed ? std::numeric_limits<double>::quiet_NaN() : from[gather.place[k]];
}
inline void write_vector(double* to, long long size, const double* from, bool failed) {
    if (!to) return;
    for (long long k = 0; k < size; ++k) to[k] = failed ? std::numeric_limits<double>::quiet_NaN() : from[k];
}

inline int evaluate_value(FlowOwner& flow, FlowMemory& memory, const double** arg, double** res) {
    const FlowPoint at(arg, memory, false);
    const int failed = flow.kernels.value(flow.plan, memory, at.x, at.u, at.p);
    write_vector(res[0], flow.plan.n, memory.x + static_cast<long long>(flow.plan.steps) * flow.plan.n, failed);
    return failed;
}

inline int evaluate_jacobian(FlowOwner& flow, FlowMemory& memory, const double** arg, double** res) {
    const FlowPoint at(arg, memory, false);
    const int which = res[2] && flow.plan.np ? 1 : 0;
    const int failed = flow.kernels.first(flow.plan, memory, at.x, at.u, at.p, which);
    const double* M = memory.M + static_cast<long long>(flow.plan.steps) * flow.plan.n * flow.plan.directions[which].lanes;
    for (std::size_t k = 0; k < 3; ++k)
        write_nonzeros(res[k], flow.jacobian_outputs[static_cast<std::size_t>(which)][k], M, failed);
    return failed;
}

inline int evaluate_reverse(FlowOwner& flow, FlowMemory& memory, const double** arg, double** res) {
    const FlowPoint at(arg, memory, true);
    const FlowPlan& plan = flow.plan;
    const int failed = flow.kernels.reverse(plan, memory, at.x, at.u, at.p, at.seed, res[2] && plan.np ? 1 : 0);
    write_vector(res[0], plan.n, memory.adjoint, failed);
    write_vector(res[1], plan.nu, memory.adjoint + plan.n, failed);
    write_vector(res[2], plan.np, memory.adjoint + plan.n + plan.nu, failed);
    return failed;
}

inline int evaluate_second(FlowOwner& flow, FlowMemory& memory, const double** arg, double** res) {
    const FlowPoint at(arg, memory, true);
    const FlowPlan& plan = flow.plan;
    int which = 0;
    for (int k = 0; k < 15 && plan.np; ++k)
        if (res[k] && (k % 5 == 2 || k / 5 == 2)) which = 1;
    const int failed = flow.kernels.second(plan, memory, at.x, at.u, at.p, at.seed, which);
    const double* M = memory.M + static_cast<long long>(plan.steps) * plan.n * plan.directions[which].lanes;
    for (std::size_t k = 0; k < 15; ++k)
        write_nonzeros(res[k], flow.second_outputs[static_cast<std::size_t>(which)][k], k % 5 == 4 ? M : memory.hessian,
                       failed);
    return failed;
}

inline int evaluate_flow(FlowOwner& flow, FlowPart part, const double** arg, double** res) noexcept {
    const FlowLoan loan(flow);
    if (!loan) return flow_failed;
    switch (part) {
        case FlowPart::value: return evaluate_value(flow, loan.memory(), arg, res);
        case FlowPart::jacobian: return evaluate_jacobian(flow, loan.memory(), arg, res);
        case FlowPart::reverse: return evaluate_reverse(flow, loan.memory(), arg, res);
        case FlowPart::second: break;
    }
    return evaluate_second(flow, loan.memory(), arg, res);
}

}  // namespace daedalus::flows
