// Which entries of a square matrix may be nonzero, in compressed columns as CasADi writes them.
#pragma once

#include <vector>

#include "machine/platform.hpp"

namespace daedalus {

// Column c holds rows[colind[c] .. colind[c + 1]).
struct Pattern {
    long long n = 0;
    std::vector<long long> colind, rows;

    DAEDALUS_INLINE long long nonzeros() const { return static_cast<long long>(rows.size()); }
};

}  // namespace daedalus
