// What a run by Radau IIA keeps from one step to the next beside its increments: factors of the complex parts.
#pragma once

#include <memory>
#include <vector>

#include "methods/implicit/increment_state.hpp"
#include "methods/radau/collocation_coefficients.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct RadauState : IncrementState {
    const CollocationCoefficients& method;
    std::unique_ptr<BlockSolver<Complex>> pairs[most_pairs];
    std::vector<double> slow;  // what of the estimate before it is filtered belongs to slow components

    RadauState(const ImplicitModel& m, const ImplicitCalls& calls, const CollocationCoefficients& t)
        : IncrementState(m, calls, t, t.stages), method(t), slow(static_cast<std::size_t>(lanes)) {
        double trusted[most_stages + 1] = {};
        for (int k = 0; k < t.stages; ++k) trusted[k + 1] = t.c[k];
        between = between_nodes(trusted, t.stages + 1, t.stages + 1);
        for (int k = 0; k < t.pairs; ++k) pairs[k] = std::make_unique<BlockSolver<Complex>>(m.matrix, m, 1);
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
