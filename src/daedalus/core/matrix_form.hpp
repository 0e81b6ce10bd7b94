// Which of the two eliminations a pattern gets.
#pragma once

#include "pattern.hpp"

namespace daedalus {

enum class MatrixForm { best, dense, sparse };

// Measured on chains and random patterns.
DAEDALUS_INLINE bool better_dense(const Pattern& pattern) {
    return pattern.n <= 10 || static_cast<double>(pattern.nonzeros()) > 0.3 * static_cast<double>(pattern.n) * static_cast<double>(pattern.n);
}

}  // namespace daedalus
