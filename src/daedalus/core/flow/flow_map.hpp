// The flow over all its steps: value, first derivatives forward and reverse, contracted second derivative.
#pragma once

#include "flow/flow_implicit.hpp"

namespace daedalus::flows {

inline namespace DAEDALUS_ISA {

DAEDALUS_INLINE double* state_at(const FlowPlan& plan, FlowMemory& memory, int step) {
    return memory.x + static_cast<long long>(step) * plan.n;
}
DAEDALUS_INLINE double* tangent_at(const FlowPlan& plan, FlowMemory& memory, const Directions& along, int step) {
    return memory.M + static_cast<long long>(step) * plan.n * along.lanes;
}

// Takes the state of a step, and its tangents where they are wanted, to the next one; fills the stages on the way.
inline int step_forward(const FlowPlan& plan, FlowMemory& memory, Drive drive, int step, Depth depth,
                        const Directions& along, bool again) noexcept {
    const int n = plan.n, m = plan.unknowns;
    const double* M = tangent_at(plan, memory, along, step);
    if (plan.implicit ? implicit_stages(plan, memory, drive, step, depth, along, M, again)
                      : explicit_stages(plan, memory, drive, step, depth, along, M))
        return flow_failed;
    double* next = state_at(plan, memory, step + 1);
    combine(plan.corrections ? memory.moved : next, state_at(plan, memory, step), plan.h, plan.b, plan.stages,
            memory.stage_w + static_cast<long long>(step) * plan.stages * m, m, n);
    double* next_M = tangent_at(plan, memory, along, step + 1);
    const long long size = n * along.lanes;
    if (depth == Depth::tangents)
        combine(plan.corrections ? memory.moved_M : next_M, M, plan.h, plan.b, plan.stages, memory.tangent + size,
                plan.rows * along.lanes, size);
    // Each correction goes from its place in `moved` to the next one, the last to the end of the step.
    const double t = plan.t0 + (step + 1) * plan.h;
    for (int r = 0; r < plan.corrections; ++r) {
        const bool last = r + 1 == plan.corrections;
        double *from = memory.moved + r * n, *to = last ? next : from + n;
        double *from_M = memory.moved_M + r * size, *to_M = last ? next_M : from_M + size;
        double* jacobian = depth == Depth::values ? nullptr : memory.projection + r * along.projection_size;
        const StageArguments at{&t, from, drive.at(plan.stages), drive.p, nullptr, nullptr, nullptr};
        const auto which = jacobian ? StageFunction::projection_linear : StageFunction::projection;
        if (call_stage(memory, which, at, to, jacobian)) return flow_failed;
        if (depth == Depth::tangents)
            multiply(to_M, 1.0, jacobian, along.projection_jacobian, from_M, along.units, along.lanes);
    }
    for (int r = 0; r < n; ++r)
        if (!std::isfinite(next[r])) return flow_failed;
    return 0;
}

// λ of the end of a step becomes that of its beginning; u and p collect. With `second` the second derivative grows too.
inline int step_backward(const FlowPlan& plan, FlowMemory& memory, Drive drive, int step,
                         const Directions& along, bool second) noexcept {
    const int n = plan.n, m = plan.unknowns;
    const double end = plan.t0 + (step + 1) * plan.h;
    for (int r = plan.corrections - 1; r >= 0; --r) {
        if (second) {
            const StageArguments at{&end,    memory.moved + r * n, drive.at(plan.stages), drive.p, nullptr,
                                    nullptr, memory.lambda};
            if (call_stage(memory, StageFunction::projection_curvature, at, memory.second)) return flow_failed;
            add_curvature(memory.hessian, along, along.projection_curvature, memory.second,
                          memory.moved_M + r * n * along.lanes, memory.product);
        }
        set_zero(memory.cotangent, n + plan.nu + plan.np);
        multiply_transposed(memory.cotangent, memory.projection + r * along.projection_size,
                            along.projection_transposed, memory.lambda);
        copy(memory.lambda, memory.cotangent, n);
        add(memory.adjoint + n, 1.0, memory.cotangent + n, plan.nu + plan.np);
    }
    if (plan.implicit)
        implicit_adjoint(plan, memory, along);
    else
        explicit_adjoint(plan, memory, along);
    if (!second) return 0;
    const double* w = memory.stage_w + static_cast<long long>(step) * plan.stages * m;
    for (int i = 0; i < plan.stages; ++i) {
        const double t = plan.t0 + (step + plan.c[i]) * plan.h;
        const StageArguments at{&t, memory.stage_x + i * n, drive.at(i), drive.p,
                                w + i * m, w + i * m + n,           memory.multipliers + i * m};
        if (call_stage(memory, StageFunction::curvature, at, memory.second)) return flow_failed;
        add_curvature(memory.hessian, along, along.curvature, memory.second, stage_tangent(plan, memory, along, i),
                      memory.product);
    }
    return 0;
}

inline void set_start(const FlowPlan& plan, FlowMemory& memory, const double* x, int which, bool tangents) noexcept {
    const Directions& along = plan.directions[which];
    memory.which = which, memory.jacobian_size = along.jacobian_size;
    copy(memory.x, x, plan.n);
    if (!tangents) return;
    set_zero(memory.M, plan.n * along.lanes);
    for (int d = 0; d < along.count; ++d)
        if (along.state_of[d] >= 0) memory.M[along.state_of[d] * along.lanes + d] = 1;
}

inline int run_forward(const FlowPlan& plan, FlowMemory& memory, Drive drive, Depth depth,
                       const Directions& along) noexcept {
    for (int step = 0; step < plan.steps; ++step)
        if (step_forward(plan, memory, drive, step, depth, along, false)) return flow_failed;
    return 0;
}

inline int flow_value(const FlowPlan& plan, FlowMemory& memory, const double* x, const double* u, const double* p) {
    set_start(plan, memory, x, 0, false);
    return run_forward(plan, memory, {u, p}, Depth::values, plan.directions[0]);
}

inline int flow_first(const FlowPlan& plan, FlowMemory& memory, const double* x, const double* u, const double* p,
                      int which) {
    const Directions& along = plan.directions[which];
    set_start(plan, memory, x, which, true);
    return run_forward(plan, memory, {u, p}, Depth::tangents, along);
}

// The last step is at hand after the forward run; earlier ones are filled again from their states.
inline int run_backward(const FlowPlan& plan, FlowMemory& memory, Drive drive, const double* seed, Depth depth,
                        const Directions& along, bool second) noexcept {
    copy(memory.lambda, seed, plan.n);
    set_zero(memory.adjoint, plan.n + plan.nu + plan.np);
    for (int step = plan.steps - 1; step >= 0; --step) {
        if (step != plan.steps - 1 && step_forward(plan, memory, drive, step, depth, along, true)) return flow_failed;
        if (step_backward(plan, memory, drive, step, along, second)) return flow_failed;
    }
    copy(memory.adjoint, memory.lambda, plan.n);
    return 0;
}

inline int flow_reverse(const FlowPlan& plan, FlowMemory& memory, const double* x, const double* u, const double* p,
                        const double* seed, int which) {
    const Directions& along = plan.directions[which];
    set_start(plan, memory, x, which, false);
    if (run_forward(plan, memory, {u, p}, Depth::jacobians, along)) return flow_failed;
    return run_backward(plan, memory, {u, p}, seed, Depth::jacobians, along, false);
}

// Weights of the last state pulled back over steps of any lengths; states and inputs of each step are given.
inline int flow_pull_back(const FlowPlan& plan, FlowMemory& memory, const FlowSteps& steps, double* weights,
                          double* by_inputs, double* by_parameters) {
    const int n = plan.n, which = plan.np ? 1 : 0;
    const long long stride = plan.nu, inputs = (plan.stages + 1) * stride;
    FlowPlan own = plan;
    own.steps = 1, own.guess_stride = plan.unknowns;
    for (long long k = steps.count - 1; k >= 0; --k) {
        own.t0 = steps.times[k], own.h = steps.times[k + 1] - steps.times[k];
        own.guess = steps.guesses + k * plan.stages * plan.unknowns;
        const Drive drive{steps.inputs + k * inputs, steps.parameters, stride};
        set_start(own, memory, steps.states + k * n, which, false);
        if (step_forward(own, memory, drive, 0, Depth::jacobians, own.directions[which], false)) return flow_failed;
        copy(memory.lambda, weights, n);
        set_zero(memory.adjoint, n + plan.nu + plan.np);
        if (step_backward(own, memory, drive, 0, own.directions[which], false)) return flow_failed;
        copy(weights, memory.lambda, n);
        copy(by_inputs + k * stride, memory.adjoint + n, plan.nu);
        add(by_parameters, 1.0, memory.adjoint + n + plan.nu, plan.np);
    }
    return 0;
}

inline int flow_second(const FlowPlan& plan, FlowMemory& memory, const double* x, const double* u, const double* p,
                       const double* seed, int which) {
    const Directions& along = plan.directions[which];
    set_start(plan, memory, x, which, true);
    set_zero(memory.hessian, along.active_lanes * along.active_lanes);
    if (run_forward(plan, memory, {u, p}, Depth::tangents, along)) return flow_failed;
    return run_backward(plan, memory, {u, p}, seed, Depth::tangents, along, true);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus::flows
