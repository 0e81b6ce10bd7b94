// One step of an implicit method with its derivatives: Newton's method for the stages, then the implicit function theorem.
//
// The stages solve F(t_i, X_i, u, p, K_i, Z_i) = 0 with X_i = x + h Σ a_ij K_j, by simplified Newton whose
// corrections are followed as far as they help (model/damped_newton.hpp). Derivatives take the exact Jacobians of the
// converged stages: tangents solve the same linear system, multipliers ν its transpose, and λᵀ∇²φ = Σ_i Y_iᵀ (ν_iᵀ∇²F) Y_i with Y_i = (X_i', u', p', K_i', Z_i').
#pragma once

#include <cmath>
#include <limits>

#include "flow/flow_blocks.hpp"
#include "flow/flow_explicit.hpp"
#include "model/damped_newton.hpp"

namespace daedalus::flows {

inline namespace DAEDALUS_ISA {

// A correction below this share of the values is rounding; one below `nearly` that no longer shrinks is accepted.
inline constexpr double newton_exact = 4e-15, newton_nearly = 1e-10;
// The factor is renewed when corrections shrink by less than this.
inline constexpr double newton_slow = 0.25;
inline constexpr int newton_iterations = 100;

struct StageSystem {
    const FlowPlan& plan;
    FlowMemory& memory;
    Drive drive;
    const double* x;
    int step;

    // X_i = x + h Σ a_ij k_j for the unknowns w of all stages.
    void set_states(const double* w) const {
        for (int i = 0; i < plan.stages; ++i)
            combine(memory.stage_x + i * plan.n, x, plan.h, plan.A + i * plan.stages, plan.stages, w, plan.unknowns,
                    plan.n);
    }
    StageArguments arguments(const double* w, int i, const double* t) const {
        const double* own = w + i * plan.unknowns;
        return {t, memory.stage_x + i * plan.n, drive.at(i), drive.p, own, own + plan.n, nullptr};
    }
    double time(int i) const { return plan.t0 + (step + plan.c[i]) * plan.h; }

    // Residuals at w, and with StageFunction::linear their Jacobians.
    int evaluate(const double* w, StageFunction which) const {
        set_states(w);
        for (int i = 0; i < plan.stages; ++i) {
            const double t = time(i);
            double* jacobian = which == StageFunction::linear ? memory.jacobian + i * memory.jacobian_size : nullptr;
            if (call_stage(memory, which, arguments(w, i, &t), memory.residual + i * plan.unknowns, jacobian))
                return flow_failed;
        }
        return 0;
    }
    int linearise(const double* w) const { return evaluate(w, StageFunction::linear) || factor_blocks(plan, memory); }
    // The correction for the residuals at hand; memory.newton is scratch.
    void solve(double* correction) const {
        const int n = plan.n, m = plan.unknowns;
        for (int i = 0; i < plan.stages; ++i)
            for (int r = 0; r < m; ++r) {
                double* row = memory.newton + (i * plan.rows + n + r) * lane_count;
                set_zero(row, lane_count);
                row[0] = -memory.residual[i * m + r];
            }
        solve_stages(plan, memory, memory.newton, lane_count);
        for (int i = 0; i < plan.stages; ++i)
            for (int r = 0; r < m; ++r)
                correction[i * m + r] = memory.newton[(i * plan.rows + n + r) * lane_count];
    }
    // The largest change relative to the values, derivatives counted by what they change in x; NaN where one is NaN.
    double size(const double* correction, const double* w) const {
        double largest = 0;
        for (int i = 0; i < plan.stages; ++i)
            for (int r = 0; r < plan.unknowns; ++r) {
                const double value = w[i * plan.unknowns + r], change = std::fabs(correction[i * plan.unknowns + r]);
                const double whole = r < plan.n ? (std::fabs(memory.stage_x[i * plan.n + r]) + plan.nominal[r]) /
                                                          std::fabs(plan.h) + std::fabs(value)
                                                : std::fabs(value) + plan.nominal[r];
                const double share = change / whole;
                if (!(share <= largest)) largest = share;
            }
        return largest;
    }
};

// The stages at w, with a correction that is followed as far as it helps.
struct DampedFlow {
    const StageSystem& system;
    double *w, *correction, *trial;
    const long long size;

    void move_to(double part) noexcept {
        for (long long k = 0; k < size; ++k) trial[k] = w[k] + part * correction[k];
    }
    // The next correction goes where the residuals are; the old one is still needed if the step is halved.
    double size_behind() noexcept {
        if (system.evaluate(trial, StageFunction::value)) return std::numeric_limits<double>::infinity();
        system.solve(system.memory.residual);
        return system.size(system.memory.residual, trial);
    }
    bool is_small(double length, double next, double part) const noexcept {
        return part == 1 && length < newton_nearly && std::isfinite(next);
    }
    bool is_stopped() const noexcept { return false; }
};

// Solves the stages from the guess in w; memory.jacobian is left at the last linearisation.
inline int newton(const StageSystem& system, double* w) noexcept {
    const FlowPlan& plan = system.plan;
    FlowMemory& memory = system.memory;
    const long long size = static_cast<long long>(plan.stages) * plan.unknowns;
    double *correction = memory.correction, *trial = memory.trial;
    DampedFlow stages{system, w, correction, trial, size};
    bool fresh = false;
    double length = 0;
    for (int iteration = 0; iteration < newton_iterations; ++iteration) {
        if (!fresh) {
            if (system.linearise(w)) return flow_failed;
            system.solve(correction);
            length = system.size(correction, w);
            if (!std::isfinite(length)) return flow_failed;
        }
        if (length <= newton_exact) {
            for (long long k = 0; k < size; ++k) w[k] += correction[k];
            return 0;
        }
        // Along a correction of an older factor the next one need not get shorter: it is renewed before any halving.
        const Followed found = follow_correction(stages, length, 1, fresh ? 0 : most_halvings);
        if (!found.is_shorter) {
            if (!fresh) return flow_failed;
            fresh = false;
            continue;
        }
        copy(w, trial, size);
        if (length < newton_nearly && found.next > newton_slow * length) return 0;
        fresh = found.part == 1 && found.next <= newton_slow * length;
        if (fresh) {
            copy(correction, memory.residual, size);
            length = found.next;
        }
    }
    return flow_failed;
}

// Later steps begin at the last stage of the step before; where its slopes lead astray, x begins at rest.
inline int solve_step(const StageSystem& system, double* w) noexcept {
    const FlowPlan& plan = system.plan;
    const int m = plan.unknowns;
    const double* guess = system.step ? w - m : plan.guess;
    const int stride = system.step ? 0 : plan.guess_stride;
    for (int i = 0; i < plan.stages; ++i) copy(w + i * m, guess + i * stride, m);
    if (!newton(system, w)) return 0;
    if (!system.step) return flow_failed;
    for (int i = 0; i < plan.stages; ++i) {
        set_zero(w + i * m, plan.n);
        copy(w + i * m + plan.n, guess + plan.n, m - plan.n);
    }
    return newton(system, w);
}

inline int implicit_stages(const FlowPlan& plan, FlowMemory& memory, Drive drive, int step, Depth depth,
                           const Directions& along, const double* M, bool solved) noexcept {
    const int s = plan.stages, n = plan.n, m = plan.unknowns;
    double* w = memory.stage_w + static_cast<long long>(step) * s * m;
    const StageSystem system{plan, memory, drive, memory.x + static_cast<long long>(step) * n, step};
    if (!solved && solve_step(system, w)) return flow_failed;
    if (depth == Depth::values) return 0;
    if (system.linearise(w)) return flow_failed;
    if (depth == Depth::jacobians) return 0;
    const long long lanes = along.lanes;
    for (int i = 0; i < s; ++i) {
        double* unknowns = stage_tangent(plan, memory, along, i) + n * lanes;
        multiply(unknowns, -1.0, memory.jacobian + i * memory.jacobian_size, along.jacobian, M, along.units, lanes);
    }
    solve_stages(plan, memory, memory.tangent, lanes);
    for (int i = 0; i < s; ++i) add(stage_tangent(plan, memory, along, i), 1.0, M, n * lanes);
    return 0;
}

// As explicit_adjoint, with the multipliers from the transposed system.
inline void implicit_adjoint(const FlowPlan& plan, FlowMemory& memory, const Directions& along) noexcept {
    const int n = plan.n;
    solve_multipliers(plan, memory);
    for (int i = 0; i < plan.stages; ++i) {
        double* total = memory.cotangent;
        set_zero(total, n + plan.nu + plan.np);
        multiply_transposed(total, memory.jacobian + i * memory.jacobian_size, along.transposed,
                            memory.multipliers + i * plan.unknowns);
        add(memory.lambda, 1.0, total, n);
        add(memory.adjoint + n, 1.0, total + n, plan.nu + plan.np);
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus::flows
