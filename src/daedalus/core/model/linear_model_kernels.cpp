// Linear models and projections, compiled once for each instruction set (DAEDALUS_ISA).
#include "model/linear_model_kernels.hpp"

#include <memory>

#include "model/constraint_projection.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

namespace {

struct Both {
    LinearSystem system;
    std::unique_ptr<ConstraintProjection> projection;

    Both(const LinearModel& model, const Call& call, const ConstraintLevels* levels, const LevelCalls& calls,
         double accuracy)
        : system(model, call, accuracy) {
        if (levels) projection = std::make_unique<ConstraintProjection>(*levels, calls, system);
    }
};

void* make(const LinearModel& model, const Call& call, const ConstraintLevels* levels, const LevelCalls& calls,
           double accuracy) noexcept {
    try {
        return new Both(model, call, levels, calls, accuracy);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void destroy(void* linear) noexcept { delete static_cast<Both*>(linear); }

Solved solve(void* linear, const double* x) noexcept { return static_cast<Both*>(linear)->system.solve_at(x); }

const double* solution(const void* linear) noexcept { return static_cast<const Both*>(linear)->system.solution(); }

Projected project(void* linear, double* x, bool far) noexcept {
    ConstraintProjection& projection = *static_cast<Both*>(linear)->projection;
    return far ? projection.far(x) : projection.near(x);
}

SolverCounts counts(const void* linear) noexcept {
    const LinearSolver<double>& solver = static_cast<const Both*>(linear)->system.solver();
    return solver.counts();
}

}  // namespace

LinearModelKernels linear_model_kernels() noexcept { return {make, destroy, solve, solution, project, counts}; }

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
