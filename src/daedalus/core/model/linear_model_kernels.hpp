// Linear models and projections compiled for every instruction set, behind plain functions.
#pragma once

#include "linear/matrix_form.hpp"
#include "model/linear_model.hpp"

namespace daedalus {

struct LinearModelKernels {
    // nullptr: no memory. `levels` may be missing; the backward error of the solves stays below `accuracy`.
    void* (*make)(const LinearModel& model, const Call& call, const ConstraintLevels* levels, const LevelCalls& calls,
                  double accuracy) noexcept;
    void (*destroy)(void* linear) noexcept;
    Solved (*solve)(void* linear, const double* x) noexcept;  // at the time the calls look at
    const double* (*solution)(const void* linear) noexcept;   // x', z of the last solve
    Projected (*project)(void* linear, double* x, bool far) noexcept;
    SolverCounts (*counts)(const void* linear) noexcept;
};

namespace baseline {
LinearModelKernels linear_model_kernels() noexcept;
}
namespace avx2 {
LinearModelKernels linear_model_kernels() noexcept;
}

}  // namespace daedalus
