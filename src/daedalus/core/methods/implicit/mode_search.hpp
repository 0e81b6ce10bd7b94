// What the search for growing modes keeps from one look to the next (growing_modes.hpp).
#pragma once

#include <cstdint>

#include "machine/hessenberg_eigenvalues.hpp"
#include "machine/arena.hpp"
#include "state/growing_mode.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct ModeSearch {
    double *basis, *next, *kept, *weights, *raw, *full, *slopes;
    bool kept_known = false;
    std::uint64_t seed = 1;
    double factor = 0;     // a of the factors that are used
    int steps = 0;         // since the last look
    long long evaluations = 0;  // of F, until then
    double looked_at = 0;  // the length of the step then
    double resolved = 0;   // the size of the fastest growing mode that steps resolved then
    // While a mode is followed: the longest step, its rate, and how many powers of e it has grown by.
    double longest = 0, rate = 0, followed = 0;
    long long bounded_jacobian = -1;  // the number of the Jacobian whose modes grow by this at most
    double fastest = 0;
    double passed = 0;  // the size of a mode that was followed and not met
    int pursuits = 0;   // how often that was so
    GrowingMode told;

    ModeSearch(Arena& memory, long long states, long long unknowns, long long all, long long nonzeros)
        : basis(memory.carve((most_vectors + 1) * states)),
          next(memory.carve(states)),
          kept(memory.carve(2 * states)),
          weights(memory.carve(states)),
          raw(memory.carve(all)),
          full(memory.carve(unknowns)),
          slopes(memory.carve(nonzeros)) {}
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
