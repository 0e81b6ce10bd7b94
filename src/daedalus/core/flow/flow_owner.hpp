// A flow with the memory behind its lists, and memory for evaluations from any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "flow/flow_plan.hpp"
#include "machine/fork_gate.hpp"
#include "model/caller.hpp"

namespace daedalus::flows {

// The stage functions for derivatives by x and u, and by x, u and p.
using StageFunctions = std::array<std::array<const Function*, stage_function_count>, 2>;

// Memory of one evaluation at a time; it is handed out and taken back by the flow.
class FlowWorkspace {
public:
    FlowWorkspace(const FlowPlan& plan, const StageFunctions& functions) {
        for (std::size_t which = 0; which < 2; ++which)
            for (std::size_t k = 0; k < stage_function_count; ++k)
                if (functions[which][k]) {
                    callers_.push_back(std::make_unique<Caller>(*functions[which][k]));
                    memory.calls[which][k] = &callers_.back()->call();
                }
        const long long n = plan.n, s = plan.stages, m = plan.unknowns;
        long long lanes = lane_count, active = 0, touched = 0, jacobian = 0, moved = 0, second = 0, tensor = 0;
        for (const Directions& along : plan.directions) {
            lanes = std::max(lanes, along.lanes), jacobian = std::max(jacobian, along.jacobian_size);
            moved = std::max(moved, along.projection_size), second = std::max(second, along.second_size);
            tensor = std::max(tensor, along.tensor_rows * along.active_lanes);
            active = std::max(active, along.active_lanes * along.active_lanes);
            touched = std::max({touched, along.curvature.touched * along.active_lanes,
                                along.projection_curvature.touched * along.active_lanes});
        }
        const long long inputs = n + plan.nu + plan.np;
        reserve(memory.x, (plan.steps + 1) * n), reserve(memory.moved, plan.corrections * n), reserve(memory.stage_x, s * n);
        reserve(memory.stage_w, plan.steps * s * m), reserve(memory.jacobian, s * jacobian);
        reserve(memory.projection, plan.corrections * moved), reserve(memory.second, second);
        reserve(memory.tangent, s * plan.rows * lanes), reserve(memory.M, (plan.steps + 1) * n * lanes);
        reserve(memory.moved_M, plan.corrections * n * lanes), reserve(memory.product, touched), reserve(memory.hessian, active);
        reserve(memory.adjoint, inputs), reserve(memory.lambda, n), reserve(memory.cotangent, inputs);
        reserve(memory.multipliers, s * m), reserve(memory.direct, s * m), reserve(memory.through_x, s * n);
        reserve(memory.factors, plan.factor_size), reserve(memory.right, s * m * lanes);
        reserve(memory.newton, s * plan.rows * lane_count), reserve(memory.trial, s * m);
        reserve(memory.correction, s * m), reserve(memory.residual, s * m);
        if (tensor) {
            reserve(memory.tensors, n * active), reserve(memory.panel, (1 + s) * n * 48);
            reserve(memory.tensor_product, s * tensor);
        }
        zeros_.resize(static_cast<std::size_t>(inputs) + 1);
        memory.zeros = zeros_.data();
        pivots_.resize(static_cast<std::size_t>(s * m) + 1);
        memory.pivots = pivots_.data();
    }

    FlowMemory memory;

private:
    void reserve(double*& pointer, long long size) {
        arrays_.emplace_back(static_cast<std::size_t>(size) + 1);
        pointer = arrays_.back().data();
    }

    std::vector<std::unique_ptr<Caller>> callers_;
    std::deque<std::vector<double>> arrays_;
    std::vector<int> pivots_;
    std::vector<double> zeros_;
};

class FlowOwner {
public:
    FlowPlan plan;
    FlowKernels kernels{};
    StageFunctions functions{};

    // Lists are kept here; the plan points into them.
    std::deque<std::vector<int>> integers;
    std::deque<std::vector<double>> numbers;
    std::deque<std::vector<Nonzero>> entries;
    std::vector<StageBlock> blocks;
    std::deque<std::vector<Curvature>> tensors;

    // Where the nonzeros of the CasADi outputs are found, for the two choices of directions: of the Jacobian in M, of
    // its transpose in M, of the second derivative in `hessian`.
    std::array<std::vector<Gather>, 2> jacobian_outputs, second_outputs;

    // A workspace for one evaluation; null when there is no memory left.
    FlowWorkspace* borrow() noexcept {
        try {
            const BehindForkGate behind;
            const std::scoped_lock guard(mutex_);
            if (!free_.empty()) {
                FlowWorkspace* workspace = free_.back();
                free_.pop_back();
                return workspace;
            }
            all_.push_back(std::make_unique<FlowWorkspace>(plan, functions));
            free_.reserve(all_.size());
            return all_.back().get();
        } catch (...) {
            return nullptr;
        }
    }
    void give_back(FlowWorkspace* workspace) noexcept {
        const BehindForkGate behind;
        const std::scoped_lock guard(mutex_);
        free_.push_back(workspace);
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<FlowWorkspace>> all_;
    std::vector<FlowWorkspace*> free_;
};

// The borrowed workspace of one call.
class FlowLoan {
public:
    explicit FlowLoan(FlowOwner& owner) : owner_(owner), workspace_(owner.borrow()) {}
    ~FlowLoan() {
        if (workspace_) owner_.give_back(workspace_);
    }
    FlowLoan(const FlowLoan&) = delete;
    FlowLoan& operator=(const FlowLoan&) = delete;
    explicit operator bool() const { return workspace_ != nullptr; }
    FlowMemory& memory() const { return workspace_->memory; }

private:
    FlowOwner& owner_;
    FlowWorkspace* workspace_;
};

}  // namespace daedalus::flows
