// What makes iterations converge: which approximation of a matrix they are preconditioned by.
#pragma once

namespace daedalus {

enum class Preconditioning { incomplete_factors, multigrid, given };

// An approximate solution of a dF/dx' + dF/d(x, z) that comes from outside. prepare: the nonzeros of dF/d(x, z) and
// 1 / a, complex ones by their size; apply: in place. False: it cannot, and factors take over.
struct GivenPreconditioner {
    void* context = nullptr;
    bool (*prepare)(void* context, const double* slopes, double gamma) noexcept = nullptr;
    bool (*apply)(void* context, double* r) noexcept = nullptr;
};

// How a model wants its iterations preconditioned.
struct PreconditionerWish {
    Preconditioning kind = Preconditioning::incomplete_factors;
    GivenPreconditioner given;
    // By which factor the residual has to fall. Stages of Rosenbrock methods have as many digits then; corrections of
    // Newton's method need fewer, since the next one mends what is left.
    double accuracy = 1e-9;
};

}  // namespace daedalus
