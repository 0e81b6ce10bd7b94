// A model whose derivatives and algebraic variables follow from a sparse linear system: A(t, x, u, p) (x'; z) = b(t, x, u, p).
//
// In constrained mechanics A = [M G^T; G 0]: the multipliers come with the accelerations. What needs no solve, such as
// q' = v, may stand outside of A.
#pragma once

#include "linear/pattern.hpp"
#include "model/function.hpp"

namespace daedalus {

struct LinearModel {
    const Function* function = nullptr;  // (t, x, u, p) -> nonzeros of A, b, and what is known without a solve
    long long states = 0, unknowns = 0;  // numbers of x', and of what A is solved for
    Pattern matrix;
    // Where in (x'; z) the unknowns lie, and where what is known; none: all are unknown, in their order.
    std::vector<long long> solved = {}, known = {};

    // The number of x' and z together.
    long long size() const { return unknowns + static_cast<long long>(known.size()); }
};

// Constraints that were differentiated until they became rows of A, with their lower derivatives as left by a state.
struct ConstraintLevels {
    const LinearModel* model = nullptr;
    const Function* positions = nullptr;   // (t, x, u, p) -> constraints two derivatives below their rows
    const Function* velocities = nullptr;  // (t, x, u, p) -> constraints one derivative below their rows
    const Function* motion = nullptr;      // (t, x, u, p, d) -> the change of positions when x' of velocities is d
    const Function* others = nullptr;      // (t, x, u, p) -> x on the invariants that no row belongs to; may be missing
    std::vector<long long> position_rows, velocity_rows;
    std::vector<double> nominal;  // sizes of the states
};

// How an evaluation of a linear model ended.
enum class Solved { done, singular, failed, aborted };

// How a projection ended.
enum class Projected { done, singular, diverged, failed, aborted };

// The functions of the levels, connected to a run.
struct LevelCalls {
    Call positions, velocities, motion, others;
};

}  // namespace daedalus
