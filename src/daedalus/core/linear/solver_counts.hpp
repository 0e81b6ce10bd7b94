// What a linear solver has counted: how often it factored and chose pivots, and the size of its factors.
#pragma once

namespace daedalus {

struct SolverCounts {
    long long factorisations, orderings, fill, operations;
    bool dense;
};

}  // namespace daedalus
