// The steppers of every method behind plain functions, compiled for every instruction set.
#pragma once

#include "state/growing_mode.hpp"
#include "state/integration.hpp"

namespace daedalus {

// What an implicit method counts beside evaluations.
struct ImplicitWork {
    long long jacobians = 0, factorisations = 0, newton = 0, newton_failures = 0;
    long long factor_size = 0;  // nonzeros of L and U in the last real factor of a single stage
    SolverCounts linear;        // of the solver that made it
    GrowingMode growing;
};

enum class Method { tsit5, dopri5, dop853, bs3, general, radau, rosenbrock, bdf, implicit_tableau, lobatto, sdirk };

// What one instruction set offers for one method.
struct Kernels {
    Status (*advance)(Integration& s, long long max_steps) noexcept = nullptr;
    // Redoes the step from (t, x) to t_new, or to a row there, and gives its error between them.
    double (*dense_of_step)(Integration& s, const double* end) noexcept = nullptr;
    int rows = 0, degree = 0;  // 0: as the general method says
    // Implicit methods: their memory, and what they counted.
    void* (*make)(const ImplicitModel& model, const ImplicitCalls& calls, const void* method) = nullptr;
    void (*destroy)(void* implicit) noexcept = nullptr;
    ImplicitWork (*work)(const void* implicit) noexcept = nullptr;
    bool (*consistent)(Integration& s, double* y) noexcept = nullptr;
};

namespace baseline {
Kernels kernels(Method method) noexcept;
}
namespace avx2 {
Kernels kernels(Method method) noexcept;
}

}  // namespace daedalus
