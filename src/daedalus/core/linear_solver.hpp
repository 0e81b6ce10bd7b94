// Solves A x = b for one pattern and many values: the linear algebra under every implicit method.
//
// Small or full matrices are eliminated densely. The first answer of every factorisation is measured; a bad one is refined,
//   x <- x + A^-1 (b - A x)
// and then so is every further answer of that factorisation (Arioli, Demmel, Duff 1989; Skeel 1980).
#pragma once

#include <limits>
#include <new>

#include "backward_error.hpp"
#include "dense_lu.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class LinearSolver {
public:
    explicit LinearSolver(const Pattern& pattern) : n_(pattern.n) {
        if (!values_.make(pattern.nonzeros()) || !right_.make(n_) || !dense_lu_.make(pattern) || !error_.make(pattern))
            throw std::bad_alloc();
    }

    // The nonzeros in the order of the pattern, to be filled before factor() and left alone until the next factor().
    Number* values() noexcept { return values_.data(); }

    bool factor(const double* row_scale, const double* column_scale) noexcept {
        ++factorisations;
        unmeasured_ = true;
        ++orderings;
        return dense_lu_.factor(values_.data(), row_scale, column_scale);
    }

    void solve(Number* b) noexcept {
        if (!unmeasured_) return dense_lu_.solve(b);
        solve_measured(b);
    }

    bool dense() const noexcept { return true; }

    long long factorisations = 0, orderings = 0;

private:
    // Rounding alone stays below this; above it, refinement has something to gain.
    static constexpr double acceptable = 64 * std::numeric_limits<double>::epsilon();
    static constexpr int most_refinements = 3;

    DAEDALUS_COLD void solve_measured(Number* b) noexcept {
        for (long long i = 0; i < n_; ++i) right_[i] = b[i];
        dense_lu_.solve(b);
        double omega = error_.measure(values_.data(), b, right_.data());
        unmeasured_ = !(omega <= acceptable);
        for (int i = 0; i < most_refinements && omega > acceptable; ++i) {
            Number* correction = error_.residual();
            dense_lu_.solve(correction);
            for (long long k = 0; k < n_; ++k) b[k] += correction[k];
            const double better = error_.measure(values_.data(), b, right_.data());
            if (!(better < 0.5 * omega)) break;
            omega = better;
        }
    }

    long long n_ = 0;
    bool unmeasured_ = true;
    Block<Number> values_, right_;
    DenseLu<Number> dense_lu_;
    BackwardError<Number> error_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
