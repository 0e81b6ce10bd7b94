// What makes iterations converge: which approximation of a matrix they are preconditioned by.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "machine/shared.hpp"

namespace daedalus {

enum class Preconditioning { incomplete_factors, block_factors, band, multigrid, given };

// An approximate solution of a dF/dx' + dF/d(x, z) that comes from outside. prepare: the nonzeros of dF/d(x, z) and
// 1 / a, complex ones by their size; apply: in place. False: it cannot, and factors take over.
struct GivenPreconditioner {
    void* context = nullptr;
    bool (*prepare)(void* context, const double* slopes, double gamma) noexcept = nullptr;
    bool (*apply)(void* context, double* r) noexcept = nullptr;
};

// A matrix that is known by its products with vectors: a F_x' + F_w, by a function of the model.
struct GivenProduct {
    void* context = nullptr;
    // out = F_x' rate + F_w v
    void (*apply)(void* context, const double* rate, const double* v, double* out) noexcept = nullptr;
    std::complex<double> a;
    long long states = 0;
};

// How a model wants its iterations preconditioned.
struct PreconditionerWish {
    Preconditioning kind = Preconditioning::incomplete_factors;
    GivenPreconditioner given;
    // Which cell of a field each unknown belongs to; empty: each is one.
    Shared<const std::vector<std::int32_t>> cells;
    // By which factor the residual has to fall. Stages of Rosenbrock methods have as many digits then; corrections of
    // Newton's method need fewer, since the next one mends what is left.
    double accuracy = 1e-9;
    // By which factor the error of such a correction has to fall, in units of the tolerances; 0: residuals are measured.
    double correction = 0;
    // Cycles of one solve, each of which has to gain.
    int most_restarts = 12;
    // Where solvers may choose: factors give way where they would cost more than so many times the iterations.
    double dearer = 1.5;

    DAEDALUS_INLINE ~PreconditionerWish() = default;
};

}  // namespace daedalus
