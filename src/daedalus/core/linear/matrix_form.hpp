// How the linear systems of one pattern are solved, and what was counted on the way.
#pragma once

#include <atomic>

#include "linear/pattern.hpp"

namespace daedalus {

enum class MatrixForm { best, dense, sparse, krylov };

// How often a solver factored and chose pivots, and the size of its factors.
struct SolverCounts {
    long long factorisations = 0, orderings = 0, fill = 0, operations = 0;
    bool dense = false, krylov = false;
    long long iterations = 0;  // of GMRES
    bool gave_up = false;      // iterations went nowhere, or were too many: factors took over
    long long band = 0;        // entries a row of a band that was factored; 0: the factors were no band
};

// How many threads a large factorisation may use; 0: as many as the machine has, up to four. The bits are the same.
inline std::atomic<int> factor_threads{0};

// Full columns are numbered in 12 bits, and no larger matrix is worth it.
inline constexpr long long largest_dense = 4000;

// Measured on random patterns, one factorisation and three solves: dense is faster from about 4.5 + 0.08 n entries a
// column on, where sparse factors fill to half. Chains and other banded patterns fill less and stay below that line.
DAEDALUS_INLINE bool better_dense(const Pattern& pattern) {
    const double n = static_cast<double>(pattern.n), entries = static_cast<double>(pattern.nonzeros());
    // Columns of two vectors: looking for sparse pivots alone would cost more than a run of some ten steps.
    if (pattern.n <= 8) return true;
    if (pattern.n > largest_dense) return false;
    return n <= 200 ? entries > n * (4.5 + 0.08 * n) : entries > 0.5 * n * n;
}

}  // namespace daedalus
