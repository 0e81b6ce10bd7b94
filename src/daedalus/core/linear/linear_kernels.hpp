// The linear solver compiled for every instruction set, behind plain functions.
#pragma once

#include "linear/matrix_form.hpp"
#include "linear/preconditioners/preconditioner.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {}

// Complex numbers are pairs of doubles here; `solver` is what make() gave.
struct LinearKernels {
    void* (*make)(const Pattern& pattern, MatrixForm form, const PreconditionerWish& wish) noexcept;  // nullptr: no memory
    void (*destroy)(void* solver) noexcept;
    double* (*values)(void* solver) noexcept;
    bool (*factor)(void* solver, const double* row_scale, const double* column_scale) noexcept;
    void (*solve)(void* solver, double* b) noexcept;
    SolverCounts (*counts)(const void* solver) noexcept;
};

namespace baseline {
LinearKernels linear_kernels(bool complex) noexcept;
}
namespace avx2 {
LinearKernels linear_kernels(bool complex) noexcept;
}

}  // namespace daedalus
